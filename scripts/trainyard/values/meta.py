"""What a values schema must be beyond valid: closed, told, shown by examples, and offline.

Sources: the schema rules follow what Helm does with ``values.schema.json`` (it compiles every
pattern with Go's RE2, puts ``global`` into every chart and ``enabled`` where a parent has a
condition) and what a reader needs who has nothing but the schema.
"""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.values.loading import Values
from trainyard.values.merging import ChartFiles, nulls
from trainyard.values.schema import ANY, Node, Path, Schema, dotted, types

DRAFT_07 = re.compile(r"https?://json-schema\.org/draft-07/schema#?")

NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>)|\\[1-9]|\\Z|[*+?}]\+")
"""What Go's regular expressions have not got: looking around, references, possessive repeats."""

EMPTY: tuple[object, ...] = (None, "", [], {})
"""Defaults that show nothing of the shape of a value."""

Place = tuple[str, ...]
"""Where a part stands in the schema file, such as ``("properties", "worker")``."""


def check_schema(chart: ChartFiles) -> list[Finding]:
    """Give all that is wrong with a chart's schema; one finding where there is none."""
    if chart.schema is None:
        unreadable = any(found.rule == "schema-invalid" for found in chart.findings)
        if unreadable or (chart.library and not chart.values):
            return []
        message = "the chart has no values.schema.json: a wrong key or type goes unnoticed"
        remedy = "Write one: draft-07, every object closed, a description for every value."
        return [Finding(chart.name, "schema-missing", "", "", message, remedy)]
    check = _Check(chart, Schema(chart.schema))
    broken = list(check.form())
    if broken:
        return broken
    return [
        *check.roots(),
        *(finding for place, node in parts(chart.schema) for finding in check.part(place, node)),
        *check.leaves(),
        *check.nullable(),
    ]


def parts(node: Any, place: Place = ()) -> Iterator[tuple[Place, Node]]:  # noqa: ANN401
    """Give every part of a schema with its place in the file, definitions included."""
    if not isinstance(node, dict):
        return
    yield place, node
    for word in ("properties", "definitions", "$defs", "patternProperties"):
        for key, part in node.get(word, {}).items():
            yield from parts(part, (*place, word, key))
    for word in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
        yield from parts(node.get(word), (*place, word))
    for word in ("allOf", "anyOf", "oneOf"):
        for number, part in enumerate(node.get(word, ())):
            yield from parts(part, (*place, word, str(number)))


class _Check:
    """One chart's schema under judgement."""

    def __init__(self, chart: ChartFiles, schema: Schema) -> None:
        self.chart = chart
        self.schema = schema

    def finding(self, rule: str, path: str, message: str, remedy: str) -> Finding:
        where = "values.schema.json"
        return Finding(self.chart.name, rule, "", path, f"{message}", remedy, template=where)

    def form(self) -> Iterator[Finding]:
        """Say what keeps the schema from being read at all."""
        root = self.schema.root
        if not DRAFT_07.fullmatch(str(root.get("$schema", ""))):
            message = f"$schema is {root.get('$schema')!r}, and each draft means another thing"
            remedy = 'Name draft-07: "$schema": "http://json-schema.org/draft-07/schema#".'
            yield self.finding("schema-draft", "", message, remedy)
        for place, node in parts(root):
            reference = node.get("$ref")
            if isinstance(reference, str) and not self._resolves(reference):
                message = f"$ref {reference} leads out of the file, or to nothing in it"
                remedy = 'Copy what it means into "definitions", and refer to "#/definitions/…".'
                yield self.finding("schema-remote-ref", _place(place), message, remedy)
                return
        try:
            jsonschema_rs.meta.validate(root)
            _ = self.schema.validator
        except (TrainyardError, jsonschema_rs.ValidationError, ValueError) as error:
            message = f"the schema cannot be used: {error}"
            remedy = "Mend it; Helm refuses every values file as it stands."
            yield self.finding("schema-invalid", "", message, remedy)

    def _resolves(self, reference: str) -> bool:
        return reference.startswith("#") and self.schema.target(reference) is not None

    def roots(self) -> Iterator[Finding]:
        """Say whether the root takes what Helm and parent charts put there."""
        root = self.schema.flat(self.schema.root)
        known = root.get("properties", {})
        for key, why in (
            ("global", "Helm puts it into every chart of a parent"),
            ("enabled", "a parent's condition sets it"),
        ):
            if key not in known:
                kind = "object" if key == "global" else "boolean"
                message = f"the root does not declare {key}, and {why}"
                remedy = f'Declare "{key}": {{"type": "{kind}"}} at the root.'
                yield self.finding("schema-root", key, message, remedy)

    def part(self, place: Place, node: Node) -> Iterator[Finding]:
        """Judge one part of the file by itself."""
        path = _place(place)
        if self._is_open(place, node):
            message = "the object takes any key, so that a slip of the pen goes unnoticed"
            remedy = (
                "Set additionalProperties to false, or to the schema of its values. Where another"
                ' program judges the keys, set it to true and say so in "$comment".'
            )
            yield self.finding("schema-open-object", path, message, remedy)
        if "format" in node:
            message = f"format {node['format']} is judged by some drafts and programs only"
            yield self.finding("schema-format", path, message, "Write a pattern in its place.")
        pattern = node.get("pattern")
        if isinstance(pattern, str) and NOT_RE2.search(pattern):
            message = f"the pattern {pattern} is not one that Go can read, so Helm takes no values"
            remedy = "Write it without looking ahead or behind and without references."
            yield self.finding("schema-pattern", path, message, remedy)
        if len(place) > 1 and place[-2] == "properties" and not _told(self.schema.flat(node)):
            message = "the value has no description"
            yield self.finding("schema-description", path, message, "Say what it does, in a line.")
        yield from self._samples(path, node)

    def _is_open(self, place: Place, node: Node) -> bool:
        if "object" not in types(node) or place == ("properties", "global"):
            return False
        more = node.get("additionalProperties")
        if "allOf" in node and not {"properties", "additionalProperties"} & node.keys():
            return False
        return not (
            more is False or isinstance(more, dict) or (more is True and "$comment" in node)
        )

    def _samples(self, path: str, node: Node) -> Iterator[Finding]:
        samples = [("example", each) for each in node.get("examples", ())]
        samples += [("default", node["default"])] if "default" in node else []
        if not samples:
            return
        judge = self.schema.compiled(node)
        for what, sample in samples:
            error = next(iter(judge.iter_errors(sample)), None)
            if error:
                message = f"the {what} {sample!r} does not fit: {error.message}"
                remedy = f"Change the {what}, or what the schema allows."
                yield self.finding(f"schema-{what}-invalid", path, message, remedy)

    def leaves(self) -> Iterator[Finding]:
        """Say which values of values.yaml the schema shows no default or no example of."""
        for path, value in values_with(self.schema, self.chart.values):
            for node in self.schema.at(path)[:1]:
                if "default" not in node and node:
                    message = f"the schema gives no default, and values.yaml gives {value!r}"
                    remedy = f'Write "default": {value!r} into the schema.'
                    yield self.finding("schema-default", dotted(path), message, remedy)
                if value in EMPTY and node and not self._shown(node):
                    message = f"the default {value!r} shows nothing, and there is no example"
                    remedy = 'Write "examples": […] with a value that a user would give.'
                    yield self.finding("schema-example", dotted(path), message, remedy)

    def _shown(self, node: Node) -> bool:
        return bool(node.get("examples")) or "enum" in node or types(node) == ["boolean"]

    def nullable(self) -> Iterator[Finding]:
        """Say where values.yaml has null and the schema would refuse a user's."""
        for path in nulls(self.chart.values):
            for node in self.schema.at(path)[:1]:
                if node and not self.schema.compiled(node).is_valid(None):
                    message = "values.yaml has null here, and the schema refuses a user's null"
                    remedy = f"Let the type be {[*types(node), 'null']}."
                    yield self.finding("schema-nullable", dotted(path), message, remedy)


def values_with(schema: Schema, values: Values) -> Iterator[tuple[Path, Any]]:
    """Give the values of values.yaml that the schema takes as one: scalars, lists, whole maps."""

    def below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:  # noqa: ANN401  # any value
        named = any(node.get("properties") for node in schema.at(path))
        if isinstance(value, dict) and value and named:
            for key, part in value.items():
                yield from below((*path, key), part)
        else:
            yield path, value

    for key, value in values.items():
        yield from below((key,), value)


def _told(node: Node) -> bool:
    return bool(str(node.get("description", "")).strip())


def _place(place: Place) -> str:
    """Give a place as the path of the value, as far as it is one."""
    words = {"properties": "", "items": ANY, "additionalProperties": ANY}
    text: list[str] = []
    skip = False
    for number, part in enumerate(place):
        if skip:
            text.append(part)
            skip = False
        elif part == "properties":
            skip = True
        else:
            text.append(words.get(part, part))
            skip = part in ("definitions", "$defs") and number == 0
    return ".".join(text)
