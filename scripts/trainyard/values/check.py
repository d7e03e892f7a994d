"""All that can be said of a chart's values without rendering it."""

from dataclasses import dataclass, replace
from pathlib import Path

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.renderer import RendererProcess
from trainyard.values.cross import cross_check
from trainyard.values.loading import load_values
from trainyard.values.merging import ChartFiles, read_chart
from trainyard.values.meta import check_schema
from trainyard.values.schema import Schema, validate


@dataclass(frozen=True)
class Checked:
    """The findings, and what stands behind them."""

    findings: tuple[Finding, ...]
    reads: int
    """Places where templates read a value."""
    dynamic: tuple[str, ...]
    """Reads by a key that only a render knows, as ``file:line path``: they prove nothing."""


def check_values(chart: Path, process: RendererProcess) -> Checked:
    """Check values.yaml, the schema, the case files and the templates' reads of one chart.

    TrainyardError where the folder is no chart, RenderError where a template cannot be parsed.
    """
    files = read_chart(chart)
    findings = [*files.findings, *check_schema(files), *check_cases(files)]
    if files.library:
        return Checked(tuple(findings), 0, ())
    crossed = cross_check(files, process.reads(chart))
    return Checked((*findings, *crossed.findings), crossed.reads, tuple(crossed.dynamic))


def check_cases(chart: ChartFiles) -> list[Finding]:
    """Read every ``ci/*-values.yaml`` strictly and judge it by the schema."""
    schema = _usable(chart)
    findings: list[Finding] = []
    for case in sorted(chart.folder.glob("ci/*-values.yaml")):
        values, odd = load_values(case, chart.name)
        wrong = validate(chart, values, schema) if schema else []
        findings += [*odd, *(replace(found, template=case.name) for found in wrong)]
    return findings


def _usable(chart: ChartFiles) -> Schema | None:
    """Give the chart's schema; None where there is none that values can be judged by."""
    if chart.schema is None:
        return None
    schema = Schema(chart.schema)
    try:
        _ = schema.validator
    except TrainyardError:
        return None
    return schema
