"""What an upgrade does: pods, deletions, conflicts, and how it is told."""

import json
from pathlib import Path

import pytest

from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.upgrade.report import Report, between


def upgrade(old: str, new: str) -> Report:
    return between(Case(Path("charts/some")), Rendered(old), Rendered(new))


def workload(kind: str, name: str = "w", extra: str = "", template: str = "") -> str:
    api = "batch/v1" if kind == "Job" else "apps/v1"
    return (
        f"{{apiVersion: {api}, kind: {kind}, metadata: {{name: {name}}}, "
        f"spec: {{template: {{spec: {{{template}}}}}{extra}}}}}"
    )


def pods(report: Report) -> list[tuple[str, str]]:
    return [(pod.object, pod.what) for pod in report.pods]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_changed_template_restarts_pods_and_says_why(kind):
    report = upgrade(workload(kind, template="priority: 1"), workload(kind, template="priority: 2"))
    assert pods(report) == [(f"{kind}/w", "restart")]
    assert "spec.priority" in report.pods[0].why
    assert report.findings == ()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_default_written_out_restarts_nothing(kind):
    report = upgrade(workload(kind), workload(kind, template="dnsPolicy: ClusterFirst"))
    assert pods(report) == []
    assert len(report.changes) == 1


def test_the_strategy_is_told():
    old, new = (
        workload(
            "StatefulSet", extra=", updateStrategy: {type: OnDelete}", template=f"priority: {n}"
        )
        for n in (1, 2)
    )
    assert "OnDelete" in upgrade(old, new).pods[0].why


def test_replicas_come_and_go():
    old, new = (workload("Deployment", extra=f", replicas: {n}") for n in (1, 3))
    (pod,) = upgrade(old, new).pods
    assert (pod.what, pod.why) == ("scale", "replicas 1 → 3")


def test_a_job_of_a_new_name_is_a_new_run_and_the_old_one_ends():
    report = upgrade(workload("Job", "a"), workload("Job", "b"))
    assert pods(report) == [("Job/b", "start"), ("Job/a", "end")]
    assert report.deleted == ("Job/a",)


def test_a_job_whose_template_changes_is_refused_and_restarts_nothing():
    report = upgrade(
        workload("Job", template="priority: 1"), workload("Job", template="priority: 2")
    )
    assert pods(report) == []
    (finding,) = report.findings
    assert (finding.rule, finding.object) == ("upgrade-immutable", "Job/w")
    assert "validatePodTemplateUpdate" in finding.message
    assert finding.remedy.startswith("Give the Job another name")


def test_a_hook_may_change_and_come_and_go():
    def hook(priority: int) -> str:
        plain = workload("Job", "h", template=f"priority: {priority}")
        return plain.replace("name: h", "name: h, annotations: {helm.sh/hook: pre-upgrade}")

    report = upgrade(hook(1), hook(2))
    assert len(report.changes) == 1
    assert report.findings == ()
    gone = upgrade(hook(1), "")
    assert (gone.deleted, gone.pods, gone.findings) == ((), (), ())


def claim(keep: bool) -> str:
    annotations = "{helm.sh/resource-policy: keep}" if keep else "{}"
    return (
        "{apiVersion: v1, kind: PersistentVolumeClaim, "
        f"metadata: {{name: data, annotations: {annotations}}}}}"
    )


def test_a_claim_that_goes_takes_its_data_along():
    report = upgrade(claim(keep=False), "")
    assert report.deleted == ("PersistentVolumeClaim/data",)
    assert [finding.rule for finding in report.findings] == ["upgrade-data-deleted"]


def test_a_claim_that_is_kept_does_not():
    report = upgrade(claim(keep=True), "")
    assert (report.deleted, report.kept) == ((), ("PersistentVolumeClaim/data",))
    assert report.findings == ()


def crd(file: str, version: str) -> str:
    return (
        f"# Source: some/{file}\n"
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata: {{name: as.b.c}}\nspec: {{versions: [{{name: {version}}}]}}\n"
    )


def test_definitions_in_crds_stay_as_they_are():
    report = upgrade(crd("crds/a.yaml", "v1"), crd("crds/a.yaml", "v2"))
    assert [finding.rule for finding in report.findings] == ["upgrade-crd-frozen"]
    old, new = (crd("crds/a.yaml", v).replace("\n", "\n---\n", 1) for v in ("v1", "v2"))
    assert [finding.rule for finding in upgrade(old, new).findings] == ["upgrade-crd-frozen"]
    same = upgrade(crd("templates/a.yaml", "v1"), crd("templates/a.yaml", "v2"))
    assert same.findings == ()


def autoscaler(kind: str) -> str:
    return (
        f"{{apiVersion: autoscaling/v2, kind: {kind}, metadata: {{name: h}}, "
        "spec: {scaleTargetRef: {kind: Deployment, name: w}}}"
    )


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "ScaledObject"])
def test_replicas_beside_an_autoscaler_are_a_conflict(kind):
    new = f"{workload('Deployment', extra=', replicas: 2')}\n---\n{autoscaler(kind)}"
    (finding,) = upgrade(new, new).findings
    assert (finding.rule, finding.path) == ("upgrade-replicas-owned", "spec.replicas")


def test_without_replicas_there_is_none():
    new = f"{workload('Deployment')}\n---\n{autoscaler('HorizontalPodAutoscaler')}"
    assert upgrade(new, new).findings == ()


SETTINGS = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: s}}, data: {{a: '{}'}}}}"
READER = workload(
    "Deployment", template="containers: [{name: c, envFrom: [{configMapRef: {name: s}}]}]"
)


def test_pods_that_do_not_restart_with_their_config_map_are_named():
    old, new = (f"{SETTINGS.format(n)}\n---\n{READER}" for n in (1, 2))
    assert pods(upgrade(old, new)) == [("Deployment/w", "stay")]
    assert upgrade(old, old).pods == ()


def test_what_a_secret_holds_is_not_shown():
    text = (
        "{{apiVersion: v1, kind: Secret, metadata: {{name: s}}, immutable: true, "
        "stringData: {{a: {}}}}}"
    )
    report = upgrade(text.format("hunter2"), text.format("hunter3"))
    said = "\n".join(report.lines()) + json.dumps(report.as_dict())
    assert "hunter" not in said
    assert "7 characters" in said


def test_a_report_is_told_to_people_and_to_machines():
    report = upgrade(claim(keep=False), workload("Deployment"))
    lines = report.lines()
    assert lines[0] == "some: 1 added, 1 removed; 1 to mend"
    assert "+ Deployment/w  ()" in lines
    assert "- PersistentVolumeClaim/data  ()" in lines
    found = json.loads(json.dumps(report.as_dict()))
    assert [change["kind"] for change in found["changes"]] == ["added", "removed"]
    assert found["deleted"] == ["PersistentVolumeClaim/data"]
    assert upgrade("", "").lines() == ["some: nothing changes."]
