"""GPUs as the scheduler sees them: stand-ins, a resource that a node is told to have."""

from typing import Any

import pytest

from tests.live.releases import must_complete
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

# None of a vendor's own: a cluster that has real ones keeps them.
RESOURCE = "example.com/gpu"
LABEL = "example.com/gpu.product"
GPUS: dict[str, Any] = {
    "gpu": {"resource": RESOURCE, "typeLabel": LABEL, "types": ["stand-in"]},
    "worker": {"gpu": {"count": 1}},
    "sample": {"epochs": 2},
}


@pytest.fixture
def node(namespace):
    """Give the name of a node that has two stand-ins for GPUs, a label for them, and a taint."""
    name = namespace.list("nodes")[0]["metadata"]["name"]
    path = RESOURCE.replace("/", "~1")
    offer = f'[{{"op": "add", "path": "/status/capacity/{path}", "value": "2"}}]'
    take = f'[{{"op": "remove", "path": "/status/capacity/{path}"}}]'
    status = ("patch", "node", name, "--subresource=status", "--type=json", "--patch")
    namespace.run(*status, offer)
    namespace.run("label", "node", name, f"{LABEL}=stand-in")
    yield name
    namespace.run("taint", "node", name, f"{RESOURCE}-", check=False)
    namespace.run("label", "node", name, f"{LABEL}-")
    namespace.run(*status, take)


def requests(pod):
    containers = [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
    return [each["resources"].get("requests", {}).get(RESOURCE) for each in containers]


def test_workers_take_gpus_and_the_others_none(install, node):
    release = install(GPUS)
    must_complete(release)
    for pod in release.pods():
        wanted = (
            "1" if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "worker" else None
        )
        assert wanted in requests(pod)
        assert requests(pod).count("1") == (1 if wanted else 0)


def test_more_gpus_than_there_are_make_a_pod_wait_and_the_deadline_speak(install, node):
    values = {**GPUS, "worker": {"replicas": 3, "gpu": {"count": 1}}}
    policy = {"runPolicy": {"startDeadlineSeconds": 60, "backoffLimit": 0}}
    release = install({**values, **policy})
    assert release.wait_for_end(timeout=180) == "Failed"
    (chief,) = release.pods("chief")
    said = release.kubectl.logs(chief["metadata"]["name"], "--container=await-peers")
    assert "1 of 4 peers: worker" in said
    release.wait_until_freed(timeout=60)


def test_gpus_of_another_type_are_not_taken(install, node):
    values = {**GPUS, "gpu": {**GPUS["gpu"], "types": ["another"]}}
    release = install(values)
    wait_for(
        lambda: "affinity" in why_pending(release), "the scheduler to find no node", timeout=60
    )


def test_pods_with_gpus_go_to_tainted_nodes_and_others_do_not(install, node, namespace):
    namespace.run("taint", "node", node, f"{RESOURCE}=present:NoSchedule")
    alone = {"strategy": "mirrored", "sample": {"epochs": 2}, "gpu": GPUS["gpu"]}
    must_complete(install({**alone, "chief": {"gpu": {"count": 2}}}))
    other = install(alone, name="other")
    # Where other nodes have no taint, it runs there.
    if len(namespace.list("nodes")) == 1:
        wait_for(lambda: "taint" in why_pending(other), "the taint to keep it off", timeout=60)


def why_pending(release) -> str:
    """Give what the scheduler says of the release's pods that it cannot place."""
    return " ".join(
        condition["message"]
        for pod in release.pods()
        for condition in pod["status"].get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    )
