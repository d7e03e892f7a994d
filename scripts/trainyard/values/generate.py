"""Random values from a schema, biased to edges."""

import copy
import re
import sys
from dataclasses import dataclass
from random import Random
from typing import Any

from trainyard.values.loading import Values
from trainyard.values.patterns import matching
from trainyard.values.schema import Node, Schema, types

TEXTS = (
    "", "a", "0", "1e3", "0755", "1.10", "true", "null", "~", "no", "a" * 63, "b" * 64, "z" * 254,
    "{{ .Release.Name }}", "{{", "ünïcödé ☃", "two\nlines\n", "  edges  ", "a: b", "- a", "#c",
    "it's", 'say "x"', "%d", "$(HOME)", "/a/b", "a,b={c}", "\\n", "&a", "*a", "!x", "|", ">", "@",
)  # fmt: skip
"""Texts that YAML, templates, the shell or Kubernetes might take for something else."""

WHOLE = (0, 1, 2, 7, 63, 64, 1000, 999999, 1000000, 2**31 - 1, 2**53 - 1, -1)
REAL = (0.0, 0.5, 1e-07, 0.1, 1.5, 1e6, 123456789.25)
NAMES = ("a", "example.org/b", "n", "on", "0", "1e3", "A-b_c.d", "ü", "two words")
"""Keys for maps whose keys are the user's."""

MOST_ITEMS = 3
DEEPEST = 9


@dataclass(frozen=True)
class Generator:
    """Makes values for one schema; equal random states make equal values."""

    schema: Schema

    def values(self, random: Random) -> Values:
        """Give values that the schema takes. What does not fit by some rule across is left out."""
        root = self.schema.flat(self.schema.root)
        share = random.choice((0.05, 0.15, 0.3, 0.6))
        found: Values = {}
        for key, part in root.get("properties", {}).items():
            if random.random() < share or key in root.get("required", ()):
                made = self.value(self.schema.flat(part), random)
                if made is not _NOTHING:
                    found[key] = made
        return found

    def value(self, node: Node, random: Random, depth: int = 0) -> Any:  # noqa: ANN401  # any JSON
        """Give a value for a flat part, or ``_NOTHING`` where none was found that fits."""
        for _ in range(8):
            made = self._try(node, random, depth)
            if made is not _NOTHING and self.schema.accepts(node, made):
                return made
        for made in (*node.get("examples", ()), node.get("default", _NOTHING)):
            if made is not _NOTHING and self.schema.accepts(node, made):
                return copy.deepcopy(made)
        return _NOTHING

    def _try(self, node: Node, random: Random, depth: int) -> Any:  # noqa: ANN401  # any JSON
        options = [*node.get("anyOf", ()), *node.get("oneOf", ())]
        if options:
            return self.value(self.schema.flat(random.choice(options)), random, depth + 1)
        fixed = [node["const"]] if "const" in node else node.get("enum", [])
        if not fixed and random.random() < 0.15:
            fixed = node.get("examples", [])
        if fixed:
            return copy.deepcopy(random.choice(fixed))
        kind = random.choice(types(node) or self._implied(node))
        if kind == "object":
            return self._object(node, random, depth)
        if kind == "array":
            return self._array(node, random, depth)
        return scalar_of(kind, node, random)

    def _implied(self, node: Node) -> list[str]:
        if "properties" in node or "additionalProperties" in node:
            return ["object"]
        return ["array"] if "items" in node else ["string", "integer", "boolean"]

    def _object(self, node: Node, random: Random, depth: int) -> Any:  # noqa: ANN401  # a map
        found: Values = {}
        share = random.choice((0.1, 0.3, 0.7)) if depth < DEEPEST else 0.0
        for key, part in node.get("properties", {}).items():
            if key in node.get("required", ()) or random.random() < share:
                made = self.value(self.schema.flat(part), random, depth + 1)
                if made is not _NOTHING:
                    found[key] = made
        more = node.get("additionalProperties")
        names = node.get("propertyNames", {})
        if isinstance(more, dict):
            for _ in range(random.randrange(MOST_ITEMS + 1)):
                key = random.choice(NAMES) if random.random() < 0.7 else text_of(names, random)
                made = self.value(self.schema.flat(more), random, depth + 1)
                if made is not _NOTHING and self.schema.accepts(names or {"type": "string"}, key):
                    found[key] = made
        return found

    def _array(self, node: Node, random: Random, depth: int) -> Any:  # noqa: ANN401  # a list
        least = node.get("minItems", 0)
        size = max(least, random.randrange(min(node.get("maxItems", MOST_ITEMS), MOST_ITEMS) + 1))
        items = self.schema.flat(node.get("items", {"type": "string"}))
        made = [self.value(items, random, depth + 1) for _ in range(size)]
        return [item for item in made if item is not _NOTHING]


class _Nothing:
    pass


_NOTHING: Any = _Nothing()


def scalar_of(kind: str, node: Node, random: Random) -> Any:  # noqa: ANN401  # any scalar
    """Give a scalar of a type, near the part's bounds as often as not."""
    if kind == "null":
        return None
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "string":
        return text_of(node, random)
    step = 1 if kind == "integer" else 0.25
    bounds = [node[word] + step * by for word, steps in BOUNDS for by in steps if word in node]
    usual = WHOLE if kind == "integer" else (*WHOLE, *REAL)
    return random.choice(bounds if bounds and random.random() < 0.4 else usual)


BOUNDS = (
    ("minimum", (0, 1)),
    ("maximum", (0, -1)),
    ("exclusiveMinimum", (1, 2)),
    ("exclusiveMaximum", (-1, -2)),
)
"""Words for bounds, and how many steps from them there are values that fit."""


def text_of(node: Node, random: Random) -> str:
    """Give a text, from the pattern where there is one and the odd ones do not fit it."""
    pattern = node.get("pattern")
    fitting = [text for text in TEXTS if not pattern or re.search(pattern, text)]
    longest = int(node.get("maxLength", sys.maxsize))
    fitting = [text for text in fitting if node.get("minLength", 0) <= len(text) <= longest]
    if fitting and (not pattern or random.random() < 0.5):
        return random.choice(fitting)
    if not pattern:
        return "a" * max(int(node.get("minLength", 1)), 1)
    return matching(pattern, random)[:longest]
