"""Three that must agree: the schema, values.yaml, and what the templates read."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trainyard.findings import Finding
from trainyard.render.renderer import Read
from trainyard.values.loading import leaves
from trainyard.values.merging import ChartFiles
from trainyard.values.meta import values_with
from trainyard.values.schema import ANY, Node, Path, Schema, dotted, types

BELOW = "**"
UNKNOWN = "?"
MADE = "="
DEFAULTED = "|"


@dataclass(frozen=True)
class Use:
    """A read, taken apart."""

    read: Read
    path: Path
    """Up to the first key that only a render knows."""
    below: bool
    """All that is below the path is read, too."""
    dynamic: bool
    """A key that only a render knows follows the path."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.read.file}:{self.read.line}"

    def covers(self, leaf: Path) -> bool:
        """Say whether the read takes the value at a path, for sure."""
        if self.dynamic or len(self.path) > len(leaf):
            return False
        return (self.below or len(self.path) == len(leaf)) and _alike(self.path, leaf)

    def may_cover(self, leaf: Path) -> bool:
        """Say whether a read by an unknown key may be one of this value."""
        return self.dynamic and len(self.path) < len(leaf) and _alike(self.path, leaf)


def _alike(pattern: Path, leaf: Path) -> bool:
    return all(
        ANY in (one, other) or one == other for one, other in zip(pattern, leaf, strict=False)
    )


def parse(read: Read) -> Use | None:
    """Take a read apart; None where its mark says something else than that it is one."""
    if read.path.endswith((MADE, DEFAULTED)):
        return None
    parts = read.path.split(".")
    below = parts[-1] == BELOW
    parts = parts[:-1] if below else parts
    dynamic = UNKNOWN in parts
    parts = parts[: parts.index(UNKNOWN)] if dynamic else parts
    return Use(read, tuple(parts), below, dynamic)


@dataclass(frozen=True)
class CrossCheck:
    """What came out of the comparison, with what it could not judge."""

    findings: list[Finding]
    reads: int
    """Places where templates read a value."""
    dynamic: list[str] = field(default_factory=list)
    """``file:line path`` of reads by a key that only a render knows."""


def cross_check(chart: ChartFiles, reads: Iterable[Read]) -> CrossCheck:
    """Compare a chart's schema, its values.yaml and what its templates read."""
    found = list(reads)
    made = {tuple(read.path[:-1].split(".")) for read in found if read.path.endswith(MADE)}
    uses = [use for use in map(parse, found) if use]
    check = _Cross(chart, Schema(chart.schema) if chart.schema else None, uses, made)
    eaten = check.eaten(read for read in found if read.path.endswith(DEFAULTED))
    findings = [
        *check.without_schema(),
        *check.defaults(),
        *check.unread(),
        *check.unknown(),
        *eaten,
        *check.lost_nulls(),
    ]
    dynamic = sorted({f"{use.place} {dotted(use.path)}.?" for use in check.dynamic()})
    return CrossCheck(sorted(set(findings)), len(uses), dynamic)


@dataclass
class _Cross:
    chart: ChartFiles
    schema: Schema | None
    uses: list[Use]
    made: set[Path]

    def finding(
        self, rule: str, path: str, message: str, remedy: str, use: Use | None = None
    ) -> Finding:
        name = self.chart.name
        if use is None:
            return Finding(name, rule, "", path, message, remedy, template="values.yaml")
        return Finding(
            name,
            rule,
            "",
            path,
            message,
            remedy,
            template=f"{name}/{use.read.file}",
            line=use.read.line,
        )

    def foreign(self, path: Path) -> bool:
        """Say whether a value is one of a dependency, or of all charts of a parent."""
        keys = {dependency.key for dependency in self.chart.dependencies}
        return path[0] in keys | {"tags"} or (path[0] == "global" and bool(self._others()))

    def _others(self) -> list[str]:
        return [each.key for each in self.chart.dependencies if not each.library]

    def without_schema(self) -> Iterator[Finding]:
        """Values of values.yaml that the schema does not know."""
        for path, _ in leaves(self.chart.values) if self.schema else ():
            if path and self.schema and not self.schema.at(path) and not self.foreign(path):
                message = "stands in values.yaml, and the schema does not know it"
                remedy = "Describe it in values.schema.json, or take it out of values.yaml."
                yield self.finding("values-not-in-schema", dotted(path), message, remedy)

    def defaults(self) -> Iterator[Finding]:
        """Defaults of the schema that values.yaml has not got, or has otherwise."""
        if not self.schema:
            return
        for path, node in self._declared(self.schema.flat(self.schema.root), ()):
            value = _at(self.chart.values, path)
            # A parent sets `enabled`, and Helm itself puts `global` there.
            if path in {("enabled",), ("global",)} or self.foreign(path):
                continue
            if value is _ABSENT:
                message = "the schema knows it, and values.yaml neither sets it nor says null"
                remedy = "Put it into values.yaml with its default, or null for none."
                yield self.finding("schema-no-value", dotted(path), message, remedy)
            elif "default" in node and not _same(node["default"], value):
                message = f"the schema's default is {node['default']!r}, values.yaml has {value!r}"
                remedy = "Make them equal: values.yaml is what Helm takes."
                yield self.finding("schema-default-differs", dotted(path), message, remedy)

    def _declared(
        self, node: Node, path: Path, only_defaults: bool = False
    ) -> Iterator[tuple[Path, Node]]:
        """Give what values.yaml has to hold: each leaf, and each block with a default of its own.

        Below such a block a leaf without a default is one that users may add.
        """
        assert self.schema
        for key, part in node.get("properties", {}).items():
            flat = self.schema.flat(part)
            if only_defaults and "default" not in flat:
                continue
            here = (*path, key)
            if not flat.get("properties") or "default" in flat:
                yield here, flat
            if flat.get("properties"):
                optional = "default" in flat
                yield from self._declared(flat, here, only_defaults or optional)

    def eaten(self, reads: Iterable[Read]) -> Iterator[Finding]:
        """Values that may be false or 0, of which `default` makes something else."""
        for read in reads:
            path = tuple(read.path.removesuffix(DEFAULTED).split("."))
            lost = next((zero for zero in (False, 0) if self._may_be(path, zero)), None)
            if lost is None or self.foreign(path):
                continue
            said = json.dumps(lost)
            message = f"{said} is a value it may have, and `default` takes {said} for absent"
            remedy = 'Ask for what is absent: `kindIs "invalid"`, `hasKey`, or a `ternary`.'
            use = Use(read, path, False, False)
            yield self.finding("values-zero-lost", dotted(path), message, remedy, use)

    def _may_be(self, path: Path, zero: bool | int) -> bool:
        """Say whether a value may be ``zero``.

        Without a schema nobody says that of a number: a port may not be 0, a count may.
        """
        if not self.schema:
            return zero is False and isinstance(_at(self.chart.values, path), bool)
        # A part of any shape says nothing about what its users mean.
        return any(types(n) and self.schema.accepts(n, zero) for n in self.schema.at(path))

    def lost_nulls(self) -> Iterator[Finding]:
        """Nulls in values.yaml that are to take a default of a dependency away (helm#32132)."""
        for dependency in self.chart.dependencies:
            below = self.chart.values.get(dependency.key)
            if not dependency.chart or not isinstance(below, dict):
                continue
            for path, value in leaves(below):
                default = _at(dependency.chart.values, path)
                if value is None and default is not _ABSENT and default is not None:
                    name = dependency.chart.name
                    message = f"Helm does not take this null for {name}: the default there stays"
                    remedy = f"Change the default of {name}, or let users pass the null themselves."
                    whole = dotted((dependency.key, *path))
                    yield self.finding("values-null-kept", whole, message, remedy)

    def unread(self) -> Iterator[Finding]:
        """Values that no template reads."""
        conditions = {part for each in self.chart.dependencies for part in each.conditions}
        for path in self._values():
            if self.foreign(path) or path[0] == "enabled" or dotted(path) in conditions:
                continue
            if any(use.covers(path) for use in self.uses):
                continue
            maybe = next((use for use in self.uses if use.may_cover(path)), None)
            message = "no template reads it: whoever sets it changes nothing"
            if maybe:
                message = f"no template is seen to read it; {maybe.place} may, by a key of its own"
            remedy = "Use it in a template, or take it out of values.yaml and the schema."
            yield self.finding("values-unread", dotted(path), message, remedy)

    def _values(self) -> Iterator[Path]:
        if self.schema:
            yield from (path for path, _ in values_with(self.schema, self.chart.values))
        else:
            yield from (path for path, _ in leaves(self.chart.values) if path)

    def unknown(self) -> Iterator[Finding]:
        """Paths that templates read and nobody declares, each with its first place."""
        places: dict[Path, list[Use]] = {}
        for use in self.uses:
            path = use.path
            while path and path[-1] == ANY:
                path = path[:-1]
            if not self._known(path):
                places.setdefault(path, []).append(use)
        where = "the schema knows" if self.schema else "values.yaml has"
        for path, uses in places.items():
            more = len({use.place for use in uses}) - 1
            others = f" (and in {more} more places)" if more else ""
            message = (
                f"the template reads .Values.{dotted(path)}{others}, and {where} no such value"
            )
            remedy = "Mend the name, or declare the value: Helm renders a misspelt one as nothing."
            yield self.finding("values-unknown-read", dotted(path), message, remedy, uses[0])

    def _known(self, path: Path) -> bool:
        if not path or self.foreign(path) or self._made(path):
            return True
        return bool(self.schema.at(path)) if self.schema else _reachable(self.chart.values, path)

    def _made(self, path: Path) -> bool:
        """Say whether templates make a value themselves, one that values.yaml does not declare."""
        above = (path[:size] for size in range(1, len(path) + 1))
        return any(p in self.made and _at(self.chart.values, p) is _ABSENT for p in above)

    def dynamic(self) -> Iterator[Use]:
        """Give the reads by an unknown key, below a block whose keys are declared."""
        for use in self.uses:
            if use.dynamic and self._named_below(use.path):
                yield use

    def _named_below(self, path: Path) -> bool:
        if self.schema:
            return any(node.get("properties") for node in self.schema.at(path))
        below = _at(self.chart.values, path)
        return isinstance(below, dict) and bool(below)


class _Absent:
    pass


_ABSENT = _Absent()


def _at(values: Any, path: Path) -> Any:  # noqa: ANN401  # any value
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return _ABSENT
        values = values[key]
    return values


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401  # any values
    """Say whether two values are equal; a text is no number and true is not 1."""
    return bool(one == other) and type(one) is type(other)


def _reachable(values: Any, path: Path) -> bool:  # noqa: ANN401  # any value
    """Say whether values.yaml can have a path: what it leaves empty may hold anything."""
    for key in path:
        if not isinstance(values, dict) or not values or key == ANY:
            return True
        if key not in values:
            return False
        values = values[key]
    return True
