"""The schema, values.yaml and the templates' reads: what does not agree is found."""

from pathlib import Path
from typing import Any

from trainyard.render.renderer import Read
from trainyard.values.cross import CrossCheck, cross_check
from trainyard.values.loading import load_values
from trainyard.values.merging import ChartFiles, Dependency


def node(*keys: str, **more: Any) -> dict[str, Any]:
    properties = {key: {"type": "integer", "default": 1} for key in keys}
    return {"type": "object", "properties": {**properties, **more}, "additionalProperties": False}


def check(values: str, schema: Any, *reads: str, dependencies: Any = ()) -> CrossCheck:
    chart = ChartFiles("c", Path("c"), load_values(values)[0], schema, tuple(dependencies))
    return cross_check(chart, [Read("templates/a.yaml", at, path) for at, path in enumerate(reads)])


def rules(*arguments: Any, **named: Any) -> set[tuple[str, str]]:
    return {(found.rule, found.path) for found in check(*arguments, **named).findings}


def test_three_that_agree_have_no_finding():
    assert rules("a: 1\nb: {c: 1}", node("a", b=node("c")), "a", "b.c.**") == set()


def test_a_value_without_schema_is_found():
    assert rules("a: 1\nb: 1", node("a"), "a", "b") >= {("values-not-in-schema", "b")}


def test_a_schema_leaf_without_value_is_found_and_null_is_a_value():
    made = node("a", x={"type": ["integer", "null"]})
    assert rules("a: 1", made, "a", "x") == {("schema-no-value", "x")}
    assert rules("a: 1\nx: null", made, "a", "x") == set()


def test_a_default_that_differs_is_found():
    assert rules("a: 2", node("a"), "a") == {("schema-default-differs", "a")}
    assert rules("a: true", node("a"), "a") == {("schema-default-differs", "a")}


def test_a_value_that_no_template_reads_is_found():
    assert rules("a: 1\nb: {c: 1}", node("a", b=node("c")), "a", "b") == {("values-unread", "b.c")}


def test_a_read_of_a_whole_block_counts_for_all_below():
    assert rules("b: {c: 1, d: 1}", node(b=node("c", "d")), "b.**") == set()
    assert rules("b: {c: 1, d: 1}", node(b=node("c", "d")), "b.*") == set()


def test_a_misspelt_read_is_found_with_its_place():
    found = check("a: {b: 1}", node(a=node("b")), "a.b", "a.bb").findings
    assert [(each.rule, each.path, each.template, each.line) for each in found] == [
        ("values-unknown-read", "a.bb", "c/templates/a.yaml", 1)
    ]


def test_a_read_by_an_unknown_key_is_named_and_proves_nothing():
    result = check("a: {b: 1}", node(a=node("b")), "a.?.**")
    assert result.dynamic == ["templates/a.yaml:0 a.?"]
    assert [found.rule for found in result.findings] == ["values-unread"]
    assert "templates/a.yaml:0 may" in result.findings[0].message


def test_what_a_template_makes_itself_is_no_typo():
    assert rules("a: 1", node("a"), "a", "made=", "made.x") == set()


def test_without_a_schema_the_values_are_the_measure():
    assert rules("a: {b: 1, m: {}}", None, "a.b", "a.m.any.**", "a.m", "c") == {
        ("values-unknown-read", "c")
    }


def test_values_of_dependencies_are_theirs():
    sub = Dependency("sub", ("sub.enabled", "with.sub"), False, None)
    made = node(**{"with": node("sub"), "sub": {"type": "object"}})
    assert rules("sub: {x: 1}\nwith: {sub: 1}", made, dependencies=[sub]) == set()


def test_a_default_that_eats_false_or_zero_is_found_where_they_are_allowed():
    flag = {"type": "boolean", "default": False}
    assert rules("f: false", node(f=flag), "f", "f|") == {("values-zero-lost", "f")}
    assert rules("a: 1", node("a"), "a", "a|") == {("values-zero-lost", "a")}
    positive = {"type": "integer", "minimum": 1, "default": 1}
    text = {"type": "string", "default": "x"}
    assert rules("p: 1\nt: x", node(p=positive, t=text), "p", "t", "p|", "t|") == set()
    # Without a schema a boolean in values.yaml tells; of a number nobody says that 0 is meant.
    assert ("values-zero-lost", "a") in rules("a: true", None, "a", "a|")
    assert ("values-zero-lost", "a") not in rules("a: 3", None, "a", "a|")


def test_what_helm_and_a_parent_set_needs_no_value():
    made = node("a", enabled={"type": "boolean", "default": True}, **{"global": {"type": "object"}})
    assert rules("a: 1", made, "a") == set()
