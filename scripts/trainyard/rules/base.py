"""What a rule is, and the register of all of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered


@dataclass(frozen=True)
class Problem:
    """What a rule has to say about one place."""

    object: Object | None
    path: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Render:
    """One render as rules see it: the case, what came out, and what lies outside the release."""

    case: Case
    rendered: Rendered
    external: frozenset[str] = field(default=frozenset())
    """``Kind/name`` of objects that the release may refer to and does not make itself."""

    @property
    def objects(self) -> tuple[Object, ...]:
        """All rendered objects."""
        return self.rendered.objects


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


def pod_specs(found: Object) -> Iterator[tuple[str, dict[str, object]]]:
    """Give the pod spec of an object that makes pods, with its path."""
    paths = {
        "Pod": "spec",
        "CronJob": "spec.jobTemplate.spec.template.spec",
    }
    path = paths.get(found.kind, "spec.template.spec")
    if found.kind not in WORKLOADS:
        return
    spec: object = found
    for part in path.split("."):
        spec = spec.get(part) if isinstance(spec, dict) else None
    if isinstance(spec, dict):
        yield path, spec


WORKLOADS = frozenset(
    {"Pod", "Job", "CronJob", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}
)
"""Kinds with a pod template in the usual place."""
