"""trainyard check, as a person calls it, on charts made for the purpose."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from trainyard.charts import Chart, cases
from trainyard.checking.variants import BUILD, LONG_NAME, Contexts, by_set
from trainyard.render.case import Case
from trainyard.render.renderer import RendererProcess
from trainyard.upgrade.bump import bumped

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  steps: {{ .Values.steps | int64 | quote }}
  text: {{ .Values.text | quote }}
"""


@pytest.fixture
def chart(tmp_path):
    """Give a small chart without a fault: one ConfigMap."""
    folder = tmp_path / "small"
    (folder / "templates").mkdir(parents=True)
    (folder / "ci").mkdir()
    about = {"apiVersion": "v2", "name": "small", "version": "1.0.0", "kubeVersion": ">=1.36-0"}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(about))
    (folder / "values.yaml").write_text("steps: 1000000\ntext: plain\n")
    (folder / "values.schema.json").write_text(json.dumps(SCHEMA))
    (folder / "templates" / "map.yaml").write_text(CONFIG_MAP)
    return folder


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "global": {"type": "object", "description": "Values of all charts."},
        "enabled": {"type": "boolean", "description": "For a parent's condition.", "default": True},
        "steps": {
            "type": "integer",
            "description": "How many steps.",
            "default": 1000000,
            "examples": [5],
        },
        "text": {
            "type": ["string", "null"],
            "description": "Any text.",
            "default": "plain",
            "examples": ["a"],
        },
    },
}


def trainyard(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "trainyard", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd)


def check(chart: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return trainyard("check", "--fresh", chart, *more)


def test_a_clean_chart_ends_with_0_and_counts_what_was_done(chart):
    done = check(chart)
    assert done.returncode == 0, done.stdout + done.stderr
    # Alone for two versions, and once in each of three contexts; there is nothing to --set.
    assert "small: clean. 1 cases, 5 renders" in done.stdout
    assert "Kubernetes 1.36-1.37" in done.stdout


def test_a_finding_ends_with_1_and_tells_all(chart):
    (chart / "templates" / "map.yaml").write_text(
        CONFIG_MAP.replace("{{ .Release.Name }}", "Bad_{{ .Release.Name }}")
    )
    done = check(chart)
    assert done.returncode == 1
    assert "ConfigMap/Bad_my" in done.stdout
    assert "small/templates/map.yaml" in done.stdout


def test_numbers_of_another_type_are_found(chart):
    (chart / "templates" / "map.yaml").write_text(CONFIG_MAP.replace(" | int64", ""))
    (chart / "ci" / "many-values.yaml").write_text("# Many steps.\nsteps: 2000000\n")
    done = check(chart)
    assert done.returncode == 1
    assert "render-same-by-set" in done.stdout
    assert "2e+06" in done.stdout


@pytest.mark.parametrize("what", ["chart", "template", "values", "yaml"])
def test_what_cannot_be_looked_at_ends_with_2_and_one_clear_message(chart, what, tmp_path):
    extra: list[object] = []
    place, said = chart, ""
    if what == "chart":
        place, said = tmp_path, "is no chart: Chart.yaml cannot be read"
    if what == "template":
        (chart / "templates" / "map.yaml").write_text("{{ .Values.steps.x }}")
        said = "map.yaml:1"
    if what == "values":
        extra, said = ["--values", tmp_path / "none.yaml"], "There is no values file"
    if what == "yaml":
        (chart / "templates" / "map.yaml").write_text("a: [")
        said = "map.yaml"
    done = check(place, *extra)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_reports_go_to_a_file_in_every_format(chart, tmp_path):
    for form in ("json", "junit", "sarif", "text"):
        file = tmp_path / "reports" / form
        assert check(chart, "--format", form, "--output", file).returncode == 0
        assert file.read_text().strip()


def test_an_unchanged_chart_is_not_checked_twice(chart, tmp_path):
    environment = {**os.environ, "TRAINYARD_CACHE": str(tmp_path / "cache")}
    (tmp_path / "cache").mkdir()
    real = Path(os.environ.get("TRAINYARD_CACHE") or Path("~/.cache/trainyard").expanduser())
    (tmp_path / "cache" / "tools").symlink_to(real / "tools")
    argv = [sys.executable, "-m", "trainyard", "check", str(chart)]
    first, second = (
        subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
        for _ in range(2)
    )
    assert "from the cache" not in first.stdout
    assert "from the cache" in second.stdout


def test_it_works_outside_the_checkout(chart, tmp_path):
    done = trainyard("check", "small", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_render_prints_what_helm_prints(chart):
    by_process = trainyard("render", chart, "--set", "text=other")
    by_helm = trainyard("render", chart, "--set", "text=other", "--engine", "helm")
    assert by_process.returncode == by_helm.returncode == 0
    assert by_process.stdout == by_helm.stdout
    assert 'text: "other"' in by_process.stdout


def test_values_by_set_are_the_same_values(chart):
    hard = {"steps": 7, "text": 'a,b {c} \\ "d" = [0] é\nsecond line'}
    (chart / "ci" / "hard-values.yaml").write_text(yaml.safe_dump(hard, allow_unicode=True))
    case = next(c for c in cases(Chart.open(chart)) if c.name == "hard")
    given = by_set(case)
    assert given is not None
    with RendererProcess() as process:
        assert process.render(given).manifest == process.render(case).manifest


def test_contexts_are_what_they_say(chart, tmp_path):
    opened = Chart.open(chart)
    with bumped(chart, {"version": f"1.0.0{BUILD}"}) as copy, RendererProcess() as process:
        contexts = Contexts(opened, tmp_path / "scratch", copy)
        alone, long, built, sub = contexts.of(Case(chart, value_files=()))
        assert alone == Case(chart)
        assert len(long.release) == len(LONG_NAME) == 53
        assert "+build" in (built.chart / "Chart.yaml").read_text()
        assert process.render(sub).one("ConfigMap")["data"]["text"] == "plain"


@pytest.mark.parametrize("text", ["12:30", "1e3", "2024-01-01", "=", "0o17", "y"])
def test_a_text_that_yaml_readers_take_for_different_things_is_helms(chart, text):
    (chart / "values.schema.json").unlink()
    (chart / "ci" / "odd-values.yaml").write_text(f"# A text of its own.\ntext: {text}\n")
    done = check(chart)
    assert "render-same-by-set" not in done.stdout, done.stdout
    assert "Traceback" not in done.stderr


def test_a_chart_that_is_called_parent_is_checked_like_any_other(chart):
    about = (chart / "Chart.yaml").read_text().replace("name: small", "name: parent")
    (chart / "Chart.yaml").write_text(about)
    assert "parent: clean" in check(chart).stdout


def test_a_chart_that_refuses_upgrades_is_checked_all_the_same(chart):
    refusal = "{{ if .Release.IsUpgrade }}{{ fail `say the password again` }}{{ end }}"
    (chart / "templates" / "no.yaml").write_text(refusal)
    done = check(chart)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No upgrade was compared, as the chart refuses it. defaults" in done.stdout
    assert "say the password again" in done.stdout


def test_one_unusable_chart_hides_no_findings_of_the_others(chart, tmp_path):
    done = trainyard("check", "--fresh", chart, tmp_path / "nowhere")
    assert done.returncode == 2
    assert "small: clean" in done.stdout
    assert "is no chart" in done.stderr


def test_a_key_that_stands_twice_in_a_given_file_is_found(chart, tmp_path):
    (tmp_path / "twice.yaml").write_text("steps: 1\nsteps: 2\n")
    done = check(chart, "--values", tmp_path / "twice.yaml")
    assert done.returncode == 1
    assert "values-duplicate-key" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["docs", "--verify", "nowhere"], "nowhere is no chart"),
        (["diff", "small", "--from", "small", "--from-revision", "HEAD"], "Both --from and"),
        (["bench", "nothing"], "There is no benchmark nothing"),
        (["check", "small", "--output", "."], "cannot be written"),
    ],
    ids=["docs", "diff", "bench", "output"],
)
def test_what_cannot_be_done_ends_with_2_and_says_so(chart, tmp_path, arguments, said):
    done = trainyard(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_link_that_leads_nowhere_is_no_traceback(chart):
    (chart / "note.txt").symlink_to("nowhere")
    assert "Traceback" not in check(chart).stderr


def test_diff_shows_what_changes_and_what_reused_values_miss(chart, tmp_path):
    new = tmp_path / "new" / "small"
    shutil.copytree(chart, new)
    (new / "values.yaml").write_text("steps: 1000000\ntext: plain\nmore: {depth: 3}\n")
    (new / "values.schema.json").unlink()
    (new / "templates" / "map.yaml").write_text(CONFIG_MAP + "  more: {{ .Values.more.depth }}\n")
    plain = trainyard("diff", new, "--from", chart, "--set", "text=other")
    assert 'data.text: "plain" → "other"' in plain.stdout
    assert "+" in plain.stdout
    reused = trainyard("diff", new, "--from", chart, "--reuse-values")
    assert reused.returncode == 1
    assert "upgrade-reuse-values" in reused.stdout
    assert "more" in reused.stdout
    as_json = json.loads(trainyard("diff", new, "--from", chart, "--reuse-values", "--json").stdout)
    assert as_json["added"] == ["more"]
