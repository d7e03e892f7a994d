"""`helm upgrade` and `helm rollback` of a cluster that trains: what goes on, what starts again."""

import pytest

from tests.live.conftest import CHART
from tests.live.releases import goes_on, train_to, uids
from trainyard.training import Release
from trainyard.waiting import wait_for

pytestmark = pytest.mark.cluster

LONG = {"sample": {"epochs": 400}}
RING = {"strategy": "multiWorkerMirrored"}


def scale(release: Release, helm, workers: int) -> float:
    """Change the number of workers and give the seconds until the training goes on."""
    before = uids(release, release.lead)
    helm.upgrade(release.name, CHART, {"worker": {"replicas": workers}})
    return goes_on(release, before)


def must_have_workers(release: Release, number: int) -> None:
    def there() -> bool:
        return len([pod for pod in release.pods("worker") if alive(pod)]) == number

    wait_for(there, f"{number} workers", timeout=60)


def alive(pod) -> bool:
    gone = "deletionTimestamp" in pod["metadata"]
    return not gone and pod["status"].get("phase") in ("Pending", "Running")


def test_a_chief_takes_more_and_fewer_workers_and_a_rollback(install, helm, record_property):
    release = install(LONG)
    train_to(release, 200)
    servers = uids(release, "worker", "ps")
    record_property("to_4_s", scale(release, helm, 4))
    assert servers < uids(release, "worker", "ps")
    must_have_workers(release, 4)
    record_property("to_1_s", scale(release, helm, 1))
    must_have_workers(release, 1)
    assert uids(release, "ps") < servers
    survivor = uids(release, "worker") & servers
    assert len(survivor) == 1
    chief = uids(release, "chief")
    helm.run("rollback", release.name, "1")
    record_property("rollback_s", goes_on(release, chief))
    must_have_workers(release, 2)
    assert survivor < uids(release, "worker")


def test_a_gang_forms_anew_with_more_and_fewer_workers_and_a_rollback(
    install, helm, record_property
):
    release = install({**RING, **LONG}, lead="worker")
    train_to(release, 200)
    record_property("to_4_s", scale(release, helm, 4))
    must_have_workers(release, 4)
    record_property("to_1_s", scale(release, helm, 1))
    must_have_workers(release, 1)
    before = uids(release, "worker")
    helm.run("rollback", release.name, "1")
    record_property("rollback_s", goes_on(release, before))
    must_have_workers(release, 2)


def test_who_keeps_the_list_is_not_restarted(install, helm):
    release = install({**LONG, "run": {"onScale": "keep"}})
    train_to(release, 100)
    before = uids(release, "chief", "worker", "ps")
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 3}})
    must_have_workers(release, 3)
    assert before < uids(release, "chief", "worker", "ps")


def test_a_change_of_the_program_starts_a_new_run_from_the_checkpoint(install, helm):
    release = install(LONG)
    train_to(release, 200)
    old = uids(release, "chief", "worker", "ps")
    jobs = {job["metadata"]["name"] for job in release.jobs().values()}
    helm.upgrade(release.name, CHART, {"sample": {"learningRate": 0.0005}})
    goes_on(release, old)
    wait_for(lambda: not old & uids(release, "chief", "worker", "ps"), "the old run", timeout=90)
    found = release.kubectl.list("jobs")
    assert len(found) == 3
    assert not jobs & {job["metadata"]["name"] for job in found}


def test_a_change_is_refused_where_the_run_must_end_first(install, helm):
    values = {"run": {"onChange": "refuse"}, "sample": {"epochs": 1}}
    release = install(values)
    change = {"env": [{"name": "A", "value": "1"}]}
    refused = helm.run("upgrade", release.name, CHART, "--reuse-values", values=change, check=False)
    assert refused.returncode != 0
    assert release.job("chief")["metadata"]["name"] in refused.stderr
    assert "--set run.onChange=restart" in refused.stderr
    helm.upgrade(release.name, CHART, {"runPolicy": {"backoffLimit": 5}})
    assert release.wait_for_end(timeout=180) == "Complete"
    helm.upgrade(release.name, CHART, change)


def test_a_number_that_somebody_else_has_set_is_not_fought_over(install, helm):
    release = install({"mode": "session"})
    name = "statefulset/my-tf-cluster-worker"
    release.kubectl.run("scale", name, "--replicas=3")
    more = {"worker": {"replicas": 4}}
    refused = helm.run("upgrade", release.name, CHART, "--reuse-values", values=more, check=False)
    assert refused.returncode != 0
    assert "kubectl has set StatefulSet my-tf-cluster-worker to 3" in refused.stderr
    # Both ways out that it names: keep the number, or give Helm's first.
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 3}})
    release.kubectl.run("scale", name, "--replicas=4")
    helm.upgrade(release.name, CHART, more)
    assert release.kubectl.get("statefulset", "my-tf-cluster-worker")["spec"]["replicas"] == 4


def test_client_side_apply_has_no_such_quarrel(namespace, helm, image_values):
    flag = "--server-side=false"
    helm.run("install", "my", CHART, flag, values={**image_values, "mode": "session"})
    namespace.run("scale", "statefulset/my-tf-cluster-worker", "--replicas=3")
    helm.upgrade("my", CHART, {"worker": {"replicas": 4}})
    found = namespace.get("statefulset", "my-tf-cluster-worker")
    assert found["spec"]["replicas"] == 4
    helm.run("upgrade", "my", CHART, "--reuse-values", "--server-side=true", "--force-conflicts")


def test_a_claim_of_one_pod_is_not_given_to_many(install, helm):
    release = install({"sample": {"epochs": 1}})
    evaluator = {"evaluator": {"replicas": 1}}
    refused = helm.run(
        "upgrade", release.name, CHART, "--reuse-values", values=evaluator, check=False
    )
    assert refused.returncode != 0
    assert "my-tf-cluster-checkpoints, which exists with ReadWriteOnce" in refused.stderr
    # Anything else may change, and the claim stays as it was made.
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 1}})


def test_a_run_that_has_ended_is_not_woken_by_scaling(install, helm):
    release = install({"sample": {"epochs": 1}})
    assert release.wait_for_end(timeout=180) == "Complete"
    release.wait_until_freed(timeout=60)
    before = {job["metadata"]["uid"] for job in release.jobs().values()}
    helm.upgrade(release.name, CHART, {"worker": {"replicas": 3}})
    assert {job["metadata"]["uid"] for job in release.jobs().values()} == before
    assert release.outcome() == "Complete"
