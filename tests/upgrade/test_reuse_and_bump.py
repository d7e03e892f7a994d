"""Faults that only an upgrade shows, in small charts: with the fault, and with its near miss."""

import subprocess

import pytest

from trainyard.errors import TrainyardError
from trainyard.render.case import Case
from trainyard.upgrade.bump import version_bump
from trainyard.upgrade.history import chart_at
from trainyard.upgrade.report import compare
from trainyard.upgrade.reuse import reuse

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: "
PLAIN = f'{CONFIG}"1"\n'


def test_a_key_that_reused_values_have_not_got_is_named(process, write_chart):
    old = write_chart("old", "image: {tag: a}\n", a=PLAIN)
    new = write_chart("new", "cache: {size: 1Gi}\n", a=f"{CONFIG}{{{{ .Values.cache.size }}}}\n")
    found = reuse(Case(old), Case(new), process)
    assert found.added == ("cache",)
    assert found.upgrade is None
    (finding,) = found.findings
    assert (finding.rule, finding.path) == ("upgrade-reuse-values", "cache")
    assert "nil pointer" in finding.message
    assert found.lines()[0].startswith("! upgrade-reuse-values")


@pytest.mark.parametrize("read", ["(.Values.cache).size", '.Values.cache.size | default "1"'])
def test_a_parenthesis_saves_it_and_default_alone_does_not(process, write_chart, read):
    old = write_chart("old", "", a=PLAIN)
    new = write_chart("new", "cache: {size: 1Gi}\n", a=f"{CONFIG}a{{{{ {read} }}}}\n")
    findings = reuse(Case(old), Case(new), process).findings
    assert bool(findings) is ("default" in read)


def test_a_value_that_is_silently_empty_is_found(process, write_chart):
    old = write_chart("old", "", a=PLAIN)
    new = write_chart("new", "size: 1Gi\n", a=f"{CONFIG}{{{{ .Values.size }}}}\n")
    (finding,) = reuse(Case(old), Case(new), process).findings
    assert (finding.object, finding.path) == ("ConfigMap/a", "data.a")
    assert "size" in finding.message


def test_what_is_empty_anyway_is_no_fault_of_reused_values(process, write_chart):
    text = f"{CONFIG}null\n"
    old, new = (write_chart(name, "", a=text) for name in ("old", "new"))
    assert reuse(Case(old), Case(new), process).findings == ()


def test_a_null_default_is_no_added_key(process, write_chart):
    old = write_chart("old", "", a=PLAIN)
    new = write_chart("new", "size: null\nb: {}\n", a=PLAIN)
    assert reuse(Case(old), Case(new), process).added == ("b",)


def test_old_defaults_and_what_the_user_set_stay(process, write_chart):
    text = f'{CONFIG}"{{{{ .Values.a }}}} {{{{ .Values.b }}}}"\n'
    old = write_chart("old", "a: old\nb: old\n", a=text)
    new = write_chart("new", "a: new\nb: new\n", a=text)
    found = reuse(Case(old, set_values=("b=set",)), Case(new), process)
    assert found.upgrade is not None
    assert found.upgrade.changes == ()


def test_numbers_of_set_become_floats_as_in_a_kept_release(process, write_chart):
    text = f'{CONFIG}"{{{{ .Values.n }}}}"\n'
    old, new = (write_chart(name, "", a=text) for name in ("old", "new"))
    rendered = process.reuse(Case(old, set_values=("n=1000000",)), Case(new)).rendered
    assert rendered is not None
    assert rendered.one("ConfigMap")["data"]["a"] == "1e+06"


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d{name}, labels: {{helm.sh/chart: "{{{{ .Chart.Version }}}}"}}}}
spec:
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b, v: "{label}"}}}}
    spec: {{containers: [{{name: c, image: "i:{tag}"}}]}}
"""


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({}, set()),
        ({"tag": "{{ .Chart.AppVersion }}"}, set()),
        ({"tag": "{{ .Chart.AppVersion }}", "label": "{{ .Chart.AppVersion }}"}, set()),
        ({"label": "{{ .Chart.AppVersion }}"}, {"spec.template.metadata.labels.v"}),
        ({"label": "{{ .Chart.Version }}"}, {"spec.template.metadata.labels.v"}),
        (
            {"tag": "{{ .Chart.Version }}"},
            {"spec.template.spec.containers[name=c].image"},
        ),
        ({"name": '{{ .Chart.Version | replace "." "-" | trunc 5 }}'}, {"metadata.name"}),
    ],
    ids=str,
)
def test_the_version_belongs_into_labels_of_the_object_alone(process, write_chart, part, expected):
    filled = {"name": "", "label": "l", "tag": "t"} | part
    chart = write_chart("chart", "", d=DEPLOYMENT.format(**filled))
    findings = version_bump(Case(chart), process)
    assert {finding.path for finding in findings} == expected
    assert {finding.rule for finding in findings} <= {"upgrade-version-bump"}


def test_what_changes_only_with_a_plus_in_the_version_is_found(process, write_chart):
    label = "{{ ternary 1 2 (contains `+` .Chart.Version) }}"
    chart = write_chart("chart", "", d=DEPLOYMENT.format(name="", label=label, tag="t"))
    (finding,) = version_bump(Case(chart), process)
    assert "9.8.7+build.1" in finding.message


def test_two_releases_are_no_upgrade_of_each_other(process, write_chart):
    chart = write_chart("chart", "", a=PLAIN)
    with pytest.raises(TrainyardError, match="release is a before and b after"):
        compare(Case(chart, release="a"), Case(chart, release="b"), process)


def test_the_new_render_is_an_upgrade(process, write_chart):
    text = f'{CONFIG}"{{{{ .Release.IsUpgrade }}}}"\n'
    chart = write_chart("chart", "", a=text)
    (change,) = compare(Case(chart), Case(chart), process).changes
    assert change.changes[0].lines() == ['data.a: "false" → "true"']


@pytest.fixture
def repository(tmp_path, write_chart):
    """A repository with a chart and a library chart that it links to, each in two revisions."""
    chart = write_chart("charts", "", a=PLAIN)
    library = chart.parent / "library"
    (library / "templates").mkdir(parents=True)
    (library / "Chart.yaml").write_text(
        "apiVersion: v2\nname: library\nversion: 1.0.0\ntype: library\n"
    )
    (chart / "charts").mkdir()
    (chart / "charts" / "library").symlink_to("../../library")

    def commit(text: str) -> None:
        (library / "templates" / "_l.tpl").write_text(f'{{{{ define "l" }}}}{text}{{{{ end }}}}')
        (chart / "templates" / "a.yaml").write_text(f'{CONFIG}{{{{ include "l" . }}}}\n')
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path)]
        for argv in (["init", "-q"], ["add", "."], ["commit", "-qm", text]):
            subprocess.run([*git, *argv], check=True)

    commit("old")
    commit("new")
    return chart


def test_a_chart_as_it_was_comes_with_what_it_links_to(process, repository):
    with chart_at(repository, "HEAD~1") as old:
        assert old.name == "small"
        (change,) = compare(Case(old), Case(repository), process).changes
    assert change.changes[0].lines() == ['data.a: "old" → "new"']
    assert not old.exists()


def test_a_revision_that_is_not_there_is_an_error_for_people(repository):
    with (
        pytest.raises(TrainyardError, match=r"no .*small in nowhere"),
        chart_at(repository, "nowhere"),
    ):
        pass
