"""The helpers of the library chart, each called by itself from a chart made for the test."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

COMMON = Path(__file__).resolve().parents[2] / "charts" / "common"


@pytest.fixture
def call(tmp_path, template):
    """`call(helper, argument)`: what a helper gives, or what it made of the key `changed`."""

    def run(helper, argument, changed=""):
        chart = tmp_path / "probe"
        (chart / "templates").mkdir(parents=True, exist_ok=True)
        (chart / "charts").mkdir(exist_ok=True)
        if not (chart / "charts" / "common").exists():
            (chart / "charts" / "common").symlink_to(COMMON)
        meta = {
            "apiVersion": "v2",
            "name": "probe",
            "version": "1.0.0",
            "dependencies": [{"name": "common", "version": "0.1.0"}],
        }
        (chart / "Chart.yaml").write_text(yaml.safe_dump(meta))
        gives = f'include "{helper}" .Values.argument'
        text = f"result: {{{{ {gives} | toJson }}}}"
        if changed:
            text = (
                f"{{{{- $_ := {gives} -}}}}\nresult: {{{{ .Values.argument.{changed} | toJson }}}}"
            )
        (chart / "templates" / "probe.yaml").write_text(text)
        result = template({"argument": argument}, chart=chart)
        if result.returncode:
            raise AssertionError(result.stderr)
        return yaml.safe_load(result.stdout)["result"]

    return run


def test_every_helper_says_what_it_takes_and_gives():
    seen = 0
    for path in sorted(COMMON.glob("templates/_*.tpl")):
        text = path.read_text()
        for name in re.findall(r'define "([^"]+)"', text):
            head = re.search(
                rf"{{{{/\*\n{re.escape(name)}: (.*?)\*/}}}}\n{{{{- define \"{name}\"",
                text,
                re.DOTALL,
            )
            assert head, f"{path.name}: {name} has no head"
            assert "Takes: " in head[1], name
            assert "Gives: " in head[1], name
            assert name.startswith("common."), name
            seen += 1
    assert seen > 20


def test_the_library_makes_no_object():
    assert yaml.safe_load((COMMON / "Chart.yaml").read_text())["type"] == "library"
    assert not [path for path in COMMON.glob("templates/*") if not path.name.startswith("_")]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("0.1.0", "0.1.0"),
        ("0.1.0+build.7", "0.1.0_build.7"),
        ("chart-" + "a" * 56 + "-.b", "chart-" + "a" * 56),
        ("trailing_._", "trailing"),
        ("-leading", "leading"),
        ("+", ""),
    ],
)
def test_label_values(call, value, label):
    assert call("common.labels.value", value) == label


@pytest.mark.parametrize("name", ["a", "a-b", "a" * 20])
def test_a_name_that_fits_stays(call, name):
    assert call("common.names.shorten", {"name": name, "budget": 20}) == name


@pytest.mark.parametrize("name", ["a" * 21, "a.b", "1a", "A", "a" * 12 + "-" * 8 + "b", "-"])
def test_a_name_that_does_not_fit_is_changed_and_marked(call, name):
    short = call("common.names.shorten", {"name": name, "budget": 20})
    assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?-[0-9a-f]{6}", short)
    assert "--" not in short
    assert len(short) <= 20


def test_fill_keeps_what_is_there_and_adds_what_is_not(call):
    values = {"zero": 0, "no": False, "empty": "", "none": [], "deep": {"zero": 0}}
    defaults = {"zero": 1, "no": True, "empty": "x", "none": [1], "deep": {"zero": 1, "more": 2}}
    filled = call("common.values.fill", {"values": values, "defaults": defaults}, changed="values")
    assert filled == {**values, "deep": {"zero": 0, "more": 2}}


def test_overlay_takes_falses_and_lists_and_removes_nulls(call):
    base = {"keep": 1, "no": True, "list": [1, 2], "gone": 1, "deep": {"keep": 1, "zero": 1}}
    over = {"no": False, "list": [], "gone": None, "deep": {"zero": 0}, "new": {"a": 1}}
    laid = call("common.values.overlay", {"base": base, "over": over}, changed="base")
    assert laid == {
        "keep": 1,
        "no": False,
        "list": [],
        "deep": {"keep": 1, "zero": 0},
        "new": {"a": 1},
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1000000, "1000000"),
        (123456789012, "123456789012"),
        (-1000000, "-1000000"),
        (0, "0"),
        (0.5, "0.5"),
        (True, "true"),
        ("1e3", "1e3"),
    ],
)
def test_text_of_scalars(call, value, text):
    assert call("common.values.text", value) == text


def test_environment_lists_merge_by_name(call):
    lists = [
        [{"name": "A", "value": 1}, {"name": "B", "value": "b"}],
        [{"name": "A", "value": 1000000}, {"name": "C", "valueFrom": {"fieldRef": {}}}],
        None,
    ]
    assert yaml.safe_load(call("common.env.list", {"lists": lists})) == [
        {"name": "B", "value": "b"},
        {"name": "A", "value": "1000000"},
        {"name": "C", "valueFrom": {"fieldRef": {}}},
    ]


def test_reserved_variables_are_named_with_their_path(call):
    argument = {
        "env": [{"name": "A"}, {"name": "B"}],
        "path": "x.env",
        "reserved": ["B"],
        "why": "so",
    }
    assert json.loads(call("common.env.reserved", argument)) == [
        "x.env: B is set by the chart, so; remove it"
    ]


def test_security_keeps_falses_and_takes_nulls_away(call):
    user = {"runAsNonRoot": False, "seccompProfile": None, "capabilities": {"add": ["CHOWN"]}}
    assert yaml.safe_load(call("common.security.container", {"user": user})) == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]},
        "runAsNonRoot": False,
    }


def test_a_configmap_of_just_the_right_size_passes(call):
    argument: Any = {"name": "it", "data": {"key": "x" * (2**20 - len("key"))}, "remedy": "r"}
    assert call("common.errors.configMapSize", argument) == ""
    argument["data"]["key"] += "x"
    message = call("common.errors.configMapSize", argument)
    assert "1048577 bytes" in message
    assert message.endswith("; r")


@pytest.mark.parametrize(
    ("given", "codes"),
    [([], []), ([75, 2, 137, 2], [2, 75, 137]), ([255, 10, 9, 100], [9, 10, 100, 255])],
)
def test_exit_codes_come_in_order_and_once(call, given, codes):
    assert json.loads(call("common.jobs.exitCodes", given)) == codes


@pytest.mark.parametrize(
    ("volume", "kind"),
    [
        ({"enabled": True}, "claim"),
        ({"enabled": True, "existingClaim": "c"}, "claim"),
        ({"enabled": False}, "emptyDir"),
        ({"enabled": True, "nfs": {"server": "s", "path": "/"}}, "nfs"),
        ({"enabled": True, "csi": {"driver": "d"}}, "csi"),
        ({"enabled": True, "hostPath": {"path": "/"}}, "hostPath"),
        ({"enabled": False, "nfs": {"server": "s", "path": "/"}}, "emptyDir"),
    ],
)
def test_kinds_of_volumes(call, volume, kind):
    assert call("common.volumes.kind", volume) == kind


WANT = {"key": "type", "operator": "In", "values": ["a"]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "terms",
    [[], [{"matchExpressions": [{"key": "x"}]}, {"matchFields": [{"key": "y"}]}]],
    ids=["none", "two"],
)
def test_a_demand_for_nodes_is_put_into_each_alternative(call, terms):
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}} if terms else {}
    argument = {"affinity": affinity, "expression": WANT}
    made = call("common.affinity.require", argument, changed="affinity")
    found = made["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [term["matchExpressions"][-1] for term in found] == [WANT] * max(1, len(terms))
    for term, old in zip(found, terms, strict=False):
        assert term["matchExpressions"][:-1] == old.get("matchExpressions", [])
        assert term.get("matchFields") == old.get("matchFields")


def owned(manager: str, operation: str, replicas: bool) -> dict[str, Any]:
    fields: Any = {"f:spec": {"f:replicas": {}} if replicas else {"f:template": {}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


@pytest.mark.parametrize(
    ("owners", "wanted", "refused"),
    [
        ([], 5, False),
        ([owned("helm", "Apply", True)], 5, False),
        ([owned("helm", "Apply", False), owned("kubectl", "Update", True)], 5, True),
        ([owned("helm", "Apply", False), owned("kubectl", "Update", True)], 4, False),
        ([owned("helm", "Update", True), owned("kubectl", "Update", True)], 5, False),
    ],
    ids=["new", "helm's own", "somebody else's", "the same number", "no server-side apply"],
)
def test_a_number_that_somebody_else_has_set_is_told_before_kubernetes_does(
    call, owners, wanted, refused
):
    about = {"name": "w", "namespace": "n", "managedFields": owners}
    found = {"kind": "StatefulSet", "metadata": about, "spec": {"replicas": 4}} if owners else {}
    argument = {"object": found, "replicas": wanted, "value": "worker.replicas"}
    message = call("common.scale.conflict", argument)
    assert bool(message) is refused
    if refused:
        assert "kubectl has set StatefulSet w to 4" in message
        assert "--set worker.replicas=4" in message


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        (0, 0.0), ("", 0.0), ("0", 0.0), (2, 2.0), (0.5, 0.5), ("1.5", 1.5), ("500m", 0.5),
        ("300m", 0.3), ("1.1m", 0.0011), ("1100u", 0.0011), ("5n", 5e-9), ("1500k", 1.5e6),
        ("128M", 128e6), ("2G", 2e9), ("3T", 3e12), ("4P", 4e15), ("1E", 1e18), ("1E3", 1e3),
        ("1e3", 1e3), ("1.5e-3", 0.0015), ("1e+12", 1e12), (1e12, 1e12), ("2Ki", 2048.0),
        ("1Mi", 2.0**20), ("2Gi", 2.0**31), ("1.1Gi", 1.1 * 2**30), ("1Ti", 2.0**40),
        ("1Pi", 2.0**50), ("7Ei", 7 * 2.0**60),
    ],
)  # fmt: skip
def test_quantities_are_numbers(call, quantity, number):
    assert float(call("common.quantity.number", quantity)) == number


@pytest.mark.parametrize(
    "ways",
    [
        ["0.1", "100m", "100000u", 0.1, "1e-1", "1E-1"],
        ["1.5Gi", "1536Mi", "1572864Ki", 1610612736],
        ["2.2", "2200m"],
        ["1.1m", "0.0011", "1100u", "1100000n"],
        ["9.3Ei", "9.3Ei"],
        ["1.7Ti", "1740.8Gi", "1782579.2Mi"],
        ["1M", "1000k", "1e6", 1000000],
    ],
    ids=str,
)
def test_an_amount_is_one_number_however_it_is_written(call, ways):
    assert len({call("common.quantity.number", way) for way in ways}) == 1


def test_resources_are_laid_over_each_other_and_lose_devices_of_which_there_are_none(call):
    layers = [
        {"requests": {"cpu": "1", "a.b/c": 1}, "limits": {"memory": "1Gi", "a.b/c": 1, "d/e": 2}},
        None,
        {"requests": None, "limits": {"a.b/c": "0", "memory": None, "cpu": 0}},
        {"requests": {"a.b/c": ""}},
    ]
    merged = call("common.resources.merged", {"layers": layers})
    assert json.loads(merged) == {"requests": {"cpu": "1"}, "limits": {"d/e": 2, "cpu": 0}}


@pytest.mark.parametrize(
    ("repository", "host"),
    [
        ("team/train", ""),
        ("my.image", ""),
        ("localhosts/train", ""),
        ("team/my.image", ""),
        ("localhost", ""),
        ("localhost/train", "localhost"),
        ("ghcr.io/team/train", "ghcr.io"),
        ("host:5000/train", "host:5000"),
        (None, ""),
    ],
)
def test_a_registry_in_a_repository_is_seen(call, repository, host):
    found = json.loads(
        call("common.images.check", {"image": {"repository": repository}, "path": "i"})
    )
    assert len(found) == bool(host)
    assert all(f'set i.registry to "{host}"' in each for each in found)


def test_blocks_that_are_absent_are_put_in_whole(call):
    defaults = {"a": {"b": {"x": 1, "y": 2}, "c": {"x": 1}}, "d": {"x": 1}, "e": {"x": 1}}
    values = {"a": {"b": {"y": 3}, "c": None}, "d": {}, "f": 1}
    given = {"values": values, "defaults": defaults}
    filled = call("common.values.fillBlocks", given, changed="values")
    assert filled == {"a": {"b": {"y": 3}, "c": {"x": 1}}, "d": {}, "e": {"x": 1}, "f": 1}
