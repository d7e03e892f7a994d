"""What a rule is, what it sees of a render, and the register of all rules."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered
from trainyard.schemas.bundle import versions
from trainyard.schemas.fields import Node, newest
from trainyard.schemas.paths import step

Map = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """What a rule has to say about one place."""

    object: Object | None
    path: str
    message: str
    remedy: str


def mapping(value: object) -> Map:
    """Give a map as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def at(value: object, path: str) -> Any:  # noqa: ANN401  # whatever stands there
    """Give what stands at a path such as ``spec.template``; None where nothing does."""
    for key in path.split("."):
        value = mapping(value).get(key)
    return value


def entries(value: object) -> Iterator[tuple[int, Map]]:
    """Give the maps in a list, with their places."""
    if isinstance(value, list):
        yield from ((index, entry) for index, entry in enumerate(value) if isinstance(entry, dict))


def strings(value: object) -> list[str]:
    """Give the entries of a list as texts; none of anything else."""
    return [str(entry) for entry in value] if isinstance(value, list) else []


def whole(value: object, default: int) -> int:
    """Give a whole number as it is, and the default for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def hooks_of(found: Object) -> frozenset[str]:
    """Give the Helm hooks that an object is, such as ``post-install``; empty where it is none."""
    named = mapping(found.metadata.get("annotations")).get("helm.sh/hook")
    return frozenset(hook.strip() for hook in named.split(",")) if isinstance(named, str) else NONE


NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pod:
    """A pod that an object is or makes."""

    object: Object
    path: str
    """Where its spec stands in the object."""
    spec: Map
    metadata: Map

    @property
    def labels(self) -> Map:
        """The labels it is made with."""
        return mapping(self.metadata.get("labels"))

    def containers(self) -> Iterator[tuple[str, Map]]:
        """Give every container with its path: init, regular, ephemeral."""
        for key in CONTAINER_LISTS:
            for index, container in entries(self.spec.get(key)):
                yield f"{self.path}.{key}[{index}]", container

    def volumes(self) -> Iterator[tuple[str, Map]]:
        """Give every volume with its path."""
        for index, volume in entries(self.spec.get("volumes")):
            yield f"{self.path}.volumes[{index}]", volume


CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

TEMPLATES = {
    "Pod": "",
    "CronJob": "spec.jobTemplate.spec.template",
    "PodTemplate": "template",
    **dict.fromkeys(
        (
            "DaemonSet",
            "Deployment",
            "Job",
            "ReplicaSet",
            "ReplicationController",
            "StatefulSet",
        ),
        "spec.template",
    ),
}
"""Where Kubernetes' own kinds have their pod template."""

LONG_RUNNING = frozenset({"DaemonSet", "Deployment", "StatefulSet"})


def pods_of(found: Object) -> Iterator[Pod]:
    """Give the pods that an object is or makes; in custom resources wherever they stand."""
    if found.kind in TEMPLATES:
        path = TEMPLATES[found.kind]
        template = at(found, path) if path else found
        if isinstance(at(template, "spec"), dict):
            place = f"{path}.spec" if path else "spec"
            yield Pod(found, place, template["spec"], mapping(template.get("metadata")))
    elif "." in found.api_version.partition("/")[0] and found.kind != "CustomResourceDefinition":
        yield from _pods_within(found, "", found)


def _pods_within(found: Object, path: str, value: object) -> Iterator[Pod]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _pods_within(found, f"{path}[{index}]", entry)
    if not isinstance(value, dict):
        return
    spec = mapping(value.get("spec"))
    if any("image" in container for _, container in entries(spec.get("containers"))):
        yield Pod(found, f"{path}.spec".removeprefix("."), spec, mapping(value.get("metadata")))
        return
    for key, entry in value.items():
        yield from _pods_within(found, f"{path}{step(key)}", entry)


@dataclass(frozen=True)
class _ByText:
    """An object that equals another of the same text, so that its fields are walked once."""

    text: str
    object: Object = field(compare=False)


@lru_cache(maxsize=4096)
def _nodes(holder: _ByText) -> tuple[Node, ...]:
    return tuple(newest().walk(holder.object))


@dataclass(frozen=True)
class Render:
    """One render as rules see it: the case, what came out, and what lies outside the release."""

    case: Case
    rendered: Rendered
    external: frozenset[str] = field(default=NONE)
    """``Kind/name`` of objects that the release may refer to and does not make itself;
    ``*/name`` for a name of any kind."""
    again: Rendered | None = None
    """The same case rendered a second time, where that was done."""

    @cached_property
    def minor(self) -> int:
        """The minor version of Kubernetes that the case is for, such as 33."""
        found = re.match(r"v?1\.(\d+)", self.case.kube_version or versions()[-1])
        return int(found[1]) if found else 0

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """All rendered objects; those of a List one by one."""
        return tuple(one for found in self.rendered.objects for one in _unlisted(found))

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """All pods that the objects are or make."""
        return tuple(pod for found in self.objects for pod in pods_of(found))

    def nodes(self) -> Iterator[tuple[Object, Node]]:
        """Give every field of every object that the API definitions know."""
        for found in self.objects:
            nodes = _nodes(_ByText(found.text, found)) if found.text else newest().walk(found)
            for node in nodes:
                yield found, node

    def namespace(self, found: Object) -> str:
        """Give the namespace into which an object comes."""
        return found.namespace or self.case.namespace

    def all(self, kind: str) -> list[Object]:
        """Give the objects of a kind; there may be none."""
        return [found for found in self.objects if found.kind == kind]

    def find(self, kind: str, name: object, near: Object) -> Object | None:
        """Give the object of a kind and name in the namespace of ``near``."""
        for found in self._by_name.get((kind, str(name)), ()):
            if self.namespace(found) == self.namespace(near):
                return found
        return None

    def is_external(self, kind: str, name: object) -> bool:
        """Say whether an object is known to lie outside the release."""
        return f"{kind}/{name}" in self.external or f"*/{name}" in self.external

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Object]]:
        named: dict[tuple[str, str], list[Object]] = {}
        for found in self.objects:
            named.setdefault((found.kind, found.name), []).append(found)
        return named


def _unlisted(found: Object) -> Iterator[Object]:
    items = found.get("items")
    if not found.kind.endswith("List") or not isinstance(items, list):
        yield found
        return
    for index, item in entries(items):
        # No two items of a render may share a text, as fields are remembered by it.
        yield Object(item, found.template, f"{found.text}\n# {index}")


Check = Callable[[Render], Iterable[Problem]]


@dataclass(frozen=True)
class Rule:
    """A check with its id, the reason for it, and two renders that prove it.

    ``bad`` is a manifest in which the rule must find something, ``near_miss`` one that
    looks like it and in which it must find nothing. A self-test runs both.
    """

    id: str
    reason: str
    check: Check
    bad: str
    near_miss: str


RULES: dict[str, Rule] = {}


def rule(id_: str, reason: str, *, bad: str, near_miss: str) -> Callable[[Check], Check]:
    """Register the decorated function as the check of a rule."""

    def register(check: Check) -> Check:
        if id_ in RULES:
            raise ValueError(f"two rules are called {id_}")
        RULES[id_] = Rule(id_, reason, check, bad, near_miss)
        return check

    return register


RANDOM = "RANDOM"
"""In an example: what differs from one render to the next."""


def example(manifest: str) -> Render:
    """Give a manifest as a render of release ``my`` in ``default``, rendered twice."""
    first, second = (Rendered(manifest.replace(RANDOM, text)) for text in ("x4Ke9", "p0Qz7"))
    return Render(Case(Path("example")), first, again=second)


def pod_with(fields: str) -> str:
    """Give, for examples, a pod whose one container has these fields beside name and image."""
    container = f"{{name: a, image: a, {fields}}}"
    return (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [" + container + "]}}"
    )
