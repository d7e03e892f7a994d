"""Entries and objects that stand twice, and what differs from render to render."""

import json
from collections.abc import Iterator
from typing import Any

from trainyard.render.objects import Object
from trainyard.rules.base import Problem, Render, entries, rule
from trainyard.schemas.fields import Node
from trainyard.schemas.paths import step

DEFAULTS = {"protocol": "TCP"}
"""What the API server takes for a key that is left out."""


@rule(
    "list-keys",
    "Server-side apply refuses two entries of one key (x-kubernetes-list-map-keys of the API; "
    "helm/helm#31529), and client-side apply loses both when one is removed (helm/helm#12643).",
    bad="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]
""",
    near_miss="""
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - {name: a, image: a, env: [{name: A, value: "1"}]}
    - name: b
      image: a
      env: [{name: A, value: "1"}]
      ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]
""",
)
def list_keys(render: Render) -> Iterator[Problem]:
    """Find entries of keyed lists that share their key, and equal entries of sets."""
    for found, node in render.nodes():
        if node.field.keys:
            yield from _keyed(found, node)
        elif node.field.is_set and isinstance(node.value, list):
            texts = [json.dumps(entry, default=str) for entry in node.value]
            for index, text in enumerate(texts):
                if text in texts[:index]:
                    message, remedy = f"{text} stands twice", "Leave one out."
                    yield Problem(found, f"{node.path}[{index}]", message, remedy)


def _keyed(found: Object, node: Node) -> Iterator[Problem]:
    seen: dict[tuple[Any, ...], int] = {}
    for index, entry in entries(node.value):
        values = [entry.get(key, DEFAULTS.get(key)) for key in node.field.keys]
        if all(value is None for value in values):
            continue
        key = tuple(map(str, values))
        if key in seen:
            told = ", ".join(f"{k} {v!r}" for k, v in zip(node.field.keys, values, strict=True))
            yield Problem(
                found,
                f"{node.path}[{index}]",
                f"an entry with {told} stands already at [{seen[key]}]",
                "Merge the lists by key in a helper, so that the later entry replaces the other.",
            )
        seen.setdefault(key, index)


@rule(
    "duplicate-object",
    "Of two objects with one name the last one wins, and Helm does not notice "
    "(jfrog/charts#2461, helm/helm#8722).",
    bad="""
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
""",
    near_miss="""
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}
""",
)
def duplicate_object(render: Render) -> Iterator[Problem]:
    """Find objects with the kind, namespace and name of an earlier one."""
    seen: dict[tuple[str, str, str, str], Object] = {}
    for found in render.objects:
        if not found.name:
            continue
        key = (found.api_version, found.kind, render.namespace(found), found.name)
        if key in seen:
            yield Problem(
                found,
                "metadata.name",
                f"{seen[key].template or 'another document'} makes the same object",
                "Give each a suffix of its own that no trimming can remove.",
            )
        seen.setdefault(key, found)


@rule(
    "determinism",
    "What differs from render to render restarts pods and changes passwords at each upgrade, and "
    "keeps GitOps from settling (helm/helm#3053).",
    bad="{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: RANDOM}}",
    near_miss="{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: given}}",
)
def determinism(render: Render) -> Iterator[Problem]:
    """Find objects that a second render of the same case gave differently."""
    if render.again is None or render.again.manifest == render.rendered.manifest:
        return
    second = {(o.kind, o.namespace, o.name): o for o in render.again.objects}
    for found in render.rendered.objects:
        other = second.get((found.kind, found.namespace, found.name))
        if other is None:
            yield Problem(found, "metadata.name", "a second render made no such object", SUPPLY_IT)
        elif other != found:
            for path in _different("", found, other):
                message = "a second render gave another value"
                yield Problem(found, path.removeprefix("."), message, SUPPLY_IT)


SUPPLY_IT = "Take it from a value, or keep what the cluster has with `lookup`."


def _different(path: str, one: object, other: object) -> Iterator[str]:
    """Give the innermost places at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _different(path + step(key), one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, entry in enumerate(one):
            yield from _different(f"{path}[{index}]", entry, other[index])
    elif one != other:
        yield path
