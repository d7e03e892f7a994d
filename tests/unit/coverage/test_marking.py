"""Marking branches changes no byte of what a template prints, and every branch has its place."""

import pytest

from trainyard.render.case import Case
from trainyard.render.renderer import RenderError

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
VALUES = """
on: true
off: false
list: [a, b, c]
map: {k: v}
none: []
text: '{{ .Values.map.k }}'
"""

NASTY = {
    # Two braces that belong to no action cannot be written, but they can come to stand together.
    "a brace before an action": "  a: '{ {{- .Values.map.k }}}'",
    "a brace before a branch": "  a: '{ {{- if .Values.on }}{ {{- end }}}'",
    "a brace before an else": (
        "  a: 'x{{ if .Values.off }}{ {{- else }}{ {{- end }}{ {{- .Values.on }}}'"
    ),
    "a brace and a comment": "  a: '{ {{- /* c */ -}} { {{- /* d */ -}} {{ .Values.on }}'",
    "braces as text": "  a: '{{ \"{{\" }} x {{ \"}}\" }}'\n  b: '{{ `{{ if }}` }}'",
    "a comment of many lines": "  {{- /*\n  if .Values.x }}\n  */}}\n  a: b",
    "trim markers": "  a: x   {{- if .Values.on -}}   y   {{- else -}} z {{- end -}}   w\n",
    "a minus after an action": (
        "  a: |\n    {{ .Values.map.k }}- x\n    -{{ if .Values.on }}-{{ end }}-"
    ),
    "numbers": "  a: '{{ add -1 2 }}{{ -1 }}{{- 1 }}{{ 0x1F }}{{ 1_000 }}{{ 'a' }}{{ 1e3 }}'",
    "raw strings": '  a: {{ `a"b\\n` | quote }}\n  b: {{ "a\\"b\\t" | quote }}',
    "raw string of two lines": "  a: {{ `x\ny` | quote }}",
    "nested else if": (
        "  a: {{ if .Values.off }}1{{ else if .Values.none }}2{{ else if .Values.on }}"
        "{{ if .Values.off }}3{{ else }}4{{ end }}{{ else }}5{{ end }}"
    ),
    "else with": "  a: {{ with .Values.off }}1{{ else with .Values.map }}{{ .k }}{{ end }}",
    "range with else": "  a: x{{ range .Values.none }}1{{ else }}2{{ end }}",
    "break and continue": (
        "  a: x{{ range $i, $e := .Values.list }}{{ if eq $e `a` }}{{ continue }}{{ end }}{{ $i }}"
        "{{ if eq $e `b` }}{{ break }}{{ end }}{{ $e }}{{ end }}"
    ),
    "range over a map and a number": (
        "  a: x{{ range $k, $v := .Values.map }}{{ $k }}{{ $v }}{{ end }}"
        "{{ range 3 }}{{ . }}{{ end }}"
    ),
    "variables": (
        "  {{- $a := 1 }}{{ if .Values.on }}{{ $a = 2 }}{{ $b := 3 }}{{ $a = add $a $b }}{{ end }}"
        "\n  a: x{{ $a }}{{ with $x := .Values.map }}{{ $x.k }}{{ $.Values.map.k }}{{ end }}"
    ),
    "chains and parentheses": (
        "  a: x{{ (index .Values.list 1) }}{{ (.Values.map).k }}{{ (dict `a` (dict `b` 1)).a.b }}"
        "{{ (.Values.absent).k }}"
    ),
    "define in a file": (
        "{{ define `z` }}{{ if . }}y{ {{- else }}n{{ end }}{{ end }}"
        "  a: x{{ include `z` true }}{{ template `z` false }}{{ define `y` }}{{ end }}"
    ),
    "a block": "  a: x{{ block `b` .Values }}{{ if .on }}1{{ end }}{{ end }}",
    "tpl": '  a: {{ tpl .Values.text . }}\n  b: {{ tpl `{{ include "h" . }}` . }}',
    "windows lines": "  a: b\r\n  {{- if .Values.on }}\r\n  c: d\r\n  {{- end }}\r\n",
    "other alphabets": "  a: 'ä{{ if .Values.on }}日本{{ else }}ß{{ end }}🚂{ {{- .Values.on }}'",
    "a define alone": "  a: b{{ define `q` }}{{ range .l }}{{ . }}{{ end }}{{ end }}",
    "a pipeline of many lines": "  a: {{ list 1 2\n    | join `,`\n    | quote }}",
    "an empty branch": "  a: x{{ if .Values.on }}{{ end }}{{ with .Values.map }}{{ end }}",
    "a branch in a helper": "  a: {{ include `h` . }}",
}

HELPER = '{{ define "h" }}{{ if .Values.on }}on{{ else }}off{{ end }}{{ end }}\n'


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_marks_change_no_byte(process, chart, text):
    found = Case(
        chart({"a.yaml": f"{HEAD}{text}\n", "_h.tpl": HELPER, "NOTES.txt": f"Notes: {text}"}),
        values_text=(VALUES,),
    )
    plain = process.render(found)
    marked, _ = process.cover(found)
    assert marked.manifest == plain.manifest
    assert marked.notes == plain.notes


def test_a_branch_knows_where_it_stands(process, chart):
    text = f"{HEAD}  a: x{{{{ if .Values.a }}}}1{{{{ else if .Values.b }}}}2{{{{ end }}}}\n"
    places = [
        (b.line, b.column, b.keyword, b.way, b.text)
        for b in process.branches(chart({"a.yaml": text}))
    ]
    assert sorted(places) == [
        (5, 13, "if", "else", ".Values.a"),
        (5, 13, "if", "taken", ".Values.a"),
        (5, 37, "if", "else", ".Values.b"),
        (5, 37, "if", "taken", ".Values.b"),
    ]


@pytest.mark.parametrize(
    ("pipeline", "ways"),
    [
        ('list "a" "b"', ["taken"]),
        ('$k, $v := dict "a" 1', ["taken"]),
        ("list", ["taken", "else"]),
        (".Values.list", ["taken", "else"]),
        ("without (list 1) 1", ["taken", "else"]),
        ('list "a" | compact', ["taken", "else"]),
    ],
)
def test_a_range_over_written_out_items_has_one_way(process, chart, pipeline, ways):
    found = process.branches(chart({"a.yaml": f"{{{{ range {pipeline} }}}}{{{{ end }}}}"}))
    assert [branch.way for branch in found] == ways


def test_a_refused_render_tells_the_branches_until_then_and_the_line_of_the_file(process, chart):
    text = (
        '{{ if .Values.bad }}{{ fail "no" }}{{ end }}\n'
        '{{ define "later" }}{{ if true }}{{ end }}{{ end }}\n'
        "{{ if .Values.after }}{{ end }}\n"
    )
    case = Case(chart({"a.yaml": text}), values_text=("bad: true",))
    branches = process.branches(case.chart)
    with pytest.raises(RenderError, match=r"small/templates/a\.yaml:1:23.*no") as raised:
        process.cover(case)
    taken = [(branches[number].text, branches[number].way) for number in raised.value.taken]
    assert taken == [(".Values.bad", "taken")]


def test_values_that_the_schema_refuses_take_no_branch(process, chart):
    folder = chart({"a.yaml": "{{ if .Values.a }}{{ end }}"})
    (folder / "values.schema.json").write_text('{"properties": {"a": {"type": "boolean"}}}')
    with pytest.raises(RenderError) as raised:
        process.cover(Case(folder, values_text=("a: 1",)))
    assert raised.value.taken == frozenset()
