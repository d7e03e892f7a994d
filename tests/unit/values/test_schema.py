"""Schemas: what they must be, and what they say about values."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from trainyard.errors import TrainyardError
from trainyard.values.generate import Generator
from trainyard.values.loading import load_values
from trainyard.values.merging import ChartFiles, coalesced, read_chart
from trainyard.values.meta import check_schema
from trainyard.values.mutations import mutations
from trainyard.values.patterns import matching
from trainyard.values.schema import Schema, fits, validate
from trainyard.values.shrinking import shrink

DRAFT = "http://json-schema.org/draft-07/schema#"


def schema(**properties: Any) -> dict[str, Any]:
    outside: dict[str, Any] = {
        "global": {"type": "object", "description": "Shared."},
        "enabled": {"type": "boolean", "description": "For a parent's condition."},
    }
    return {
        "$schema": DRAFT,
        "type": "object",
        "additionalProperties": False,
        "properties": {**outside, **properties},
    }


def leaf(kind: Any, default: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "description": "What it is.", "default": default, **more}


def files(made: dict[str, Any], values: str = "") -> ChartFiles:
    return ChartFiles("c", Path("c"), load_values(values)[0], made)


def rules(made: dict[str, Any], values: str = "") -> set[tuple[str, str]]:
    return {(found.rule, found.path) for found in check_schema(files(made, values))}


GOOD = schema(a=leaf("integer", 1, minimum=0), b=leaf(["string", "null"], None, examples=["x"]))


def test_a_good_schema_has_no_finding():
    assert rules(GOOD, "a: 1\nb: null\n") == set()


def test_a_chart_without_a_schema_gets_one_finding():
    (found,) = check_schema(ChartFiles("c", Path("c"), {}, None))
    assert found.rule == "schema-missing"


BAD: list[tuple[str, str, dict[str, Any], str]] = [
    ("schema-draft", "", {**GOOD, "$schema": "https://json-schema.org/draft/2020-12/schema"}, ""),
    ("schema-invalid", "", schema(a=leaf("integr", 1)), ""),
    ("schema-remote-ref", "a", schema(a={"$ref": "https://example.org/a.json"}), ""),
    ("schema-remote-ref", "a", schema(a={"$ref": "urn:a"}), ""),
    ("schema-remote-ref", "a", schema(a={"$ref": "#/definitions/none"}), ""),
    ("schema-root", "global", {"$schema": DRAFT, "type": "object", "properties": {}}, ""),
    ("schema-root", "enabled", {"$schema": DRAFT, "type": "object", "properties": {}}, ""),
    ("schema-open-object", "a", schema(a=leaf("object", {"b": 1})), ""),
    ("schema-description", "a", schema(a={"type": "integer", "default": 1}), ""),
    ("schema-default", "a", schema(a={"type": "integer", "description": "A."}), "a: 1"),
    ("schema-example", "a", schema(a=leaf("string", "")), 'a: ""'),
    ("schema-example", "a", schema(a=leaf(["integer", "null"], None)), "a: null"),
    ("schema-default-invalid", "a", schema(a=leaf("integer", "x")), ""),
    ("schema-example-invalid", "a", schema(a=leaf("integer", 1, examples=["x"])), ""),
    ("schema-format", "a", schema(a=leaf("string", "x", format="hostname")), ""),
    ("schema-pattern", "a", schema(a=leaf("string", "x", pattern="^(?!a)")), ""),
    ("schema-nullable", "a", schema(a=leaf("string", "x")), "a: null"),
]


@pytest.mark.parametrize(("rule", "path", "made", "values"), BAD, ids=lambda it: str(it)[:40])
def test_each_rule_finds_its_fault(rule, path, made, values):
    assert (rule, path) in rules(made, values)


@pytest.mark.parametrize(
    "made",
    [
        schema(a=leaf("object", {"b": 1}, additionalProperties={"type": "integer"})),
        schema(
            a=leaf("object", {}, additionalProperties=True, examples=[{}], **{"$comment": "K8s"})
        ),
        schema(a=leaf("string", "", enum=["", "x"])),
        schema(a=leaf("boolean", False)),
        schema(a=leaf("string", "x", pattern="^[a-z]+(-[a-z]+)*$")),
    ],
    ids=["typed map", "reasoned", "enum", "boolean", "pattern"],
)
def test_what_looks_like_a_fault_and_is_none(made):
    assert rules(made) == set()


def test_findings_name_the_path_and_the_remedy():
    found = validate(files(GOOD), {"a": -1, "bb": 2})
    assert {(each.path, each.rule) for each in found} == {
        ("a", "values-schema"),
        ("bb", "values-schema"),
    }
    assert {each.remedy for each in found} == {
        "Give what the schema describes: What it is.",
        "Did you mean b?",
    }


def test_a_key_of_digits_is_a_key_in_a_path():
    made = schema(a=leaf("object", {}, additionalProperties={"type": "string"}))
    assert [found.path for found in validate(files(made), {"a": {"0755": 1}})] == ["a.0755"]


def test_nulls_take_defaults_away_and_default_nulls_are_nothing():
    defaults = {"a": {"b": 1, "c": None, "d": {"e": 1}}, "f": None, "g": [1]}
    assert coalesced(defaults, {"a": {"b": None}}) == {"a": {"d": {"e": 1}}, "g": [1]}
    assert coalesced(defaults, {"a": {"c": None, "x": None}, "f": None, "g": None}) == {
        "a": {"b": 1, "c": None, "d": {"e": 1}, "x": None}
    }
    assert coalesced(defaults, {"a": "text"})["a"] == "text"


def test_a_folder_that_is_no_chart_is_an_error(tmp_path):
    with pytest.raises(TrainyardError, match="no chart"):
        read_chart(tmp_path)


def test_a_schema_that_is_no_json_is_a_finding_with_its_line(tmp_path):
    (tmp_path / "Chart.yaml").write_text("name: c\n")
    (tmp_path / "values.schema.json").write_text("{\n,}")
    (found,) = read_chart(tmp_path).findings
    assert (found.rule, found.line) == ("schema-invalid", 2)


# --- random values --------------------------------------------------------------------------------

RICH = schema(
    number=leaf("integer", 3, minimum=1, maximum=9),
    text=leaf("string", "a", pattern="^[a-z]([a-z0-9-]*[a-z0-9])?$", maxLength=63),
    labels=leaf("object", {}, additionalProperties={"type": ["string", "null"], "maxLength": 5}),
    list=leaf("array", [], items={"$ref": "#/definitions/item"}),
)
RICH["definitions"] = {
    "item": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z]{2,4}$"},
            "n": {"enum": [1, 2]},
        },
        "required": ["name"],
    }
}


def test_random_values_are_valid_varied_and_repeatable():
    made = Schema(RICH)
    sets = [Generator(made).values(Random(seed)) for seed in range(200)]
    assert all(made.validator.is_valid(values) for values in sets)
    assert sets == [Generator(made).values(Random(seed)) for seed in range(200)]
    assert {values.get("number") for values in sets} >= {1, 2, 7, 9, None}
    assert any(len(values.get("text", "")) > 60 for values in sets)
    assert len({json.dumps(values) for values in sets}) > 90


def test_what_the_schema_forbids_is_refused_with_its_path():
    chart = files(RICH)
    made = Schema(RICH)
    seen = set()
    for seed in range(60):
        values = Generator(made).values(Random(seed))
        for mutation in mutations(made, values, Random(seed)):
            assert not fits(chart, made, mutation.values), mutation
            seen.add(mutation.what.partition(" for ")[0])
    assert {"an unknown key", "less than the minimum", "a text too long", "a string"} <= seen


@pytest.mark.parametrize("pattern", ["^[a-z]+$", "^(a|b)?-[^x]{2}$", r"^\d{3}\.\w$", "^$"])
def test_texts_match_their_pattern(pattern):
    made = Schema({"type": "string", "pattern": pattern})
    assert all(made.validator.is_valid(matching(pattern, Random(seed))) for seed in range(50))


def test_shrinking_leaves_what_makes_it_fail():
    big = {"a": {"x": 5, "y": "long text"}, "b": [1, 2, {"c": 1000}], "d": True}
    small = shrink(big, lambda values: values.get("a", {}).get("x", 0) > 2)
    assert small == {"a": {"x": 5}}
