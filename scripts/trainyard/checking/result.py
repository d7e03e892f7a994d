"""What checking a chart gave, in numbers and findings."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from trainyard.findings import Finding


@dataclass
class Counts:
    """How much was looked at, and what was not."""

    cases: int = 0
    """Values sets."""
    renders: int = 0
    """Renders: each case in each way and for each Kubernetes version."""
    objects: int = 0
    """Objects that came out, each counted once for each render."""
    validated: int = 0
    """Of these, those that an API schema was there for."""
    no_schema: int = 0
    """Of these, those that no API schema was known for: they were not validated."""
    random_rendered: int = 0
    """Random sets of values that were rendered."""
    random_refused: int = 0
    """Random sets that the chart refused in its own words, as not going together."""
    mutations: int = 0
    """Wrong values, one step from right ones, that the schema had to refuse."""
    excepted: int = 0
    """Findings that the chart's own list of exceptions explains."""


@dataclass
class Result:
    """The result for one chart."""

    chart: str
    versions: tuple[str, ...]
    counts: Counts = field(default_factory=Counts)
    findings: list[Finding] = field(default_factory=list)
    unknown_kinds: list[str] = field(default_factory=list)
    """The kinds of the objects that were not validated."""
    missing: list[str] = field(default_factory=list)
    """Dependencies that Chart.yaml names and charts/ lacks: they were left out."""
    not_upgraded: list[str] = field(default_factory=list)
    """Cases that could not be rendered as an upgrade, each with why: no upgrade was compared."""
    dynamic_reads: list[str] = field(default_factory=list)
    """Reads of values by a key that only a render knows, as ``file:line path``: no check of
    values against templates sees what they read."""
    seconds: float = 0.0
    cached: bool = False
    """Whether this is the result of an earlier run on the same files."""

    @property
    def clean(self) -> bool:
        """Say whether nothing was found."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Result":
        """Read what ``as_dict`` gave."""
        counts = Counts(**content.pop("counts"))
        findings = [Finding(**found) for found in content.pop("findings")]
        versions = tuple(content.pop("versions"))
        return Result(versions=versions, counts=counts, findings=findings, **content)


PARENT = "parent/charts/"
"""How the paths of a chart's templates begin in its generated parent."""


def gathered(findings: Iterable[Finding]) -> list[Finding]:
    """Give each finding once, with the first case that showed it and how many more did.

    The same fault shows in most cases and versions; a reader wants it once.
    """
    first: dict[tuple[str, ...], Finding] = {}
    more: dict[tuple[str, ...], int] = {}
    for found in findings:
        template = found.template.removeprefix(PARENT)
        key = (found.rule, template, _nameless(found), found.path)
        if key in first:
            more[key] += 1
        else:
            first[key], more[key] = found, 0
    return [_counted(found, more[key]) for key, found in sorted(first.items())]


def _nameless(found: Finding) -> str:
    """Give the object's kind: names differ with the release's, the fault does not."""
    return found.object.partition("/")[0]


def _counted(found: Finding, more: int) -> Finding:
    if not more:
        return found
    return Finding(**{**found.as_dict(), "case": f"{found.case} (and {more} more)"})
