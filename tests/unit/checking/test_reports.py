"""Findings gathered, excepted, kept, and written in every format."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from trainyard.checking import cache, exceptions, reports
from trainyard.checking.result import Counts, Result, gathered
from trainyard.errors import TrainyardError
from trainyard.findings import Finding


def finding(**changed: str) -> Finding:
    about = {
        "chart": "small",
        "rule": "names",
        "object": "Service/my-small",
        "path": "metadata.name",
        "message": "the name is wrong",
        "remedy": "Shorten it.",
        "case": "defaults",
        "template": "small/templates/service.yaml",
    }
    return Finding(**{**about, **changed})  # type: ignore[arg-type]


def test_the_same_fault_in_many_renders_is_told_once():
    found = gathered(
        [
            finding(),
            finding(object="Service/other-small", case="other"),
            finding(template="parent/charts/small/templates/service.yaml", case="sub-chart"),
            finding(rule="labels"),
        ]
    )
    assert [(f.rule, f.case) for f in found] == [
        ("labels", "defaults"),
        ("names", "defaults (and 2 more)"),
    ]


def chart_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "ci").mkdir()
    (tmp_path / exceptions.FILE).write_text(text)
    return tmp_path


def test_an_exception_explains_what_it_names_and_nothing_else(tmp_path):
    chart = chart_with(
        tmp_path, "- {rule: names, object: Service, path: metadata, reason: it is meant}"
    )
    other = finding(object="Job/x")
    left, count = exceptions.explained("small", [finding(), other], exceptions.load(chart))
    assert left == [other]
    assert count == 1


def test_an_exception_that_is_no_longer_needed_is_a_finding(tmp_path):
    chart = chart_with(tmp_path, "- {rule: names, reason: it was meant}")
    left, count = exceptions.explained("small", [], exceptions.load(chart))
    assert [found.rule for found in left] == [exceptions.UNUSED]
    assert count == 0


@pytest.mark.parametrize(
    "text", ["{rule: names}", "- {rule: names}", "- {rule: a, reason: b, x: c}"]
)
def test_a_list_that_is_none_is_refused_with_the_file(tmp_path, text):
    with pytest.raises(TrainyardError, match="check-exceptions"):
        exceptions.load(chart_with(tmp_path, text))


def result() -> Result:
    counts = Counts(cases=1, renders=12, objects=48, validated=47, no_schema=1)
    unknown = ["Train"]
    return Result("small", ("1.29", "1.37"), counts, [finding()], unknown, seconds=0.5)


def test_text_tells_place_message_case_and_remedy():
    text = reports.text([result()])
    for part in ("names  small/templates/service.yaml Service/my-small", "the name is wrong"):
        assert part in text
    for part in (
        "seen with: defaults",
        "Shorten it.",
        "small: 1 finding. 1 cases",
        "no schema is known of: Train",
    ):
        assert part in text


def test_json_can_be_read_back():
    found = json.loads(reports.as_json([result()]))["charts"][0]
    assert Result.from_dict(found) == result()


def test_junit_has_a_case_for_each_rule_and_its_failures():
    suite = ElementTree.fromstring(reports.junit([result()]))[0]
    assert suite.attrib["failures"] == "1"
    assert int(suite.attrib["tests"]) == len(suite)
    failed = [case for case in suite if len(case)]
    assert [case.attrib["name"] for case in failed] == ["names"]


def test_sarif_names_file_and_rule():
    run = json.loads(reports.sarif([result()]))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["names"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "templates/service.yaml"


def test_a_result_is_kept_under_what_went_into_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINYARD_CACHE", str(tmp_path / "cache"))
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "values.yaml").write_text("a: 1")
    values = tmp_path / "values.yaml"
    values.write_text("b: 1")
    first = cache.key(chart, "settings", [values])
    assert cache.load(first) is None
    cache.store(first, result())
    kept = cache.load(first)
    assert kept is not None
    assert kept.cached
    assert kept.findings == result().findings
    assert cache.key(chart, "settings", [values]) == first
    assert cache.key(chart, "other", [values]) != first
    values.write_text("b: 2")
    assert cache.key(chart, "settings", [values]) != first
    values.write_text("b: 1")
    (chart / "values.yaml").write_text("a: 2")
    assert cache.key(chart, "settings", [values]) != first
