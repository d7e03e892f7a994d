"""The ways in which a case of a chart is rendered."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from trainyard.charts import Chart
from trainyard.render.case import Case
from trainyard.values.loading import Values, leaves, load_values, overlay

LONG_NAME = "long-release-name-of-fifty-three-letters-which-is-top"
"""A release name of 53 letters, the most that Helm allows."""

IN_KEY = re.compile(r"([.,=\[\]\\])")
IN_VALUE = re.compile(r"([,{}\\])")
"""What needs a backslash in the keys and in the values of ``--set`` arguments."""

BUILD = "+build.20260101.abcdef0123456789"
"""Build metadata as a release pipeline appends it; no label may hold it as it is."""

SUB_CHART = "sub-chart"
SET = "--set"


class Contexts:
    """The charts that a chart is rendered through beside itself, laid out in a scratch folder."""

    def __init__(self, chart: Chart, scratch: Path, built: Path) -> None:
        """Take the chart, an empty folder, and a copy whose version has build metadata."""
        self._chart = chart
        self._parent = _parent(chart, scratch)
        self._built = built

    def of(self, case: Case) -> Iterator[Case]:
        """Give a case alone, under the longest name, as a build, and as a sub-chart."""
        yield case
        yield replace(case, release=LONG_NAME, tags=(*case.tags, "name of 53 letters"))
        yield replace(case, chart=self._built, tags=(*case.tags, "+build version"))
        values = {self._chart.name: merged(case)}
        yield replace(
            case,
            chart=self._parent,
            value_files=(),
            # JSON quotes every text, so that none becomes a number on the way.
            values_text=(json.dumps(values),),
            tags=(*case.tags, SUB_CHART),
        )


def by_set(case: Case) -> Case | None:
    """Give the same case with its scalars as ``--set`` arguments; nothing where it has none.

    Numbers from ``--set`` have another type in templates than those from a file, and the
    output may not show it. Lists and empty maps stay JSON, since ``--set`` would merge them.
    """
    typed: list[str] = []
    strings: list[str] = []
    whole: list[str] = []
    for names, value in leaves(merged(case)):
        path = _argument(names)
        if value is None or isinstance(value, bool | int):
            typed.append(f"{path}={json.dumps(value)}")
        elif isinstance(value, str):
            strings.append(f"{path}={_escaped(IN_VALUE, value)}")
        else:
            whole.append(f"{path}={json.dumps(value)}")
    if not typed and not strings:
        return None
    return replace(
        case,
        value_files=(),
        values_text=(),
        set_values=tuple(typed),
        set_string=tuple(strings),
        set_json=tuple(whole),
        tags=(*case.tags, SET),
    )


def merged(case: Case) -> Values:
    """Give a case's values files as Helm reads and merges them."""
    result: Values = {}
    sources: list[str | Path] = [*case.values_text, *case.value_files]
    for source in sources:
        result = overlay(result, load_values(source)[0])
    return result


def _argument(path: tuple[str, ...]) -> str:
    """Give a value's path as ``--set`` writes it."""
    return ".".join(_escaped(IN_KEY, key) for key in path)


def _escaped(special: re.Pattern[str], text: str) -> str:
    return special.sub(r"\\\1", text)


def _parent(chart: Chart, scratch: Path) -> Path:
    """Write a chart whose only dependency is ``chart``, switched on by a condition."""
    parent = scratch / "parent"
    (parent / "charts").mkdir(parents=True)
    (parent / "charts" / chart.name).symlink_to(chart.path.resolve(), target_is_directory=True)
    dependency = {
        "name": chart.name,
        "version": chart.version,
        "repository": "",
        "condition": f"{chart.name}.enabled",
    }
    about = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [dependency]}
    (parent / "Chart.yaml").write_text(yaml.safe_dump(about, sort_keys=False))
    (parent / "values.yaml").write_text(yaml.safe_dump({chart.name: {"enabled": True}}))
    return parent
