"""Valid values with one thing changed that the schema forbids."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from trainyard.values.loading import Values
from trainyard.values.schema import Node, Schema, types


@dataclass(frozen=True)
class Mutation:
    """Values that a schema must refuse, with the path that its message must name."""

    values: Values
    path: tuple[str | int, ...]
    what: str


def mutations(schema: Schema, valid: Values, random: Random) -> Iterator[Mutation]:
    """Give valid values with one thing changed that the schema forbids by its own words."""
    for path, node, value in _places(schema, schema.flat(schema.root), valid, ()):
        for what, wrong in _wrong(node, value, random):
            if isinstance(wrong, _Unknown):
                yield Mutation(_changed(valid, (*path, wrong.key), 1), (*path, wrong.key), what)
            elif path:
                yield Mutation(_changed(valid, path, wrong), path, what)


@dataclass(frozen=True)
class _Unknown:
    key: str


def _places(
    schema: Schema,
    node: Node,
    value: Any,  # noqa: ANN401  # any JSON
    path: tuple[str | int, ...],
) -> Iterator[tuple[tuple[str | int, ...], Node, Any]]:
    yield path, node, value
    if isinstance(value, dict):
        for key, below in value.items():
            part = node.get("properties", {}).get(key, node.get("additionalProperties"))
            if isinstance(part, dict):
                yield from _places(schema, schema.flat(part), below, (*path, key))
    elif isinstance(value, list) and isinstance(node.get("items"), dict):
        for at, below in enumerate(value):
            yield from _places(schema, schema.flat(node["items"]), below, (*path, at))


def _wrong(node: Node, value: Any, random: Random) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    allowed = set(types(node))
    if (
        "object" in allowed
        and node.get("additionalProperties") is False
        and isinstance(value, dict)
    ):
        yield "an unknown key", _Unknown("noSuchKey")
    samples = {"string": "text", "integer": 3, "boolean": True, "array": ["x"], "object": {"x": 1}}
    others = sorted(samples.keys() - allowed - ({"integer"} if "number" in allowed else set()))
    if allowed and others and not {"anyOf", "oneOf"} & node.keys():
        kind = random.choice(others)
        yield f"a {kind} for {' or '.join(sorted(allowed))}", samples[kind]
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        if "minimum" in node:
            yield "less than the minimum", node["minimum"] - 1
        if "maximum" in node:
            yield "more than the maximum", node["maximum"] + 1
        if "integer" in allowed and "number" not in allowed:
            yield "a fraction for an integer", 2.5
    if isinstance(value, str):
        if "enum" in node:
            yield "a word that is not in the list", "no-such-word"
        if "maxLength" in node:
            yield "a text too long", "a" * (node["maxLength"] + 1)
        if "pattern" in node and not re.search(node["pattern"], "\t\n"):
            yield "a text against the pattern", "\t\n"


def _changed(values: Values, path: tuple[str | int, ...], wrong: Any) -> Values:  # noqa: ANN401
    changed = copy.deepcopy(values)
    target: Any = changed
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = wrong
    return changed
