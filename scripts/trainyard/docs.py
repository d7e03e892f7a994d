"""The value tables of a chart's README, written from its values schema."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainyard.charts import Chart
from trainyard.errors import TrainyardError
from trainyard.values.loading import scalar
from trainyard.values.merging import ChartFiles, read_chart
from trainyard.values.schema import Node, Schema

BEGIN = "<!-- values: written by `trainyard docs` from values.schema.json -->"
END = "<!-- values: end -->"

BETWEEN = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    value: str
    meaning: str
    default: str


def write(chart: Path) -> bool:
    """Write the tables between the two marks of a chart's README; say whether it changed.

    TrainyardError where the chart has no schema, or its README no marks.
    """
    Chart.open(chart)
    old, new = _texts(chart)
    if old != new:
        (chart / "README.md").write_text(new, encoding="utf-8")
    return old != new


def stale(chart: Path) -> str:
    """Give what ``write`` would change, as a diff; nothing where the README is fresh.

    A chart without a schema and without marks has no tables, and they are fresh.
    """
    Chart.open(chart)
    readme = chart / "README.md"
    marked = readme.is_file() and BEGIN in readme.read_text(encoding="utf-8")
    if not marked and not (chart / "values.schema.json").is_file():
        return ""
    old, new = _texts(chart)
    names = (f"{chart.name}/README.md", f"{chart.name}/README.md from the schema")
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm=""))


def _texts(chart: Path) -> tuple[str, str]:
    readme = chart / "README.md"
    old = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not BETWEEN.search(old):
        raise TrainyardError(
            f"{readme} has no place for the value tables.",
            f"Put these two lines where they belong:\n{BEGIN}\n{END}",
        )
    made = f"{BEGIN}\n\n{tables(read_chart(chart))}\n{END}"
    return old, BETWEEN.sub(lambda _: made, old)


def tables(chart: ChartFiles) -> str:
    """Give the tables of all values as Markdown, one for each block of the schema's root."""
    if chart.schema is None:
        raise TrainyardError(f"{chart.folder} has no values.schema.json to write tables from.")
    schema = Schema(chart.schema)
    root = schema.flat(schema.root)
    inner = {dependency.key for dependency in chart.dependencies}
    blocks = {
        key: schema.flat(part)
        for key, part in root.get("properties", {}).items()
        if key not in inner
    }
    single = [_row((key,), node) for key, node in blocks.items() if not _is_block(node)]
    parts = [_table("### Single values", "", single)] if single else []
    shared: dict[str, str] = {}
    for key, node in blocks.items():
        if _is_block(node):
            rows = list(_rows(schema, (key,), node))
            parts.append(_table(f"### `{key}`", _meaning(node), _told_once(key, rows, shared)))
    return "\n".join(parts)


def _is_block(node: Node) -> bool:
    """Say whether a value is told key by key: a map that values.yaml fills in."""
    return any(
        "default" in part or "properties" in part for part in node.get("properties", {}).values()
    )


def _rows(schema: Schema, path: tuple[str, ...], node: Node) -> Iterator[Row]:
    for key, part in node.get("properties", {}).items():
        flat = schema.flat(part)
        if _is_block(flat):
            yield from _rows(schema, (*path, key), flat)
        else:
            yield _row((*path, key), flat)
    more = node.get("additionalProperties")
    if isinstance(more, dict) and node.get("properties"):
        flat = schema.flat(more)
        yield _row((*path, "<any key>"), flat)


def _told_once(key: str, rows: list[Row], shared: dict[str, str]) -> list[Row]:
    """Put rows that an earlier block has, word by word, into one that names that block."""
    told: dict[str, list[str]] = {}
    kept: list[Row] = []
    for row in rows:
        name = row.value.split(".", 1)[-1]
        mark = json.dumps([name, row.meaning, row.default])
        if mark in shared and shared[mark] != key:
            told.setdefault(shared[mark], []).append(name)
        else:
            shared.setdefault(mark, key)
            kept.append(row)
    texts = [
        f"{', '.join(f'`{name}`' for name in names)} as in `{other}`"
        for other, names in told.items()
    ]
    return [*kept, Row(f"{key}.…", f"{'; '.join(texts)}.", "")] if texts else kept


def _row(path: tuple[str, ...], node: Node) -> Row:
    default = _code(node["default"]) if "default" in node else ""
    return Row(".".join(path), _meaning(node), default)


def _meaning(node: Node) -> str:
    """Give the description, with the words that are allowed and an example where it has none."""
    text = str(node.get("description", "")).strip()
    missing = [word for word in node.get("enum", ()) if word and str(word) not in text]
    if missing:
        text = f"{text} One of {', '.join(_code(word) for word in missing)}."
    examples = [one for one in node.get("examples", ()) if one != node.get("default")]
    if examples and "Example" not in text:
        text = f"{text.rstrip('.')}. Example: {_code(examples[0])}"
    return text


def _code(value: Any) -> str:  # noqa: ANN401  # any JSON
    """Give a value as it is written in a values file, as code."""
    text = value if isinstance(value, str) and _is_plain(value) else _flow(value)
    return f"`{text}`"


def _flow(value: Any) -> str:  # noqa: ANN401  # any JSON
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _is_plain(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Say whether a text needs no quotes in YAML: a word that is no number and no true."""
    return bool(re.fullmatch(r"-?[A-Za-z/][\w./-]*|[0-9]+[A-Za-z]+", text)) and scalar(text) == text


def _table(title: str, meaning: str, rows: list[Row]) -> str:
    lines = [title, ""]
    lines += [_escaped(meaning), ""] if meaning else []
    cells = [("value", "default", "meaning")]
    cells += [(f"`{row.value}`", _escaped(row.default), _escaped(row.meaning)) for row in rows]
    widths = [max(len(cell[at]) for cell in cells) for at in range(2)]
    for number, (value, default, told) in enumerate(cells):
        lines.append(f"| {value:<{widths[0]}} | {default:<{widths[1]}} | {told} |")
        if number == 0:
            lines.append(f"| {'-' * widths[0]} | {'-' * widths[1]} | --- |")
    return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    """Keep a cell in its cell: no bar, no line break, and no tag outside of code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    made = [p if p.startswith("`") else p.replace("<", "&lt;") for p in parts]
    return "".join(made).replace("|", "\\|")
