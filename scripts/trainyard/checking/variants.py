"""The ways in which a case of a chart is rendered."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from trainyard.charts import Chart
from trainyard.render.case import Case

LONG_NAME = "long-release-name-of-fifty-three-letters-which-is-top"
"""A release name of 53 letters, the most that Helm allows."""

IN_KEY = re.compile(r"([.,=\[\]\\])")
IN_VALUE = re.compile(r"([,{}\\])")
"""What needs a backslash in the keys and in the values of ``--set`` arguments."""

SUB_CHART = "sub-chart"
SET = "--set"


class Contexts:
    """The charts that a chart is rendered through beside itself, laid out in a scratch folder."""

    def __init__(self, chart: Chart, scratch: Path) -> None:
        self._chart = chart
        self._parent = _parent(chart, scratch)
        self._built = _built(chart, scratch)

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
            values_text=(yaml.safe_dump(values, sort_keys=False),),
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
    for path, value in _leaves(merged(case), ""):
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


def merged(case: Case) -> dict[str, Any]:
    """Give a case's values files merged as Helm merges them: maps key by key, the later wins."""
    result: dict[str, Any] = {}
    for text in [*case.values_text, *(file.read_text() for file in case.value_files)]:
        found = yaml.safe_load(text)
        if isinstance(found, dict):
            result = _laid_over(result, found)
    return result


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        both = isinstance(under, dict) and isinstance(value, dict)
        result[key] = _laid_over(under, value) if both and under else value
    return result


def _leaves(values: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Give each value that is no map, or an empty one, with its path as ``--set`` writes it."""
    for key, value in values.items():
        path = prefix + _escaped(IN_KEY, str(key))
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


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


def _built(chart: Chart, scratch: Path) -> Path:
    """Copy ``chart`` with build metadata in its version, which no label may hold as it is."""
    target = scratch / chart.name
    shutil.copytree(chart.path, target, ignore=shutil.ignore_patterns(".git"))
    file = target / "Chart.yaml"
    version = f"{chart.version.partition('+')[0]}+build.20260101.abcdef0123456789"
    changed = re.sub(r"(?m)^version:.*$", f"version: {version}", file.read_text())
    file.write_text(changed)
    return target
