"""Every way in which the chart runs TensorFlow: it learns real digits, and it ends."""

import pytest

from tests.live.conftest import CHART
from tests.live.releases import (
    accuracy,
    goes_on,
    kill,
    lead_logs,
    log,
    must_complete,
    train_to,
    uids,
)
from trainyard.training import Progress
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

RING = {"strategy": "multiWorkerMirrored"}
WITHIN_S = 240


def test_synchronous_parameter_servers(install):
    release = install({"sample": {"updates": "sync"}})
    must_complete(release)
    assert accuracy(release) >= 0.93


def test_an_all_reduce_gang_with_an_evaluator(install, helm):
    release = install({**RING, "evaluator": {"replicas": 1}}, lead="worker")
    must_complete(release)
    assert accuracy(release) >= 0.93
    (evaluator,) = release.pods("evaluator")
    evaluated = release.kubectl.logs(evaluator["metadata"]["name"], "--container=tensorflow")
    last = [line for line in evaluated.splitlines() if line.startswith("evaluated ")][-1]
    trained = [Progress.read(line) for line in lead_logs(release)[-1].splitlines()]
    final = [seen.of for seen in trained if seen][-1]
    assert last.startswith(f"evaluated step={final} accuracy=0.9")
    helm.run("test", release.name, "--logs")


def test_a_gang_goes_on_from_its_checkpoint_when_a_member_is_lost(install, record_property):
    release = install({**RING, "runPolicy": {"backoffLimit": 1}}, lead="worker")
    train_to(release, 300)
    before = uids(release, "worker")
    kill(release, "worker", 1)
    record_property("goes_on_s", goes_on(release, before))
    must_complete(release)
    assert "lost" in lead_logs(release)[0]


def test_a_gang_goes_at_once_when_it_is_told_to(install, helm):
    release = install({**RING, "sample": {"epochs": 200}}, lead="worker")
    train_to(release, 100)
    helm.uninstall(release.name)
    # TensorFlow takes SIGTERM for itself; without the program's own handler this takes the whole
    # grace period of every worker, 30 s.
    wait_for(lambda: not release.pods(), "all pods to go", timeout=15, every=0.1)


def test_one_pod_with_all_devices(install):
    release = install({"strategy": "mirrored"})
    must_complete(release)
    assert accuracy(release) >= 0.93
    assert len(release.pods()) == 1


def test_an_old_program_between_graphs(install):
    values = {"success": {"role": "allWorkers"}, "sample": {"program": "train_v1"}}
    release = install(values, lead="worker")
    must_complete(release)
    assert accuracy(release) >= 0.9


def test_an_old_program_whose_first_worker_decides(install):
    values = {
        "success": {"role": "worker0"},
        "sample": {"program": "train_v1", "epochs": 3},
    }
    release = install(values, lead="worker")
    must_complete(release)


def test_an_old_program_in_one_graph(install):
    release = install({"sample": {"program": "train_v1", "epochs": 3}})
    must_complete(release)
    assert accuracy(release) >= 0.9


def test_a_session_serves_a_client_and_is_scaled_under_it(install, helm, namespace, image_values):
    release = install({"mode": "session"})
    client(namespace, image_values, epochs=400)
    wait_for(lambda: progress(namespace), "the client to train", timeout=WITHIN_S, every=1)
    helm.run("test", release.name)
    first = uids(release, "worker", "ps")
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 4}})

    def restarts() -> int:
        return restart_count(namespace.get("pod", "my-client"))

    wait_for(restarts, "the client to see the new list", timeout=WITHIN_S, every=1)
    assert "cluster changed: worker 2 -> 4" in namespace.logs("my-client", "--previous")
    assert first < uids(release, "worker", "ps")
    wait_for(lambda: progress(namespace), "the client to train on", timeout=WITHIN_S, every=1)
    assert "resumed step=" in namespace.logs("my-client")

    helm.upgrade(release.name, CHART, {"worker": {"replicas": 1}})
    wait_for(lambda: len(release.pods("worker")) == 1, "three workers to go", timeout=60)
    assert uids(release, "worker", "ps") < first
    helm.run("rollback", release.name, "1")
    wait_for(lambda: len(release.pods("worker")) == 2, "one worker to come", timeout=60)
    assert {restart_count(pod) for pod in release.pods()} == {0}
    helm.uninstall(release.name)
    wait_for(lambda: not release.pods(), "all servers to go", timeout=30)


def client(namespace, image_values, epochs):
    """Start the client of the chart's own example."""
    text = (CHART / "examples" / "session-client.yaml").read_text()
    flag = "- --follow-cluster\n"
    assert flag in text
    text = text.replace(flag, f"{flag}        - --epochs={epochs}\n")
    if image_values:
        image = image_values["image"]
        ours = f"{image['registry']}/{image['repository']}:{image['tag']}"
        text = text.replace("docker.io/tensorflow/tensorflow:2.21.0", ours)
    namespace.apply(text)


def progress(namespace) -> bool:
    return any(Progress.read(line) for line in namespace.logs("my-client").splitlines())


def restart_count(pod) -> int:
    """Give how often the pod's containers started again; one that is just made has none yet."""
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", []))


def test_the_logs_of_failed_tasks_stay(install):
    failing = ["python3", "-c", "print('no GPU here'); raise SystemExit(1)"]
    values = {**RING, "runPolicy": {"backoffLimit": 0}, "worker": {"command": failing}}
    release = install(values, lead="worker")
    assert release.wait_for_end(timeout=120) == "Failed"
    # Kubernetes removes a member that still runs when the first one fails, whichever that is.
    failed = [pod for pod in release.pods("worker") if pod["status"]["phase"] == "Failed"]
    assert failed
    assert all("no GPU here" in log(release, pod) for pod in failed)
