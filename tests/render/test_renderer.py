"""The renderer process gives what helm gives, byte for byte."""

import re
from pathlib import Path

import pytest

from trainyard import paths
from trainyard.render.case import Case
from trainyard.render.renderer import HelmCli, RendererProcess, RenderError

CHART = paths.CHARTS / "tf-cluster"
CASES = sorted(CHART.glob("ci/*-values.yaml"))


@pytest.fixture
def process(renderer: RendererProcess) -> RendererProcess:
    return renderer


def same(process: RendererProcess, case: Case) -> None:
    assert process.render(case).manifest == HelmCli().render(case).manifest


def test_the_defaults_render_the_same(process):
    same(process, Case(CHART))


@pytest.mark.parametrize("file", CASES, ids=lambda path: path.stem)
def test_every_case_renders_the_same(process, file):
    same(process, Case(CHART, value_files=(file,)))


@pytest.mark.parametrize(
    "case",
    [
        Case(CHART, release="other", namespace="elsewhere"),
        Case(CHART, is_upgrade=True),
        Case(CHART, kube_version="1.29", api_versions=("example.org/v1", "example.org/v2")),
        Case(CHART, values_text=("sample: {epochs: 1000000}",), set_values=("ps.replicas=2",)),
        Case(CHART, set_string=("image.tag=1.10",), set_json=('worker={"replicas":3}',)),
        Case(CHART, set_literal=("chief.podAnnotations.note=a,b",)),
        Case(CHART, values_text=("worker: {replicas: 3}",), value_files=(CASES[0],)),
    ],
    ids=["names", "upgrade", "versions", "text and set", "set kinds", "literal", "text and file"],
)
def test_every_way_to_say_it_renders_the_same(process, case):
    same(process, case)


def test_set_file_reads_the_file(process, tmp_path):
    (tmp_path / "tag").write_text("1.2.3")
    case = Case(CHART, set_file=(f"image.tag={tmp_path}/tag",))
    same(process, case)
    assert "1.2.3" in process.render(case).manifest


@pytest.mark.parametrize(
    "case",
    [
        Case(CHART, set_values=("worker.replicas=-1",)),
        Case(CHART, set_values=("nowhere=1",)),
        Case(CHART, kube_version="1.20"),
        Case(CHART, kube_version="x"),
        Case(CHART, value_files=(Path("/nowhere.yaml"),)),
        Case(Path("/nowhere")),
        Case(paths.CHARTS / "common"),
    ],
    ids=["schema", "unknown", "kubeVersion", "version", "file", "chart", "library"],
)
def test_both_refuse_the_same_in_the_same_words(process, case):
    with pytest.raises(RenderError) as by_process:
        process.render(case)
    with pytest.raises(RenderError) as by_helm:
        HelmCli().render(case)
    # The command line puts a word of its own before some errors.
    assert by_helm.value.message.endswith(by_process.value.message.strip())


def test_notes_and_hooks_are_given(process):
    rendered = process.render(Case(CHART))
    assert "helm uninstall -n default my" in rendered.notes
    assert rendered.hooks == ("tf-cluster/templates/tests/cluster.yaml",)


def test_marking_branches_changes_no_output(process):
    for file in CASES:
        case = Case(CHART, value_files=(file,))
        rendered, taken = process.cover(case)
        assert rendered.manifest == process.render(case).manifest
        assert taken


def test_branches_and_reads_name_their_places(process):
    branches = process.branches(CHART)
    assert {branch.keyword for branch in branches} == {"if", "range", "with"}
    ways: dict[tuple[str, int, int], set[str]] = {}
    for branch in branches:
        ways.setdefault((branch.file, branch.line, branch.column), set()).add(branch.way)
        if branch.keyword == "range" and re.search(r"(^|:= )(list|dict) ", branch.text):
            ways[branch.file, branch.line, branch.column].add("else")  # It is written out there.
    assert all(found == {"taken", "else"} for found in ways.values())
    reads = process.reads(CHART)
    lines = (CHART / reads[0].file).read_text().splitlines()
    assert "Values" in lines[reads[0].line - 1]


def test_a_failed_render_does_not_end_the_process(process):
    with pytest.raises(RenderError):
        process.render(Case(Path("/nowhere")))
    assert process.render(Case(CHART)).objects
