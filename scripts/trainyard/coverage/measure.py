"""Render cases with their branches marked, and add up what was taken."""

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trainyard.coverage.cases import Refusal
from trainyard.coverage.exceptions import Excepted, read
from trainyard.render.case import Case
from trainyard.render.renderer import Branch, Pool, RendererProcess, RenderError


@dataclass(frozen=True)
class Coverage:
    """The branches of one chart, a library's own among them, over all cases that were run."""

    chart: str
    """The name of its folder."""
    folder: Path
    """Where its templates lie; a packed dependency has none, and then it does not exist."""
    branches: tuple[Branch, ...]
    """In the order of files and lines; ``file`` is the path in the chart."""
    taken: frozenset[Branch]
    exceptions: tuple[Excepted, ...] = ()

    @property
    def missing(self) -> list[Branch]:
        """The branches that are neither taken nor excepted."""
        gaps = (branch for branch in self.branches if branch not in self.taken)
        return [b for b in gaps if not any(e.fits(b) for e in self.exceptions)]

    @property
    def excepted(self) -> list[Branch]:
        """The branches that are excepted and, indeed, not taken."""
        gaps = (branch for branch in self.branches if branch not in self.taken)
        return [b for b in gaps if any(e.fits(b) for e in self.exceptions)]

    @property
    def outdated(self) -> list[str]:
        """Exceptions that must go, each with why: a sentence."""
        found = []
        for exception in self.exceptions:
            fitting = [branch for branch in self.branches if exception.fits(branch)]
            if not fitting:
                found.append(f"{exception.place}: no branch is like this; remove the exception.")
            elif all(branch in self.taken for branch in fitting):
                found.append(f"{exception.place}: a case takes it now; remove the exception.")
        return found


@dataclass(frozen=True)
class Measured:
    """The coverage of charts and of what they depend on, and the cases that went wrong."""

    charts: tuple[Coverage, ...]
    faults: tuple[str, ...] = field(default=())
    """Cases that did not render, or that were not refused as they must be: sentences."""

    @property
    def problems(self) -> list[str]:
        """Everything that keeps this from being good, in sentences; empty when it is."""
        gaps = [
            f"{each.chart}/{branch.file}:{branch.line}: no case takes the {describe(branch)}."
            for each in self.charts
            for branch in each.missing
        ]
        outdated = [f"{each.chart}: {text}" for each in self.charts for text in each.outdated]
        return [*self.faults, *gaps, *outdated]

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON: numbers over all charts, and the same for each."""
        counted = [{"chart": each.chart, **_numbers([each])} for each in self.charts]
        return {**_numbers(self.charts), "charts": counted, "problems": self.problems}


def _numbers(charts: Sequence[Coverage]) -> dict[str, float]:
    branches = sum(len(each.branches) for each in charts)
    taken = sum(len(each.taken) for each in charts)
    excepted = sum(len(each.excepted) for each in charts)
    percent = 100.0 if not branches else 100 * (taken + excepted) / branches
    # Not rounded up: 100 means all.
    shown = int(percent * 100) / 100
    return {"branches": branches, "taken": taken, "excepted": excepted, "percent": shown}


def describe(branch: Branch) -> str:
    """Name a branch: its way and its condition as it is written."""
    way = "else" if branch.way == "else" else "first branch"
    return f"{way} of {{{{ {branch.keyword} {branch.text} }}}}"


def measure(
    cases: Iterable[Case], refusals: Iterable[Refusal] = (), processes: int = 0
) -> Measured:
    """Run all cases, of one chart or of several, and give their coverage.

    ``processes`` is how many renderers run at a time, 0 one for each processor. A refusal that is
    none, or of another reason, and a case that does not render, are faults; the branches taken
    until then count.
    """
    wanted = [*((case, "") for case in cases), *((each.case, each.says) for each in refusals)]
    size = min(processes or os.cpu_count() or 1, max(1, len(wanted)))
    pool = Pool(size)
    try:
        with ThreadPoolExecutor(size) as threads:
            runs = list(threads.map(lambda each: _run(pool, *each), wanted))
        with pool.take() as process:
            known = {case.chart: process.branches(case.chart) for case, _ in wanted}
    finally:
        pool.close()
    charts = _Charts()
    for chart, branches in known.items():
        charts.add(chart, branches)
    for (case, _), (taken, _) in zip(wanted, runs, strict=True):
        charts.take(case.chart, known[case.chart], taken)
    return Measured(charts.coverages(), tuple(fault for _, fault in runs if fault))


def _run(pool: Pool, case: Case, says: str) -> tuple[frozenset[int], str]:
    """Give the branches that a case took, and what is wrong with it."""
    with pool.take() as process:
        return _cover(process, case, says)


def _cover(process: RendererProcess, case: Case, says: str) -> tuple[frozenset[int], str]:
    name = f"{case.chart.resolve().name}, {case.title}"
    try:
        _, taken = process.cover(case)
    except RenderError as error:
        if not says:
            return error.taken, f"{name}: does not render: {error.message}"
        if says not in error.message:
            return error.taken, f"{name}: is refused for another reason: {error.message.strip()}"
        return error.taken, ""
    return taken, f"{name}: renders, and must be refused: {says}" if says else ""


class _Charts:
    """Adds up branches by the chart that they belong to."""

    def __init__(self) -> None:
        self._branches: dict[Path, set[Branch]] = {}
        self._taken: dict[Path, set[Branch]] = {}

    def add(self, chart: Path, branches: list[Branch]) -> None:
        """Take up a chart with the branches that the renderer lists."""
        for folder, branch in _owned(chart, branches):
            self._branches.setdefault(folder, set()).add(branch)
            self._taken.setdefault(folder, set())

    def take(self, chart: Path, branches: list[Branch], taken: frozenset[int]) -> None:
        """Count the branches that one case of a chart took, by their indexes."""
        for number, (folder, branch) in enumerate(_owned(chart, branches)):
            if number in taken:
                self._taken[folder].add(branch)

    def coverages(self) -> tuple[Coverage, ...]:
        """Give the sums, chart by chart."""
        return tuple(
            Coverage(
                folder.name,
                folder,
                tuple(sorted(branches, key=lambda b: (b.file, b.line, b.column, b.way == "else"))),
                frozenset(self._taken[folder]),
                tuple(read(folder)),
            )
            for folder, branches in self._branches.items()
        )


def _owned(chart: Path, branches: list[Branch]) -> list[tuple[Path, Branch]]:
    """Give each branch with the folder of its chart, and its file as a path in that chart."""
    found = []
    for branch in branches:
        folder, file = chart.resolve(), branch.file
        while file.startswith("charts/"):
            _, name, file = file.split("/", 2)
            folder = (folder / "charts" / name).resolve()
        found.append((folder, replace(branch, file=file)))
    return found


def to_json(measured: Measured) -> str:
    """Give the report for machines."""
    return json.dumps(measured.as_dict(), indent=2, ensure_ascii=False)
