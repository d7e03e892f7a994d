"""A values file is read as Helm reads it, and what is odd about it is told with its line."""

import pytest

from trainyard.values.loading import load_values, scalar


def rules(text: str) -> list[tuple[str, str, int]]:
    return [(found.rule, found.path, found.line) for found in load_values(text)[1]]


def test_a_plain_file_has_nothing_odd():
    values, findings = load_values("a: 1\nb: {c: [x, true, 0.5]}\nd: null\ne: 'n'\n")
    assert values == {"a": 1, "b": {"c": ["x", True, 0.5]}, "d": None, "e": "n"}
    assert findings == []


def test_a_key_that_stands_twice_is_told_with_both_lines():
    values, (found,) = load_values("image: {tag: a}\nx:\n  p: 1\n  z: 2\n  p: 3\n")
    assert values["x"] == {"p": 3, "z": 2}
    assert (found.rule, found.path, found.line) == ("values-duplicate-key", "x.p", 5)
    assert "line 3" in found.message


@pytest.mark.parametrize("word", ["n", "y", "on", "off", "yes", "No", "OFF"])
def test_a_word_that_is_a_truth_value_is_a_trap_as_value_and_as_key(word):
    assert rules(f"a: 1\nb: {word}\n") == [("values-yaml-trap", "b", 2)]
    ((rule, path, line),) = rules(f"{word}: 1\n")
    assert (rule, line) == ("values-yaml-trap", 1)
    assert path in ("true", "false")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        *(("1.10", 1.1), ("1.0", 1), ("0123", 83), ("08", 8), ("1e3", 1000), ("1_000", 1000)),
        *(("0x1F", 31), ("1234e56", 1.234e59), (".5", 0.5)),
    ],
)
def test_a_number_that_loses_its_text_is_a_trap(text, meaning):
    values, (found,) = load_values(f"tag: {text}\n")
    assert values == {"tag": meaning}
    assert found.rule == "values-yaml-trap"
    assert text in found.message


@pytest.mark.parametrize(
    "text", ["1", "0", "-1", "0.5", "1.25", "true", "False", "1.2.3", "1Gi", "v1"]
)
def test_what_means_what_it_looks_like_is_no_trap(text):
    assert rules(f"a: {text}\n") == []


def test_sexagesimal_is_a_text_to_helm_and_a_trap():
    values, (found,) = load_values("at: 12:30:45\n")
    assert values == {"at": "12:30:45"}
    assert found.rule == "values-yaml-trap"


def test_quotes_and_tags_end_every_doubt():
    assert load_values("a: 'n'\nb: \"1.10\"\nc: !!str 1\n") == (
        {"a": "n", "b": "1.10", "c": "1"},
        [],
    )


def test_an_item_that_is_null_is_told():
    assert rules("a:\n  - x\n  -\n") == [("values-null-item", "a[1]", 3)]


def test_a_tab_and_a_list_are_no_values_file():
    assert rules("a:\n\tb: 1\n") == [("values-not-yaml", "", 2)]
    assert rules("- a\n") == [("values-not-a-map", "", 1)]


def test_the_last_document_wins_and_merge_keys_are_followed():
    values, findings = load_values("a: &x {p: 1}\nb: {<<: *x, q: 2}\n---\na: {p: 3}\n")
    assert values == {"a": {"p": 3}, "b": {"p": 1, "q": 2}}
    assert findings == []


def test_a_file_is_named(tmp_path):
    (tmp_path / "my-values.yaml").write_text("a: on\n")
    ((_, (found,))) = load_values(tmp_path / "my-values.yaml", "my-chart")
    assert (found.chart, found.template, found.line) == ("my-chart", "my-values.yaml", 1)


def test_scalars_have_helms_types():
    assert [scalar(text) for text in ("~", "2024-01-01", "1e3", "-0x10")] == [
        None,
        "2024-01-01",
        1000,
        -16,
    ]
