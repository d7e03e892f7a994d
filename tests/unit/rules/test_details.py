"""Edges of single rules that their two examples do not show."""

from decimal import Decimal
from pathlib import Path

import pytest

from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.rules import RULES, Render
from trainyard.rules.resources import quantity
from trainyard.rules.sizes import release_bytes
from trainyard.rules.texts import SCIENTIFIC


def problems(rule: str, manifest: str, version: str = "") -> list[str]:
    """Give the paths at which a rule finds something."""
    render = Render(Case(Path("a"), kube_version=version), Rendered(manifest))
    return [problem.path for problem in RULES[rule].check(render)]


def job(name: str, completions: int) -> str:
    spec = f"{{completionMode: Indexed, completions: {completions}}}"
    return f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}}}, spec: {spec}}}"


@pytest.mark.parametrize(
    ("length", "completions", "fits"),
    [(61, 10, True), (62, 10, False), (60, 100, True), (61, 100, False), (61, 1, True)],
)
def test_an_indexed_job_leaves_room_for_its_largest_index(length, completions, fits):
    assert (problems("name-length", job("a" * length, completions)) == []) is fits


def test_a_cron_job_leaves_room_for_the_name_of_its_jobs():
    text = "{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: {}}}}}"
    assert problems("name-length", text.format("a" * 52)) == []
    assert problems("name-length", text.format("a" * 53)) == ["metadata.name"]


def test_a_service_may_begin_with_a_digit_from_1_36_on():
    text = "{apiVersion: v1, kind: Service, metadata: {name: 1-a}}"
    assert problems("name-syntax", text, "1.35") == ["metadata.name"]
    assert problems("name-syntax", text, "1.36") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [("250m", "0.25"), ("2Gi", "2147483648"), ("1e3", "1000"), (3, "3"), (".5", "0.5")],
)
def test_quantities_are_read_as_kubernetes_reads_them(text, value):
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "2GB", "1 Gi", "m", "1.2.3", True, None])
def test_what_is_no_quantity_is_none(text):
    assert quantity(text) is None


@pytest.mark.parametrize("text", ["1e+06", "image:6.801028e+06", "--steps=1e+06", "x: 2.5e+10\n"])
def test_go_s_large_numbers_are_recognised(text):
    assert SCIENTIFIC.search(text)


@pytest.mark.parametrize("text", ["1e-05", "1e6", "abc1e+06", "1e+6", "1e+06x", "2+1e+"])
def test_other_texts_are_not(text):
    assert not SCIENTIFIC.search(text)


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("DB_PASSWORD", "hunter2", True),
        ("CLIENT_SECRET", "abc", True),
        ("IMAGE_PULL_SECRET", "registry", False),
        ("DB_PASSWORD", "$(OTHER)", False),
        ("DB_PASSWORD", "/run/secrets/db", False),
        ("ALLOW_EMPTY_PASSWORD", '"yes"', False),
        ("PASSWORD_MIN_LENGTH", '"8"', False),
    ],
)
def test_passwords_are_told_from_switches_paths_and_names(name, value, is_secret):
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: "
        f"[{{name: a, image: a, env: [{{name: {name}, value: {value}}}]}}]}}}}"
    )
    assert bool(problems("plain-secret", pod)) is is_secret


def test_a_private_key_is_a_secret_wherever_it_stands():
    text = (
        "apiVersion: v1\nkind: {}\nmetadata: {{name: a}}\ndata:\n  key: |\n"
        "    -----BEGIN RSA PRIVATE KEY-----\n    MIIEow\n"
    )
    assert problems("plain-secret", text.format("ConfigMap")) == ["data.key"]
    assert problems("plain-secret", text.format("Secret")) == []


def test_pods_in_custom_resources_are_judged_too():
    manifest = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a}
spec:
  replicatedJobs:
    - template: {spec: {template: {spec: {containers: [{name: a, image: a}], hostPID: true}}}}
"""
    path = "spec.replicatedJobs[0].template.spec.template.spec.hostPID"
    assert path in problems("pod-security", manifest)


def test_a_release_is_as_large_as_its_gzip_in_base64():
    assert release_bytes("a" * 10_000) < 100
    assert release_bytes("") % 4 == 0
