"""A tenant who may do little: the cluster role `edit`, a quota, and neighbours."""

from collections.abc import Callable

import pytest
import yaml

from tests.live.conftest import CHART
from tests.live.releases import accuracy, must_complete
from trainyard import paths
from trainyard.kube import Helm, Kubectl, Values
from trainyard.training import Release

pytestmark = pytest.mark.cluster

TENANT = "tenant"
SHORT = {"sample": {"epochs": 2}}
QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec:
  hard: {requests.cpu: "2", requests.memory: 6Gi, limits.cpu: "12", limits.memory: 14Gi, pods: "6"}
"""


@pytest.fixture
def tenant(namespace: Kubectl, tmp_path) -> Kubectl:
    """Give kubectl as a user whose only right is the cluster role `edit` in the namespace."""
    namespace.run("create", "serviceaccount", TENANT)
    user = f"{namespace.namespace}:{TENANT}"
    flags = ["--clusterrole=edit", f"--serviceaccount={user}"]
    namespace.run("create", "rolebinding", TENANT, *flags)
    token = namespace.run("create", "token", TENANT).stdout.strip()
    config = yaml.safe_load(namespace.kubeconfig.read_text())
    config["users"] = [{"name": TENANT, "user": {"token": token}}]
    for context in config["contexts"]:
        context["context"]["user"] = TENANT
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return Kubectl(file, namespace.namespace)


@pytest.fixture
def install_as_tenant(tenant: Kubectl, image_values: Values) -> Callable[[Values], Release]:
    def install(values: Values) -> Release:
        helm = Helm(tenant.kubeconfig, tenant.namespace)
        helm.install("my", CHART, {**image_values, **values})
        return Release(tenant, "my")

    return install


def test_who_may_make_no_role_is_told_so(tenant, image_values):
    helm = Helm(tenant.kubeconfig, tenant.namespace)
    refused = helm.run("install", "my", CHART, values=image_values, check=False)
    assert refused.returncode != 0
    assert 'resource "roles"' in refused.stderr
    assert "forbidden" in refused.stderr


def test_the_account_of_somebody_else_will_do(namespace, install_as_tenant):
    namespace.run("create", "serviceaccount", "training")
    namespace.run("create", "role", "jobs", "--verb=get", "--resource=jobs")
    account = f"{namespace.namespace}:training"
    namespace.run("create", "rolebinding", "jobs", "--role=jobs", f"--serviceaccount={account}")
    account_values = {"serviceAccount": {"create": False, "name": "training"}}
    release = install_as_tenant({**account_values, "rbac": {"create": False}, **SHORT})
    must_complete(release)


def test_no_right_at_all_is_needed_with_a_marker_on_the_volume(namespace, install_as_tenant):
    namespace.apply(QUOTA)
    values = yaml.safe_load((paths.ROOT / "values/restricted-tenant/tf-cluster.yaml").read_text())
    release = install_as_tenant(values)
    must_complete(release)
    assert accuracy(release) >= 0.93
    assert not namespace.list("rolebindings", "--selector=app.kubernetes.io/instance=my")
    helm = Helm(release.kubectl.kubeconfig, release.kubectl.namespace)
    tested = helm.run("test", "my", "--logs")
    assert any(line.startswith("{") for line in tested.stdout.splitlines())


def test_a_program_that_fails_for_good_is_marked_too(install_as_tenant):
    failing = ["python3", "-c", "raise SystemExit(2)"]
    accounts = {"serviceAccount": {"create": False}, "rbac": {"create": False}}
    values = {"waiter": {"method": "marker"}, "chief": {"command": failing}, **accounts}
    release = install_as_tenant(values)
    assert release.wait_for_end(timeout=180) == "Failed"
    assert release.wait_for_end("ps", timeout=90) == "Failed"
    release.wait_until_freed(timeout=60)


def test_two_releases_share_a_namespace_and_its_quota(namespace, helm, image_values):
    namespace.apply(QUOTA)
    small = {"chief": {"terminationGracePeriodSeconds": 5}, **SHORT}
    helm.install("a", CHART, {**image_values, **small})
    helm.install("b", CHART, {**image_values, **small})
    first, second = Release(namespace, "a"), Release(namespace, "b")
    # Six pods are allowed and eight are wanted: the second release finds room when the first has
    # ended, and until then nobody runs over the quota.
    must_complete(first)
    must_complete(second)
    used = namespace.get("resourcequota", "quota")["status"]
    assert used["hard"]["pods"] == "6"
    refusals = namespace.list("events", "--field-selector=reason=FailedCreate")
    assert any("exceeded quota" in event["message"] for event in refusals)


def test_the_same_release_lives_in_two_namespaces(neighbour, install, image_values):
    first = install(SHORT)
    Helm(neighbour.kubeconfig, neighbour.namespace).install("my", CHART, {**image_values, **SHORT})
    must_complete(first)
    must_complete(Release(neighbour, "my"))
