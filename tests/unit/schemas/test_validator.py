"""Objects against the schemas of the Kubernetes API."""

import copy
import datetime
import time
from typing import Any

import jsonschema
import pytest

from trainyard.errors import TrainyardError
from trainyard.schemas import bundle
from trainyard.schemas.validator import Schemas, Verdict

POD: dict[str, Any] = {
    "containers": [{"name": "a", "image": "a", "ports": [{"containerPort": 80}]}]
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "labels": {"app": "a"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": POD},
    },
}


def changed(path: str, value: object) -> dict[str, Any]:
    """Give the Deployment with another value at a path."""
    found = copy.deepcopy(DEPLOYMENT)
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place: Any = found
    for key in parents:
        place = place[key] if isinstance(key, int) else place.setdefault(key, {})
    place[last] = value
    return found


def test_the_oldest_and_the_newest_version_are_there():
    assert bundle.versions()[0] == "1.29"
    assert len(bundle.versions()) >= 9


@pytest.mark.parametrize("version", bundle.versions())
def test_an_object_is_valid_in_every_version(version):
    assert Schemas(version).check(DEPLOYMENT).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("path", "value", "where", "said"),
    [
        ("spec.replicas", "3", "spec.replicas", '"3" is no integer'),
        ("metadata.labels.app", True, "metadata.labels.app", "true is no string"),
        ("spec.replcias", 1, "spec.replcias", "unknown field replcias"),
        (
            "spec.template.spec.containers.0.resources",
            {"limits": {"cpu": True}},
            "spec.template.spec.containers[0].resources.limits.cpu",
            "true is no number or string",
        ),
        (
            "spec.template.spec.containers.0.env",
            [{"name": "A", "value": 1}],
            "spec.template.spec.containers[0].env[0].value",
            "1 is no string",
        ),
        ("spec.template.spec.containers.0", {}, "spec.template.spec.containers[0].name", "name"),
    ],
)
def test_a_problem_names_its_place(path, value, where, said):
    result = Schemas("1.33").check(changed(path, value))
    assert result.verdict is Verdict.INVALID
    (problem,) = result.problems
    assert problem.path == where
    assert said in problem.message
    assert problem.remedy


def test_a_date_counts_as_the_text_that_it_is_for_kubernetes():
    found = changed("metadata.labels.app", datetime.date(2026, 1, 2))
    assert Schemas("").check(found).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("api", "kind", "instead"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "policy/v1"),
        ("extensions/v1beta1", "Ingress", "networking.k8s.io/v1"),
        ("batch/v1beta1", "CronJob", "batch/v1"),
        ("v1", "ConfgMap", "ConfigMap"),
        ("", "", "Leave it out"),
    ],
)
def test_an_api_that_the_version_has_not_is_told_with_its_successor(api, kind, instead):
    result = Schemas("1.36").check({"apiVersion": api, "kind": kind, "metadata": {}})
    assert result.verdict is Verdict.NOT_SERVED
    assert instead in result.problems[0].remedy


def test_a_kind_can_be_too_new_for_a_version():
    policy = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "a"}}
    assert Schemas("1.29").check(policy).verdict is Verdict.NOT_SERVED
    assert Schemas("1.36").check({**policy, "spec": {}}).verdict is Verdict.VALID


def test_a_custom_resource_without_a_definition_is_not_valid():
    result = Schemas("1.33").check({"apiVersion": "example.org/v1", "kind": "A", "metadata": {}})
    assert result.verdict is Verdict.NO_SCHEMA
    assert "nothing was validated" in result.problems[0].message


@pytest.mark.parametrize("version", ["1.33", "v1.33.1", "1.33.6-eks-bbe087e", "v1.33.0+k3s1"])
def test_versions_of_vendors_are_those_of_kubernetes(version):
    assert Schemas(version).version == "1.33"


@pytest.mark.parametrize("version", ["1.20", "2.0", "new"])
def test_a_version_without_schemas_is_an_error(version):
    with pytest.raises(TrainyardError, match="no schemas"):
        Schemas(version)


def test_the_slow_reference_gives_the_same_verdicts():
    loaded = bundle.definitions("1.33")
    reference = jsonschema.Draft202012Validator(
        {"$ref": f"#/$defs/{bundle.kinds(loaded)['apps/v1', 'Deployment']}", **loaded}
    )
    fast = Schemas("1.33")
    for path, value in (
        ("spec.replicas", 3),
        ("spec.replicas", None),
        ("spec.replicas", "3"),
        ("spec.paused", "no"),
        ("spec.template.spec.containers.0.ports.0.hostIP", 1),
        ("spec.strategy.rollingUpdate.maxSurge", "25%"),
        ("spec.strategy.rollingUpdate.maxSurge", 1.5),
        ("spec.strategy.rolling", {}),
    ):
        found = changed(path, value)
        assert (fast.check(found).verdict is Verdict.VALID) == reference.is_valid(found), path


def test_four_thousand_objects_take_a_fifth_of_a_second():
    schemas = Schemas("1.33")
    schemas.check(DEPLOYMENT)
    objects = [changed("spec.replicas", number) for number in range(4000)]
    started = time.perf_counter()
    assert all(schemas.check(found).verdict is Verdict.VALID for found in objects)
    assert time.perf_counter() - started < 0.2
