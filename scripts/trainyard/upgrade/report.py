"""Compare two renders as an upgrade from one to the other."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered
from trainyard.render.renderer import Renderer
from trainyard.upgrade import effects
from trainyard.upgrade.differ import Change, ObjectChange, object_changes
from trainyard.upgrade.effects import PodChange
from trainyard.upgrade.immutable import refused

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
DATA = frozenset(
    {"PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"}
)
"""Kinds whose deletion takes more with it than can be rendered again."""

SCALERS = {
    "HorizontalPodAutoscaler": ("kind", "name"),
    "ScaledObject": ("kind", "name"),
}
"""Kinds that set another object's replicas, which ``spec.scaleTargetRef`` names."""


@dataclass(frozen=True)
class Report:
    """What an upgrade changes, and what is wrong with that."""

    case: Case
    """The new case."""
    changes: tuple[ObjectChange, ...]
    pods: tuple[PodChange, ...]
    deleted: tuple[str, ...]
    """``Kind/name`` of what Helm deletes."""
    kept: tuple[str, ...]
    """``Kind/name`` of what leaves the release and stays in the cluster."""
    findings: tuple[Finding, ...]

    def lines(self) -> list[str]:
        """Give it for people. The first character tells the kind of a line: ``+``, ``-``, ``~``
        for objects, ``!`` for findings, a space for what belongs to the line above.
        """
        if not self.changes:
            return [f"{_name(self.case)}: nothing changes."]
        lines = [self.summary, ""]
        for each in self.changes:
            lines += object_lines(each)
        for title, entries in (
            ("Pods", [str(pod) for pod in self.pods]),
            ("Helm deletes", list(self.deleted)),
            ("Leaves the release, and stays in the cluster", list(self.kept)),
        ):
            if entries:
                lines += ["", f"{title}:", *(f"  {entry}" for entry in entries)]
        for finding in self.findings:
            lines += ["", *finding_lines(finding)]
        return lines

    @property
    def summary(self) -> str:
        """The numbers, on one line."""
        kinds = [each.kind for each in self.changes]
        counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in SIGNS if kind in kinds)
        faults = f"; {len(self.findings)} to mend" if self.findings else ""
        return f"{_name(self.case)}: {counted}{faults}"

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON."""
        return {
            "changes": [
                {
                    "object": each.object.title,
                    "kind": each.kind,
                    "template": each.object.template,
                    "fields": [hide(each.object, change).as_dict() for change in each.changes],
                }
                for each in self.changes
            ],
            "pods": [{"object": pod.object, "what": pod.what, "why": pod.why} for pod in self.pods],
            "deleted": list(self.deleted),
            "kept": list(self.kept),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def compare(old: Case, new: Case, renderer: Renderer) -> Report:
    """Render both cases and compare them as an upgrade of one release.

    The new one is rendered as an upgrade, both with their CRDs. RenderError where a case does
    not render, TrainyardError where the two are no upgrade of each other.
    """
    for what in ("release", "namespace"):
        if getattr(old, what) != getattr(new, what):
            raise TrainyardError(
                f"The {what} is {getattr(old, what)} before and {getattr(new, what)} after.",
                "An upgrade keeps its release and its namespace: compare with the same ones.",
            )
    new = replace(new, is_upgrade=True, include_crds=True)
    before = renderer.render(replace(old, include_crds=True))
    return between(new, before, renderer.render(new))


def between(case: Case, old: Rendered, new: Rendered) -> Report:
    """Compare two renders; ``case`` is the new one's."""
    changes = object_changes(old, new, case.namespace)
    deleted, kept = effects.leaves(changes)
    found = [
        *_refusals(case, changes),
        *_losses(case, deleted),
        *_frozen(case, changes),
        *_conflicts(case, new),
    ]
    return Report(
        case,
        tuple(changes),
        tuple(effects.pod_changes(changes, new)),
        tuple(each.title for each in deleted),
        tuple(each.title for each in kept),
        tuple(found),
    )


def object_lines(each: ObjectChange) -> list[str]:
    """Give one object's change for people; what a Secret holds is not shown."""
    found = each.object
    lines = [f"{SIGNS[each.kind]} {found.title}  ({found.template})"]
    for change in each.changes:
        lines += [f"    {line}" for line in hide(found, change).lines()]
    return lines


def finding_lines(finding: Finding) -> list[str]:
    """Give a finding for people."""
    return [
        f"! {finding.rule}: {finding.place}",
        f"    {finding.message}",
        f"    {finding.remedy}",
    ]


def hide(found: Object, change: Change) -> Change:
    """Give a change without the content of a Secret."""
    if found.kind != "Secret" or change.steps[0] not in {"data", "stringData"}:
        return change
    old, new = (_hidden(value) for value in (change.old, change.new))
    return Change(change.steps, old, new)


def _hidden(value: object) -> object:
    return f"<secret, {len(value)} characters>" if isinstance(value, str) else value


def _name(case: Case) -> str:
    return case.chart.resolve().name


def _finding(
    case: Case, found: Object, rule: str, path: str, *, message: str, remedy: str
) -> Finding:
    chart = _name(case)
    return Finding(chart, rule, found.title, path, message, remedy, case.title, found.template)


def _refusals(case: Case, changes: list[ObjectChange]) -> Iterator[Finding]:
    """What the API server refuses: once for each object and entry of the table."""
    for each in changes:
        old, new = each.old, each.new
        if old is None or new is None or effects.is_hook(old) or effects.is_hook(new):
            continue
        seen = set()
        for change in each.changes:
            entry = refused(old, new, change)
            if entry is None or entry.path in seen:
                continue
            seen.add(entry.path)
            line = hide(new, change).lines()[0].rstrip(":")
            yield _finding(
                case,
                new,
                "upgrade-immutable",
                change.path,
                message=f"{line}. Kubernetes refuses this change, and the upgrade fails "
                f"({entry.source}).",
                remedy=_sentence(entry.remedy.format(object=new.title.lower())),
            )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _losses(case: Case, deleted: list[Object]) -> Iterator[Finding]:
    for found in deleted:
        if found.kind in DATA:
            yield _finding(
                case,
                found,
                "upgrade-data-deleted",
                "metadata.annotations",
                message=f"The new release has no {found.title}, so Helm deletes it with all "
                "that it holds.",
                remedy=f"Keep rendering it, or give it the annotation {effects.POLICY}: keep one "
                "release before it goes.",
            )


def _frozen(case: Case, changes: list[ObjectChange]) -> Iterator[Finding]:
    for each in changes:
        if effects.is_crd(each.object) and each.new is not None:
            done = "is added" if each.old is None else "changes"
            yield _finding(
                case,
                each.object,
                "upgrade-crd-frozen",
                each.changes[0].path if each.changes else "",
                message=f"{each.object.title} {done} in crds/, and Helm installs that folder "
                "only with the first release: the cluster stays with the old definitions.",
                remedy="Tell users to apply it by hand (kubectl apply --server-side -f crds/), or "
                "ship the definitions in a chart of their own.",
            )


def _conflicts(case: Case, new: Rendered) -> Iterator[Finding]:
    """Replicas that an autoscaler owns: server-side apply refuses a second owner's value."""
    targets = {(found.kind, found.name): found for found in new.objects}
    for scaler in new.objects:
        if scaler.kind not in SCALERS:
            continue
        spec = scaler.get("spec")
        reference = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
        if not isinstance(reference, dict):
            continue
        name = (str(reference.get("kind", "Deployment")), str(reference.get("name", "")))
        target = targets.get(name)
        if target is not None and (target.get("spec") or {}).get("replicas") is not None:
            yield _finding(
                case,
                target,
                "upgrade-replicas-owned",
                "spec.replicas",
                message=f"replicas is {target['spec']['replicas']} here, and {scaler.title} sets "
                "it too. Once it has, helm upgrade ends with a conflict with "
                "kube-controller-manager on .spec.replicas, or sets the pods back.",
                remedy=f"Leave replicas out while {scaler.title} is there.",
            )
