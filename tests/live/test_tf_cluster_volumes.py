"""Where checkpoints, logs and models may lie."""

import pytest

from tests.live.releases import accuracy, must_complete

pytestmark = pytest.mark.cluster

CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: team}
spec:
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
"""


def test_one_claim_holds_the_folders_of_all(install, helm, namespace):
    """A pod has one volume for all of them; waiters and the test find theirs there, too."""
    namespace.apply(CLAIM)
    folders = {
        name: {"existingClaim": "team", "subPath": f"runs/1/{name}"}
        for name in ("checkpoints", "logs", "models")
    }
    release = install({"volumes": folders, "waiter": {"method": "marker"}})
    must_complete(release)
    assert accuracy(release) >= 0.93
    helm.run("test", release.name, "--logs")
    for pod in release.pods("chief"):
        claims = [each for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each]
        assert len(claims) == 1
