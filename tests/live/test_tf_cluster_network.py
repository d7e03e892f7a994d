"""Who reaches whom: the NetworkPolicies of releases, tried from pods."""

import json

import pytest

from tests.live import probes
from tests.live.conftest import CHART
from tests.live.probes import Probe, settled
from tests.live.releases import TRAINING_TIMEOUT_S, must_complete
from trainyard.cluster.base import Cluster
from trainyard.kube import Helm, Kubectl, Values
from trainyard.training import Release
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

PORTS_FROM = 23222
"""Of the nodes' ports, some that are below those which connections take and above the usual."""

CLOSED = """
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {app: closed}}, policyTypes: [Ingress]}
"""


@pytest.fixture
def enforced(cluster: Cluster, namespace: Kubectl, image_values: Values, record_property) -> bool:
    """Say whether this cluster's network enforces policies; the embedded node's must."""
    closed = probes.start(namespace, image_values, "closed", {"app": "closed"})
    outside = probes.start(namespace, image_values, "outside")
    assert settled(lambda: outside.reaches(closed.address), True)
    namespace.apply(CLOSED)
    found = not settled(lambda: outside.reaches(closed.address), False)
    assert found or cluster.name != "node"
    record_property("policies_enforced", found)
    return found


def session(namespace: Kubectl, helm: Helm, name: str, values: Values) -> Probe:
    """Install a session and give its first worker, from which others may be tried."""
    helm.install(name, CHART, {"mode": "session", **values})
    release = Release(namespace, name)
    worker = wait_for(lambda: release.running_pod("worker"), f"a worker of {name}", timeout=120)
    return Probe(namespace, worker, "tensorflow")


def servers(namespace: Kubectl, name: str) -> dict[str, str]:
    """Give the address of each role's first task, as TF_CONFIG has it."""
    found = namespace.get("configmap", f"{name}-tf-cluster-cluster") or {}
    return {role: tasks[0] for role, tasks in json.loads(found["data"]["cluster"]).items()}


def test_only_a_release_and_its_clients_reach_its_servers(
    namespace, neighbour, helm, image_values, enforced
):
    notebook = {"podSelector": {"matchLabels": {"app": "notebook"}}}
    policy = {"networkPolicy": {"from": [notebook]}}
    own = session(namespace, helm, "a", {**image_values, **policy})
    own.serve()
    servers_of_a = servers(namespace, "a")
    client = {"trainyard/client": "a"}
    askers = {
        "the release itself": own,
        "another release": session(namespace, helm, "b", image_values),
        "a stranger": probes.start(namespace, image_values, "stranger"),
        "a client": probes.start(namespace, image_values, "client", client),
        "a peer by value": probes.start(namespace, image_values, "notebook", {"app": "notebook"}),
        "a client elsewhere": probes.start(neighbour, image_values, "client", client),
    }
    targets = {"worker": servers_of_a["worker"], "ps": servers_of_a["ps"], "else": own.address}
    everything, nothing = set(targets), set() if enforced else set(targets)
    expected = {
        "the release itself": everything,
        "another release": nothing,
        "a stranger": nothing,
        "a client": {"worker", "ps"} | nothing,
        "a peer by value": {"worker", "ps"} | nothing,
        "a client elsewhere": nothing,
    }

    def reached() -> dict[str, set[str]]:
        return {
            name: {what for what, target in targets.items() if asker.reaches(target)}
            for name, asker in askers.items()
        }

    assert settled(reached, expected) == expected
    helm.run("test", "a")


def test_a_release_reaches_only_what_it_may(namespace, helm, image_values, enforced):
    stranger = probes.start(namespace, image_values, "stranger")
    client = probes.start(namespace, image_values, "client", {"trainyard/client": "my"})
    closed = {"networkPolicy": {"egress": {"restricted": True}}}
    worker = session(namespace, helm, "my", {**image_values, **closed})
    targets = {
        "its own": servers(namespace, "my")["ps"],
        "its client": client.address,
        "the API": "kubernetes.default.svc:443",
        "a stranger": stranger.address,
    }

    def reached() -> set[str]:
        return {what for what, target in targets.items() if worker.reaches(target)}

    allowed = set(targets) - ({"a stranger"} if enforced else set())
    assert settled(reached, allowed) == allowed

    anywhere = [{"ports": [{"port": probes.PORT}]}]
    helm.upgrade("my", CHART, {"networkPolicy": {"egress": {"to": anywhere}}})
    assert settled(reached, set(targets)) == set(targets)


def test_training_needs_no_more_than_restricted_egress_allows(install, enforced):
    closed = {"networkPolicy": {"egress": {"restricted": True}}}
    must_complete(install({**closed, "sample": {"epochs": 2}}))


def test_nobody_holds_on_where_the_api_server_cannot_be_reached(install, enforced):
    """The servers never learn the end, but they hear that the chief has gone silent."""
    closed = {"networkPolicy": {"egress": {"restricted": True, "apiServerPorts": [1]}}}
    patience = {"waiter": {"silenceSeconds": 90}}
    release = install({**closed, **patience, "sample": {"epochs": 1}})
    assert release.wait_for_end(timeout=TRAINING_TIMEOUT_S) == "Complete"
    release.wait_until_freed(timeout=240)
    learned = "Failed" if enforced else "Complete"
    assert {release.wait_for_end(role, timeout=60) for role in ("ps", "worker")} == {learned}
    (server,) = release.pods("ps")
    said = release.kubectl.logs(server["metadata"]["name"], "--container=await-end")
    assert ("accepted no connection for 90 s" in said) is enforced


def test_training_runs_on_the_nodes_own_network(namespace, install):
    """Pod Security forbids that below ``privileged``; each role needs a port of its own."""
    allowed = "pod-security.kubernetes.io/enforce=privileged"
    namespace.run("label", "namespace", namespace.namespace, allowed, "--overwrite")
    ports = {role: {"port": PORTS_FROM + at} for at, role in enumerate(("chief", "ps"))}
    worker = {"worker": {"replicas": 1, "port": PORTS_FROM + 2}}
    release = install({"hostNetwork": True, **ports, **worker, "sample": {"epochs": 2}})
    must_complete(release)
    spec = json.loads(namespace.get("configmap", "my-tf-cluster-cluster")["data"]["cluster"])
    assert spec["worker"][0].endswith(f":{PORTS_FROM + 2}")
    for pod in release.pods():
        assert pod["spec"]["hostNetwork"]
        assert pod["status"]["podIP"] == pod["status"]["hostIP"]
