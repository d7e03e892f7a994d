"""The values are a contract: the wrong is refused with path and way out, the right survives."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from trainyard.render.case import Case
from trainyard.render.objects import Rendered

CHART = Path(__file__).resolve().parents[2] / "charts" / "tf-cluster"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())

# Helm and parent charts put these in; nobody writes them in values.yaml.
FROM_OUTSIDE = {("enabled",), ("common",)}


def resolved(schema: Any) -> Any:
    """A schema with its local reference followed."""
    for part in (schema, *schema.get("allOf", [])):
        if "$ref" in part:
            assert part["$ref"].startswith("#/definitions/"), part["$ref"]
            return SCHEMA["definitions"][part["$ref"].removeprefix("#/definitions/")]
    return schema


def schema_at(path: Any) -> Any:
    """The schema of the value at a path, as it is written there."""
    schema = SCHEMA
    for key in path:
        schema = resolved(schema)["properties"][key]
    return schema


def value_leaves(tree: Any, path: Any = ()) -> Any:
    """Every value of values.yaml that is no block of others, with its path."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from value_leaves(value, (*path, key))
        else:
            yield (*path, key), value


def blocks(tree: Any, path: Any = ()) -> Any:
    """Every path of values.yaml: blocks, and the values in them."""
    for key, value in tree.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from blocks(value, (*path, key))


def schemas(schema: Any, path: Any = ()) -> Any:
    """Every schema under a schema, with its path in the schema file."""
    yield path, schema
    for word in ("properties", "definitions"):
        for key, part in schema.get(word, {}).items():
            yield from schemas(part, (*path, word, key))
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from schemas(schema[word], (*path, word))
    for word in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(schema.get(word, [])):
            yield from schemas(part, (*path, word, index))


def setting(path: Any, value: Any) -> Any:
    """Values with one value at a path."""
    for key in reversed(path):
        value = {key: value}
    return value


# --- values.yaml and values.schema.json -----------------------------------------------------------


def test_the_schema_is_a_draft_07_schema():
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(SCHEMA)


def test_the_default_values_fit_the_schema():
    jsonschema.Draft7Validator(SCHEMA).validate(VALUES)


def test_every_default_value_is_in_the_schema_with_the_same_default_and_a_description():
    for path, value in value_leaves(VALUES):
        schema = schema_at(path)
        assert len(schema.get("description", "")) > 8, path
        assert "default" in schema, path
        assert schema["default"] == value, path
        assert type(schema["default"]) is type(value), path


def test_every_value_of_the_schema_with_a_default_is_in_values_yaml():
    known = set(blocks(VALUES))

    def walk(schema: Any, path: Any) -> None:
        for key, part in schema.get("properties", {}).items():
            here = (*path, key)
            if here in FROM_OUTSIDE:
                assert "default" not in part, here
            elif "default" in part or (path == () and part.get("type") == "object"):
                assert here in known, here
            walk(part, here)

    walk(SCHEMA, ())


def test_examples_and_defaults_of_the_schema_are_valid_themselves():
    validator = jsonschema.Draft7Validator(SCHEMA)
    seen = 0
    for path, schema in schemas(SCHEMA):
        samples = [
            *schema.get("examples", []),
            *([schema["default"]] if "default" in schema else []),
        ]
        for sample in samples:
            errors = list(validator.evolve(schema=schema).iter_errors(sample))
            assert not errors, (path, sample, errors[0].message)
            seen += 1
    assert seen > 100


# Where Kubernetes' own words pass through, its API server is the judge.
OPEN = {
    "global",
    "affinity",
    "valueFrom",
    "seLinux",
    "spread",
    "envFromSource",
    "extraVolumes",
    "networkPeers",
    "networkRules",
    "common",
    "variable",
}


def test_every_object_is_closed_or_passes_kubernetes_own_words_through():
    for path, schema in schemas(SCHEMA):
        kinds = schema.get("type", [])
        if "object" not in ([kinds] if isinstance(kinds, str) else kinds):
            continue
        closed = schema.get("additionalProperties")
        if closed is False or isinstance(closed, dict):
            continue
        assert OPEN & set(path), path


def test_nothing_in_the_schema_is_fetched_from_elsewhere():
    for reference in re.findall(r'"\$ref": "([^"]*)"', (CHART / "values.schema.json").read_text()):
        assert reference.startswith("#/definitions/")


def test_every_value_is_explained_to_its_reader():
    comment = False
    for number, line in enumerate((CHART / "values.yaml").read_text().splitlines(), 1):
        if re.match(r" *[A-Za-z]+:", line):
            described = comment or re.match(r" +(cpu|memory|requests|limits): ", line)
            assert described, f"values.yaml:{number} has no comment: {line}"
        comment = line.lstrip().startswith("#")


@pytest.fixture
def gap_fillers():
    """The values that may never be absent, from the helper that fills them in."""
    text = (CHART / "templates" / "_settings.tpl").read_text()
    body = re.search(r'define "tf-cluster.defaults" -}}\n(.*?)\n{{- end', text, re.DOTALL)
    assert body
    return yaml.safe_load(body[1])


def test_the_blocks_that_fill_gaps_are_those_of_values_yaml():
    text = (CHART / "templates" / "_settings.tpl").read_text()
    body = re.search(r'define "tf-cluster.blocks" -}}\n(.*?)\n{{- end', text, re.DOTALL)
    assert body
    seen = 0
    for path, value in value_leaves(yaml.safe_load(body[1])):
        here = VALUES
        for key in path:
            here = here[key]
        assert value == here, path
        seen += 1
    assert seen == 16


def test_the_defaults_that_fill_gaps_are_those_of_values_yaml(gap_fillers):
    for path, value in value_leaves(gap_fillers):
        here = VALUES
        for key in path:
            assert key in here, path
            here = here[key]
        assert value in (here, {}), path


# --- what survives --------------------------------------------------------------------------------


def test_null_for_any_value_means_its_default_or_nothing_and_never_a_crash(render_all):
    asked = list(blocks(VALUES))
    assert len(asked) > 250
    cases = [Case(CHART, values_text=(json.dumps(setting(path, None)),)) for path in asked]
    for path, result in zip(asked, render_all(cases), strict=True):
        assert isinstance(result, Rendered), (path, result)
        assert result.objects, path


def test_null_for_what_may_not_be_absent_means_its_default(gap_fillers, rendering):
    usual = rendering().manifest
    seen = 0
    for path, value in value_leaves(gap_fillers):
        if value != {}:
            assert rendering(setting(path, None)).manifest == usual, path
            seen += 1
    assert seen > 80


# This whole block would take away more than defaults: there, null has a meaning of its own.
NULLABLE = {"image"}


CLONED = {
    "code": {"source": "git", "git": {"repository": "https://git.example.org/t.git"}},
    "command": ["/t"],
}


@pytest.mark.parametrize("place", ["", "chief", "worker", "waiter", "test", "code.git"])
@pytest.mark.parametrize("null", [None, {"requests": None}, {"limits": None}], ids=str)
def test_null_for_resources_or_a_part_of_them_means_the_defaults(render, place, null):
    values: Any = json.loads(json.dumps(CLONED))
    block = values
    for key in place.split(".") if place else []:
        block = block.setdefault(key, {})
    block["resources"] = null
    objects, usual = render(values), render(CLONED)
    assert objects == usual
    for pod in objects.pods():
        for container in pod.containers:
            for part in ("requests", "limits"):
                assert container["resources"][part].keys() >= {"cpu", "memory"}


def test_null_for_one_amount_takes_it_away(render):
    for values in (
        {"resources": {"limits": {"cpu": None}}},
        {
            role: {"resources": {"limits": {"cpu": None}}}
            for role in ("chief", "worker", "ps", "test")
        },
    ):
        for pod in render(values).pods():
            for container in pod.containers:
                if container["name"] in ("tensorflow", "check"):
                    assert container["resources"]["limits"] == {"memory": "2Gi"}
                    assert container["resources"]["requests"]["cpu"] == "250m"


@pytest.mark.parametrize("block", [key for key in VALUES if key not in NULLABLE])
def test_null_for_a_whole_block_means_its_defaults(rendering, block):
    assert rendering({block: None}).manifest == rendering().manifest


def test_null_for_everything_at_once_still_makes_the_release(render):
    objects = render(dict.fromkeys(VALUES))
    # The run has another name, for its image is of no registry.
    assert [(each["kind"], component(each)) for each in objects] == [
        (each["kind"], component(each)) for each in render()
    ]
    assert (
        objects.pod("ps").container("await-end")["args"]
        == (render().pod("ps").container("await-end")["args"])
    )


def component(found: Any) -> str:
    return str(found["metadata"]["labels"].get("app.kubernetes.io/component", ""))


def test_a_parents_null_is_no_crash_either(tmp_path, template):
    parent(tmp_path, {"tf-cluster": {"worker": None, "runPolicy": None, "service": {"port": None}}})
    result = template(None, chart=tmp_path / "parent")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("sample.epochs", 1000000),
        ("sample.batchSize", 16777216),
        ("runPolicy.ttlSecondsAfterFinished", 2592000),
        ("runPolicy.activeDeadlineSeconds", 1000000),
        ("runPolicy.backoffLimit", 1000000),
        ("podSecurityContext.runAsUser", 1000650000),
        ("chief.terminationGracePeriodSeconds", 1000000),
        ("worker.replicas", 7),
        ("service.port", 3333),
        ("waiter.pollSeconds", 3),
        ("test.timeoutSeconds", 1000000),
        ("sample.learningRate", 0.25),
        ("sample.seed", 0),
    ],
)
def test_a_number_is_the_same_from_a_file_and_from_the_command_line(path, number, template):
    from_file = template(setting(path.split("."), number))
    from_line = template(None, "--set-json", f"{path}={number}")
    assert from_file.returncode == 0, from_file.stderr
    assert re.search(rf"[ =]{re.escape(str(number))}\b", from_file.stdout)
    assert "e+0" not in from_file.stdout.split("kind: ConfigMap")[0]
    assert from_file.stdout == from_line.stdout
    if isinstance(number, int):
        assert from_file.stdout == template(None, "--set", f"{path}={number}").stdout


def test_text_of_users_is_never_a_template(template):
    trap = "{{ .Release.Name }}"
    result = template(
        {"args": [trap], "podAnnotations": {"a": trap}, "env": [{"name": "A", "value": trap}]}
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(trap) >= 5


# --- what is refused ------------------------------------------------------------------------------

BAD_BY_SCHEMA = [
    ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    ({"worker": {"replcias": 3}}, "at '/worker': additional properties 'replcias' not allowed"),
    ({"worker": {"replicas": -1}}, "at '/worker/replicas': minimum: got -1, want 1"),
    ({"worker": {"replicas": 0}}, "at '/worker/replicas': minimum: got 0, want 1"),
    ({"worker": {"replicas": "3"}}, "at '/worker/replicas': got string, want integer"),
    ({"worker": {"replicas": 2.5}}, "at '/worker/replicas': got number, want integer"),
    ({"worker": {"replicas": 1000000000}}, "at '/worker/replicas': maximum"),
    ({"ps": {"replicas": 0}}, "at '/ps/replicas': minimum: got 0, want 1"),
    ({"chief": {"replicas": 2}}, "at '/chief': additional properties 'replicas' not allowed"),
    ({"image": {"tag": 1.10}}, "at '/image/tag': got number, want string"),
    ({"worker": {"image": {"tag": 2}}}, "at '/worker/image/tag'"),
    ({"image": {"tag": "a b"}}, "at '/image/tag'"),
    ({"image": {"digest": "sha256:abc"}}, "at '/image/digest'"),
    ({"image": {"pullPolicy": "always"}}, "at '/image/pullPolicy'"),
    ({"code": {"source": "svn"}}, "at '/code/source': value must be one of"),
    ({"code": {"mountPath": "code"}}, "at '/code/mountPath'"),
    ({"code": {"inline": {"a/b.py": "x"}}}, "at '/code/inline'"),
    ({"code": {"inline": {"a.py": 1}}}, "at '/code/inline/a.py'"),
    ({"code": {"inline": {"..": "x"}}}, "at '/code/inline': additional properties '..' not"),
    ({"code": {"git": {"resources": {"limit": {}}}}}, "at '/code/git/resources'"),
    ({"code": {"claim": {"subPath": "/abs"}}}, "at '/code/claim/subPath'"),
    ({"code": {"git": {"repository": "a b"}}}, "at '/code/git/repository'"),
    ({"code": {"git": {"env": [{"value": "a"}]}}}, "at '/code/git/env/0'"),
    (
        {"code": {"git": {"extraVolumeMounts": [{"name": "a"}]}}},
        "at '/code/git/extraVolumeMounts/0'",
    ),
    ({"volumes": {"logs": {"subPath": "/abs"}}}, "at '/volumes/logs/subPath'"),
    ({"volumes": {"logs": {"hostPath": {"path": "/d", "shared": "yes"}}}}, "/hostPath/shared'"),
    ({"code": {"git": {"revision": "--upload-pack=x"}}}, "at '/code/git/revision'"),
    ({"code": {"configMap": {"mountPath": "/code"}}}, "additional properties 'mountPath'"),
    ({"mode": "service"}, "at '/mode': value must be one of"),
    ({"strategy": "horovod"}, "at '/strategy': value must be one of"),
    ({"success": {"role": "ps"}}, "at '/success/role': value must be one of"),
    ({"evaluator": {"replicas": 2}}, "at '/evaluator/replicas': maximum: got 2, want 1"),
    ({"worker": {"gpu": {"count": 0.5}}}, "at '/worker/gpu/count': got number, want integer"),
    ({"worker": {"gpu": {"count": -1}}}, "at '/worker/gpu/count': minimum"),
    ({"worker": {"gpu": {"count": "two"}}}, "at '/worker/gpu/count': 'two' does not match"),
    ({"worker": {"gpu": {"count": "2"}}}, "at '/worker/gpu/count': '2' does not match"),
    ({"gpu": {"resource": "gpu"}}, "at '/gpu/resource'"),
    ({"nccl": {"debug": "INFO"}}, "at '/nccl': additional properties 'debug' not allowed"),
    ({"nccl": {"DEBUG": ["INFO"]}}, "at '/nccl/DEBUG': got array"),
    ({"nccl": {"DEBUG": None, "debug": 1}}, "at '/nccl': additional properties 'debug'"),
    ({"tpu": {"chips": 3}}, "at '/tpu/chips': value must be one of"),
    ({"tpu": {"topology": "16"}}, "at '/tpu/topology'"),
    ({"topology": {"policy": "near"}}, "at '/topology/policy': value must be one of"),
    ({"runPolicy": {"exitCodes": {"permanent": [2, 2]}}}, "items at 0 and 1 are equal"),
    ({"runPolicy": {"exitCodes": {"permanent": [0]}}}, "at '/runPolicy/exitCodes/permanent/0'"),
    ({"runPolicy": {"exitCodes": {"retryable": [256]}}}, "at '/runPolicy/exitCodes/retryable/0'"),
    ({"runPolicy": {"cleanPodPolicy": "running"}}, "at '/runPolicy/cleanPodPolicy'"),
    ({"runPolicy": {"startDeadlineSeconds": -1}}, "at '/runPolicy/startDeadlineSeconds'"),
    ({"run": {"onChange": "ask"}}, "at '/run/onChange'"),
    ({"waiter": {"method": "file"}}, "at '/waiter/method': value must be one of"),
    ({"service": {"ipFamilies": ["IPv5"]}}, "at '/service/ipFamilies/0'"),
    ({"service": {"ipFamilyPolicy": "DualStack"}}, "at '/service/ipFamilyPolicy'"),
    ({"volumes": {"logs": {"nfs": {"server": "a"}}}}, "at '/volumes/logs/nfs'"),
    ({"volumes": {"logs": {"roles": ["client"]}}}, "at '/volumes/logs/roles/0'"),
    ({"chief": {"port": 80}}, "at '/chief/port': minimum"),
    ({"queue": "My Queue"}, "at '/queue'"),
    ({"sample": {"dataset": "cifar"}}, "at '/sample/dataset'"),
    ({"sample": {"checkpointEvery": 0}}, "at '/sample/checkpointEvery': minimum: got 0, want 1"),
    ({"sample": {"logEvery": 0}}, "at '/sample/logEvery': minimum: got 0, want 1"),
    ({"sample": {"learningRate": 0}}, "at '/sample/learningRate': exclusiveMinimum"),
    ({"sample": {"minAccuracy": 90}}, "at '/sample/minAccuracy': maximum: got 90, want 1"),
    ({"env": {"A": "b"}}, "at '/env': got object, want array"),
    ({"env": [{"value": "b"}]}, "at '/env/0': missing property 'name'"),
    ({"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}, "at '/env/0/valueFrom/fieldRef'"),
    ({"env": [None]}, "at '/env/0'"),
    ({"env": [{"name": "A", "value": 2**60}]}, "at '/env/0/value': maximum"),
    ({"service": {"port": 80}}, "at '/service/port': minimum: got 80, want 1,024"),
    ({"clusterDomain": "cluster_local"}, "at '/clusterDomain'"),
    ({"clusterDomain": "cluster.local."}, "at '/clusterDomain'"),
    ({"volumes": {"logs": {"size": "1 GB"}}}, "at '/volumes/logs/size'"),
    ({"volumes": {"logs": {"accessModes": []}}}, "at '/volumes/logs/accessModes'"),
    ({"volumes": {"logs": {"mountPath": "logs"}}}, "at '/volumes/logs/mountPath'"),
    ({"volumes": {"scratch": {"enabled": True}}}, "additional properties 'scratch' not allowed"),
    ({"resources": {"limits": {"memory": "2 GB"}}}, "at '/resources/limits/memory'"),
    ({"resources": {"limit": {"memory": "2Gi"}}}, "additional properties 'limit' not allowed"),
    ({"tolerations": [{"effect": "NoRun"}]}, "at '/tolerations/0/effect'"),
    ({"podLabels": {"a b": "c"}}, "at '/podLabels'"),
    ({"podLabels": {"a": "-c"}}, "at '/podLabels/a'"),
    ({"global": {"imagePullSecrets": [{"secret": "a"}]}}, "at '/global/imagePullSecrets/0'"),
    ({"waiter": {"pollSeconds": 0}}, "at '/waiter/pollSeconds'"),
    ({"waiter": {"silenceSeconds": 0}}, "at '/waiter/silenceSeconds'"),
    ({"runPolicy": {"ttlSecondsAfterFinished": -1}}, "at '/runPolicy/ttlSecondsAfterFinished'"),
    ({"runPolicy": {"activeDeadlineSeconds": 0}}, "at '/runPolicy/activeDeadlineSeconds'"),
    ({"nameOverride": "A"}, "at '/nameOverride'"),
]


@pytest.mark.parametrize(("values", "message"), BAD_BY_SCHEMA, ids=lambda it: str(it)[:60])
def test_the_schema_refuses_and_names_the_value(refuse, values, message):
    assert message in refuse(values)


OWN = {"source": "image"}
RING = {"strategy": "multiWorkerMirrored"}
SLICE = {
    "strategy": "tpu",
    "code": OWN,
    "command": ["/t"],
    "worker": {"replicas": 4},
    "tpu": {"accelerator": "tpu-v5-lite-podslice", "topology": "4x4"},
}
ALONE = {"restricted": True}
CLOSED = {"networkPolicy": {"egress": ALONE}}
WITH_DATA = {"image": {"repository": "team/tensorflow-with-digits"}}
GIT: Any = {"source": "git", "git": {"repository": "https://git.example.org/t.git"}}
MARKER = {"waiter": {"method": "marker"}}
SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}


def mounted(path: str) -> Any:
    return {
        "extraVolumes": [{"name": "a", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "a", "mountPath": path}],
    }


BAD_TOGETHER = [
    (
        {"nameOverride": "a", "fullnameOverride": "b"},
        "nameOverride",
        "labels alone",
        "remove one of the two",
    ),
    *(
        (
            {**plan, role: {"gpu": {"count": 1}}},
            f"{role}.gpu.count: there is no {role}",
            f"with mode {plan.get('mode', 'job')} and strategy ",
            f"give GPUs to one of {others}",
        )
        for plan, role, others in (
            ({"strategy": "mirrored"}, "worker", "chief"),
            ({"strategy": "mirrored"}, "ps", "chief"),
            (RING, "chief", "worker"),
            (RING, "ps", "worker"),
            ({"mode": "session"}, "chief", "worker, ps"),
            (
                {"success": {"role": "worker0"}, "sample": {"program": "train_v1"}},
                "chief",
                "worker, ps",
            ),
        )
    ),
    *(
        ({**plan, "tpu": tpu}, "tpu", "would not be used", "set strategy to tpu")
        for plan in ({}, RING, {"mode": "session"})
        for tpu in ({"accelerator": "tpu-v5-lite-podslice"}, {"topology": "4x4"})
    ),
    *(
        ({**plan, "sample": {"updates": "sync"}}, "sample.updates", "not be used", "remove it")
        for plan in (RING, {"strategy": "mirrored"})
    ),
    (
        {"sample": {"updates": "sync", "program": "train_v1"}},
        "sample.updates",
        "not be used",
        "remove it",
    ),
    (
        {"mode": "session", "runPolicy": {"suspend": True}},
        "runPolicy.suspend",
        "a session",
        "uninstall the release",
    ),
    ({"mode": "session", **MARKER}, "waiter.method", "nobody waits", "set mode to job"),
    (
        {"mode": "session", "run": {"onChange": "refuse"}},
        "run.onChange",
        "no runs",
        "set mode to job",
    ),
    (
        {"queue": "q", "runPolicy": {"suspend": True}},
        "runPolicy.suspend",
        "Kueue starts and stops",
        "remove queue",
    ),
    ({"strategy": "mirrored", **MARKER}, "waiter.method", "opens no port", "set it to api"),
    *(
        (
            {**MARKER, "success": {"role": "allWorkers"}, **program},
            "waiter.method",
            "success.role is allWorkers",
            "set it to worker0",
        )
        for program in (
            {"sample": {"program": "train_v1"}},
            {"code": OWN, "command": ["/t"]},
        )
    ),
    (
        {**MARKER, "code": OWN, "args": ["--t"]},
        "waiter.method",
        "must know it",
        "`chief.command`",
    ),
    *(
        (
            {
                **{**MARKER, "code": OWN, "command": ["/t"], **plan},
                "volumes": {"checkpoints": {"roles": roles}},
            },
            "volumes.checkpoints.roles",
            f"the {lead} leaves its marker there",
            f'add "{lead}"',
        )
        for plan, lead in (({}, "chief"), (RING, "worker"))
        for roles in ([], ["ps", "evaluator"])
    ),
    *(
        (
            {**plan, "volumes": {name: {"roles": roles}}},
            f"volumes.{name}.roles",
            f"the sample's {lead} writes there",
            f'add "{lead}"',
        )
        for name in ("checkpoints", "logs", "models")
        for plan, lead, roles in (({}, "chief", ["worker"]), (RING, "worker", []))
    ),
    (
        {"service": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6", "IPv4"]}},
        "service.ipFamilyPolicy",
        "takes one",
        "set PreferDualStack",
    ),
    (
        {**CLOSED, "code": GIT, "command": ["/t"]},
        "networkPolicy.egress.to",
        "code.source is git",
        "add a rule",
    ),
    *(
        (
            {**WITH_DATA, **plan, "networkPolicy": {"egress": {**ALONE, "apiServerPorts": []}}},
            "networkPolicy.egress.apiServerPorts",
            f"{waiting} learn the end from the API server",
            "add a rule to networkPolicy.egress.to, or set waiter.method to marker",
        )
        for plan, waiting in (
            ({}, "worker, ps"),
            ({"evaluator": {"replicas": 1}}, "worker, ps, evaluator"),
            ({**RING, "evaluator": {"replicas": 1}}, "evaluator"),
        )
    ),
    *(
        (
            {**plan, "rbac": {"create": False}},
            "rbac.create",
            "may not `get` the deciding Job",
            "serviceAccount.create false",
        )
        for plan in ({}, RING, {"serviceAccount": {"name": "training"}})
    ),
    (
        {**CLOSED, "sample": {"dataset": "download"}},
        "networkPolicy.egress.to",
        "sample.dataset is download",
        "use another dataset",
    ),
    *(
        (
            {**mounted(path), **values},
            f'extraVolumeMounts: the path "{path.rstrip("/")}"',
            f"is taken by {whose}",
            "choose another",
        )
        for path, whose, values in (
            ("/dev/shm", "sharedMemory", {"sharedMemory": {"enabled": True}}),
            ("/dev/shm", "sharedMemory", {"ps": {"gpu": {"count": 1}}}),
            ("/opt/trainyard/bin/", "the chart's own programs", {}),
            ("/var/run/secrets/kubernetes.io/serviceaccount", "the service account", {}),
            ("/etc/trainyard/cluster", "the cluster spec", {}),
            ("/opt/trainyard/mnist", "the training program", {}),
        )
    ),
    *(
        (
            {"code": {**GIT, "mountPath": path}, "command": ["/t"]},
            "code.mountPath",
            f'"{path}" is taken by {whose}',
            "choose another",
        )
        for path, whose in (
            ("/opt/trainyard/bin", "the chart's own programs"),
            ("/var/run/secrets/kubernetes.io/serviceaccount", "the service account"),
        )
    ),
    *(
        (
            {**place, "chief": {"gpu": {"count": 2}, **own}},
            f"{path}resources: 1 of nvidia.com/gpu would come without toleration",
            "set chief.gpu.count",
            "and remove it here",
        )
        for kind in ("limits", "requests")
        for place, own, path in (
            ({"resources": {kind: {"nvidia.com/gpu": 1}}}, {}, ""),
            ({}, {"resources": {kind: {"nvidia.com/gpu": 1}}}, "chief."),
        )
    ),
    ({"code": OWN}, "code.source", "chief, worker, ps", "set `command`"),
    ({"code": OWN, "chief": {"command": ["/t"]}}, "code.source", "worker, ps", "<role>.command"),
    (
        {"code": {"source": "configMap"}, "command": ["/t"]},
        "code.configMap.name",
        "is empty",
        "name the ConfigMap",
    ),
    ({"code": {"configMap": {"name": "x"}}}, "code.configMap.name", "not be used", "set code.sour"),
    ({"code": {"claim": {"name": "x"}}}, "code.claim.name", "not be used", "remove it"),
    ({"code": {"git": {"repository": "https://a/b"}}}, "code.git.repository", "used", "remove it"),
    ({"code": {"source": "claim"}, "command": ["/t"]}, "code.claim.name", "is empty", "name the"),
    ({"code": {"source": "git"}, "command": ["/t"]}, "code.git.repository", "is empty", "name the"),
    ({"code": {"source": "inline"}, "command": ["/t"]}, "code.inline", "is empty", "write the"),
    ({"sample": {"dataset": "idx"}}, "sample.dataset", '"idx"', "enable volumes.data"),
    (
        {"env": [{"name": "TF_CONFIG", "value": "{}"}]},
        "env: TF_CONFIG",
        "set by the chart",
        "remove",
    ),
    ({"ps": {"env": [{"name": "CLUSTER"}]}}, "ps.env: CLUSTER", "set by the chart", "remove"),
    ({"worker": {"env": [{"name": "TASK_INDEX"}]}}, "worker.env: TASK_INDEX", "chart", "remove"),
    (
        {"podLabels": {"app.kubernetes.io/instance": "x"}},
        "podLabels",
        '"app.kubernetes.io/instance"',
        "remove it",
    ),
    ({"ps": {"podLabels": {"trainyard/cluster-member": "no"}}}, "ps.podLabels", "own", "remove it"),
    ({"podLabels": {"kueue.x-k8s.io/queue-name": "q"}}, "podLabels", "own", "remove it"),
    ({"podLabels": {"batch.kubernetes.io/job-name": "q"}}, "podLabels", "own", "remove it"),
    *(
        ({where: labels}, where, f'"{key}"', way_out)
        for where, key, way_out in (
            ("podLabels", "kueue.x-k8s.io/priority-class", "move it to commonLabels"),
            ("podLabels", "kueue.x-k8s.io/max-exec-time-seconds", "move it to commonLabels"),
            ("commonLabels", "kueue.x-k8s.io/queue-name", "value queue; set that"),
            ("commonLabels", "app.kubernetes.io/part-of", "use another key"),
            ("commonLabels", "helm.sh/chart", "use another key"),
            ("commonLabels", "trainyard/run", "use another key"),
        )
        for labels in ({key: "1"},)
    ),
    *(
        ({"mode": "session", "runPolicy": {name: value}}, f"runPolicy.{name}", "session", "remove")
        for name, value in (
            ("activeDeadlineSeconds", 3600),
            ("ttlSecondsAfterFinished", 0),
            ("cleanPodPolicy", "All"),
            ("cleanPodPolicy", "None"),
        )
    ),
    (CLOSED, "networkPolicy.egress.to", "public image", "set sample.dataset"),
    ({"evaluator": {"podLabels": {"job-name": "q"}}}, "evaluator.podLabels", "own", "remove it"),
    *(
        ({"env": [{"name": name}]}, f"env: {name}", "set by the chart", "remove it")
        for name in (
            "TASK_INDEX",
            "TASK_TYPE",
            "CLUSTER",
            "TRAINYARD_CLUSTER_FILE",
            "TRAINYARD_JOB",
        )
    ),
    ({"evaluator": {"env": [{"name": "TF_CONFIG"}]}}, "evaluator.env: TF_CONFIG", "set", "remove"),
    ({**RING, "success": {"role": "chief"}}, "success.role", "no chief of its own", "worker0"),
    ({**RING, "run": {"onScale": "keep"}}, "run.onScale", "same list", "set it to restart"),
    ({**RING, "sample": {"program": "train_v1"}}, "sample.program", "train_v1", "set it to train"),
    (
        {"strategy": "mirrored", "success": {"role": "worker0"}},
        "success.role",
        "a chief alone",
        "remove it",
    ),
    ({"success": {"role": "worker0"}}, "success.role", "never do", "train_v1"),
    ({"success": {"role": "allWorkers"}}, "success.role", "never do", "remove success.role"),
    ({"mode": "session", "evaluator": {"replicas": 1}}, "evaluator.replicas", "client", "set it"),
    ({"mode": "session", "success": {"role": "chief"}}, "success.role", '"chief"', "remove it"),
    ({"mode": "session", "queue": "q"}, "queue", "StatefulSet", "remove queue"),
    ({"mode": "session", "strategy": "mirrored"}, "mode", '"mirrored"', "set strategy"),
    (
        {
            "gpu": {"resource": "amd.com/gpu"},
            "ps": {"gpu": {"count": 1}},
            "resources": {"limits": {"amd.com/gpu": 1}},
        },
        "resources: 1 of amd.com/gpu would come without",
        "chief.gpu.count or worker.gpu.count or ps.gpu.count",
        "remove it here",
    ),
    (
        {"worker": {"resources": {"limits": {"nvidia.com/gpu": 2}}}},
        "worker.resources: 2 of nvidia.com/gpu",
        "/dev/shm",
        "set worker.gpu.count",
    ),
    (
        {"resources": {"requests": {"memory": "4Gi"}}},
        "resources.requests.memory: 4Gi is more than",
        "the limit of 2Gi, resources.limits.memory;",
        "raise resources.limits.memory, or lower resources.requests.memory",
    ),
    (
        {"resources": {"requests": {"cpu": 3}}},
        "resources.requests.cpu: 3 is more than",
        "the limit of 2, resources.limits.cpu;",
        "raise resources.limits.cpu, or lower resources.requests.cpu",
    ),
    (
        {"worker": {"resources": {"limits": {"memory": "512Mi"}}}},
        "resources.requests.memory: 1Gi is more than",
        "the limit of 512Mi, worker.resources.limits.memory;",
        "raise worker.resources.limits.memory, or lower worker.resources.requests.memory",
    ),
    (
        {"ps": {"resources": {"requests": {"cpu": "2001m"}}}},
        "ps.resources.requests.cpu: 2001m is more than",
        "the limit of 2, resources.limits.cpu;",
        "raise ps.resources.limits.cpu, or lower ps.resources.requests.cpu",
    ),
    (
        {
            "chief": {
                "resources": {
                    "requests": {"ephemeral-storage": "1.1G"},
                    "limits": {"ephemeral-storage": "1Gi"},
                }
            }
        },
        "chief.resources.requests.ephemeral-storage: 1.1G is more than",
        "the limit of 1Gi, chief.resources.limits.ephemeral-storage;",
        "raise chief.resources.limits.ephemeral-storage, or lower chief.resources.requests.",
    ),
    (
        {"waiter": {"resources": {"limits": {"memory": "16Mi"}}}},
        "waiter.resources.requests.memory: 32Mi is more than",
        "the limit of 16Mi, waiter.resources.limits.memory;",
        "raise waiter.resources.limits.memory, or lower waiter.resources.requests.memory",
    ),
    (
        {"test": {"resources": {"limits": {"cpu": "0.2"}}}},
        "resources.requests.cpu: 250m is more than",
        "the limit of 0.2, test.resources.limits.cpu;",
        "raise test.resources.limits.cpu, or lower test.resources.requests.cpu",
    ),
    (
        {"code": {"git": {"resources": {"limits": {"cpu": "9m"}}}}},
        "code.git.resources.requests.cpu: 10m is more than",
        "the limit of 9m, code.git.resources.limits.cpu;",
        "raise code.git.resources.limits.cpu, or lower code.git.resources.requests.cpu",
    ),
    (
        {"worker": {"resources": {"requests": {"example.com/nic": 1}}}},
        "worker.resources.requests.example.com/nic: 1 is not the limit, which is not set",
        "cannot share",
        "set worker.resources.limits.example.com/nic alone",
    ),
    (
        {
            "resources": {"requests": {"hugepages-2Mi": "64Mi"}},
            "ps": {"resources": {"limits": {"hugepages-2Mi": "128Mi"}}},
            **{
                each: {"resources": {"requests": {"hugepages-2Mi": None}}}
                for each in ("chief", "worker", "test")
            },
        },
        "resources.requests.hugepages-2Mi: 64Mi is not the limit, which is 128Mi",
        "cannot share",
        "set ps.resources.limits.hugepages-2Mi alone",
    ),
    (
        {"worker": {"gpu": {"count": 1}}, "sharedMemory": {"size": "2049Mi"}},
        "sharedMemory.size: 2049Mi is more than resources.limits.memory, 2Gi",
        "/dev/shm counts",
        "raise worker.resources.limits.memory above it, or lower the size",
    ),
    (
        {
            "sharedMemory": {"enabled": True},
            "ps": {"resources": {"requests": {"memory": "1M"}, "limits": {"memory": "1G"}}},
        },
        "sharedMemory.size: 1Gi is more than ps.resources.limits.memory, 1G",
        "/dev/shm counts",
        "raise ps.resources",
    ),
    *(
        (
            values,
            f'{path}.repository: "{host}/team/train" begins with a registry',
            f'set {path}.registry to "{host}"',
            f'and {path}.repository to "team/train"',
        )
        for host in ("ghcr.io", "localhost")
        for image in ({"repository": f"{host}/team/train"},)
        for values, path in (
            ({"image": image}, "image"),
            ({"image": {**image, "registry": ""}}, "image"),
            ({"image": image, "global": {"imageRegistry": "mirror.example.org"}}, "image"),
            ({"chief": {"image": image}}, "chief.image"),
            ({"worker": {"image": image}}, "worker.image"),
            ({"ps": {"image": image}}, "ps.image"),
            ({"evaluator": {"image": image}}, "evaluator.image"),
            ({"waiter": {"image": image}}, "waiter.image"),
            ({"code": {"git": {"image": image}}}, "code.git.image"),
        )
    ),
    (
        {"nccl": {"NCCL_DEBUG": "INFO"}},
        "nccl.NCCL_DEBUG",
        "NCCL_NCCL_DEBUG",
        "write nccl.DEBUG",
    ),
    (
        {**SLICE, "worker": {"replicas": 4, "gpu": {"count": 1}}},
        "worker.gpu.count",
        "uses TPUs",
        "set it to 0",
    ),
    ({**SLICE, "worker": {"replicas": 2}}, "worker.replicas", "16 chips, 4 a host", "to 4"),
    ({**SLICE, "tpu": {"topology": "4x4"}}, "tpu.accelerator", "is empty", "node labels"),
    ({**SLICE, "code": {}, "command": []}, "code.source", "knows no TPU", "of your own"),
    (
        {"hostNetwork": True, "chief": {"port": 3000}, "ps": {"port": 3000}},
        "ps.port",
        "3000 is taken by chief",
        "choose another",
    ),
    (
        {"evaluator": {"replicas": 1}, "sample": {"program": "train_v1"}},
        "evaluator.replicas",
        "cannot read",
        "set it to 0",
    ),
    (
        {"runPolicy": {"exitCodes": {"permanent": [7], "retryable": [7]}}},
        "runPolicy.exitCodes",
        "7 cannot be both",
        "one list",
    ),
    (
        {
            "waiter": {"method": "marker"},
            "volumes": {"checkpoints": {"accessModes": ["ReadWriteOnce"]}},
        },
        "volumes.checkpoints.accessModes",
        "4 pods mount",
        "[ReadWriteMany]",
    ),
    (
        {**RING, "volumes": {"models": {"accessModes": ["ReadWriteOncePod"]}}},
        "volumes.models.accessModes",
        "2 pods mount",
        "fewer roles",
    ),
    (
        {"volumes": {"data": {"enabled": True, "existingClaim": "c", "hostPath": {"path": "/d"}}}},
        "volumes.data",
        "only one of existingClaim, hostPath",
        "remove the others",
    ),
    (
        {"volumes": {"data": {"nfs": {"server": "s", "path": "/d"}}}},
        "volumes.data.nfs",
        "not be used",
        "set it to true",
    ),
    (
        {"volumes": {"logs": {"csi": {"driver": "d"}, "size": "2Gi"}}},
        "volumes.logs.size",
        "beside csi",
        "remove one",
    ),
    (
        {"volumes": {"logs": {"enabled": False, "subPath": "a"}}},
        "volumes.logs.subPath",
        '"a" would not be used',
        "set it to true",
    ),
    (
        {"volumes": {"models": {"subPath": "a/../b"}}},
        "volumes.models.subPath",
        '"a/../b" may lead out',
        'without ".."',
    ),
    (
        {"code": {"source": "claim", "claim": {"name": "c", "subPath": ".."}}, "command": ["/t"]},
        "code.claim.subPath",
        '".." may lead out',
        'without ".."',
    ),
    *(
        (
            {**values, "volumes": {"checkpoints": {"hostPath": {"path": "/d"}}}},
            "volumes.checkpoints.hostPath",
            f"{pods} pods need the same files",
            "volumes.checkpoints.hostPath.shared to true where all nodes",
        )
        for values, pods in ((MARKER, 4), (RING, 2), ({"evaluator": {"replicas": 1}}, 2))
    ),
    (
        {**MARKER, "volumes": {"checkpoints": {"csi": {"driver": "x.csi", "shared": False}}}},
        "volumes.checkpoints.csi",
        "another one in each pod",
        "volumes.checkpoints.csi.shared to true where the driver",
    ),
    (
        {**RING, "volumes": {"models": {"csi": {"driver": "x.csi"}}}},
        "volumes.models.csi",
        "2 pods need the same files",
        "or take a claim with ReadWriteMany",
    ),
    *(
        (
            {"code": {"source": "git", "git": {"repository": address}}, "command": ["/t"]},
            "code.git.repository",
            f'"{address}" is no address that begins with https://, and SSH is not supported',
            "a token in code.git.credentialsSecret",
        )
        for address in ("git@github.com:a/b.git", "ssh://git@github.com/a/b.git", "train.git")
    ),
    *(
        (
            {"code": {**GIT, "git": {**GIT["git"], "env": [{"name": name}]}}, "command": ["/t"]},
            "code.git.env",
            f"{name} is set by the chart",
            "remove it",
        )
        for name in ("REVISION", "GIT_PASSWORD", "GIT_CONFIG_COUNT")
    ),
    *(
        (
            {
                "code": {**GIT, "git": {**GIT["git"], "extraVolumeMounts": mounts}},
                "command": ["/t"],
                "extraVolumes": [{"name": "ca", "emptyDir": {}}],
            },
            "code.git.extraVolumeMounts",
            what,
            remedy,
        )
        for mounts, what, remedy in (
            ([{"name": "b", "mountPath": "/b"}], 'no volume "b"', "add it"),
            ([{"name": "ca", "mountPath": "/code/"}], "taken by the clone", "choose another"),
            (
                [{"name": "ca", "mountPath": "/a"}, {"name": "ca", "mountPath": "/a/"}],
                "taken by another mount",
                "choose another",
            ),
        )
    ),
    *(
        (
            setting(path.split("."), [{"name": "A", "value": "b", "valueFrom": SECRET}]),
            f"{path}: A",
            "has both value and valueFrom",
            "remove the other",
        )
        for path in ("env", "chief.env", "worker.env", "ps.env", "evaluator.env", "code.git.env")
    ),
    (
        {"extraVolumes": [{"name": "shared-memory", "emptyDir": {}}]},
        "extraVolumes",
        '"shared-memory"',
        "another",
    ),
    (
        {"volumes": {"models": {"existingClaim": "m", "size": "5Gi"}}},
        "volumes.models.size",
        '"5Gi"',
        "remove one",
    ),
    (
        {"volumes": {"logs": {"existingClaim": "m", "storageClass": "fast"}}},
        "volumes.logs.storageClass",
        '"fast"',
        "remove one",
    ),
    (
        {"volumes": {"logs": {"existingClaim": "m", "enabled": False}}},
        "volumes.logs.existingClaim",
        '"m"',
        "set it to true",
    ),
    (
        {"volumes": {"data": {"enabled": True}}},
        "volumes.data.existingClaim",
        "is empty",
        "name the",
    ),
    (
        {"volumes": {"logs": {"mountPath": "/mnt/models/"}}},
        "mountPath",
        "is taken by volumes.logs",
        "choose another",
    ),
    ({"extraVolumes": [{"name": "models", "emptyDir": {}}]}, "extraVolumes", '"models"', "another"),
    (
        {"extraVolumeMounts": [{"name": "a", "mountPath": "/a"}]},
        "extraVolumeMounts",
        '"a"',
        "add it",
    ),
    (
        {
            "code": {
                "source": "configMap",
                "configMap": {"name": "c"},
                "mountPath": "/etc/trainyard/cluster",
            },
            "command": ["/t"],
        },
        "code.mountPath",
        '"/etc/trainyard/cluster" is taken',
        "choose another",
    ),
    ({"fullnameOverride": "a" * 43}, "fullnameOverride", "43 characters", "choose a shorter name"),
    ({"fullnameOverride": "My_Run"}, "fullnameOverride", '"My_Run"', "use lower-case"),
]


@pytest.mark.parametrize(
    ("values", "path", "what", "remedy"), BAD_TOGETHER, ids=lambda it: str(it)[:60]
)
def test_what_does_not_go_together_is_refused_with_the_way_out(refuse, values, path, what, remedy):
    message = refuse(values)
    assert "1 thing to mend" in message
    (line,) = [line for line in message.splitlines() if line.startswith("  - ")]
    assert path in line
    assert what in line
    assert remedy in line


@pytest.mark.parametrize(
    "denied",
    [
        {**WITH_DATA, "networkPolicy": {"egress": {"restricted": True, "apiServerPorts": []}}},
        {"rbac": {"create": False}},
    ],
    ids=["no way to it", "no right"],
)
@pytest.mark.parametrize(
    ("plan", "offered"),
    [
        ({}, True),
        ({**RING, "evaluator": {"replicas": 1}}, True),
        ({"strategy": "mirrored", "evaluator": {"replicas": 1}}, False),
        ({"sample": {"program": "train_v1"}, "success": {"role": "allWorkers"}}, False),
    ],
    ids=["chief", "ring", "mirrored", "all workers"],
)
def test_the_marker_is_offered_only_where_it_can_be_had(refuse, denied, plan, offered):
    message = refuse({**plan, **denied})
    assert "1 thing to mend" in message
    assert ("or set waiter.method to marker" in message) is offered


TAKEN = [
    {"nameOverride": "a"},
    {"fullnameOverride": "a"},
    {"evaluator": {"gpu": {"count": 1}}},
    {"code": OWN, "args": []},
    {"code": OWN, "chief": {"args": []}, "worker": {"command": ["/t"]}, "ps": {"args": ["--t"]}},
    {"env": [{"name": "JOB_NAME", "value": "mine"}]},
    {**MARKER, **RING},
    {**MARKER, "success": {"role": "worker0"}, "sample": {"program": "train_v1"}},
    {"mode": "session", "run": {"onChange": "restart"}},
    *(
        {**WITH_DATA, **plan, "networkPolicy": {"egress": {**ALONE, "apiServerPorts": []}}}
        # Nobody waits there, and by the marker nobody asks.
        for plan in (RING, {"strategy": "mirrored"}, {"mode": "session"}, MARKER)
    ),
    *(
        {"networkPolicy": {"egress": egress, **more}}
        for egress, more in (
            ({"apiServerPorts": []}, {}),
            ({"apiServerPorts": [], "restricted": True}, {"enabled": False}),
            ({"apiServerPorts": [], "restricted": True, "to": [{"ports": [{"port": 443}]}]}, {}),
        )
    ),
    *(
        {**plan, "rbac": {"create": False}}
        for plan in (
            {"serviceAccount": {"create": False, "name": "training"}},
            {"serviceAccount": {"create": False}},
            {"mode": "session"},
            MARKER,
        )
    ),
    {"queue": "q", "runPolicy": {"suspend": False}},
    {"service": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv6"]}},
    {
        "networkPolicy": {"egress": {"restricted": True, "to": [{"ports": [{"port": 443}]}]}},
        "code": GIT,
        "command": ["/t"],
    },
    {"networkPolicy": {"enabled": False, **CLOSED["networkPolicy"]}, "code": GIT, "args": []},
    {**CLOSED, "sample": {"dataset": "digits"}},
    mounted("/dev/shm"),
    {**mounted("/dev/shm"), "sharedMemory": {"enabled": False}},
    {**mounted("/dev/shm"), "sharedMemory": {"enabled": False}, "ps": {"gpu": {"count": 1}}},
    {"gpu": {"resource": "amd.com/gpu"}, "resources": {"limits": {"nvidia.com/gpu": 1}}},
    {"resources": {"requests": {"memory": "2048Mi", "cpu": "2000m"}}},
    {"resources": {"requests": {"memory": "3Gi"}, "limits": {"memory": None}}},
    {"resources": {"requests": {"memory": 2147483648}, "limits": {"cpu": 0.25}}},
    {"resources": {"limits": {"hugepages-2Mi": "64Mi"}, "requests": {"hugepages-2Mi": "64Mi"}}},
    {"ps": {"resources": {"limits": {"example.com/nic": 1}, "requests": {"example.com/nic": "1"}}}},
    {"worker": {"gpu": {"count": 1}}, "sharedMemory": {"size": "2048Mi"}},
    {"sharedMemory": {"size": "8Gi"}},
    {
        "sharedMemory": {"size": "8Gi", "enabled": True},
        "resources": {"limits": {"memory": None}},
    },
    {"image": {"registry": "ghcr.io", "repository": "team/train"}},
    {"image": {"registry": "mirror.example.org/ghcr.io", "repository": "team/train"}},
    {"image": {"repository": "my.image"}},
    {"code": OWN, "args": [], "sample": {"updates": "sync"}, **RING},
    {"sample": {"updates": "sync"}},
    *(
        {**values, "volumes": {"checkpoints": {kind: {**given, "shared": True}}}}
        for values in (MARKER, RING, {"evaluator": {"replicas": 1}})
        for kind, given in (("hostPath", {"path": "/d"}), ("csi", {"driver": "x.csi"}))
    ),
    {"volumes": {"checkpoints": {"hostPath": {"path": "/d"}}}},
    {**RING, "volumes": {"logs": {"hostPath": {"path": "/d"}}}},
    {"volumes": {"logs": {"subPath": "a..b/..c/.d"}}},
    {"env": [{"name": "A", "value": None, "valueFrom": SECRET}]},
    {"nccl": {"DEBUG": "INFO", "IB_DISABLE": 1, "P2P_DISABLE": True}},
]


@pytest.mark.parametrize("values", TAKEN, ids=lambda it: str(it)[:60])
def test_what_is_next_to_a_mistake_is_none(render, values):
    assert render(values).workloads()


def test_arguments_that_are_said_to_be_none_leave_the_program_to_the_image(render):
    for pod in render({"code": OWN, "args": []}).tasks():
        assert not pod.container().keys() & {"command", "args"}


@pytest.mark.parametrize("source", ["left out", "null", "null below"])
def test_a_block_that_is_absent_means_its_defaults_also_below(render, source):
    values: Any = {
        "left out": {},
        "null": {"podSecurityContext": None, "waiter": None},
        "null below": {"waiter": {"silenceSeconds": None, "resources": {"limits": {}}}},
    }[source]
    pod = render(values).pod("ps")
    assert pod.spec["securityContext"]["runAsUser"] == 1000
    assert pod.spec["securityContext"]["fsGroup"] == 1000
    assert pod.container("await-end")["resources"]["limits"] == {"cpu": "500m", "memory": "128Mi"}


def test_null_for_a_key_of_the_security_context_takes_it_away(render):
    values = {"podSecurityContext": {"runAsUser": None, "fsGroup": 7}}
    for pod in render(values).pods():
        assert "runAsUser" not in pod.spec["securityContext"]
        assert pod.spec["securityContext"]["fsGroup"] == 7


def test_all_mistakes_come_in_one_message(refuse):
    message = refuse(
        {
            "env": [{"name": "TF_CONFIG", "value": ""}],
            "volumes": {"data": {"enabled": True}},
            "fullnameOverride": "a" * 60,
        }
    )
    assert "3 things to mend" in message
    for path in ("fullnameOverride", "env: TF_CONFIG", "volumes.data.existingClaim"):
        assert path in message


def test_a_long_name_that_just_fits_is_taken_as_it_is(render):
    assert render({"fullnameOverride": "a" * 42}).of("Service")[0]["metadata"]["name"] == "a" * 42


# --- lint, parents --------------------------------------------------------------------------------


def parent(folder: Path, values: Any = None, alias: str = "") -> Path:
    """Write a chart `parent` that has the chart as its only dependency."""
    chart = folder / "parent"
    (chart / "charts").mkdir(parents=True)
    (chart / "charts" / "tf-cluster").symlink_to(CHART)
    dependency = {"name": "tf-cluster", "version": "0.1.0", "condition": "tf-cluster.enabled"}
    if alias:
        dependency |= {"alias": alias, "condition": f"{alias}.enabled"}
    meta = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [dependency]}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(meta))
    (chart / "values.yaml").write_text(yaml.safe_dump(values or {}))
    return chart


def test_lint_is_content(helm):
    result = helm("lint", "--strict", str(CHART))
    assert result.returncode == 0, result.stdout


def test_a_parent_chart_may_turn_it_on_and_off_and_share_what_is_global(tmp_path, render):
    chart = parent(tmp_path)
    on = render(
        {
            "tf-cluster": {"enabled": True, "worker": {"replicas": 3}},
            "global": {"imageRegistry": "mirror", "somebodyElses": {"key": 1}},
        },
        chart=chart,
    )
    assert on.job("worker")["spec"]["completions"] == 3
    assert on.pod("ps").container("tensorflow")["image"].startswith("mirror/")
    assert render({"tf-cluster": {"enabled": False}}, chart=chart) == []


def test_under_another_name_in_a_parent_chart_it_is_another_cluster(tmp_path, render):
    objects = render({}, chart=parent(tmp_path, alias="vision"))
    assert objects.of("Service")[0]["metadata"]["name"] == "my-vision"
    assert objects.of("Service")[0]["spec"]["selector"]["app.kubernetes.io/name"] == "vision"


@pytest.mark.parametrize(
    ("values", "name"),
    [({"fullnameOverride": "n"}, "n"), ({"fullnameOverride": "true"}, "true")],
    ids=["n", "true"],
)
def test_names_that_yaml_takes_for_something_else_stay_names(render, values, name):
    (service,) = render(values).of("Service")
    assert service["metadata"]["name"] == name


def test_null_in_a_common_map_reaches_no_pod(render):
    values = {"nodeSelector": {"a": None, "b": "c"}, "resources": {"limits": {"x/y": None}}}
    for pod in render(values).pods():
        assert pod.spec["nodeSelector"] == {"b": "c"}
        for container in pod.containers:
            assert "x/y" not in container["resources"]["limits"]


def test_large_fractions_have_no_exponent(render):
    values = {"test": {"timeoutSeconds": 123456789.25}}
    (pod,) = [pod for pod in render(values).pods() if pod.role == "test"]
    assert any("123456789.25" in str(part) for part in pod.containers[0]["args"])
