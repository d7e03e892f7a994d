"""Custom resources against their definitions."""

import pytest
import yaml

from trainyard.errors import TrainyardError
from trainyard.schemas import crds
from trainyard.schemas.validator import Schemas, Verdict

DEFINITION = yaml.safe_load("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Crate, plural: crates}
  versions:
    - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object}
            spec:
              type: object
              required: [size]
              properties:
                size: {type: integer, minimum: 0, exclusiveMinimum: true}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true}
                any: {x-kubernetes-preserve-unknown-fields: true}
                note: {type: string, nullable: true}
                mode: {type: string, enum: [a, b], default: a}
                labels: {type: object, additionalProperties: {type: string}}
                either:
                  type: object
                  properties: {one: {type: string}, two: {type: string}}
                  oneOf: [{required: [one]}, {required: [two]}]
                template:
                  type: object
                  x-kubernetes-embedded-resource: true
                  properties: {spec: {type: object, properties: {a: {type: string}}}}
                items:
                  type: array
                  items: {type: object, properties: {name: {type: string}}}
""")


def verdict(spec: object, api: str = "example.org/v1") -> Verdict:
    crate = {"apiVersion": api, "kind": "Crate", "metadata": {"name": "a"}, "spec": spec}
    return Schemas("1.33", [DEFINITION]).check(crate).verdict


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"port": 80},
        {"port": "http"},
        {"free": {"x": {"y": [1]}}},
        {"any": [1, "a"]},
        {"note": None},
        {"mode": None},
        {"labels": {"a": "b"}},
        {"either": {"one": "a"}},
        {"items": [{"name": "a"}]},
        {
            "template": {
                "apiVersion": "v1",
                "kind": "A",
                "metadata": {"labels": {"a": "b"}},
                "spec": {"a": "b"},
            }
        },
    ],
    ids=str,
)
def test_what_the_definition_allows_is_valid(more):
    assert verdict({"size": 1, **more}) is Verdict.VALID


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"size": 0},
        {"size": "1"},
        {"size": None},
        {"size": 1, "sise": 1},
        {"size": 1, "port": 1.5},
        {"size": 1, "mode": "c"},
        {"size": 1, "labels": {"a": 1}},
        {"size": 1, "either": {}},
        {"size": 1, "either": {"one": "a", "two": "b"}},
        {"size": 1, "items": [{"nmae": "a"}]},
        {"size": 1, "items": [None]},
        {"size": 1, "template": {"spec": {"a": "b"}}},
        {"size": 1, "template": {"apiVersion": "v1", "kind": "A", "spec": {"b": "b"}}},
    ],
    ids=str,
)
def test_what_it_does_not_allow_is_invalid(spec):
    assert verdict(spec) is Verdict.INVALID


def test_metadata_are_those_of_every_object():
    crate = {"apiVersion": "example.org/v1", "kind": "Crate", "spec": {"size": 1}}
    schemas = Schemas("1.33", [DEFINITION])
    wrong = {**crate, "metadata": {"name": "a", "label": {}}}
    assert schemas.check(crate).verdict is Verdict.INVALID
    assert [p.path for p in schemas.check(wrong).problems] == ["metadata.label"]


def test_a_version_that_is_not_served_has_no_schema_and_the_served_one_is_named():
    crate = {"apiVersion": "example.org/v1alpha1", "kind": "Crate", "metadata": {}}
    result = Schemas("1.33", [DEFINITION]).check(crate)
    assert result.verdict is Verdict.NO_SCHEMA
    assert result.problems[0].remedy == "Use example.org/v1."


def test_definitions_are_read_from_the_crds_folders_of_a_chart(tmp_path):
    for folder in ("crds", "charts/below/crds/deep"):
        (tmp_path / folder).mkdir(parents=True)
        text = yaml.safe_dump_all([DEFINITION, {"kind": "ConfigMap"}])
        (tmp_path / folder / "all.yaml").write_text(text)
    assert crds.of_chart(tmp_path) == [DEFINITION, DEFINITION]


def test_a_file_that_is_no_yaml_is_told_by_its_path(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [")
    with pytest.raises(TrainyardError, match=r"a\.yaml cannot be read"):
        crds.read([tmp_path / "a.yaml"])
