"""Upgrades of the TensorFlow cluster: what may change while it runs, and what stays the same."""

import json
import shutil
from typing import Any

import pytest
import yaml

from trainyard import paths
from trainyard.render.case import Case
from trainyard.upgrade.bump import version_bump
from trainyard.upgrade.report import Report, compare
from trainyard.upgrade.reuse import reuse

CHART = paths.CHARTS / "tf-cluster"
FILES = sorted(CHART.glob("ci/*-values.yaml"))


def over(values: dict[str, Any]) -> Case:
    return Case(CHART, values_text=(json.dumps(values),))


def with_workers(number: int) -> Case:
    return Case(CHART, set_values=(f"worker.replicas={number}",))


def names(report: Report, kind: str = "Job") -> dict[str, str]:
    """What comes and what goes, by its role and how: such as {"chief added": "my-…"}."""
    return {
        f"{each.object.metadata['labels']['app.kubernetes.io/component']} {each.kind}": (
            each.object.name
        )
        for each in report.changes
        if each.object.kind == kind and each.kind != "changed"
    }


def fields(report: Report) -> set[tuple[str, str]]:
    """What changes of objects that stay: their kinds and the places."""
    return {
        (each.object.kind, change.path)
        for each in report.changes
        if each.kind == "changed"
        for change in each.changes
    }


SCALED = {
    ("ConfigMap", "data.cluster"),
    ("Job", "spec.completions"),
    ("Job", "spec.parallelism"),
}


@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 1)])
def test_scaling_starts_a_new_chief_and_lets_the_servers_run(process, old, new):
    report = compare(with_workers(old), with_workers(new), process)
    assert fields(report) == SCALED | {
        ("ConfigMap", "data.job"),
        ("Role", "rules[0].resourceNames[0]"),
    }
    assert set(names(report)) == {"chief added", "chief removed"}
    assert report.findings == ()
    chief = names(report)
    assert report.deleted == (f"Job/{chief['chief removed']}",)
    told = {(pod.object.rpartition("-")[0], pod.what) for pod in report.pods}
    assert told == {
        ("Job/my-tf-cluster-chief", "start"),
        ("Job/my-tf-cluster-chief", "end"),
        ("Job/my-tf-cluster-worker", "scale"),
        ("Job/my-tf-cluster-ps", "stay"),
    }


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        ({"run": {"onScale": "keep"}}, SCALED),
        ({"mode": "session"}, {("ConfigMap", "data.cluster"), ("StatefulSet", "spec.replicas")}),
    ],
    ids=["a chief that keeps its list", "a session"],
)
def test_scaling_starts_nobody_anew(process, values, changed):
    report = compare(over(values), over(values | {"worker": {"replicas": 4}}), process)
    assert fields(report) == changed
    assert names(report) == names(report, "StatefulSet") == {}
    assert report.findings == ()
    assert report.deleted == ()
    assert {pod.what for pod in report.pods} == {"scale", "stay"}


@pytest.mark.parametrize(
    "values",
    [
        {"strategy": "multiWorkerMirrored"},
        {"success": {"role": "allWorkers"}, "sample": {"program": "train_v1"}},
    ],
    ids=["a ring", "workers of TensorFlow 1"],
)
def test_programs_that_know_each_other_all_start_anew(process, values):
    report = compare(over(values), over(values | {"worker": {"replicas": 4}}), process)
    jobs = [each for each in process.render(over(values)).objects if each.kind == "Job"]
    assert len(names(report)) == 2 * len(jobs)
    assert {kind for kind, _ in fields(report)} == {"ConfigMap", "Role"}
    assert report.findings == ()


# One case of each kind; the grid in tests/render asks all of them, by a faster way.
SOME = ("default", "session", "mirrored", "marker", "git-code")


@pytest.mark.parametrize("name", SOME)
def test_a_new_version_alone_changes_labels_alone(process, name):
    file = CHART / "ci" / f"{name}-values.yaml"
    assert version_bump(Case(CHART, value_files=(file,)), process) == []


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_an_upgrade_to_the_same_changes_nothing(process, file):
    case = Case(CHART, value_files=(file,), skip_schema=True)
    report = compare(case, case, process)
    assert report.changes == ()
    assert report.findings == ()


def test_another_image_is_another_run_and_no_job_is_changed(process):
    report = compare(Case(CHART), Case(CHART, set_string=("image.tag=2.22.0",)), process)
    assert report.findings == ()
    assert set(names(report)) == {
        f"{role} {how}" for role in ("chief", "worker", "ps") for how in ("added", "removed")
    }
    assert len(report.deleted) == 3
    assert not {kind for kind, _ in fields(report)} & {"Job", "PersistentVolumeClaim", "Service"}


def test_another_image_of_a_session_is_rolled_out(process):
    session = {"mode": "session"}
    report = compare(over(session), over(session | {"image": {"tag": "2.22.0"}}), process)
    assert report.findings == ()
    assert {(pod.object, pod.what) for pod in report.pods} == {
        (f"StatefulSet/my-tf-cluster-{role}", "restart") for role in ("worker", "ps")
    }


def test_turning_a_volume_off_deletes_its_claim_unless_it_is_kept(process):
    off = over({"volumes": {"logs": {"enabled": False}, "models": {"enabled": False}}})
    report = compare(Case(CHART), off, process)
    claims = [title for title in report.deleted if title.startswith("PersistentVolumeClaim/")]
    assert claims == ["PersistentVolumeClaim/my-tf-cluster-logs"]
    assert report.kept == ("PersistentVolumeClaim/my-tf-cluster-models",)
    assert {(f.rule, f.object) for f in report.findings} == {
        ("upgrade-data-deleted", "PersistentVolumeClaim/my-tf-cluster-logs")
    }


def without(tree, path):
    *parents, last = path
    for key in parents:
        tree = tree[key]
    del tree[last]


@pytest.mark.parametrize(
    "path",
    [
        ("evaluator",),
        ("gpu",),
        ("mode",),
        ("networkPolicy",),
        ("run",),
        ("success",),
        ("strategy",),
        ("test",),
        ("topology",),
        ("tpu",),
        ("volumes", "data"),
        ("rbac",),
        ("global",),
        ("ps", "replicas"),
        ("ps", "gpu"),
        ("runPolicy", "exitCodes"),
        ("waiter", "method"),
    ],
    ids=".".join,
)
def test_a_release_from_before_a_key_was_there_upgrades_with_reuse_values(process, tmp_path, path):
    old = tmp_path / "tf-cluster"
    shutil.copytree(CHART, old)
    values = yaml.safe_load((old / "values.yaml").read_text())
    without(values, path)
    (old / "values.yaml").write_text(yaml.safe_dump(values))
    found = reuse(with_workers_of(old, 3), Case(CHART), process)
    assert ".".join(path) in found.added
    assert found.findings == ()
    assert found.upgrade is not None
    assert found.upgrade.changes == ()


def with_workers_of(chart, number: int) -> Case:
    return Case(chart, set_values=(f"worker.replicas={number}",))


def test_what_the_upgrade_sets_is_laid_over_what_the_release_had(process):
    found = reuse(with_workers(3), with_workers(5), process)
    assert found.upgrade is not None
    (scaled,) = [pod for pod in found.upgrade.pods if pod.what == "scale"]
    assert scaled.why == "parallelism 3 → 5"
