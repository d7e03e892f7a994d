"""tf-cluster on a real cluster: it trains, it ends, and it takes the loss of any pod."""

import json
from collections.abc import Callable

import pytest

from trainyard import images, paths
from trainyard.cluster.base import Cluster
from trainyard.kube import Helm, Kubectl, Values
from trainyard.training import Progress, Release, ended_at
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

CHART = paths.CHARTS / "tf-cluster"
TRAINING_TIMEOUT_S = 420
FREED_WITHIN_S = 10

Install = Callable[..., Release]


@pytest.fixture(scope="session")
def image_values(cluster: Cluster) -> Values:
    """Give the values that name our image, loaded; none where the public one must do."""
    return images.provide(cluster, images.TENSORFLOW)


@pytest.fixture
def install(namespace: Kubectl, image_values: Values) -> Install:
    """Give a function that installs the chart with more values and gives the release."""

    def installed(values: Values | None = None, name: str = "my") -> Release:
        helm = Helm(namespace.kubeconfig, namespace.namespace)
        helm.install(name, CHART, {**image_values, **(values or {})})
        return Release(namespace, name)

    return installed


def train_to(release: Release, step: int) -> None:
    """Return when the chief has printed this step, or a later one."""
    for line in release.follow():
        seen = Progress.read(line)
        if seen and seen.step >= step:
            return
    pytest.fail(f"The training ended {release.outcome()} before step {step}.")


def chief_logs(release: Release) -> list[str]:
    """Give the logs of all of the chief's pods, oldest first."""
    pods = sorted(release.pods("chief"), key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    return [release.kubectl.logs(pod["metadata"]["name"]) for pod in pods]


def uids(release: Release, role: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in release.pods(role)}


def kill(release: Release, role: str) -> None:
    """Remove a running pod of the role at once, as a lost machine would."""
    pod = release.running_pod(role)
    assert pod, f"no running {role}"
    release.kubectl.run("delete", "pod", pod, "--grace-period=0", "--force")


def must_complete(release: Release) -> None:
    """Wait until the training is Complete and every pod has ended."""
    assert release.wait_for_end(timeout=TRAINING_TIMEOUT_S) == "Complete", chief_logs(release)[-1]
    release.wait_until_freed(timeout=60)
    outcomes = {role: release.wait_for_end(role, timeout=60) for role in ("worker", "ps")}
    assert outcomes == {"worker": "Complete", "ps": "Complete"}


def test_it_trains_ends_and_frees_everything(install):
    release = install()
    must_complete(release)
    pods = release.pods()
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Succeeded"] * 4
    chief_end = max(ended_at(pod) for pod in release.pods("chief"))
    assert (max(map(ended_at, pods)) - chief_end).total_seconds() <= FREED_WITHIN_S

    helm = Helm(release.kubectl.kubeconfig, release.kubectl.namespace)
    tested = helm.run("test", release.name, "--logs")
    proof = next(json.loads(line) for line in tested.stdout.splitlines() if line.startswith("{"))
    assert proof["accuracy"] >= 0.93
    assert proof["examples"] == 500


def test_helm_test_reaches_every_task_while_it_trains(install):
    release = install({"sample": {"epochs": 200}})
    train_to(release, 1)
    helm = Helm(release.kubectl.kubeconfig, release.kubectl.namespace)
    tested = helm.run("test", release.name, "--logs", check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_killed_worker_does_not_stop_the_training(install):
    release = install()
    train_to(release, 200)
    chief = uids(release, "chief")
    kill(release, "worker")
    must_complete(release)
    assert uids(release, "chief") == chief
    assert "resumed" not in chief_logs(release)[-1]


def test_a_killed_parameter_server_is_made_anew_and_the_training_resumes(install):
    release = install()
    train_to(release, 300)
    workers = uids(release, "worker")
    kill(release, "ps")
    must_complete(release)
    logs = chief_logs(release)
    assert "lost" in logs[0]
    assert "resumed step=" in logs[-1]
    assert uids(release, "worker") == workers


def test_a_killed_chief_resumes_from_its_checkpoint(install):
    release = install()
    train_to(release, 300)
    servers = uids(release, "worker") | uids(release, "ps")
    kill(release, "chief")
    must_complete(release)
    assert "resumed step=" in chief_logs(release)[-1]
    assert uids(release, "worker") | uids(release, "ps") == servers


def test_a_program_that_fails_for_good_ends_the_release_failed(install):
    failing = "import sys; print('no data at /nowhere'); sys.exit(1)"
    chief = {"command": ["python3", "-c"], "args": [failing]}
    release = install({"runPolicy": {"backoffLimit": 1}, "chief": chief})
    assert release.wait_for_end(timeout=180) == "Failed"
    release.wait_until_freed(timeout=60)
    assert release.wait_for_end("worker", timeout=60) == "Failed"
    assert release.wait_for_end("ps", timeout=60) == "Failed"
    assert "no data at /nowhere" in chief_logs(release)[-1]


def test_a_missing_peer_is_named_and_not_waited_for_for_ever(install):
    # No node has this label, so that the parameter server never starts.
    release = install(
        {
            "ps": {"nodeSelector": {"nowhere": "here"}},
            "sample": {"peerTimeout": 5},
            "runPolicy": {"backoffLimit": 0},
        }
    )
    assert release.wait_for_end(timeout=180) == "Failed"
    log = chief_logs(release)[-1]
    assert "-ps-0." in log
    assert "-worker-0." not in log.splitlines()[-1]


def test_an_upgrade_to_more_workers_is_accepted_and_touches_no_running_pod(install):
    release = install({"sample": {"epochs": 40}})
    train_to(release, 200)
    before = uids(release, "chief") | uids(release, "ps") | uids(release, "worker")
    helm = Helm(release.kubectl.kubeconfig, release.kubectl.namespace)
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 3}})
    wait_for(lambda: len(release.pods("worker")) == 3, "the third worker", timeout=60)
    after = uids(release, "chief") | uids(release, "ps") | uids(release, "worker")
    assert before < after
    # The running chief goes on with the workers it knows; one that starts anew knows all three.
    kill(release, "chief")
    must_complete(release)
    assert len([p for p in release.pods("worker") if p["status"]["phase"] == "Succeeded"]) == 3
