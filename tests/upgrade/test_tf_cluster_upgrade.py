"""Upgrades of the TensorFlow cluster: what may change while it runs, and what stays the same."""

import shutil

import pytest
import yaml

from trainyard import paths
from trainyard.render.case import Case
from trainyard.upgrade.bump import version_bump
from trainyard.upgrade.report import compare
from trainyard.upgrade.reuse import reuse

CHART = paths.CHARTS / "tf-cluster"
FILES = sorted(CHART.glob("ci/*-values.yaml"))


def with_workers(number: int) -> Case:
    return Case(CHART, set_values=(f"worker.replicas={number}",))


@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 1)])
def test_scaling_changes_the_workers_job_and_the_list_of_tasks_and_nothing_else(process, old, new):
    report = compare(with_workers(old), with_workers(new), process)
    changed = {(each.object.title, c.path) for each in report.changes for c in each.changes}
    assert changed == {
        ("ConfigMap/my-tf-cluster-cluster", "data.cluster"),
        ("Job/my-tf-cluster-worker", "spec.completions"),
        ("Job/my-tf-cluster-worker", "spec.parallelism"),
    }
    assert report.findings == ()
    assert {(pod.object, pod.what) for pod in report.pods} == {
        ("Job/my-tf-cluster-worker", "scale"),
        ("Job/my-tf-cluster-chief", "stay"),
        ("Job/my-tf-cluster-ps", "stay"),
    }
    assert report.deleted == ()


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_new_version_alone_changes_labels_alone(process, file):
    assert version_bump(Case(CHART, value_files=(file,)), process) == []


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_an_upgrade_to_the_same_changes_nothing(process, file):
    case = Case(CHART, value_files=(file,))
    report = compare(case, case, process)
    assert report.changes == ()
    assert report.findings == ()


def test_changing_what_runs_is_refused_for_every_role_and_said_so(process):
    report = compare(Case(CHART), Case(CHART, set_string=("image.tag=2.22.0",)), process)
    assert {(f.rule, f.object) for f in report.findings} == {
        ("upgrade-immutable", f"Job/my-tf-cluster-{role}") for role in ("chief", "worker", "ps")
    }


def test_turning_a_volume_off_deletes_its_claim_unless_it_is_kept(process):
    off = Case(CHART, set_values=("volumes.logs.enabled=false", "volumes.models.enabled=false"))
    report = compare(Case(CHART), off, process)
    assert report.deleted == ("PersistentVolumeClaim/my-tf-cluster-logs",)
    assert report.kept == ("PersistentVolumeClaim/my-tf-cluster-models",)


def without(tree, path):
    *parents, last = path
    for key in parents:
        tree = tree[key]
    del tree[last]


@pytest.mark.parametrize(
    "path",
    [("waiter",), ("test",), ("volumes", "data"), ("rbac",), ("global",), ("ps", "replicas")],
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
