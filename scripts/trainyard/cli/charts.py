"""The commands about charts: they work on any chart folder, in this checkout or elsewhere."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trainyard import bench as benchmarks
from trainyard import docs as documentation
from trainyard import watching
from trainyard.checking import reports
from trainyard.checking.result import Result
from trainyard.checking.run import Checker, Options
from trainyard.console import Stages, console, out, say
from trainyard.coverage.cases import cases as coverage_cases
from trainyard.coverage.cases import refusals
from trainyard.coverage.measure import measure, to_json
from trainyard.coverage.report import lines as coverage_lines
from trainyard.coverage.report import write_html
from trainyard.errors import TrainyardError
from trainyard.render.case import Case
from trainyard.render.renderer import HelmCli, Pool, RendererProcess
from trainyard.upgrade.history import chart_at
from trainyard.upgrade.report import Report, compare
from trainyard.upgrade.reuse import ReuseReport, reuse

ChartFolder = Annotated[Path, typer.Argument(metavar="CHART", help="The folder of a chart.")]
ChartFolders = Annotated[list[Path], typer.Argument(metavar="CHART...", help="Folders of charts.")]
ValueFiles = Annotated[
    list[Path] | None,
    typer.Option("--values", "-f", help="A values file; may be given several times."),
]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", help="A value as KEY=VALUE; may be given several times."),
]
Versions = Annotated[
    list[str] | None,
    typer.Option("--kube-version", help="A Kubernetes version such as 1.33; all by default."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"


class Engine(StrEnum):
    """What renders."""

    PROCESS = "process"
    HELM = "helm"


class UnusableError(TrainyardError):
    """What was asked cannot be looked at: status 2, as opposed to findings."""

    status = 2


@contextmanager
def unusable() -> Iterator[None]:
    """Tell every error of a command as one of what was asked."""
    try:
        yield
    except TrainyardError as error:
        raise UnusableError(error.message, error.remedy) from error


def render(
    chart: ChartFolder,
    values: ValueFiles = None,
    set_values: SetValues = None,
    set_string: Annotated[
        list[str] | None, typer.Option(help="A value as KEY=TEXT, never a number.")
    ] = None,
    release: Annotated[str, typer.Option(help="The release's name.")] = "my",
    namespace: Annotated[str, typer.Option(help="The release's namespace.")] = "default",
    kube_version: Annotated[str, typer.Option(help="A Kubernetes version to tell the chart.")] = "",
    engine: Annotated[
        Engine,
        typer.Option(help="The fast one, or the helm command line."),
    ] = Engine.PROCESS,
) -> None:
    """Print what a chart renders, as `helm template` does."""
    case = Case(
        chart,
        release=release,
        namespace=namespace,
        kube_version=kube_version,
        value_files=tuple(values or ()),
        set_values=tuple(set_values or ()),
    )
    with (
        unusable(),
        RendererProcess() if engine is Engine.PROCESS else nullcontext(HelmCli()) as renderer,
    ):
        sys.stdout.write(renderer.render(case).manifest)


def check(
    charts: ChartFolders,
    values: ValueFiles = None,
    kube_version: Versions = None,
    crds: Annotated[
        list[Path] | None,
        typer.Option(help="A file with CustomResourceDefinitions that the chart uses."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option(help="Write the report into this file instead.")
    ] = None,
    random: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Also try N random sets of values."),
    ] = 0,
    seed: Annotated[int, typer.Option(help="What the random sets are made from.")] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Check again what an earlier run found unchanged.")
    ] = False,
) -> None:
    """Check charts: values, schemas, rules, upgrades; in every way.

    Each case of a chart (its defaults and every ci/*-values.yaml, or the files given with
    --values) is rendered for every Kubernetes version that the chart allows, alone, under the
    longest name, as a build, as a sub-chart, from a file and by --set. Everything that comes
    out is validated against the API's schemas and held against the rules.

    Ends with 0 when all is clean, 1 when something was found, 2 when a chart or a values
    file cannot be read or rendered.
    """
    options = Options(
        value_files=tuple(values or ()),
        versions=tuple(kube_version or ()),
        definitions=tuple(crds or ()),
        random_sets=random,
        seed=seed,
        fresh=fresh,
    )
    results, unusable_charts = _checked(charts, options)
    _write(reports.FORMATS[form](results), output)
    for error in unusable_charts:
        console.print(f"trainyard: {error}", markup=False, style="bold red")
    if unusable_charts:
        raise typer.Exit(2)
    raise typer.Exit(0 if all(result.clean for result in results) else 1)


def _checked(charts: list[Path], options: Options) -> tuple[list[Result], list[TrainyardError]]:
    """Check each chart; give the results, and the errors of those that cannot be looked at."""
    results: list[Result] = []
    errors: list[TrainyardError] = []
    stages = Stages()
    with unusable():
        pool = Pool(os.cpu_count() or 1)
    try:
        for chart in charts:
            try:
                with stages.stage(str(chart), f"Checked {chart}"):
                    results.append(Checker(pool, options).check(chart))
            except TrainyardError as error:
                errors.append(error)
    finally:
        pool.close()
    return results, errors


def _write(report: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(f"{report}\n" if report else "")
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(report + "\n")
    except OSError as error:
        raise UnusableError(
            f"The report cannot be written to {output}: {error.strerror}."
        ) from error
    say(f"The report is in {output}.")


def diff(
    chart: ChartFolder,
    old: Annotated[
        Path | None, typer.Option("--from", help="The old chart's folder.", show_default=False)
    ] = None,
    revision: Annotated[
        str, typer.Option("--from-revision", help="Or a git revision of the same chart.")
    ] = "",
    values: ValueFiles = None,
    old_values: Annotated[
        list[Path] | None, typer.Option(help="Values files of the old release, if others.")
    ] = None,
    set_values: SetValues = None,
    reuse_values: Annotated[
        bool,
        typer.Option(
            "--reuse-values", help="As helm upgrade --reuse-values: the old chart's values stay."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what an upgrade changes, restarts, deletes and refuses.

    Compares the old chart, or the same one, under the old values with the new chart under
    the new values (--set is of these). With --reuse-values the new ones are only what this
    upgrade is given, and the old chart's values.yaml stands in for the new one's. Ends with 1
    when there is something to mend, such as a change that Kubernetes would refuse.
    """
    if old and revision:
        raise UnusableError("Both --from and --from-revision name the old chart.", "Give one.")
    files = tuple(values or ())
    place = chart_at(chart, revision) if revision else nullcontext(old or chart)
    with unusable(), place as before, RendererProcess() as process:
        former = files if old_values is None and not reuse_values else tuple(old_values or ())
        release = Case(before, value_files=former)
        given = Case(chart, is_upgrade=True, value_files=files, set_values=tuple(set_values or ()))
        report: Report | ReuseReport
        if reuse_values:
            report = reuse(release, given, process)
        else:
            report = compare(release, given, process)
    if as_json:
        out.print_json(json.dumps(report.as_dict()))
    else:
        sys.stdout.write("\n".join(report.lines()) + "\n")
    raise typer.Exit(1 if report.findings else 0)


def cover(
    charts: ChartFolders,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with the templates, branches coloured.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which branches of the templates no case takes.

    A branch is a way through an if, a range or a with, also in the helpers of libraries.
    Cases are the chart's defaults, every ci/*-values.yaml, and every ci/refused/*-values.yaml,
    which the chart must refuse. Exceptions stand in ci/coverage-exceptions.yaml, each with a
    reason. Ends with 1 when a branch is missing or an exception is no longer needed.
    """
    with unusable():
        found = [case for chart in charts for case in coverage_cases(chart)]
        refused = [refusal for chart in charts for refusal in refusals(chart)]
        measured = measure(found, refused)
    if html:
        write_html(measured, html)
        say(f"The page is {html}.")
    if as_json:
        out.print_json(to_json(measured))
    else:
        sys.stdout.write("\n".join(coverage_lines(measured)) + "\n")
    raise typer.Exit(1 if measured.problems else 0)


def watch(
    chart: ChartFolder,
    values: ValueFiles = None,
    set_values: SetValues = None,
) -> None:
    """Render on every save, and show what became of the objects.

    Ends with ctrl-C.
    """
    case = Case(chart, value_files=tuple(values or ()), set_values=tuple(set_values or ()))
    with unusable():
        watching.watch(case, out)


def docs(
    charts: ChartFolders,
    verify: Annotated[
        bool, typer.Option("--verify", help="Write nothing; end with 1 where a table is stale.")
    ] = False,
) -> None:
    """Write the value tables of charts' READMEs from their schemas."""
    stale = False
    with unusable():
        for chart in charts:
            if verify:
                difference = documentation.stale(chart)
                stale = stale or bool(difference)
                sys.stdout.write(difference)
            elif documentation.write(chart):
                say(f"{chart / 'README.md'} is renewed.")
    raise typer.Exit(1 if stale else 0)


def bench(
    what: Annotated[str, typer.Argument(metavar="render", help="What to time: render.")],
    chart: Annotated[
        Path | None, typer.Option(help="The chart; by default what `helm create` makes.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds for each of the two ways.")] = 9,
    as_json: Json = False,
) -> None:
    """Time two ways to do the same, side by side in one run.

    render: the helm command line with the package jsonschema, against ours.
    """
    if what != "render":
        raise UnusableError(f"There is no benchmark {what}.", "There is: render.")
    found = benchmarks.bench_render(chart, seconds)
    if as_json:
        out.print_json(json.dumps(found.as_dict()))
        return
    out.print(f"chart {found.chart}, cases rendered and validated in a second", markup=False)
    out.print(f"  helm command line, PyYAML, jsonschema  {found.helm_cli_per_s:8.1f}")
    out.print(f"  ours                                   {found.ours_per_s:8.1f}")
    out.print(f"  ratio                                  {found.ratio:8.1f}")
    out.print(f"{found.objects} objects validated in {found.objects_s:.4f} s")


def register(app: typer.Typer) -> None:
    """Add these commands to the command line, in the order in which help shows them."""
    for command in (check, render, diff, cover, watch, docs, bench):
        app.command()(command)
