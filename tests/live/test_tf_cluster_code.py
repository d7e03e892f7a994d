"""A training program from wherever it may lie: the values, a claim, a git repository."""

import pytest
import yaml

from tests.live import probes
from tests.live.releases import lead_logs, must_complete
from tests.repositories import git, with_commits
from trainyard import images

pytestmark = pytest.mark.cluster

PROGRAM = """
import json, os, socket, sys
config = json.loads(os.environ["TF_CONFIG"])
role, index = config["task"]["type"], config["task"]["index"]
host, _, port = config["cluster"][role][index].rpartition(":")
with socket.create_server((host, int(port))) as server:
    if role == "chief":
        sys.exit(print("the chief is done"))
    while True:
        server.accept()[0].close()
"""

COMMAND = {"command": ["python3", "-u", "/opt/trainyard/code/train.py"]}

CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: programs}
spec:
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Mi}}
"""


def test_a_program_that_is_written_in_the_values(install):
    """It knows nothing of TensorFlow: any program that reads TF_CONFIG will do."""
    release = install({"code": {"source": "inline", "inline": {"train.py": PROGRAM}}, **COMMAND})
    must_complete(release)
    assert "the chief is done" in lead_logs(release)[-1]


def test_a_program_that_lies_on_a_claim(install, namespace, image_values):
    namespace.apply(CLAIM)
    put = f"open('/programs/train.py', 'w').write({PROGRAM!r})"
    pod = probes.pod("writer", {}, image_values)
    (container,) = pod["spec"]["containers"]
    container |= {"command": ["python3", "-c", put], "readinessProbe": None}
    container["volumeMounts"] = [{"name": "programs", "mountPath": "/programs"}]
    claim = {"claimName": "programs"}
    pod["spec"]["volumes"] = [{"name": "programs", "persistentVolumeClaim": claim}]
    namespace.apply(yaml.safe_dump(pod))

    release = install({"code": {"source": "claim", "claim": {"name": "programs"}}, **COMMAND})
    must_complete(release)
    assert "the chief is done" in lead_logs(release)[-1]


def test_a_program_that_a_server_has(cluster, install, namespace, image_values, tmp_path):
    """The server is of the plainest kind, which gives no single commits."""
    origin = with_commits(tmp_path / "origin", PROGRAM, "raise SystemExit('not this one')")
    served = tmp_path / "train.git"
    git(origin, "clone", "--quiet", "--bare", str(origin), str(served))
    git(served, "update-server-info")
    server = probes.start(namespace, image_values, "server")
    server.receive(served)

    repository = {"repository": f"http://{server.address}/train.git", "revision": "v1"}
    fetched_with = images.provide(cluster, images.GIT)
    release = install({"code": {"source": "git", "git": {**repository, **fetched_with}}, **COMMAND})
    must_complete(release)
    assert "the chief is done" in lead_logs(release)[-1]
    (chief,) = release.pods("chief")
    said = release.kubectl.logs(chief["metadata"]["name"], "--container=fetch-code")
    assert f"fetched {git(origin, 'rev-parse', 'v1')}" in said
