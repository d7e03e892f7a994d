"""Read values files strictly, as Helm reads them, and say where Helm reads something else.

What a plain scalar means follows the resolver of Helm's YAML library (go.yaml.in/yaml/v2,
resolve.go), not PyYAML's: ``1e3`` is a number, ``12:30`` a text, and ``y`` is true.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trainyard.errors import TrainyardError
from trainyard.findings import Finding

Values = dict[str, Any]

TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"))
FALSE = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"))
NULL = frozenset(("", "~", "null", "Null", "NULL"))
PLAIN_WORDS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))

FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
INTEGER = re.compile(r"(?P<sign>[-+]?)(?P<base>0[xX]|0[bB]|0[oO]|0)?(?P<digits>[0-9a-fA-F]+)")
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
BASES = {"0x": 16, "0b": 2, "0o": 8, "0": 8}

MERGE = "tag:yaml.org,2002:merge"
STRING = "tag:yaml.org,2002:str"


def load_values(source: Path | str, chart: str = "") -> tuple[Values, list[Finding]]:
    """Read a values file, or a text of one, and give the values with all that is odd.

    The values are those that Helm sees: keys are texts, the last of several documents wins,
    and so does the last of several equal keys. They are empty where the file is no YAML map.
    """
    name = source.name if isinstance(source, Path) else "values"
    text = _text(source)
    reader = _Reader(chart, name)
    try:
        documents = list(yaml.compose_all(text, yaml.CSafeLoader))
        values: Values = {}
        for document in documents:
            values = overlay(values, reader.document(document))
    except yaml.YAMLError as error:
        reader.not_yaml(error, text)
        return {}, reader.findings
    return values, reader.findings


def _text(source: Path | str) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainyardError(f"{source} cannot be read: {error}") from error


def overlay(base: Values, over: Values) -> Values:
    """Lay values over others as Helm merges files: maps key by key, all else as a whole."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[key] = overlay(below, value) if both and isinstance(below, dict) else value
    return merged


def scalar(text: str) -> Any:  # noqa: ANN401  # whatever YAML makes of it
    """Give what Helm makes of a scalar without quotes: bool, None, int, float or str."""
    if text in TRUE or text in FALSE:
        return text in TRUE
    if text in NULL:
        return None
    digits = text.replace("_", "")
    whole = INTEGER.fullmatch(digits)
    if whole:
        try:
            number = int(whole["digits"], BASES.get((whole["base"] or "").lower(), 10))
            return -number if whole["sign"] == "-" else number
        except ValueError:
            pass  # 08 and 1f are no numbers of their base.
    if FLOAT.fullmatch(digits):
        real = float(digits)
        return int(real) if real.is_integer() and abs(real) < 2**53 else real
    return text


@dataclass
class _Reader:
    """Turns YAML's nodes into values and notes what is odd about them."""

    chart: str
    file: str
    findings: list[Finding] = field(default_factory=list)

    def document(self, node: yaml.Node | None) -> Values:
        if node is None or (isinstance(node, yaml.ScalarNode) and self.value(node, "") is None):
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.note(node, "values-not-a-map", "", "the file holds no map of values")
            return {}
        return self.mapping(node, "")

    def value(self, node: yaml.Node, path: str) -> Any:  # noqa: ANN401  # any YAML
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.item(item, f"{path}[{at}]") for at, item in enumerate(node.value)]
        found = resolved(node)
        if found != node.value:
            self.judge(node, path, "value", found)
        elif (
            isinstance(node, yaml.ScalarNode)
            and not node.style
            and SEXAGESIMAL.fullmatch(node.value)
        ):
            self.trap(node, path, f"{node.value} is a text to Helm and a number to other readers")
        return found

    def item(self, node: yaml.Node, path: str) -> Any:  # noqa: ANN401  # any YAML
        found = self.value(node, path)
        if found is None:
            message = "an item of the list is null: nothing stands behind the dash"
            self.note(node, "values-null-item", path, message, "Write the item, or take it out.")
        return found

    def mapping(self, node: yaml.MappingNode, path: str) -> Values:
        found: Values = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == MERGE:
                found = {**self.merged(value_node, path), **found}
                continue
            key = self.key(key_node, path)
            here = f"{path}.{key}".lstrip(".")
            if key in lines:
                message = f"the key {key} stands twice, in line {lines[key]} and here"
                remedy = "Keep one: Helm takes the last and drops all that is below the first."
                self.note(key_node, "values-duplicate-key", here, message, remedy)
            lines[key] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, here)
        return found

    def merged(self, node: yaml.Node, path: str) -> Values:
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: Values = {}
        for part in parts:
            if isinstance(part, yaml.MappingNode):
                merged = {**self.mapping(part, path), **merged}
        return merged

    def key(self, node: yaml.Node, path: str) -> str:
        found = resolved(node)
        if found == node.value:
            return str(found)
        key = written(found)
        if key != node.value:
            self.judge(node, f"{path}.{key}".lstrip("."), "key", found)
        return key

    def judge(self, node: yaml.Node, path: str, what: str, found: Any) -> None:  # noqa: ANN401
        """Note a scalar whose text is not what a reader of the file would take it for."""
        text = node.value
        if isinstance(found, bool):
            if text not in PLAIN_WORDS:
                self.trap(node, path, f"the {what} {text} means {written(found)} to Helm")
        elif found is not None and text.removeprefix("+") != written(found):
            self.trap(node, path, f"the {what} {text} means {written(found)} to Helm")

    def trap(self, node: yaml.Node, path: str, message: str) -> None:
        remedy = f'Write "{node.value}" in quotes if it is a text, else write what is meant.'
        self.note(node, "values-yaml-trap", path, message, remedy)

    def note(self, node: yaml.Node, rule: str, path: str, message: str, remedy: str = "") -> None:
        remedy = remedy or "Write a map of keys and values."
        line = node.start_mark.line + 1
        self.findings.append(
            Finding(self.chart, rule, "", path, message, remedy, template=self.file, line=line)
        )

    def not_yaml(self, error: yaml.YAMLError, text: str) -> None:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        lines = text.splitlines()
        tab = 0 < line <= len(lines) and "\t" in lines[line - 1].partition("#")[0]
        problem = getattr(error, "problem", None) or str(error)
        message = "a tab stands where YAML wants spaces" if tab else f"this is no YAML: {problem}"
        remedy = "Indent with spaces." if tab else "Mend the line, or the one before it."
        self.findings.append(
            Finding(
                self.chart,
                "values-not-yaml",
                "",
                "",
                message,
                remedy,
                template=self.file,
                line=line,
            )
        )


def resolved(node: yaml.Node) -> Any:  # noqa: ANN401  # any scalar
    """Give the value of a scalar node; quotes, block style and ``!!str`` make it a text."""
    if not isinstance(node, yaml.ScalarNode):
        return written_map(node)
    if node.style:
        return node.value
    implicit = _RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))
    return node.value if node.tag == STRING != implicit else scalar(node.value)


def written_map(node: yaml.Node) -> str:
    """Name a key that is a map or a list, which no values file needs."""
    return f"({node.tag.rpartition(':')[2]})"


_RESOLVER: Any = yaml.CSafeLoader("")


def written(found: Any) -> str:  # noqa: ANN401  # any scalar
    """Give a scalar as Helm prints it, and as it names a key of that type."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if found is None:
        return "null"
    return f"{found:.15g}" if isinstance(found, float) else str(found)


def leaves(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    """Give every value that is no map with something in it, with its path."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, values
