"""Structural differences of Kubernetes objects, with list items matched as the API matches them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import Any

from trainyard.render.objects import Object, Rendered

Steps = tuple[str, ...]
"""A path: names of fields, and ``[key=value]`` or ``[index]`` for items of a list."""


class Missing:
    """The place of a value that is not there."""

    def __repr__(self) -> str:
        """Say so in reports."""
        return "(not set)"


MISSING = Missing()

LIST_KEYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "conditions": (("type",),),
    "containers": (("name",),),
    "env": (("name",),),
    "ephemeralContainers": (("name",),),
    "hostAliases": (("ip",),),
    "imagePullSecrets": (("name",),),
    "initContainers": (("name",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "replicatedJobs": (("name",),),
    "resourceClaims": (("name",),),
    "schedulingGates": (("name",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "versions": (("name",),),
    "volumeDevices": (("devicePath",),),
    "volumeMounts": (("mountPath",),),
    "volumes": (("name",),),
    "webhooks": (("name",),),
}
"""Fields that are lists of maps, with the keys that tell their items apart: the
``x-kubernetes-list-map-keys`` of the Kubernetes 1.36 API definitions, and ``name`` where custom
resources use the same words. The first keys that all items have, and that differ, count."""

KEY_DEFAULTS = {"protocol": "TCP"}
"""What the API puts in for a key that is left out."""

ORDER = "(order)"
"""The last step of a change that only moves the items of a list."""


@dataclass(frozen=True)
class Change:
    """One place of an object where old and new differ; ``MISSING`` where one has nothing."""

    steps: Steps
    old: Any
    new: Any

    @property
    def path(self) -> str:
        """The place as a text, such as ``spec.template.spec.containers[name=main].image``."""
        return joined(self.steps)

    def lines(self) -> list[str]:
        """Give it for people: one line, or the changed lines of a long text."""
        if isinstance(self.old, str) and isinstance(self.new, str):
            if "\n" in self.old or "\n" in self.new:
                return [f"{self.path}:", *(f"    {line}" for line in _text(self.old, self.new))]
            old, new = _cut(self.old, self.new)
            return [f"{self.path}: {shown(old)} → {shown(new)}"]
        if self.old is MISSING:
            return [f"{self.path}: + {shown(self.new)}"]
        if self.new is MISSING:
            return [f"{self.path}: - {shown(self.old)}"]
        return [f"{self.path}: {shown(self.old)} → {shown(self.new)}"]

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON; a key that is left out says that nothing was there."""
        values = {"old": self.old, "new": self.new}
        return {"path": self.path, **{k: v for k, v in values.items() if v is not MISSING}}


@dataclass(frozen=True)
class ObjectChange:
    """An object that comes, goes or changes."""

    old: Object | None
    new: Object | None
    changes: tuple[Change, ...] = ()

    @property
    def kind(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "changed"

    @property
    def object(self) -> Object:
        """The new object, else the old one."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


def joined(steps: Steps) -> str:
    """Write a path as a text; names that hold dots or slashes stand in brackets and quotes."""
    text = ""
    for step in steps:
        if step == ORDER:
            text += f" {ORDER}"
        elif step.startswith("["):
            text += step
        elif "." in step or "/" in step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text


def shown(value: object, limit: int = 120) -> str:
    """Give a value on one line, cut where it is longer than ``limit`` characters."""
    if isinstance(value, Missing):
        return repr(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _cut(old: str, new: str, limit: int = 80, context: int = 20) -> tuple[str, str]:
    """Leave out what two long texts begin with, so that the difference is seen."""
    places = enumerate(zip(old, new, strict=False))
    same = next((i for i, (a, b) in places if a != b), min(len(old), len(new))) - context
    if len(old) <= limit >= len(new) or same <= 0:
        return old, new
    return f"…{old[same:]}", f"…{new[same:]}"


def _text(old: str, new: str, limit: int = 12) -> list[str]:
    lines = [
        line
        for line in unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ] or [f"the ends of lines: {shown(old, 40)} → {shown(new, 40)}"]
    more = len(lines) - limit
    return lines if more <= 0 else [*lines[:limit], f"… and {more} more lines"]


def identity(found: Object, namespace: str) -> tuple[str, str, str, str]:
    """Give what makes two objects the same one: group, kind, namespace and name.

    The version of the API is left out: ``v1beta1`` and ``v1`` name one stored object.
    """
    group, slash, _ = found.api_version.partition("/")
    return group if slash else "", found.kind, found.namespace or namespace, found.name


def object_changes(old: Rendered, new: Rendered, namespace: str) -> list[ObjectChange]:
    """Give the objects that differ: in the order of the new render, then what is gone.

    ``namespace`` is where objects lie that name none.
    """
    before = {identity(found, namespace): found for found in old.objects}
    after = {identity(found, namespace): found for found in new.objects}
    found = []
    for key, there in after.items():
        was = before.get(key)
        changes = () if was is None else tuple(differences(was, there))
        if was is None or changes:
            found.append(ObjectChange(was, there, changes))
    gone = [ObjectChange(was, None) for key, was in before.items() if key not in after]
    return [*found, *gone]


def differences(old: object, new: object, steps: Steps = ()) -> Iterator[Change]:
    """Give the places where two values differ, as deep down as they can be told apart."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = (*steps, str(key))
            yield from differences(old.get(key, MISSING), new.get(key, MISSING), below)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_differences(old, new, steps)
    elif old != new or type(old) is not type(new):
        yield Change(steps, old, new)


def leaves(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    """Give every place that holds no map and no list, with its value."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, (*steps, str(key)))
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from leaves(below, (*steps, f"[{place}]"))
    else:
        yield steps, value


def _list_differences(old: list[Any], new: list[Any], steps: Steps) -> Iterator[Change]:
    named = _keyed(old, new, steps)
    if named is None:
        yield from _places(old, new, steps)
        return
    before, after = named
    for name in [*before, *(name for name in after if name not in before)]:
        below = (*steps, name)
        yield from differences(before.get(name, MISSING), after.get(name, MISSING), below)
    kept_before = [name for name in before if name in after]
    kept_after = [name for name in after if name in before]
    if kept_before != kept_after:
        yield Change((*steps, ORDER), kept_before, kept_after)


Named = dict[str, dict[str, Any]]


def _keyed(old: Sequence[Any], new: Sequence[Any], steps: Steps) -> tuple[Named, Named] | None:
    """Give the items of both lists by their keys; None where they cannot be told apart by any."""
    field = next((step for step in reversed(steps) if not step.startswith("[")), "")
    for keys in LIST_KEYS.get(field, ()):
        before, after = _by_keys(old, keys), _by_keys(new, keys)
        if before is not None and after is not None:
            return before, after
    return None


def _by_keys(items: Sequence[Any], keys: tuple[str, ...]) -> Named | None:
    found: Named = {}
    for item in items:
        if not isinstance(item, dict):
            return None
        values = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in keys}
        if None in values.values():
            return None
        found["[" + ",".join(f"{key}={value}" for key, value in values.items()) + "]"] = item
    return found if len(found) == len(items) else None


def _places(old: list[Any], new: list[Any], steps: Steps) -> Iterator[Change]:
    """Give the differences of lists whose items have only their places."""
    before, after = ([json.dumps(i, sort_keys=True, default=str) for i in x] for x in (old, new))
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for offset in range(max(b - a, d - c)):
            was = old[a + offset] if a + offset < b else MISSING
            now = new[c + offset] if c + offset < d else MISSING
            place = c + offset if now is not MISSING else a + offset
            yield from differences(was, now, (*steps, f"[{place}]"))
