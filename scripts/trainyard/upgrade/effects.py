"""What an upgrade does to running pods and to what Helm keeps or deletes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainyard.render.objects import Object, Rendered
from trainyard.upgrade.differ import Change, ObjectChange, shown
from trainyard.upgrade.immutable import is_effective, refused

HOOK = "helm.sh/hook"
POLICY = "helm.sh/resource-policy"
LISTED = 3
"""How many changed paths a reason names."""


@dataclass(frozen=True)
class PodChange:
    """What happens to the pods of one object, and why."""

    object: str
    """``Kind/name``."""
    what: str
    """``start``, ``end``, ``restart``, ``scale`` or ``stay``."""
    why: str

    def __str__(self) -> str:
        """Give it as a line."""
        return f"{self.object}: {WORDS[self.what]}: {self.why}"


WORDS = {
    "start": "pods start",
    "end": "pods end",
    "restart": "pods restart",
    "scale": "pods come or go",
    "stay": "pods stay as they are",
}


def annotations(found: Object) -> Mapping[str, Any]:
    """Give an object's annotations; empty where there are none."""
    given = found.metadata.get("annotations")
    return given if isinstance(given, dict) else {}


def is_hook(found: Object) -> bool:
    """Say whether Helm runs an object at an event instead of keeping it in the release."""
    return HOOK in annotations(found)


def is_kept(found: Object) -> bool:
    """Say whether Helm leaves an object where it would delete it (``helm.sh/resource-policy``)."""
    return annotations(found).get(POLICY) == "keep"


def is_crd(found: Object) -> bool:
    """Say whether an object comes from a chart's ``crds/``, which Helm only ever installs.

    Helm names the template of every object that it renders; a file of ``crds/`` it prints as it
    is, and only the first document has the name before it.
    """
    from_folder = not found.template or "/crds/" in found.template
    return found.kind == "CustomResourceDefinition" and from_folder


def leaves(changes: list[ObjectChange]) -> tuple[list[Object], list[Object]]:
    """Give the objects that Helm deletes in this upgrade, and those that it leaves behind.

    An object leaves the release when it is no longer rendered, or has become a hook.
    """
    gone = [
        each.old
        for each in changes
        if each.old is not None
        and not is_hook(each.old)
        and not is_crd(each.old)
        and (each.new is None or is_hook(each.new))
    ]
    return [o for o in gone if not is_kept(o)], [o for o in gone if is_kept(o)]


def pod_changes(changes: list[ObjectChange], new: Rendered) -> list[PodChange]:
    """Give what happens to pods, object by object."""
    found = [effect for each in changes for effect in _effects(each)]
    restarted = {effect.object for effect in found}
    return [*found, *_stale(changes, new, restarted)]


def _effects(each: ObjectChange) -> Iterator[PodChange]:
    shown_object = each.object
    if is_hook(shown_object) or shown_object.kind not in REPLICAS:
        return
    if each.old is None:
        why = "a new name is a new run" if shown_object.kind == "Job" else "the object is new"
        yield PodChange(shown_object.title, "start", why)
    elif each.new is None:
        if not is_kept(each.old):
            yield PodChange(shown_object.title, "end", "the object is no longer in the chart")
    else:
        yield from _changed(each.old, each.new, each.changes)


def _changed(old: Object, new: Object, changes: tuple[Change, ...]) -> Iterator[PodChange]:
    template = [
        change
        for change in changes
        if change.steps[:2] == ("spec", "template")
        and is_effective(old.kind, change)
        and refused(old, new, change) is None
    ]
    if template and new.kind in UPDATE_STRATEGY:
        strategy = _at(new, *UPDATE_STRATEGY[new.kind])
        paths = [change.path.removeprefix("spec.template.") for change in template]
        more = f" and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
        why = f"{', '.join(paths[:LISTED])}{more} changed{STRATEGIES.get(str(strategy), '')}"
        yield PodChange(new.title, "restart", why)
    field = REPLICAS[new.kind]
    for change in changes:
        if change.steps == ("spec", field) and is_effective(old.kind, change):
            yield PodChange(
                new.title, "scale", f"{field} {shown(change.old)} → {shown(change.new)}"
            )


REPLICAS = {
    "DaemonSet": "",
    "Deployment": "replicas",
    "Job": "parallelism",
    "Pod": "",
    "StatefulSet": "replicas",
}
"""Kinds whose pods an upgrade can touch, with the field that says how many there are. A CronJob's
running Jobs are never touched."""

UPDATE_STRATEGY = {
    "DaemonSet": ("spec", "updateStrategy", "type"),
    "Deployment": ("spec", "strategy", "type"),
    "StatefulSet": ("spec", "updateStrategy", "type"),
}
"""Kinds that make their pods anew when the template changes, with the field that says how."""

STRATEGIES = {
    "OnDelete": "; each only when somebody deletes it (OnDelete)",
    "Recreate": "; all at once (Recreate)",
}


def _at(found: Any, *keys: str) -> Any:  # noqa: ANN401  # whatever stands there
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _stale(changes: list[ObjectChange], new: Rendered, restarted: set[str]) -> Iterator[PodChange]:
    """Give the workloads that go on with what they have read from a ConfigMap or Secret."""
    content = {"data", "binaryData", "stringData"}
    changed = {
        each.object.title
        for each in changes
        if each.kind == "changed"
        and each.object.kind in {"ConfigMap", "Secret"}
        and any(change.steps[0] in content for change in each.changes)
    }
    for found in new.objects:
        if found.kind not in REPLICAS or is_hook(found) or found.title in restarted:
            continue
        read = sorted(changed & set(_reads(found)))
        if read:
            why = f"they have read the old {', '.join(read)}"
            yield PodChange(found.title, "stay", why)


def _reads(value: object) -> Iterator[str]:
    """Give ``Kind/name`` of each ConfigMap and Secret that a pod template names."""
    if isinstance(value, list):
        for item in value:
            yield from _reads(item)
    elif isinstance(value, dict):
        for key, below in value.items():
            kind = REFERENCES.get(key)
            if kind and isinstance(below, dict):
                yield f"{kind}/{below.get('name') or below.get('secretName')}"
            yield from _reads(below)


REFERENCES = {
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "secret": "Secret",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}
