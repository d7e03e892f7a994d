"""Rules meet objects of any shape without an error, and say where things stand."""

import random
from pathlib import Path

import pytest
import yaml

from trainyard.errors import TrainyardError
from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered
from trainyard.rules import RULES, Render, check, named_by, validate
from trainyard.rules.base import example
from trainyard.rules.lines import line_of
from trainyard.schemas.paths import dotted
from trainyard.schemas.validator import Schemas

ODD: tuple[object, ...] = (
    None,
    "",
    "text",
    0,
    -1,
    1.5,
    True,
    [],
    {},
    [None],
    {"a": None},
    [[1]],
    {"a": [{}]},
)


def mangled(value: object, chance: random.Random) -> object:
    """Replace some parts of an object by others of any type."""
    if chance.random() < 0.1:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: mangled(entry, chance) for key, entry in value.items()}
    if isinstance(value, list):
        return [mangled(entry, chance) for entry in value]
    return value


SMALL = [rule for rule in RULES.values() if len(rule.bad) < 10_000]


@pytest.mark.parametrize("seed", range(20))
def test_no_rule_fails_on_objects_of_any_shape(seed):
    chance = random.Random(seed)
    documents = [
        document
        for rule in SMALL
        for text in (rule.bad, rule.near_miss)
        for document in yaml.safe_load_all(text)
    ]
    objects = [mangled(document, chance) for document in documents]
    manifest = "\n---\n".join(yaml.safe_dump(o) for o in objects if isinstance(o, dict) and o)
    render = Render(Case(Path("example")), Rendered(manifest))
    check(render)
    validate(render, Schemas("1.33"))


def test_an_object_is_counted_once_and_never_valid_without_a_schema():
    manifest = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, dat: {}}
---
{apiVersion: example.org/v1, kind: Crate, metadata: {name: c}}
"""
    result = validate(example(manifest), Schemas("1.33"))
    assert (result.valid, result.invalid, result.without_schema) == (1, 1, ("Crate/c",))
    assert [f.rule for f in result.findings] == ["api-schema", "api-without-schema"]


def test_the_objects_of_a_list_are_checked_one_by_one():
    manifest = (
        "{apiVersion: v1, kind: List, items: "
        "[{apiVersion: v1, kind: Service, metadata: {name: a_}},"
        " {apiVersion: v1, kind: Service, metadata: {name: b_}}]}"
    )
    findings = check(example(manifest))
    assert {f.object for f in findings if f.rule == "name-syntax"} == {"Service/a_", "Service/b_"}


def test_a_rule_can_be_left_out():
    bad = RULES["name-syntax"].bad
    assert {f.rule for f in check(example(bad))} == {"name-syntax"}
    assert check(example(bad), without={"name-syntax"}) == []


def test_what_lies_outside_the_release_is_no_fault():
    bad = RULES["reference"].bad
    for external in ("ConfigMap/missing", "*/missing"):
        render = Render(Case(Path("example")), Rendered(bad), frozenset({external}))
        assert list(RULES["reference"].check(render)) == []


def test_names_in_a_cases_own_values_lie_outside(tmp_path):
    (tmp_path / "a.yaml").write_text("claim: {existing: data}\nlist: [{name: one}]\n")
    case = Case(
        tmp_path,
        value_files=(tmp_path / "a.yaml",),
        values_text=("secret: text",),
        set_values=("account=robot,list={first,second}",),
        set_json=('pull=[{"name": "registry"}]',),
    )
    names = {"data", "one", "text", "robot", "first", "second", "registry"}
    assert named_by(case) == {f"*/{name}" for name in names}


def test_a_values_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(TrainyardError, match="cannot be read"):
        named_by(Case(tmp_path, value_files=(tmp_path / "no.yaml",)))


def test_a_finding_names_chart_case_template_and_line(tmp_path):
    (tmp_path / "Chart.yaml").write_text("name: depot\n")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.yaml").write_text("kind: Service\nmetadata:\n  name: 1a\n")
    manifest = (
        "# Source: depot/templates/a.yaml\n{apiVersion: v1, kind: Service, metadata: {name: 1a}}"
    )
    (finding,) = check(Render(Case(tmp_path, "small", kube_version="1.33"), Rendered(manifest)))
    assert finding.chart == "depot"
    assert finding.case == "small, kubernetes 1.33"
    assert finding.place == "depot/templates/a.yaml:3 Service/1a metadata.name"


def test_a_line_that_could_be_several_is_not_guessed(tmp_path):
    (tmp_path / "a.yaml").write_text("name: a\nspec:\n  name: b\n  - image: c\n")
    assert line_of(tmp_path, "depot/a.yaml", "spec.name") == 0
    assert line_of(tmp_path, "depot/a.yaml", "spec.containers[0].image") == 4
    assert line_of(tmp_path, "depot/no.yaml", "spec.name") == 0


def test_paths_read_as_a_person_writes_them():
    assert dotted(["spec", "env", 0, "name"]) == "spec.env[0].name"
    assert dotted(["labels", "app.kubernetes.io/name"]) == 'labels["app.kubernetes.io/name"]'


def test_fields_of_an_object_without_text_are_not_mixed_up():
    objects = [
        Object({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {}}, "", "")
        for name in ("a", "b")
    ]
    rendered = Rendered("")
    rendered.__dict__["objects"] = tuple(objects)
    nodes = [node for _, node in Render(Case(Path("a")), rendered).nodes()]
    assert [node.value for node in nodes if node.path == "metadata.name"] == ["a", "b"]
