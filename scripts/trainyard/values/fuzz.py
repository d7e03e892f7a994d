"""Random valid values against a chart: they render, alike in every way, and pass the rules."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import Renderer, RenderError
from trainyard.values.generate import Generator
from trainyard.values.loading import Values
from trainyard.values.merging import ChartFiles, read_chart
from trainyard.values.mutations import mutations
from trainyard.values.schema import Schema, fits, validate
from trainyard.values.shrinking import shrink

Rules = Callable[[Case, Rendered], Iterable[Finding]]
"""The object rules, for a case and what came out of it."""

OWN_WORDS = "execution error at ("
"""How Helm begins what a chart says by ``fail`` or ``required``."""

RAW = (
    "nil pointer",
    "error calling",
    "executing ",
    "YAML parse error",
    "wrong type",
    "can't evaluate",
)
"""Parts of errors that a template author has not meant for anybody to read."""

SCHEMA_WORDS = "values don't meet the specifications"


MOST_MUTATIONS = 20
"""Changes that are tried of one set of values."""


@dataclass(frozen=True)
class Failure:
    """Valid values under which a chart does what it must not, or wrong ones that it takes."""

    rule: str
    seed: str
    """``<seed>/<number>``; the number alone makes the same values again with the same seed."""
    values: Values
    """The smallest that was found."""
    message: str

    def finding(self, chart: str) -> Finding:
        """Give it as a finding."""
        shown = json.dumps(self.values, ensure_ascii=False, sort_keys=True)
        message = f"{self.message} (seed {self.seed}; values: {shown})"
        remedy = "Mend the template, or let the schema refuse such values."
        return Finding(chart, self.rule, "", "", message, remedy, case=f"seed {self.seed}")


@dataclass
class Report:
    """What a run of the fuzzer did."""

    seed: int
    sets: int = 0
    rendered: int = 0
    """Sets that were rendered, whole or without blocks that the chart refused."""
    refused: int = 0
    """Sets that the chart refused in its own words: values that do not go together."""
    as_set: int = 0
    """Sets that were rendered with their whole numbers as ``--set``, too."""
    compared: int = 0
    """Sets that the reference rendered, too."""
    mutations: int = 0
    failures: list[Failure] = field(default_factory=list)


def fuzz(
    chart: Path,
    renderer: Renderer,
    *,
    seed: int = 0,
    count: int = 200,
    reference: Renderer | None = None,
    compare: int = 0,
    rules: Rules | None = None,
    mutate: bool = True,
    most_failures: int = 10,
) -> Report:
    """Render ``count`` random sets of values and judge what comes out.

    ``reference`` renders ``compare`` of them again and must give the same bytes. ``rules``
    judges every render. With ``mutate`` each set is also changed in ways that the schema
    forbids. The run ends early after ``most_failures``. TrainyardError where the chart has no
    schema to make values from.
    """
    files = read_chart(chart)
    if files.schema is None:
        raise TrainyardError(f"{chart} has no values.schema.json to make values from.")
    run = _Run(files, Schema(files.schema), renderer, reference, rules, Report(seed))
    for number in range(count):
        if len(run.report.failures) >= most_failures:
            break
        run.one(f"{seed}/{number}", compared=number < compare, mutate=mutate)
    return run.report


def values_of(chart: ChartFiles, schema: Schema, seed: str) -> Values:
    """Give the values of a seed such as ``7/42``: valid together with values.yaml."""
    random = Random(seed)
    generator = Generator(schema)
    for _ in range(20):
        values = generator.values(random)
        while values and not fits(chart, schema, values):
            # What breaks a rule across values goes, one block at a time.
            error = next(iter(validate(chart, values, schema)))
            wrong = error.path.partition(".")[0].partition("[")[0]
            values.pop(wrong if wrong in values else random.choice(sorted(values)))
        if values:
            return values
    return {}


@dataclass
class _Run:
    files: ChartFiles
    schema: Schema
    renderer: Renderer
    reference: Renderer | None
    rules: Rules | None
    report: Report
    last: tuple[Case, str] | None = None
    """The newest case that was rendered, and what came out: the next question is about it, too."""

    def one(self, seed: str, compared: bool, mutate: bool) -> None:
        values = values_of(self.files, self.schema, seed)
        self.report.sets += 1
        self.report.compared += compared and self.reference is not None
        if mutate:
            self.mutated(seed, values)
        self.judge(seed, values, compared)
        random, refusal = Random(seed), self.refusal(values)
        self.report.refused += bool(refusal)
        while refusal and values:
            # Blocks that do not go together would keep the others from being tried.
            values = lessened(values, refusal, random)
            self.judge(seed, values, compared=False)
            refusal = self.refusal(values)

    def judge(self, seed: str, values: Values, compared: bool) -> None:
        for rule, judge in self.judges(compared):
            message = judge(values)
            if message:
                self.failed(rule, seed, values, message, judge)
                break

    def refusal(self, values: Values) -> str:
        """Give the chart's own words, where it has refused values."""
        said = self.outcome(self.renderer, self.case(values))
        return said if is_refusal(said) else ""

    def judges(self, compared: bool) -> Iterator[tuple[str, Callable[[Values], str]]]:
        yield "fuzz-render", self.render
        yield "fuzz-set", self.set
        if compared and self.reference is not None:
            yield "fuzz-parity", self.parity

    def case(self, values: Values, *numbers: str) -> Case:
        text = json.dumps(values, ensure_ascii=False)
        return Case(self.files.folder, "fuzz", values_text=(text,), set_values=numbers)

    def render(self, values: Values) -> str:
        """Say what is wrong with the render of values; nothing where all is well."""
        case = self.case(values)
        try:
            rendered = self.renderer.render(case)
            self.last = (case, rendered.manifest)
            _ = rendered.objects
        except TrainyardError as error:
            if isinstance(error, RenderError) and is_refusal(error.message):
                self.last = (case, error.message)
                return ""
            return first_lines(error.message)
        self.report.rendered += 1
        found = next(iter(self.rules(case, rendered)), None) if self.rules else None
        return f"{found.rule}: {found.place}: {found.message}" if found else ""

    def set(self, values: Values) -> str:
        """Say where whole numbers by ``--set`` give something else than in a file."""
        rest, numbers = split_numbers(values)
        if not numbers:
            return ""
        self.report.as_set += 1
        by_file = self.outcome(self.renderer, self.case(values))
        by_set = self.outcome(self.renderer, self.case(rest, *numbers))
        return (
            "" if by_file == by_set else f"a file and --set differ: {difference(by_file, by_set)}"
        )

    def parity(self, values: Values) -> str:
        """Say where the reference gives something else."""
        assert self.reference is not None
        case = self.case(values)
        ours, theirs = self.outcome(self.renderer, case), self.outcome(self.reference, case)
        same = ours == theirs or (is_refusal(ours) and theirs.endswith(ours.strip()))
        return "" if same else f"two renderers differ: {difference(ours, theirs)}"

    def outcome(self, renderer: Renderer, case: Case) -> str:
        if self.last and self.last[0] == case and renderer is self.renderer:
            return self.last[1]
        try:
            return renderer.render(case).manifest
        except RenderError as error:
            return error.message

    def failed(
        self, rule: str, seed: str, values: Values, message: str, judge: Callable[[Values], str]
    ) -> None:
        kind = fingerprint(message)

        def fails(smaller: Values) -> bool:
            return fits(self.files, self.schema, smaller) and fingerprint(judge(smaller)) == kind

        counted = (self.report.rendered, self.report.as_set)
        small = shrink(values, fails)
        last = judge(small) or message
        self.report.rendered, self.report.as_set = counted
        self.report.failures.append(Failure(rule, seed, small, last))

    def mutated(self, seed: str, values: Values) -> None:
        random = Random(seed)
        wrong = list(mutations(self.schema, values, random))
        for mutation in random.sample(wrong, min(len(wrong), MOST_MUTATIONS)):
            self.report.mutations += 1
            findings = validate(self.files, mutation.values, self.schema)
            if any(names(finding, mutation.path) for finding in findings):
                continue
            said = f"it says: {findings[0].message}" if findings else "nothing is refused"
            path = ".".join(map(str, mutation.path))
            message = f"the schema forbids {mutation.what} at {path}, and {said}"
            self.report.failures.append(
                Failure("fuzz-mutation", seed, _only(mutation.values, mutation.path), message)
            )


def is_refusal(message: str) -> bool:
    """Say whether an error is the chart's own word to its user, not a template that broke."""
    return OWN_WORDS in message and not any(part in message for part in RAW)


def lessened(values: Values, refusal: str, random: Random) -> Values:
    """Leave out a block that a chart's refusal names; any where it names none."""
    named = [name for name in re.findall(r"^\s*- (\w+)", refusal, re.MULTILINE) if name in values]
    gone = named[0] if named else random.choice(sorted(values))
    return {name: value for name, value in values.items() if name != gone}


def names(finding: Finding, path: tuple[str | int, ...]) -> bool:
    """Say whether a finding names a path, or a block around it and the key."""
    wanted = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    wanted = wanted.lstrip(".")
    return finding.path == wanted or wanted.startswith((f"{finding.path}.", f"{finding.path}["))


def split_numbers(values: Values) -> tuple[Values, list[str]]:
    """Take the whole numbers out of maps and give them as ``--set`` arguments."""
    numbers: list[str] = []

    def below(value: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401  # any JSON
        if not isinstance(value, dict):
            return value
        kept = {}
        for key, item in value.items():
            here = (*path, key)
            if isinstance(item, int) and not isinstance(item, bool) and all(map(plain, here)):
                numbers.append(f"{'.'.join(here)}={item}")
            else:
                kept[key] = below(item, here)
        return kept

    return below(values, ()), numbers


def plain(key: str) -> bool:
    """Say whether a key stands for itself in a ``--set`` argument."""
    return key.isascii() and key.isidentifier()


def fingerprint(message: str) -> str:
    """Give what is equal for two failures of one cause: the words without values and places."""
    words = message.partition("(seed")[0].split()
    return " ".join(word for word in words if word.isalpha())[:80]


def first_lines(message: str, most: int = 4) -> str:
    """Give the first lines of an error."""
    return "\n".join(message.strip().splitlines()[:most])


def difference(one: str, other: str) -> str:
    """Give the first line in which two texts differ."""
    for ours, theirs in zip(one.splitlines(), other.splitlines(), strict=False):
        if ours != theirs:
            return f"{ours.strip()!r} and {theirs.strip()!r}"
    return f"{len(one)} and {len(other)} characters"


def _only(values: Values, path: tuple[str | int, ...]) -> Values:
    key = str(path[0])
    return {key: values[key]} if key in values else values
