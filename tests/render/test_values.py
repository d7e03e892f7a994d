"""Values against real charts: Helm's verdict is ours, and templates read what is declared."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trainyard import paths, tools
from trainyard.findings import Finding
from trainyard.process import run
from trainyard.render.case import Case
from trainyard.render.renderer import RendererProcess, RenderError
from trainyard.values.check import check_values
from trainyard.values.fuzz import SCHEMA_WORDS, values_of
from trainyard.values.loading import load_values
from trainyard.values.merging import ChartFiles, read_chart
from trainyard.values.mutations import mutations
from trainyard.values.schema import Schema, validate

CHART = paths.CHARTS / "tf-cluster"


@pytest.fixture(scope="module")
def process():
    with RendererProcess() as running:
        yield running


# --- the verdict ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a chart with the values and the schema of tf-cluster and nothing to render."""
    root = tmp_path_factory.mktemp("bare")
    shutil.copytree(paths.CHARTS / "common", root / "common")
    templates = shutil.ignore_patterns("templates", "files", "samples", "ci")
    shutil.copytree(CHART, root / CHART.name, symlinks=True, ignore=templates)
    return root / CHART.name


def helm_takes(process: RendererProcess, chart: Path, values: Any) -> bool:
    try:
        process.render(Case(chart, values_text=(json.dumps(values),)))
    except RenderError as error:
        assert SCHEMA_WORDS in error.message or "type mismatch" in error.message, error.message
        return False
    return True


def agree(process: RendererProcess, chart: ChartFiles, schema: Schema, values: Any) -> bool:
    ours = not validate(chart, values, schema)
    assert ours == helm_takes(process, chart.folder, values), values
    return ours


def test_helm_and_we_say_yes_and_no_to_the_same_random_values(process, bare):
    chart, random = read_chart(bare), Random(0)
    schema = Schema(chart.schema or {})
    verdicts = []
    for number in range(60):
        values = values_of(chart, schema, f"parity/{number}")
        verdicts.append(agree(process, chart, schema, values))
        wrong = list(mutations(schema, values, random))
        for mutation in random.sample(wrong, min(len(wrong), 2)):
            verdicts.append(agree(process, chart, schema, mutation.values))
    assert 50 <= verdicts.count(True) < verdicts.count(False) + 20


NULLS: list[Any] = [
    {"args": None},
    {"chief": None},
    {"chief": {"args": None}},
    {"chief": {"terminationGracePeriodSeconds": None}},
    {"chief": {"resources": {"limits": None}}},
    {"podSecurityContext": {"runAsUser": None, "sysctls": None}},
    {"image": {"tag": None}},
    {"common": {}},
    {"common": None},
    {"common": {"global": 1}},
    {"common": "text"},
    {"global": None},
    {"global": {"other": 1}},
    {"enabled": None},
    {"nowhere": None},
    {"worker": {"replicas": 3.0}},
    {"worker": "text"},
]


@pytest.mark.parametrize("values", NULLS, ids=str)
def test_helm_and_we_say_the_same_of_nulls_and_odd_shapes(process, bare, values):
    chart = read_chart(bare)
    agree(process, chart, Schema(chart.schema or {}), values)


@pytest.mark.parametrize(
    "draft",
    ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", ""],
)
@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"format": "hostname"}, "bad_host!"),
        ({"format": "ipv4"}, "999.0.0.1"),
        ({"type": "integer"}, 3.0),
        ({"type": "integer"}, 1e3),
        ({"type": "number"}, "3"),
        ({"maxLength": 3}, "ü☃é"),
        ({"pattern": "^a.c$"}, "a\nc"),
        ({"pattern": "^abc$"}, "abc\n"),
        ({"pattern": "^[\\w-]+$"}, "é"),
        ({"pattern": "\\d"}, "٣"),
        ({"uniqueItems": True}, [1, 1.0]),
        ({"const": 1}, True),
        ({"enum": [0]}, False),
        ({"multipleOf": 0.1}, 0.3),
    ],
    ids=str,
)
def test_helm_and_we_say_the_same_of_every_draft(process, tmp_path, draft, part, value):
    made = {"properties": {"a": part}, **({"$schema": draft} if draft else {})}
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (tmp_path / "values.schema.json").write_text(json.dumps(made))
    agree(process, read_chart(tmp_path), Schema(made), {"a": value})


def test_helm_reads_a_file_as_we_do(process, tmp_path):
    text = """
a: [n, y, on, off, yes, No, Y, nO, True, tRUE, ~, null, "x", 'n']
b: [12:30:45, 12:30, 0123, 0o17, 08, 0x1F, 0b11, 1e3, 1_000, 1.10, 1.0, .5, +1, 1., 1e+3, -0123]
c: [2024-01-01, 1234e56, 6801028, 1.2.3, 0755, 190:20:30.15, 1_0.5]
n: 1
12: x
1.5: {<<: {p: 1}, q: 2}
"""
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.yaml").write_text("{{ toJson .Values }}\n")
    manifest = process.render(Case(tmp_path, values_text=(text,))).manifest
    assert json.loads(manifest.splitlines()[-1]) == load_values(text)[0]


# --- what templates read --------------------------------------------------------------------------

HELPERS = """
{{- define "c.name" -}}{{ .Values.name | default .Chart.Name }}{{- end -}}
{{- define "c.role" -}}
{{- $own := index .context.Values .role -}}
{{- toJson (dict "image" $own.image "common" .context.Values.common.image) -}}
{{- end -}}
{{- define "c.check.one" -}}{{ .Values.one }}{{- end -}}
{{- define "c.check.two" -}}{{ .Values.two }}{{- end -}}
{{- define "c.walk" -}}
{{- range $key, $value := .it }}{{ $key }}
{{- if kindIs "map" $value }}{{ include "c.walk" (dict "it" $value) }}{{ end }}
{{- $value }}
{{- end }}
{{- end -}}
{{- define "c.defaults" -}}
filled: {one: 1}
{{- end -}}
{{- define "c.lead" -}}
{{ .Values.lead | default (ternary "first" "all" .Values.asked) }}
{{- end -}}
{{- define "c.leadRole" -}}
{{- get (dict "first" "chief" "one" "worker" "all" "worker") (include "c.lead" .) -}}
{{- end -}}
{{- define "c.fill" -}}
{{- range $key, $default := .defaults -}}
{{- if kindIs "invalid" (index $.values $key) }}{{ $_ := set $.values $key $default }}{{ end -}}
{{- end -}}
{{- end -}}
"""

TEMPLATE = """
{{- include "c.fill" (dict "values" .Values "defaults" (include "c.defaults" . | fromYaml)) -}}
name: {{ include "c.name" . }}
{{- $block := .Values.block }}
plain: {{ $block.plain }}
{{- with $block.within }}
within: {{ .leaf }} {{ $.Values.rooted }}
{{- end }}
{{- range $role := list "chief" "worker" }}
{{- $settings := include "c.role" (dict "context" $ "role" $role) | fromJson }}
image: {{ $settings.image.tag }} {{ $settings.common.tag }}
{{- if ne $role "chief" }}
replicas: {{ index $.Values $role "replicas" }}
{{- end }}
{{- end }}
{{- range list "one" "two" }}
check: {{ include (printf "c.check.%s" .) $ }}
{{- end }}
{{- range .Values.items }}
item: {{ .name }}
{{- end }}
all: {{ toYaml .Values.whole | nindent 2 }}
led: {{ index .Values (include "c.leadRole" .) "grace" }}
walk: {{ include "c.walk" (dict "it" .Values.walked) }}
key: {{ index .Values.profiles .Values.profile }} {{ get .Values.got "leaf" }}
dug: {{ dig "a" "b" 1 .Values.dug }}
{{- if .Values.asked }}{{ end }}
unknown: {{ index .Values.dynamic (.Files.Get "name") }}
{{- /* .Values.comment */}}
text: .Values.text
"""

READS = {
    "name", "name.**", "block.plain.**", "block.within", "block.within.leaf.**", "rooted.**",
    "chief.image.tag.**", "worker.image.tag.**", "common.image.tag.**", "worker.replicas.**",
    "one.**", "two.**", "items", "items.*.name.**", "whole.**", "profiles.*.**", "profile.**",
    "got.leaf.**", "dug.a.b.**", "asked", "dynamic.?.**", "walked", "walked.*.**", "filled=",
    "lead", "lead.**", "chief.grace.**", "worker.grace.**",
}  # fmt: skip


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    (tmp_path / "templates" / "_helpers.tpl").write_text(HELPERS)
    (tmp_path / "templates" / "a.yaml").write_text(TEMPLATE)
    return tmp_path


def test_reads_are_followed_through_variables_helpers_and_loops(process, chart):
    paths_read = {read.path for read in process.reads(chart)}
    assert paths_read >= READS
    assert not {
        path for path in paths_read if path.startswith(("chief.replicas", "text", "comm"))
    } - {"common.image.tag.**"}
    assert not {path for path in paths_read if path.endswith("?.grace.**")}


def test_reads_name_the_place_of_the_helper(process, chart):
    (found,) = [read for read in process.reads(chart) if read.path == "one.**"]
    assert found.file == "templates/_helpers.tpl"
    assert "Values.one" in HELPERS.splitlines()[found.line - 1]


def test_helpers_of_a_library_are_followed_with_what_they_are_given(process):
    reads = {(read.file, read.path) for read in process.reads(CHART)}
    assert ("charts/common/templates/_images.tpl", "global.imageRegistry.**") in reads
    assert ("templates/_plan.tpl", "ps.terminationGracePeriodSeconds.**") in reads


# --- whole charts ---------------------------------------------------------------------------------


def findings(process: RendererProcess, folder: Path) -> list[Finding]:
    return list(check_values(folder, process).findings)


def test_tf_cluster_agrees_with_itself_in_every_way(process):
    checked = check_values(CHART, process)
    assert checked.findings == ()
    assert checked.dynamic == ()
    assert checked.reads > 300


def test_a_library_without_values_needs_no_schema(process):
    assert findings(process, paths.CHARTS / "common") == []


FOUND_BY_FUZZING: list[tuple[str, Any]] = [
    ("fullnameOverride", {"fullnameOverride": "two\n"}),
    ("nodeSelector.a", {"nodeSelector": {"a": "$"}}),
    ("nodeSelector", {"nodeSelector": {"a" * 64: "b"}}),
    ("podLabels.a", {"podLabels": {"a": -1}}),
    ("chief.image.repository", {"chief": {"image": {"repository": None}}}),
    ("podSecurityContext.runAsUser", {"podSecurityContext": {"runAsUser": 2**31}}),
    ("env[0].valueFrom.secretKeyRef.name", {"env": [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "*", "key": "a"}}}
    ]}),
    ("podSecurityContext.sysctls[0].name", {"podSecurityContext": {"sysctls": [
        {"name": "a b", "value": "1"}
    ]}}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "values"), FOUND_BY_FUZZING, ids=lambda it: str(it)[:40])
def test_what_fuzzing_found_is_refused_with_its_path(path, values):
    assert [found.path for found in validate(read_chart(CHART), values)] == [path]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(CHART.parent / "common", tmp_path / "common")
    shutil.copytree(CHART, tmp_path / CHART.name, symlinks=True)
    return tmp_path / CHART.name


FAULTS = [
    (
        "values-unknown-read",
        "templates/service.yaml",
        ".Values.service.port",
        ".Values.service.prot",
    ),
    (
        "values-unknown-read",
        "templates/_pods.tpl",
        "$settings.podAnnotations",
        "$settings.podNotes",
    ),
    (
        "values-unread",
        "templates/_plan.tpl",
        'index .context.Values .role "terminationGracePeriodSeconds"',
        "5",
    ),
    ("values-unread", "templates/tests/cluster.yaml", ".Values.sample.minAccuracy", "0.5"),
    ("values-not-in-schema", "values.yaml", "service:\n", "service:\n  name: x\n"),
    ("schema-default-differs", "values.yaml", "  port: 2222", "  port: 2223"),
    ("schema-no-value", "values.yaml", "  pollSeconds: 2\n", ""),
    ("values-duplicate-key", "values.yaml", "service:\n", "rbac: {create: false}\nservice:\n"),
    ("values-yaml-trap", "values.yaml", "keep: true", "keep: on"),
    ("values-schema", "ci/limits-values.yaml", "backoffLimit: 0", "backoffLimit: none"),
    (
        "schema-description",
        "values.schema.json",
        '"description": "Whose end is the end of the cluster.",',
        "",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault[0]} in {fault[1]}")
def test_a_fault_put_into_tf_cluster_is_found(process, copied, fault):
    rule, file, old, new = fault
    text = (copied / file).read_text()
    assert old in text
    (copied / file).write_text(text.replace(old, new))
    assert rule in {found.rule for found in findings(process, copied)}


def test_the_scaffold_of_helm_create_has_two_true_findings(process, tmp_path):
    run([tools.helm(), "create", tmp_path / "demo"])
    assert [(found.rule, found.path) for found in findings(process, tmp_path / "demo")] == [
        ("schema-missing", ""),
        # Its values.yaml has this one in a comment only.
        ("values-unknown-read", "autoscaling.targetMemoryUtilizationPercentage"),
    ]
