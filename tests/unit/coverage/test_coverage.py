"""The sum over cases: gaps, exceptions that are true, refusals that refuse."""

import json

import pytest

from trainyard.coverage.cases import cases, refusals
from trainyard.coverage.measure import measure, to_json
from trainyard.coverage.report import lines, write_html
from trainyard.errors import TrainyardError
from trainyard.render.case import Case

IF_A = "{{ if .Values.a }}{{ else }}{{ end }}\n"


def run(folder, *values):
    found = [Case(folder, name=text, values_text=(text,)) for text in values]
    return measure(found, refusals(folder), processes=1)


def except_(folder, text):
    (folder / "ci").mkdir(exist_ok=True)
    (folder / "ci" / "coverage-exceptions.yaml").write_text(text)


def test_a_branch_that_no_case_takes_is_a_problem_with_its_place(chart):
    measured = run(chart({"a.yaml": f"\n{IF_A}"}), "a: true")
    assert measured.problems == [
        "small/templates/a.yaml:2: no case takes the else of {{ if .Values.a }}."
    ]
    numbers = measured.as_dict()
    assert (numbers["branches"], numbers["taken"], numbers["percent"]) == (2, 1, 50.0)


def test_two_cases_take_both(chart):
    measured = run(chart({"a.yaml": IF_A}), "a: true", "a: false")
    assert measured.problems == []
    assert measured.as_dict()["percent"] == 100
    assert lines(measured) == ["small: 2 of 2 branches taken, none missing"]


def test_two_branches_of_one_line_and_condition_are_two(chart):
    text = "{{ if .Values.a }}{{ if .Values.b }}{{ end }}{{ end }}{{ if .Values.b }}{{ end }}\n"
    measured = run(chart({"a.yaml": text}), "{a: true, b: true}", "{a: false, b: false}")
    assert measured.as_dict()["branches"] == 6
    assert len(measured.problems) == 1


def test_a_percentage_is_not_rounded_up(chart):
    text = '{{ if .Values.a }}{{ end }}{{ range list "b" }}{{ end }}\n'
    assert run(chart({"a.yaml": text}), "").as_dict()["percent"] == 66.66


def test_an_exception_with_a_reason_fills_a_gap(chart):
    folder = chart({"a.yaml": IF_A})
    except_(folder, "[{file: templates/a.yaml, text: .Values.a, way: else, reason: always on}]")
    measured = run(folder, "a: true")
    assert measured.problems == []
    numbers = measured.as_dict()
    assert (numbers["taken"], numbers["excepted"], numbers["percent"]) == (1, 1, 100)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{file: templates/a.yaml, text: .Values.a, way: taken, reason: r}", "takes it now"),
        ("{file: templates/a.yaml, text: .Values.b, way: taken, reason: r}", "no branch is like"),
        ("{file: templates/a.yaml, line: 2, way: taken, reason: r}", "no branch is like"),
        ("{file: templates/b.yaml, line: 1, way: taken, reason: r}", "no branch is like"),
    ],
)
def test_an_exception_that_is_not_needed_is_a_problem(chart, entry, why):
    folder = chart({"a.yaml": IF_A})
    except_(folder, f"[{entry}]")
    (problem,) = run(folder, "a: true", "a: false").problems
    assert why in problem


@pytest.mark.parametrize(
    "text",
    [
        "a: b",
        "[a]",
        "[{file: a, text: b, way: else}]",
        "[{file: a, way: else, reason: r}]",
        "[{file: a, text: b, way: both, reason: r}]",
        "[{file: a, text: b, way: else, reason: r, more: 1}]",
        "[",
    ],
)
def test_exceptions_that_say_too_little_or_too_much_are_an_error(chart, text):
    folder = chart({"a.yaml": IF_A})
    except_(folder, text)
    with pytest.raises(TrainyardError, match="coverage-exceptions"):
        run(folder, "")


def refuse(folder, name, text):
    (folder / "ci" / "refused").mkdir(parents=True, exist_ok=True)
    (folder / "ci" / "refused" / f"{name}-values.yaml").write_text(text)


FAILS = '{{ if .Values.bad }}{{ fail "bad: must not be" }}{{ end }}\n'


def test_what_is_refused_as_it_should_be_takes_its_branch(chart):
    folder = chart({"a.yaml": FAILS})
    refuse(folder, "bad", "# It is bad.\n# bad: must not be\nbad: true\n")
    measured = run(folder, "")
    assert measured.problems == []
    assert measured.as_dict()["taken"] == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# It is bad.\n# must be good\nbad: true\n", "refused for another reason"),
        ("# It is bad.\n# bad: must not be\nbad: false\n", "renders, and must be refused"),
    ],
)
def test_what_is_not_refused_as_it_should_be_is_a_problem(chart, text, why):
    folder = chart({"a.yaml": FAILS})
    refuse(folder, "bad", text)
    assert why in run(folder, "bad: false").problems[0]


def test_a_refusal_says_what_it_expects(chart):
    folder = chart({"a.yaml": FAILS})
    refuse(folder, "bad", "# It is bad.\nbad: true\n")
    with pytest.raises(TrainyardError, match="does not say what is to be refused"):
        refusals(folder)


def test_a_case_that_does_not_render_is_a_problem(chart):
    (problem, *_) = run(chart({"a.yaml": FAILS}), "bad: true").problems
    assert "does not render" in problem


def test_a_library_is_counted_once_over_all_charts(chart, library):
    folder = library({"_l.tpl": '{{ define "l" }}{{ if . }}{{ end }}{{ end }}'})
    charts = [
        chart({"a.yaml": f'{{{{ include "l" {value} }}}}'}, name=name)
        for name, value in (("one", "true"), ("two", "false"))
    ]
    for each in charts:
        (each / "charts").mkdir()
        (each / "charts" / "library").symlink_to(folder)
    alone = measure([Case(charts[0])], processes=1)
    assert [len(each.missing) for each in alone.charts if each.chart == "library"] == [1]
    both = measure([Case(each) for each in charts], processes=2)
    assert both.problems == []
    assert both.as_dict()["branches"] == 2


def test_the_cases_of_a_chart_are_its_files_and_every_shape_of_name(chart):
    folder = chart({"a.yaml": ""})
    (folder / "ci").mkdir()
    (folder / "ci" / "one-values.yaml").write_text("# I want one.\n")
    refuse(folder, "bad", "# a\n# b\n")
    found = cases(folder)
    assert [case.name for case in found if case.value_files] == ["one"]
    assert {len(case.release) for case in found} == {2, 3, 5, 53}


def test_the_page_shows_every_branch_and_needs_nothing_else(chart, tmp_path):
    folder = chart({"a.yaml": f"{IF_A}<b>&\n"})
    except_(folder, '[{file: templates/a.yaml, line: 1, way: else, reason: a "reason"}]')
    page = tmp_path / "deep" / "page.html"
    write_html(run(folder, "a: true"), page)
    text = page.read_text()
    assert "&lt;b&gt;&amp;" in text
    assert "excepted: a &quot;reason&quot;" in text
    assert text.count("<span class=taken title") == 1
    assert "http" not in text


def test_the_report_for_machines(chart):
    found = json.loads(to_json(run(chart({"a.yaml": IF_A}), "a: true")))
    assert found["charts"][0]["chart"] == "small"
    assert found.keys() == {"branches", "taken", "excepted", "percent", "charts", "problems"}
