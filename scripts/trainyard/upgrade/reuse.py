"""``helm upgrade --reuse-values`` onto a new chart, without a cluster."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered
from trainyard.render.renderer import RendererProcess, RenderError
from trainyard.upgrade.differ import Steps, identity, joined, leaves, shown
from trainyard.upgrade.report import Report, between, finding_lines

RULE = "upgrade-reuse-values"
EMPTY = ("<nil>", "<no value>", "%!", "map[")
"""What templates print where they find nothing, or something of another kind."""


@dataclass(frozen=True)
class ReuseReport:
    """What becomes of a release that is upgraded with the old chart's values."""

    added: tuple[str, ...]
    """Paths of the new values.yaml that the old one has not got."""
    upgrade: Report | None
    """The upgrade itself; None where the new chart does not render."""
    findings: tuple[Finding, ...]
    """Those of the upgrade among them."""

    def lines(self) -> list[str]:
        """Give it for people."""
        if self.upgrade is not None and self.findings == self.upgrade.findings:
            return self.upgrade.lines()
        told = [line for finding in self.findings for line in finding_lines(finding)]
        return told if self.upgrade is None else [*self.upgrade.lines(), "", *told]

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON: that of the upgrade, with all findings and the keys added."""
        upgrade = self.upgrade.as_dict() if self.upgrade else {}
        findings = [finding.as_dict() for finding in self.findings]
        return {**upgrade, "findings": findings, "added": list(self.added)}


def reuse(old: Case, new: Case, process: RendererProcess) -> ReuseReport:
    """Upgrade ``old`` to the chart of ``new`` with ``--reuse-values``.

    ``new`` has only the values that this upgrade is given. The old chart's values.yaml then
    stands in for the new one's, so a key that is new there is nowhere: a template that relies
    on it fails, or prints nothing.
    """
    new = replace(new, is_upgrade=True)
    before = process.render(old)
    reused = process.reuse(old, new)
    case = replace(new, tags=(*new.tags, "--reuse-values"))
    if reused.rendered is None:
        return ReuseReport(reused.added, None, (_failure(case, reused.refused, reused.added),))
    upgrade = between(case, before, reused.rendered)
    holes = _holes(case, reused.rendered, _fresh(old, new, process), reused.added)
    return ReuseReport(reused.added, upgrade, (*upgrade.findings, *holes))


def _fresh(old: Case, new: Case, process: RendererProcess) -> Rendered | None:
    """Render the new chart with its own defaults and all that the user ever gave."""
    given: dict[str, Any] = {
        name: (*getattr(old, name), *getattr(new, name))
        for name in (
            "values_text",
            "value_files",
            "set_values",
            "set_string",
            "set_json",
            "set_file",
            "set_literal",
        )
    }
    with contextlib.suppress(RenderError):
        return process.render(replace(new, **given))
    return None


def _failure(case: Case, refused: str, added: tuple[str, ...]) -> Finding:
    named = [path for path in added if _names(refused, path)] or list(added)
    keys = ", ".join(named) or "none: the old values are no longer valid"
    text = " ".join(refused.split())
    return Finding(
        case.chart.resolve().name,
        RULE,
        "",
        named[0] if named else "",
        f"helm upgrade --reuse-values fails on a release of the old chart: {text}. "
        f"Keys that the old values have not got: {keys}.",
        "Let the templates do without the key: default it where it is read, or fill in absent keys "
        "before any other template reads them.",
        case.title,
    )


def _names(message: str, path: str) -> bool:
    """Say whether an error of a template names a value, its parent, or something below it."""
    return f".Values.{path}" in message or message.rstrip().endswith(f".{path.rpartition('.')[2]}")


def _holes(
    case: Case, reused: Rendered, fresh: Rendered | None, added: tuple[str, ...]
) -> Iterator[Finding]:
    """Give the places that are empty, and are not where the new defaults hold."""
    filled = set(_leaves(fresh, case)) if fresh else set()
    for place in _leaves(reused, case):
        found, steps, value = place.object, place.steps, place.value
        if place in filled or not (value == "null" or any(mark in value for mark in EMPTY)):
            continue
        yield Finding(
            case.chart.resolve().name,
            RULE,
            found.title,
            joined(steps),
            f"{joined(steps)} is {value[:80]} after helm upgrade --reuse-values: a template found "
            f"no value. Keys that the old values have not got: {', '.join(added) or 'none'}.",
            "Default the value where it is read.",
            case.title,
            found.template,
        )


@dataclass(frozen=True)
class _Leaf:
    key: tuple[str, ...]
    steps: Steps
    value: str
    object: Object = field(compare=False)


def _leaves(rendered: Rendered, case: Case) -> Iterator[_Leaf]:
    for found in rendered.objects:
        key = identity(found, case.namespace)
        for steps, value in leaves(found):
            yield _Leaf(key, steps, value if isinstance(value, str) else shown(value), found)
