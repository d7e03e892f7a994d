"""Differences of objects: items of lists are matched as the API matches them."""

import pytest
import yaml

from trainyard.render.objects import Rendered
from trainyard.upgrade.differ import Change, differences, joined, object_changes


def changes(old: str, new: str) -> list[str]:
    """The changed places, each as a line."""
    found = differences(yaml.safe_load(old), yaml.safe_load(new))
    return [line for change in found for line in change.lines()]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("{a: 1}", "{a: 1}", []),
        ("{a: 1}", "{a: 2}", ["a: 1 → 2"]),
        ("{a: 1}", "{a: '1'}", ['a: 1 → "1"']),
        ("{a: 1}", "{a: true}", ["a: 1 → true"]),
        ("{}", "{a: {b: 1}}", ['a: + {"b": 1}']),
        ("{a: null}", "{}", ["a: - null"]),
        ("{metadata: {labels: {a.b/c: x}}}", "{}", ['metadata: - {"labels": {"a.b/c": "x"}}']),
        ("{l: {a.b/c: x}}", "{l: {a.b/c: y}}", ['l["a.b/c"]: "x" → "y"']),
        (
            "{env: [{name: A, value: a}, {name: B, value: b}]}",
            "{env: [{name: B, value: c}]}",
            ['env[name=A]: - {"name": "A", "value": "a"}', 'env[name=B].value: "b" → "c"'],
        ),
        (
            "{env: [{name: A}, {name: B}]}",
            "{env: [{name: B}, {name: A}]}",
            ['env (order): ["[name=A]", "[name=B]"] → ["[name=B]", "[name=A]"]'],
        ),
        (
            "{ports: [{containerPort: 80, name: a}]}",
            "{ports: [{containerPort: 80, protocol: TCP, name: b}]}",
            [
                'ports[containerPort=80,protocol=TCP].name: "a" → "b"',
                'ports[containerPort=80,protocol=TCP].protocol: + "TCP"',
            ],
        ),
        (
            "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, name: a}]}",
            "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, name: b}]}",
            ['ports[port=53,protocol=TCP].name: "a" → "b"'],
        ),
        (
            "{volumeMounts: [{mountPath: /a, name: x}]}",
            "{volumeMounts: [{mountPath: /a, name: y}]}",
            ['volumeMounts[mountPath=/a].name: "x" → "y"'],
        ),
        ("{args: [a, b, c]}", "{args: [a, c]}", ['args[1]: - "b"']),
        ("{args: [a, c]}", "{args: [a, b, c]}", ['args[1]: + "b"']),
        # The same name twice tells nothing apart: places do.
        ("{env: [{name: A}, {name: A}]}", "{env: [{name: A}]}", ['env[1]: - {"name": "A"}']),
    ],
)
def test_a_difference_names_its_place(old, new, lines):
    assert changes(old, new) == lines


def test_of_a_long_text_only_the_changed_lines_are_shown():
    old = "\n".join(str(number) for number in range(100))
    assert Change(("data", "a.py"), old, old.replace("50", "x")).lines() == [
        'data["a.py"]:',
        "    -50",
        "    +x",
    ]
    assert len(Change(("a",), old, old.replace("\n", "-\n")).lines()) == 14


def test_of_a_long_line_only_the_end_that_differs_is_shown():
    (line,) = Change(("a",), "x" * 200 + "1", "x" * 200 + "2").lines()
    assert line == f'a: "…{"x" * 20}1" → "…{"x" * 20}2"'


def test_objects_are_matched_by_group_kind_namespace_and_name():
    old = Rendered(
        "{apiVersion: g/v1beta1, kind: A, metadata: {name: a}}\n---\n"
        "{apiVersion: v1, kind: B, metadata: {name: b}}\n---\n"
        "{apiVersion: v1, kind: C, metadata: {name: c, namespace: ns}}"
    )
    new = Rendered(
        "{apiVersion: g/v1, kind: A, metadata: {name: a, namespace: ns}}\n---\n"
        "{apiVersion: h/v1, kind: B, metadata: {name: b}}\n---\n"
        "{apiVersion: v1, kind: C, metadata: {name: c}}"
    )
    found = object_changes(old, new, "ns")
    assert [(each.kind, each.object.title) for each in found] == [
        ("changed", "A/a"),
        ("added", "B/b"),
        ("changed", "C/c"),
        ("removed", "B/b"),
    ]


def test_paths_read_like_kubectl_writes_them():
    assert joined(("spec", "containers", "[name=a]", "args", "[0]")) == (
        "spec.containers[name=a].args[0]"
    )
