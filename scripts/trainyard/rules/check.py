"""Runs the rules, and the schemas, over a render."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from trainyard.findings import Finding
from trainyard.render.objects import Object
from trainyard.rules import (  # noqa: F401  # each registers its rules
    jobs,
    labels,
    lists,
    names,
    pod_security,
    references,
    resources,
    services,
    sizes,
    texts,
    values,
    workloads,
)
from trainyard.rules.base import RULES, Problem, Render
from trainyard.rules.lines import line_of
from trainyard.schemas.validator import Schemas, Verdict


def check(render: Render, without: Collection[str] = ()) -> list[Finding]:
    """Run all rules but those whose ids are in ``without``; findings in order."""
    return sorted(
        {
            finding(render, rule.id, problem)
            for rule in RULES.values()
            if rule.id not in without
            for problem in rule.check(render)
        }
    )


@dataclass(frozen=True)
class Validated:
    """The result of the schemas for one render; every object is counted once."""

    findings: tuple[Finding, ...]
    valid: int
    invalid: int
    without_schema: tuple[str, ...]
    """``Kind/name`` of objects that could not be validated; each is a finding too."""


SCHEMA_RULES = {
    Verdict.INVALID: "api-schema",
    Verdict.NOT_SERVED: "api-not-served",
    Verdict.NO_SCHEMA: "api-without-schema",
}
"""The ids under which the schemas' findings are reported."""

REASONS = {
    **{rule.id: rule.reason for rule in RULES.values()},
    "api-schema": "The API server refuses unknown fields and values of another type, or drops "
    "them (OpenAPI schema of Kubernetes, or of the CustomResourceDefinition).",
    "api-not-served": "This Kubernetes version has no such kind: it is removed, not there yet, "
    "or misspelt (Kubernetes documentation, Deprecated API Migration Guide).",
    "api-without-schema": "Without its CustomResourceDefinition nothing of this object was "
    "validated.",
}
"""Why each rule is one, by its id: those of the register and those of the schemas."""


def validate(render: Render, schemas: Schemas) -> Validated:
    """Validate all objects of a render against the API of one Kubernetes version."""
    findings: list[Finding] = []
    unknown: list[str] = []
    valid = 0
    for found in render.objects:
        result = schemas.check(found)
        if result.verdict is Verdict.VALID:
            valid += 1
            continue
        if result.verdict is Verdict.NO_SCHEMA:
            unknown.append(found.title)
        findings += [
            finding(
                render, SCHEMA_RULES[result.verdict], Problem(found, p.path, p.message, p.remedy)
            )
            for p in result.problems
        ]
    invalid = len(render.objects) - valid - len(unknown)
    return Validated(tuple(findings), valid, invalid, tuple(unknown))


def finding(render: Render, rule: str, problem: Problem) -> Finding:
    """Tell a rule's problem with all that is known of its place."""
    found: Object | None = problem.object
    template = found.template if found is not None else ""
    return Finding(
        chart=_chart_name(render.case.chart),
        rule=rule,
        object=found.title if found is not None else "",
        path=problem.path,
        message=problem.message,
        remedy=problem.remedy,
        case=render.case.title,
        template=template,
        line=line_of(render.case.chart, template, problem.path) if template else 0,
    )


@lru_cache(maxsize=256)
def _chart_name(chart: Path) -> str:
    try:
        loaded = yaml.load((chart / "Chart.yaml").read_text(), yaml.CSafeLoader)
        return str(loaded["name"])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, LookupError, TypeError):
        return chart.name
