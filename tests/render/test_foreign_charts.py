"""Charts that nobody here wrote: no crash, no finding without an explanation.

``foreign_charts.yaml`` says what is found in each and why it is true. The table in
docs/foreign-charts.md is written by this test with TRAINYARD_WRITE_DOCS=1.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard import modules, paths, tools
from trainyard.checking.result import Result
from trainyard.checking.run import Checker, Options
from trainyard.coverage.measure import measure
from trainyard.process import run
from trainyard.render.case import Case
from trainyard.render.renderer import Pool

ENTRIES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("foreign_charts.yaml").read_text()
)
PAGE = paths.ROOT / "docs" / "foreign-charts.md"
HEAD = """\
# Charts that nobody here wrote

What `trainyard check` finds in the scaffold of `helm create` and in charts inside Go modules.
Each finding was looked at; the second table says why it is true. The page is written by
`tests/render/test_foreign_charts.py` with `TRAINYARD_WRITE_DOCS=1`, and held against what is
found in every test run, but for the seconds: they were measured when it was written.

| chart | version | cases | renders | objects | branches its cases take | findings | s |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


@pytest.fixture(scope="module")
def pool():
    running = Pool(2)
    yield running
    running.close()


@pytest.fixture(scope="module")
def results(pool, tmp_path_factory) -> dict[str, tuple[str, Result]]:
    """Check every chart, and give its row of the table and its result by its name."""
    found = {}
    for entry in ENTRIES:
        chart = chart_of(entry, tmp_path_factory)
        files: tuple[Path, ...] = ()
        if "values" in entry:
            file = tmp_path_factory.mktemp("values") / "values.yaml"
            file.write_text(yaml.safe_dump(entry["values"]))
            files = (file,)
        result = Checker(pool, Options(value_files=files, fresh=True)).check(chart)
        cases = [Case(chart, value_files=files, skip_missing=True)]
        cases += [
            Case(chart, value_files=(file,), skip_missing=True)
            for file in sorted(chart.glob("ci/*-values.yaml"))
        ]
        branches = measure(cases).as_dict()
        found[entry["name"]] = (row(entry, chart, result, branches), result)
    return found


def chart_of(entry: dict[str, Any], factory: pytest.TempPathFactory) -> Path:
    if "module" in entry:
        return modules.folder(entry["module"]) / str(entry["path"])
    folder = factory.mktemp("scaffold")
    run([tools.helm(), "create", "scaffold"], cwd=folder)
    return folder / "scaffold"


def row(entry: dict[str, Any], chart: Path, result: Result, branches: dict[str, Any]) -> str:
    version = yaml.safe_load((chart / "Chart.yaml").read_text())["version"]
    counts = result.counts
    taken = f"{branches['taken']} of {branches['branches']}"
    cells = [entry["name"], version, counts.cases, counts.renders, counts.objects, taken]
    return "| " + " | ".join(map(str, [*cells, len(result.findings)])) + " | "


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_every_finding_is_explained_and_every_explanation_needed(results, entry):
    _, result = results[entry["name"]]
    told = {f"{f.rule}: {f.place}: {f.message}" for f in result.findings}
    assert {f.rule for f in result.findings} == set(entry["findings"]), "\n".join(sorted(told))


def test_the_page_is_fresh(results):
    lines = [start for start, _ in results.values()]
    reasons = [
        f"| {entry['name']} | `{rule}` | {reason} |"
        for entry in ENTRIES
        for rule, reason in entry["findings"].items()
    ]
    notes = [f"{entry['name']}: {entry['note']}\n" for entry in ENTRIES if "note" in entry]
    tail = "\n| chart | rule | why it is true |\n| --- | --- | --- |\n" + "\n".join(reasons) + "\n"
    tail += "".join(f"\n{note}" for note in notes)
    if os.environ.get("TRAINYARD_WRITE_DOCS"):
        timed = [f"{start}{result.seconds:.1f} |" for start, result in results.values()]
        PAGE.write_text(HEAD + "\n".join(timed) + "\n" + tail)
    text = PAGE.read_text()
    assert text.startswith(HEAD)
    assert text.endswith(tail)
    for line in lines:
        assert f"\n{line}" in text
