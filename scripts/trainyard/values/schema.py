"""A values schema: its parts resolved, and values judged by it in words that help."""

import difflib
import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import jsonschema_rs

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.values.loading import Values
from trainyard.values.merging import ChartFiles, merged

Node = dict[str, Any]
Path = tuple[str, ...]

ANY = "*"
"""The part of a path that stands for whatever key of a map, or any item of a list."""

NEWEST = "https://json-schema.org/draft/2020-12/schema"

DEPTH = 24
"""How deep a schema is followed; one that refers to itself has no end."""


class Schema:
    """A JSON schema that is compiled once."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._judges: dict[str, jsonschema_rs.Validator] = {}

    @cached_property
    def validator(self) -> jsonschema_rs.Validator:
        """The compiled schema; TrainyardError where it is none."""
        return self.compiled(self.root)

    def compiled(self, node: Node) -> jsonschema_rs.Validator:
        """Compile a part of the schema; nothing is fetched from anywhere.

        As in Helm (santhosh-tekuri/jsonschema v6), a schema that names no draft is of the
        newest, and ``format`` is asserted up to draft-07 only.
        """
        draft = str(self.root.get("$schema", NEWEST))
        whole = {**node, "$schema": draft}
        for key in ("definitions", "$defs"):
            if key in self.root:
                whole[key] = self.root[key]
        try:
            return jsonschema_rs.validator_for(
                whole, validate_formats="draft-0" in draft, retriever=_nowhere
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise TrainyardError(f"The values schema cannot be used: {error}") from error

    def accepts(self, node: Node, value: Any) -> bool:  # noqa: ANN401  # any JSON
        """Say whether a part takes a value; each part is compiled once."""
        key = json.dumps(node, sort_keys=True)
        if key not in self._judges:
            self._judges[key] = self.compiled(node)
        return self._judges[key].is_valid(value)

    def flat(self, node: Any, seen: int = 0) -> Node:  # noqa: ANN401  # true and false are schemas
        """Give a part with its ``$ref`` and ``allOf`` put in; its own words win over theirs."""
        if not isinstance(node, dict) or seen > DEPTH:
            return {}
        if "$ref" in node:
            return self.flat(self.target(str(node["$ref"])), seen + 1)
        whole: Node = {}
        for part in node.get("allOf", ()):
            whole = _both(whole, self.flat(part, seen + 1))
        return _both(whole, {key: value for key, value in node.items() if key != "allOf"})

    def target(self, reference: str) -> Any:  # noqa: ANN401  # true and false are schemas
        """Give what a local reference names; None where there is nothing."""
        if not reference.startswith("#"):
            return None
        found: Any = self.root
        for part in reference.removeprefix("#").removeprefix("/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if key:
                found = found.get(key) if isinstance(found, dict) else None
        return found

    def children(self, node: Node) -> Iterator[tuple[str, Any]]:
        """Give the parts below a flat part, each with its key; ANY for those of any key."""
        yield from node.get("properties", {}).items()
        for key in ("additionalProperties", "items"):
            if isinstance(node.get(key), dict):
                yield ANY, node[key]
        for part in node.get("patternProperties", {}).values():
            yield ANY, part
        for word in ("anyOf", "oneOf"):
            for part in node.get(word, ()):
                yield from self.children(self.flat(part))

    def walk(self, node: Any = None, path: Path = ()) -> Iterator[tuple[Path, Node]]:  # noqa: ANN401
        """Give every value that the schema knows, with its flat part, from the root down."""
        flat = self.flat(self.root if node is None else node)
        if path:
            yield path, flat
        if len(path) < DEPTH:
            for key, part in self.children(flat):
                yield from self.walk(part, (*path, key))

    def at(self, path: Path) -> list[Node]:
        """Give the flat parts for a path of a value; none where the schema does not know it."""
        found = [self.flat(self.root)]
        for key in path:
            below: list[Node] = []
            for node in found:
                named = [self.flat(part) for name, part in self.children(node) if name == key]
                others = [self.flat(part) for name, part in self.children(node) if name == ANY]
                below += named or others or ([{}] if is_open(node) else [])
                if key == ANY:
                    below += [self.flat(part) for _, part in self.children(node)]
            found = below
        return found


def is_open(node: Node) -> bool:
    """Say whether a part takes keys that it does not name, of any shape."""
    if not node:
        return True
    return "object" in types(node) and node.get("additionalProperties", True) is True


def types(node: Node) -> list[str]:
    """Give the types that a part allows; none where it does not say."""
    found = node.get("type", [])
    return [found] if isinstance(found, str) else list(found)


def _both(base: Node, over: Node) -> Node:
    whole = {**base, **over}
    if "properties" in base and "properties" in over:
        whole["properties"] = {**base["properties"], **over["properties"]}
    if "required" in base and "required" in over:
        whole["required"] = [*base["required"], *over["required"]]
    return whole


def _nowhere(uri: str) -> Any:  # noqa: ANN401  # what jsonschema-rs wants
    raise ValueError(f"{uri} lies outside the schema")


def validate(chart: ChartFiles, user: Values, schema: Schema | None = None) -> list[Finding]:
    """Judge a user's values, merged as Helm merges them; one finding for each place.

    ``schema`` is the chart's, for those who judge many values; it is made where it is not given.
    """
    if chart.schema is None:
        return []
    schema = schema or Schema(chart.schema)
    values = merged(chart, user)
    errors = schema.validator.iter_errors(values)
    return [_finding(chart.name, schema, values, error) for error in errors]


def fits(chart: ChartFiles, schema: Schema, user: Values) -> bool:
    """Say whether a chart's schema takes a user's values."""
    return schema.validator.is_valid(merged(chart, user))


def dotted(path: list[str | int] | Path) -> str:
    """Give a path as ``worker.env[0].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _finding(
    chart: str, schema: Schema, values: Values, error: jsonschema_rs.ValidationError
) -> Finding:
    path = _named(list(error.instance_path), values)
    node = (schema.at(tuple(ANY if isinstance(part, int) else part for part in path)) or [{}])[0]
    keyword = str(error.schema_path[-1]) if error.schema_path else ""
    message, remedy = error.message, str(node.get("description", "")).split(". ")[0].rstrip(".")
    if "additionalProperties" in error.schema_path and keyword == "additionalProperties":
        there = error.instance if isinstance(error.instance, dict) else {}
        shapes = node.get("patternProperties", {})
        matched = {key for key in there if any(re.search(shape, key) for shape in shapes)}
        unknown = sorted(set(there) - set(node.get("properties", {})) - matched)
        path, message, remedy = _unknown(path, unknown, sorted(node.get("properties", {})))
    elif remedy:
        remedy = f"Give what the schema describes: {remedy}."
    where = dotted(path)
    return Finding(
        chart,
        "values-schema",
        "",
        where,
        f"{where or 'the values'}: {message}",
        remedy or "Give what the schema allows there.",
    )


def _named(path: list[str | int], values: Any) -> list[str | int]:  # noqa: ANN401  # any value
    """Give a path with the keys of maps as they are; jsonschema-rs takes ``"0755"`` for 755."""
    named: list[str | int] = []
    for part in path:
        key = part
        if isinstance(values, dict) and isinstance(part, int):
            key = next((k for k in values if k.isdecimal() and int(k) == part), str(part))
        named.append(key)
        if isinstance(values, dict):
            values = values.get(key)
        else:
            values = values[key] if isinstance(values, list) and isinstance(key, int) else None
    return named


def _unknown(
    path: list[str | int], unknown: list[str], known: list[str]
) -> tuple[list[str | int], str, str]:
    if not unknown:
        return path, "a key is not known", "Take it out."
    near = difflib.get_close_matches(unknown[0], known, 1)
    names = ", ".join(json.dumps(name) for name in unknown)
    message = f"the schema knows no {names} here"
    remedy = f"Did you mean {near[0]}?" if near else f"It knows: {', '.join(known) or 'no key'}."
    return [*path, unknown[0]], message, remedy
