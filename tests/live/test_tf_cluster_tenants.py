"""A tenant who may do little: the cluster role `edit`, a quota, and neighbours."""

import json
from collections.abc import Callable

import pytest
import yaml

from tests.live.conftest import CHART
from tests.live.releases import accuracy, must_complete
from trainyard import paths
from trainyard.kube import Helm, Kubectl, Values
from trainyard.training import Release
from trainyard.waiting import wait_for

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


def test_the_same_release_lives_in_two_namespaces(namespace, install, cluster, image_values):
    install(SHORT)
    other = namespace.within(f"{namespace.namespace[:50]}-other")
    other.run("create", "namespace", other.namespace)
    try:
        Helm(other.kubeconfig, other.namespace).install("my", CHART, {**image_values, **SHORT})
        must_complete(Release(namespace, "my"))
        must_complete(Release(other, "my"))
    finally:
        other.run("delete", "namespace", other.namespace, "--wait=false")


def test_a_foreign_pod_is_kept_out_where_policies_are_enforced(
    namespace, install, image_values, record_property
):
    """Whether it is depends on the cluster's network, which this test finds out by itself."""
    release = install({"mode": "session"})
    spec = json.loads(namespace.get("configmap", "my-tf-cluster-cluster")["data"]["cluster"])
    wait_for(lambda: release.running_pod("worker"), "a worker", timeout=120)
    helm = Helm(namespace.kubeconfig, namespace.namespace)
    helm.run("test", "my")  # Pods of the release reach each other.
    enforced = policies_are_enforced(namespace, image_values)
    record_property("policies_enforced", enforced)
    labels = {"stranger": {}, "friend": {"trainyard/client": "my"}}
    reached = {
        name: connects(namespace, image_values, name, spec["worker"][0], own)
        for name, own in labels.items()
    }
    assert reached == {"stranger": not enforced, "friend": True}


def policies_are_enforced(kubectl: Kubectl, image_values: Values) -> bool:
    """Say whether a policy that forbids everything forbids anything here."""
    closed = "{podSelector: {matchLabels: {app: closed}}, policyTypes: [Ingress]}"
    kind = "apiVersion: networking.k8s.io/v1, kind: NetworkPolicy"
    kubectl.apply(f"{{{kind}, metadata: {{name: closed}}, spec: {closed}}}")
    serve = "import http.server as h; h.HTTPServer(('', 8000), h.SimpleHTTPRequestHandler)"
    run_pod(kubectl, image_values, "closed", f"{serve}.serve_forever()", {"app": "closed"})
    pod = wait_for(lambda: address(kubectl, "closed"), "an address", timeout=60)
    wait_for(lambda: kubectl.ready("pod", "closed"), "the closed pod", timeout=60)
    return not connects(kubectl, image_values, "probe", f"{pod}:8000", {})


def address(kubectl: Kubectl, name: str) -> str:
    return str((kubectl.get("pod", name) or {}).get("status", {}).get("podIP", ""))


def connects(
    kubectl: Kubectl, image_values: Values, name: str, target: str, labels: dict[str, str]
) -> bool:
    """Say whether a pod with these labels can connect to host:port; it tries for a while."""
    host, _, port = target.rpartition(":")
    program = (
        "import socket, sys, time\n"
        "for _ in range(10):\n"
        "    try:\n"
        f"        socket.create_connection(({host!r}, {port}), 2).close()\n"
        "        sys.exit(0)\n"
        "    except OSError:\n"
        "        time.sleep(0.5)\n"
        "sys.exit(1)\n"
    )
    run_pod(kubectl, image_values, name, program, labels)

    def phase() -> str:
        found = (kubectl.get("pod", name) or {}).get("status", {}).get("phase", "")
        return found if found in ("Succeeded", "Failed") else ""

    return wait_for(phase, f"pod {name} to end", timeout=120) == "Succeeded"


def run_pod(
    kubectl: Kubectl, image_values: Values, name: str, program: str, labels: dict[str, str]
) -> None:
    image = image_values.get("image", {})
    reference = "{registry}/{repository}:{tag}".format(
        registry=image.get("registry", "docker.io"),
        repository=image.get("repository", "tensorflow/tensorflow"),
        tag=image.get("tag", "2.21.0"),
    )
    security = {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "main",
        "image": reference,
        "command": ["python3", "-c", program],
        "securityContext": security,
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
        },
    }
    kubectl.apply(yaml.safe_dump(pod))
