"""What a chart's folder says about values, and how Helm merges them before it judges them."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainyard.charts import Chart
from trainyard.findings import Finding
from trainyard.values.loading import Values, leaves, load_values, overlay


@dataclass(frozen=True)
class Dependency:
    """A chart that another one brings along."""

    key: str
    """The name under which its values stand: its alias, else its name."""
    conditions: tuple[str, ...]
    library: bool
    chart: "ChartFiles | None"
    """None where it lies in an archive or is not there."""


@dataclass(frozen=True)
class ChartFiles:
    """The values side of a chart's folder."""

    name: str
    folder: Path
    values: Values
    schema: dict[str, Any] | None
    dependencies: tuple[Dependency, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    """What is odd about values.yaml and the schema file as files."""
    library: bool = False
    """A chart that renders nothing by itself."""


def read_chart(folder: Path) -> ChartFiles:
    """Read a chart's values.yaml, schema and dependencies; TrainyardError where it is none."""
    chart = Chart.open(folder)
    name = chart.name
    values: Values = {}
    findings: list[Finding] = []
    if (folder / "values.yaml").is_file():
        values, findings = load_values(folder / "values.yaml", name)
    schema, broken = _schema(folder / "values.schema.json", name)
    dependencies = tuple(_dependency(folder, each) for each in chart.dependencies)
    library = chart.library
    return ChartFiles(name, folder, values, schema, dependencies, (*findings, *broken), library)


def _schema(path: Path, chart: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    if not path.is_file():
        return None, []
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(schema, dict):
            return schema, []
        line, message = 1, "the schema is no JSON object"
    except json.JSONDecodeError as error:
        line, message = error.lineno, f"the schema is no JSON: {error.msg}"
    remedy = "Write one JSON object; Helm refuses every values file as it stands."
    found = Finding(chart, "schema-invalid", "", "", message, remedy, template=path.name, line=line)
    return None, [found]


def _dependency(folder: Path, entry: dict[str, Any]) -> Dependency:
    name = str(entry.get("name", ""))
    conditions = tuple(
        part.strip() for part in str(entry.get("condition") or "").split(",") if part
    )
    place = folder / "charts" / name
    chart = read_chart(place) if (place / "Chart.yaml").is_file() else None
    library = chart is not None and chart.library
    return Dependency(str(entry.get("alias") or name), conditions, library, chart)


def merged(chart: ChartFiles, user: Values) -> Values:
    """Give the values that Helm hands to a chart's schema and templates.

    Follows ``ToRenderValues`` of helm.sh/helm/v4 (pkg/chart/common/util/coalesce.go): a user's
    null takes a default away, a default null is nothing, lists are replaced as a whole.
    """
    values = coalesced(chart.values, user)
    for dependency in chart.dependencies:
        if not _wanted(dependency, values):
            continue
        below = values.get(dependency.key, {})
        if isinstance(below, dict):
            below = _with_globals(below, values.get("global"))
            below = merged(dependency.chart, below) if dependency.chart else below
            values[dependency.key] = below
    return values


def _with_globals(below: Values, shared: Any) -> Values:  # noqa: ANN401  # any value
    """Give a dependency's values with the globals of its parent, which win."""
    own = below.get("global", {})
    if not isinstance(own, dict):
        return below
    return {**below, "global": overlay(own, shared if isinstance(shared, dict) else {})}


def _wanted(dependency: Dependency, values: Values) -> bool:
    for condition in dependency.conditions:
        found: Any = values
        for part in condition.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(found, bool):
            return found
    return True


def coalesced(defaults: Values, user: Values) -> Values:
    """Lay a user's values over a chart's defaults, as Helm's ``coalesceValues`` does."""
    merged = copy.deepcopy(user)
    for key, default in defaults.items():
        clean = _without_nulls(default)
        if key not in merged:
            if clean is not None:
                merged[key] = clean
        elif merged[key] is None:
            del merged[key]
        elif isinstance(merged[key], dict) and isinstance(clean, dict):
            _tables(merged[key], clean)
    return merged


def _tables(over: Values, base: Values) -> None:
    for key, value in base.items():
        if key not in over:
            over[key] = value
        elif over[key] is None:
            del over[key]
        elif isinstance(over[key], dict) and isinstance(value, dict):
            _tables(over[key], value)


def _without_nulls(value: Any) -> Any:  # noqa: ANN401  # any value
    if not isinstance(value, dict):
        return copy.deepcopy(value)
    return {key: _without_nulls(below) for key, below in value.items() if below is not None}


def nulls(values: Values) -> list[tuple[str, ...]]:
    """Give the paths of all values that are null."""
    return [path for path, value in leaves(values) if value is None]
