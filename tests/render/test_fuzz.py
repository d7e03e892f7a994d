"""Random values from the schema: they render or are refused in words, alike in every renderer.

``TRAINYARD_FUZZ_SETS`` and ``TRAINYARD_FUZZ_SEED`` ask for more sets, or for others;
``TRAINYARD_FUZZ_COMPARED`` is how many of them the helm command line renders, too.
"""

import os
import shutil
from pathlib import Path

import pytest

from trainyard import paths
from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.renderer import HelmCli, RendererProcess
from trainyard.values.fuzz import Report, fuzz, is_refusal, split_numbers, values_of
from trainyard.values.merging import read_chart
from trainyard.values.schema import Schema

CHART = paths.CHARTS / "tf-cluster"
SETS = int(os.environ.get("TRAINYARD_FUZZ_SETS", "100"))
SEED = int(os.environ.get("TRAINYARD_FUZZ_SEED", "1"))
COMPARED = int(os.environ.get("TRAINYARD_FUZZ_COMPARED", "10"))


@pytest.fixture(scope="module")
def process():
    with RendererProcess() as running:
        yield running


@pytest.fixture(scope="module")
def report(process) -> Report:
    return fuzz(
        CHART,
        process,
        seed=SEED,
        count=SETS,
        reference=HelmCli(),
        compare=min(COMPARED, SETS),
        most_failures=SETS,
    )


def test_random_valid_values_do_not_break_the_chart(report):
    messages = [failure.finding("tf-cluster").message for failure in report.failures]
    assert messages == []


def test_the_run_was_no_empty_one(report):
    assert report.sets == SETS
    assert report.compared == min(COMPARED, SETS)
    assert report.rendered > SETS * 0.9
    assert report.refused > SETS / 20
    assert report.as_set > SETS / 10
    assert report.mutations > SETS


@pytest.mark.parametrize("path", ["sample.batchSize", "podAnnotations.a"])
def test_the_largest_whole_number_is_the_same_from_a_file_and_from_the_command_line(process, path):
    block, key = path.split(".")
    number = 2**53 - 1
    by_file = process.render(Case(CHART, values_text=(f"{block}: {{{key}: {number}}}",)))
    by_set = process.render(Case(CHART, set_values=(f"{path}={number}",)))
    assert by_file.manifest == by_set.manifest


def test_the_same_seed_makes_the_same_values():
    chart = read_chart(CHART)
    schema = Schema(chart.schema or {})
    made = [values_of(chart, schema, f"7/{number}") for number in range(20)]
    assert made == [values_of(chart, schema, f"7/{number}") for number in range(20)]
    assert len({str(values) for values in made}) > 15


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Give a copy of the chart, whose templates a test breaks."""
    shutil.copytree(CHART.parent / "common", tmp_path / "common")
    shutil.copytree(CHART, tmp_path / CHART.name, symlinks=True)
    return tmp_path / CHART.name


def spoil(chart: Path, file: str, old: str, new: str) -> None:
    text = (chart / file).read_text()
    assert old in text
    (chart / file).write_text(text.replace(old, new))


def test_a_number_that_is_printed_raw_is_found_and_shrunk(process, broken):
    value = ".Values.test.timeoutSeconds"
    shown = f'{{{{ include "common.values.text" {value} }}}}'
    spoil(broken, "templates/tests/cluster.yaml", shown, f"{{{{ {value} }}}}")
    found = fuzz(broken, process, seed=1, count=80, mutate=False, most_failures=1).failures
    (failure,) = [one for one in found if "timeout" in one.message][:1]
    assert failure.rule == "fuzz-set"
    assert list(failure.values) == ["test"]
    assert list(failure.values["test"]) == ["timeoutSeconds"]
    assert failure.seed in failure.finding("tf-cluster").message


def test_a_broken_template_is_found_and_is_no_refusal(process, broken):
    spoil(
        broken,
        "templates/rbac.yaml",
        "{{- if and .Values.rbac.create ",
        "{{- if .Values.env -}}{{ .Values.env.x }}{{ end -}}{{- if and .Values.rbac.create ",
    )
    failure = fuzz(broken, process, seed=1, count=60, mutate=False, most_failures=1).failures[0]
    assert failure.rule == "fuzz-render"
    assert list(failure.values) == ["env"]
    assert len(failure.values["env"]) == 1


def test_rules_judge_every_render(process):
    seen: list[str] = []

    def rules(case, rendered):
        seen.append(case.name)
        if rendered.objects and "fsGroup" not in case.values_text[0]:
            return []
        return [Finding("tf-cluster", "no-group", "Job/x", "spec", "a group", "")]

    result = fuzz(CHART, process, seed=2, count=60, rules=rules, mutate=False, most_failures=1)
    assert len(seen) >= result.rendered > 0
    (failure,) = result.failures
    assert failure.message.startswith("no-group")
    assert result.sets < 60


def test_a_chart_without_a_schema_cannot_be_fuzzed(process, broken):
    (broken / "values.schema.json").unlink()
    with pytest.raises(TrainyardError, match=r"no values\.schema\.json"):
        fuzz(broken, process)


def test_a_refusal_is_the_charts_own_word():
    assert is_refusal("execution error at (a.yaml:1:1): worker: choose another")
    assert not is_refusal("execution error at (a.yaml:1:1): error calling include: nil pointer")
    assert not is_refusal("YAML parse error on a.yaml")


def test_numbers_of_maps_become_arguments():
    values = {"a": {"b": 1, "c": [2]}, "d.e": 3, "f": 1.5, "g": True}
    assert split_numbers(values) == ({"a": {"c": [2]}, "d.e": 3, "f": 1.5, "g": True}, ["a.b=1"])
