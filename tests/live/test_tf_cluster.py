"""tf-cluster on a real cluster: it trains, it ends, and it takes the loss of any pod."""

import json

import pytest

from tests.live.conftest import CHART
from tests.live.releases import (
    TRAINING_TIMEOUT_S,
    goes_on,
    kill,
    lead_logs,
    must_complete,
    train_to,
    uids,
)
from trainyard.training import ended_at
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

FREED_WITHIN_S = 10


def test_it_trains_ends_and_frees_everything(install, helm):
    release = install()
    must_complete(release)
    pods = release.pods()
    assert sorted(pod["status"]["phase"] for pod in pods) == ["Succeeded"] * 4
    chief_end = max(ended_at(pod) for pod in release.pods("chief"))
    assert (max(map(ended_at, pods)) - chief_end).total_seconds() <= FREED_WITHIN_S

    tested = helm.run("test", release.name, "--logs")
    proof = next(json.loads(line) for line in tested.stdout.splitlines() if line.startswith("{"))
    assert proof["accuracy"] >= 0.93
    assert proof["examples"] == 500


def test_helm_test_reaches_every_task_while_it_trains(install, helm):
    release = install({"sample": {"epochs": 200}})
    train_to(release, 1)
    tested = helm.run("test", release.name, "--logs", check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_killed_worker_does_not_stop_the_training(install):
    release = install()
    train_to(release, 200)
    chief = uids(release, "chief")
    kill(release, "worker")
    must_complete(release)
    assert uids(release, "chief") == chief
    assert "resumed" not in lead_logs(release)[-1]


def test_a_killed_parameter_server_is_made_anew_and_the_training_resumes(install, record_property):
    release = install({"runPolicy": {"backoffLimit": 0}})
    train_to(release, 300)
    workers, chief = uids(release, "worker"), uids(release, "chief")
    kill(release, "ps")
    record_property("goes_on_s", goes_on(release, chief))
    must_complete(release)
    assert "lost" in lead_logs(release)[0]
    assert uids(release, "worker") == workers


def test_a_killed_chief_resumes_from_its_checkpoint(install, record_property):
    release = install()
    train_to(release, 300)
    servers, chief = uids(release, "worker", "ps"), uids(release, "chief")
    kill(release, "chief")
    record_property("goes_on_s", goes_on(release, chief))
    must_complete(release)
    assert uids(release, "worker", "ps") == servers


def test_an_evicted_chief_is_no_failure_of_its_program(install, record_property):
    # Not a single failure is allowed, and the eviction is none.
    release = install({"runPolicy": {"backoffLimit": 0}})
    train_to(release, 300)
    chief = uids(release, "chief")
    evict(release, release.running_pod("chief"))
    record_property("goes_on_s", goes_on(release, chief))
    must_complete(release)


def evict(release, pod: str) -> None:
    """Ask for a pod's eviction, as `kubectl drain` does."""
    namespace = release.kubectl.namespace
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    release.kubectl.run("create", "--raw", path, "--filename", "-", stdin=json.dumps(eviction))


def test_a_program_that_fails_for_good_ends_the_release_failed(install):
    failing = "import sys; print('no data at /nowhere'); sys.exit(1)"
    chief = {"command": ["python3", "-c"], "args": [failing]}
    release = install({"runPolicy": {"backoffLimit": 1}, "chief": chief})
    assert release.wait_for_end(timeout=180) == "Failed"
    release.wait_until_freed(timeout=60)
    assert release.wait_for_end("worker", timeout=60) == "Failed"
    assert release.wait_for_end("ps", timeout=60) == "Failed"
    logs = lead_logs(release)
    assert len(logs) == 2
    assert "no data at /nowhere" in logs[-1]


def test_wrong_settings_are_not_tried_again(install):
    release = install({"sample": {"dataset": "idx", "dataDir": "/nowhere"}})
    assert release.wait_for_end(timeout=180) == "Failed"
    (log,) = lead_logs(release)
    assert "/nowhere" in log


def test_a_missing_peer_is_named_and_not_waited_for_for_ever(install):
    # No node has this label, so that the parameter server never starts.
    release = install(
        {
            "ps": {"nodeSelector": {"nowhere": "here"}},
            "runPolicy": {"backoffLimit": 0, "startDeadlineSeconds": 5},
        }
    )
    assert release.wait_for_end(timeout=180) == "Failed"
    (pod,) = release.pods("chief")
    log = release.kubectl.logs(pod["metadata"]["name"], "--container=await-peers")
    assert "gave up after 5 s" in log
    assert "-ps-" in log
    assert "kubectl describe pod" in log


def test_a_release_on_hold_holds_nothing_and_resumes(install, helm):
    release = install()
    train_to(release, 300)
    chief = uids(release, "chief")
    helm.upgrade(release.name, CHART, {"runPolicy": {"suspend": True}})
    wait_for(lambda: not release.pods(), "all pods to go", timeout=60)
    helm.upgrade(release.name, CHART, {"runPolicy": {"suspend": False}})
    goes_on(release, chief)
    must_complete(release)


def test_servers_stay_or_go_as_told(install):
    release = install({"runPolicy": {"cleanPodPolicy": "None"}, "sample": {"epochs": 1}})
    assert release.wait_for_end(timeout=TRAINING_TIMEOUT_S) == "Complete"
    waiting = release.running_pod("ps")

    def stays() -> bool:
        return "staying until" in release.kubectl.logs(waiting, "--container=await-end")

    wait_for(stays, "the parameter server to learn of the end", timeout=60)
    assert {pod["status"]["phase"] for pod in release.pods("worker")} == {"Running"}
