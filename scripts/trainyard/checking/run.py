"""Check one chart: every case, in every way, for every Kubernetes version."""

import functools
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainyard.charts import Chart, cases
from trainyard.checking import cache, exceptions
from trainyard.checking.result import Result, gathered
from trainyard.checking.variants import BUILD, Contexts, by_set
from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import Pool, RenderError
from trainyard.rules.base import RULES, Render
from trainyard.rules.check import check, finding, validate
from trainyard.rules.external import named_by
from trainyard.schemas import bundle, crds
from trainyard.schemas.validator import Schemas
from trainyard.upgrade.bump import bumped, version_bump
from trainyard.values.check import check_values
from trainyard.values.fuzz import fuzz
from trainyard.values.loading import load_values

Outcome = tuple[Case, Rendered | RenderError]

NOT_FOR_THIS_VERSION = "chart requires kubeVersion"
"""How Helm begins its refusal of a Kubernetes version that Chart.yaml does not allow."""

RANDOM_SILENCE = frozenset(
    {
        "gpu-request",
        "plain-secret",
        "pod-security",
        "reference",
        "reference-key",
        "resource-limits",
        "shared-claim",
    }
)
"""Rules that random values break by themselves: they name what is nowhere, and ask for what
is not allowed."""

DETERMINISM = "determinism"
RENDERS_IN_CONTEXT = "render-in-context"
SAME_BY_SET = "render-same-by-set"


@dataclass(frozen=True)
class Options:
    """What a person can choose for a check."""

    value_files: tuple[Path, ...] = ()
    versions: tuple[str, ...] = ()
    """Kubernetes versions such as ``1.33``; empty for all with schemas that the chart allows."""
    definitions: tuple[Path, ...] = ()
    """Files with CustomResourceDefinitions of others that the chart uses."""
    random_sets: int = 0
    """How many random sets of values, made from the schema, are tried as well."""
    seed: int = 0
    """What the random sets are made from: the same seed makes the same sets."""
    fresh: bool = False
    """Whether an earlier result on the same files is passed over."""


class Checker:
    """Checks charts with several renderer processes at a time."""

    def __init__(self, pool: Pool, options: Options) -> None:
        self._pool = pool
        self._options = options

    def check(self, path: Path) -> Result:
        """Check one chart.

        Raises TrainyardError where the chart or a values file cannot be read, or where a
        case cannot be rendered at all: then there is nothing to look at.
        """
        start = time.monotonic()
        chart = Chart.open(path)
        settings = replace(self._options, fresh=False)
        named = cache.key(path, settings, [*settings.value_files, *settings.definitions])
        if not self._options.fresh and (found := cache.load(named)):
            found.seconds = round(time.monotonic() - start, 2)
            return found
        result = Result(chart.name, ())
        with self._pool.take() as process:
            checked = check_values(path, process)
        result.findings += checked.findings
        for file in settings.value_files:
            if file.is_file():
                result.findings += load_values(file, chart.name)[1]
        result.dynamic_reads = list(checked.dynamic)
        if not chart.library:
            self._check_renders(chart, result)
            if settings.random_sets:
                self._try_random_values(chart, result)
        result.findings, result.counts.excepted = exceptions.explained(
            chart.name, gathered(result.findings), exceptions.load(path)
        )
        result.seconds = round(time.monotonic() - start, 2)
        cache.store(named, result)
        return result

    def _check_renders(self, chart: Chart, result: Result) -> None:
        found = cases(chart, self._options.value_files)
        result.counts.cases = len(found)
        result.missing = chart.missing
        result.versions = self._versions(found[0])
        newest = result.versions[-1]
        definitions = [*crds.of_chart(chart.path), *crds.read(self._options.definitions)]
        looker = _Looker(result, definitions)
        version = f"{chart.version.partition('+')[0]}{BUILD}"
        with (
            tempfile.TemporaryDirectory(prefix="trainyard-check-") as scratch,
            bumped(chart.path, {"version": version}) as built,
        ):
            contexts = Contexts(chart, Path(scratch), built)
            for case in found:
                plain = [
                    replace(case, kube_version=version)
                    for version in result.versions
                    if bundle.order(version) >= bundle.order(case.kube_since or version)
                ]
                rendered = self._render(plain)
                for each, one in rendered:
                    looker.take(each, one)
                if not isinstance(one, RenderError):
                    looker.take_again(each, one, self._pool.render(each))
                for context in contexts.of(replace(case, kube_version=newest)):
                    self._look_in_context(looker, context)
        with self._pool.take() as process:
            for case in found:
                # What differs by itself says nothing about a version.
                if case.name in looker.restless:
                    continue
                try:
                    result.findings += version_bump(case, process)
                except RenderError as error:
                    result.not_upgraded.append(f"{case.name}: {error.message.strip()}")

    def _try_random_values(self, chart: Chart, result: Result) -> None:
        settings = self._options
        with self._pool.take() as process:
            tried = fuzz(
                chart.path,
                process,
                seed=settings.seed,
                count=settings.random_sets,
                rules=lambda case, out: check(Render(case, out, named_by(case)), RANDOM_SILENCE),
            )
        result.counts.random_rendered = tried.rendered
        result.counts.random_refused = tried.refused
        result.counts.mutations = tried.mutations
        result.findings += [failure.finding(chart.name) for failure in tried.failures]

    def _look_in_context(self, looker: "_Looker", case: Case) -> None:
        """Look at a case in one context, by file and by ``--set``, which must agree."""
        given = by_set(case)
        both = [case, given] if given else [case]
        rendered = [found for _, found in self._render(both)]
        for each, one in zip(both, rendered, strict=True):
            if each.tags:
                looker.take(each, one)
        if given:
            looker.compare(case, rendered[0], rendered[1])

    def _versions(self, case: Case) -> tuple[str, ...]:
        """Give the wanted versions that the chart allows."""
        wanted = self._options.versions or tuple(bundle.versions())
        wanted = tuple(sorted(set(wanted), key=bundle.order))
        tried = self._render([replace(case, kube_version=version) for version in wanted])
        allowed = tuple(
            each.kube_version
            for each, rendered in tried
            if not isinstance(rendered, RenderError)
            or not rendered.message.startswith(NOT_FOR_THIS_VERSION)
        )
        if not allowed:
            raise TrainyardError(
                f"{case.chart} allows none of Kubernetes {', '.join(wanted)}.",
                "Its Chart.yaml says which it allows, in kubeVersion.",
            )
        return allowed

    def _render(self, wanted: Sequence[Case]) -> list[Outcome]:
        """Render several cases at a time; the outcomes come in their order."""

        def one(case: Case) -> Rendered | RenderError:
            try:
                return self._pool.render(case)
            except RenderError as error:
                return error

        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            return list(zip(wanted, threads.map(one, wanted), strict=True))


class _Looker:
    """Looks at renders one after the other, and at the same text only once."""

    def __init__(self, result: Result, definitions: list[dict[str, Any]]) -> None:
        self._result = result
        self._looked_at: set[str] = set()
        self.restless: set[str] = set()
        """The names of the cases that give something else at each render."""
        self._schemas = functools.cache(lambda version: Schemas(version, definitions))

    def take(self, case: Case, rendered: Rendered | RenderError) -> None:
        """Look at one render. A case that cannot be rendered by itself ends the check."""
        if isinstance(rendered, RenderError):
            if not case.tags:
                raise TrainyardError(f"{case.chart} ({case.title}): {rendered.message}")
            remedy = "By itself the case renders: look at what the template takes from its context."
            self._add(case, RENDERS_IN_CONTEXT, rendered.message, remedy)
            return
        counts = self._result.counts
        counts.renders += 1
        render = Render(case, rendered, named_by(case))
        if rendered.manifest not in self._looked_at:
            self._looked_at.add(rendered.manifest)
            self._result.findings += check(render)
        validated = validate(render, self._schemas(case.kube_version))
        counts.objects += len(render.objects)
        counts.validated += validated.valid + validated.invalid
        counts.no_schema += len(validated.without_schema)
        kinds = {title.partition("/")[0] for title in validated.without_schema}
        self._result.unknown_kinds = sorted(kinds | set(self._result.unknown_kinds))
        self._result.findings += validated.findings

    def take_again(self, case: Case, first: Rendered, second: Rendered) -> None:
        """Look at a second render of the same case, which should be the first."""
        if first.manifest != second.manifest:
            self.restless.add(case.name)
        render = Render(case, first, again=second)
        self._result.findings += [
            finding(render, DETERMINISM, problem) for problem in RULES[DETERMINISM].check(render)
        ]

    def compare(
        self, case: Case, by_file: Rendered | RenderError, given: Rendered | RenderError
    ) -> None:
        """Compare what a values file and ``--set`` gave for the same values."""
        if isinstance(by_file, RenderError) or case.name in self.restless:
            return
        if isinstance(given, RenderError):
            message = f"values from a file render, the same by --set do not: {given.message}"
        elif given.manifest != by_file.manifest:
            line = _first_difference(by_file.manifest, given.manifest)
            message = f"values from a file and by --set render differently: {line}"
        else:
            return
        remedy = "Numbers are floats from a file and integers by --set: `| int64` before use."
        self._add(case, SAME_BY_SET, message, remedy)

    def _add(self, case: Case, rule: str, message: str, remedy: str) -> None:
        chart = self._result.chart
        found = Finding(chart, rule, "", "", message, remedy, case=case.title)
        self._result.findings.append(found)


def _first_difference(one: str, other: str) -> str:
    pairs = zip(one.splitlines(), other.splitlines(), strict=False)
    return next((f"{a.strip()!r} and {b.strip()!r}" for a, b in pairs if a != b), "their lengths")
