"""Any one value may change while a run is on: what starts a new run, and what the API says to it.

For each value of values.yaml another one is taken from the schema (its examples, its enumerations)
or from the lists below, and the change is compared as an upgrade.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
import yaml

from trainyard import paths
from trainyard.render.case import Case
from trainyard.render.objects import Object, Rendered
from trainyard.render.renderer import Pool, RenderError
from trainyard.upgrade.report import Report, between
from trainyard.values.fuzz import is_refusal

CHART = paths.CHARTS / "tf-cluster"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
COMPONENT = "app.kubernetes.io/component"

Values = dict[str, Any]


def leaves(tree: Values, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every value of values.yaml that is no block of others, with its path."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


def setting(path: str, value: Any) -> Values:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def laid_over(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return base | {key: laid_over(base.get(key), value) for key, value in over.items()}
    return over


# --- another value for each value -----------------------------------------------------------------

OTHERS: dict[str, list[Any]] = {
    "affinity": [{"nodeAffinity": {}}],
    "args": [["--epochs=3"]],
    "command": [["python3", "-u", "/opt/trainyard/mnist/train.py"]],
    "code.claim.name": ["other"],
    "code.claim.subPath": ["other"],
    "code.configMap.name": ["other"],
    "code.git.credentialsSecret": ["login"],
    "code.git.env": [[{"name": "A", "value": "b"}]],
    "code.git.extraVolumeMounts": [[{"name": "a", "mountPath": "/a"}]],
    "code.git.repository": ["https://git.example.org/other.git"],
    "code.inline": [{"train.py": "print(2)"}],
    "code.mountPath": ["/code"],
    "containerSecurityContext": [{"readOnlyRootFilesystem": True}],
    "env": [[{"name": "A", "value": "b"}]],
    "envFrom": [[{"secretRef": {"name": "s"}}]],
    "extraVolumes": [[{"name": "b", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]],
    "extraVolumeMounts": [[{"name": "a", "mountPath": "/a"}]],
    "gpu.types": [["a"]],
    "image.digest": ["sha256:" + "a" * 64],
    "imagePullSecrets": [["login"]],
    "nccl": [{"DEBUG": "INFO"}],
    "networkPolicy.from": [[{"podSelector": {"matchLabels": {"app": "jupyter"}}}]],
    "networkPolicy.ingress": [[{"ports": [{"port": 9090}]}]],
    "networkPolicy.egress.apiServerPorts": [[], [8443]],
    "networkPolicy.egress.to": [[{"ports": [{"port": 443}]}]],
    "nodeSelector": [{"a": "b"}],
    "podAnnotations": [{"a": "b"}],
    "podLabels": [{"a": "b"}],
    "priorityClassName": ["high"],
    "resources": [{"limits": {"cpu": 3}}],
    "sample.modelName": ["digits"],
    "runPolicy.exitCodes.permanent": [[3], []],
    "runPolicy.exitCodes.retryable": [[137], []],
    "runPolicy.startDeadlineSeconds": [None, 3600],
    "serviceAccount.annotations": [{"a": "b"}],
    "sharedMemory.enabled": [True, False],
    "sharedMemory.size": ["2Gi"],
    "tolerations": [[{"operator": "Exists"}]],
    "topologySpreadConstraints": [
        [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    ],
    "tpu.accelerator": ["tpu-v4-podslice"],
    "tpu.topology": ["2x8"],
    "volumes.accessModes": [["ReadWriteMany"]],
    "volumes.csi": [{"driver": "d"}],
    "volumes.existingClaim": ["team"],
    "volumes.hostPath": [{"path": "/d"}],
    "volumes.mountPath": ["/mnt/other"],
    "volumes.nfs": [{"server": "s", "path": "/d"}],
    "volumes.roles": [[], ["chief", "ps"]],
    "volumes.size": ["2Gi"],
    "volumes.storageClass": ["fast", "-"],
    "volumes.subPath": ["other"],
    "waiter.command": [["/wait"]],
}
"""Other values by path; a role's setting is under the common one's path, and so are volumes'."""

ROLES = ("chief", "worker", "ps", "evaluator")
IMAGE = {
    "registry": ["registry.example.org"],
    "repository": ["team/train"],
    "tag": ["1.10"],
    "digest": ["sha256:" + "a" * 64],
    "pullPolicy": ["Always"],
}


def others(path: str, value: Any) -> list[Any]:
    """Other values for a value."""
    schema = schema_at(path)
    *_, key = parts = path.split(".")
    if parts[-2:-1] == ["image"]:
        return IMAGE[key]
    if key == "image":
        return [{"tag": "1.10"}]
    common = path.removeprefix(f"{parts[0]}.") if parts[0] in ROLES else path
    if key in ("cpu", "memory"):
        amounts = {"requests": ("15m", "48Mi"), "limits": ("3", "3Gi")}[parts[-2]]
        return [amounts[key == "memory"]]
    if parts[0] == "volumes":
        common = f"volumes.{key}"
    elif key in ("resources", "types", "imagePullSecrets", "command"):
        common = {"types": "gpu.types"}.get(key, key)
    found = OTHERS.get(path, OTHERS.get(common))
    if found is None and isinstance(value, bool):
        found = [not value]
    if found is None and "enum" in schema:
        found = [each for each in schema["enum"] if each != value]
    if found is None and isinstance(value, int | float):
        found = [value + 1 if schema.get("maximum", value + 1) > value else value - 1]
    if found is None:
        found = [each for each in schema.get("examples", []) if each != value]
    assert found, f"no other value for {path} is known"
    return found


def schema_at(path: str) -> Any:
    found: Any = SCHEMA
    for key in path.split("."):
        for part in (found, *found.get("allOf", [])):
            if "$ref" in part:
                found = SCHEMA["definitions"][part["$ref"].rpartition("/")[2]]
        found = found["properties"].get(key) or found.get("additionalProperties")
    return found


OWN = {"command": ["/train"]}
GIT = {"source": "git", "git": {"repository": "https://git.example.org/train.git"}}
AROUND: dict[str, Values] = {
    "code.claim": {"code": {"source": "claim", "claim": {"name": "c"}}, **OWN},
    "code.configMap": {"code": {"source": "configMap", "configMap": {"name": "c"}}, **OWN},
    "code.git": {"code": GIT, **OWN},
    "code.git.extraVolumeMounts": {
        "code": GIT,
        "extraVolumes": [{"name": "a", "emptyDir": {}}],
        **OWN,
    },
    "code.inline": {"code": {"source": "inline", "inline": {"train.py": "print(1)"}}, **OWN},
    "code.mountPath": {"code": GIT, **OWN},
    "evaluator": {"evaluator": {"replicas": 1}},
    "evaluator.replicas": {},
    "extraVolumeMounts": {"extraVolumes": [{"name": "a", "emptyDir": {}}]},
    "gpu": {"worker": {"gpu": {"count": 1}}},
    "hostNetwork": {"chief": {"port": 3000}, "ps": {"port": 3001}},
    "nccl": {"worker": {"gpu": {"count": 1}}},
    "networkPolicy.egress": {
        "networkPolicy": {"egress": {"restricted": True}},
        "sample": {"dataset": "digits"},
    },
    "podGroup": {"schedulerName": "volcano"},
    "podGroup.queue": {"podGroup": {"create": "volcano"}, "schedulerName": "volcano"},
    "rbac": {"serviceAccount": {"create": False, "name": "training"}},
    "sample.collectives": {"strategy": "multiWorkerMirrored"},
    "sharedMemory.size": {"sharedMemory": {"enabled": True}},
    "success": {"sample": {"program": "train_v1"}},
    "tpu": {
        "strategy": "tpu",
        "tpu": {"accelerator": "tpu-v5-lite-podslice", "topology": "4x4"},
        "code": {"source": "image"},
        "worker": {"replicas": 4},
        **OWN,
    },
    "volumes.data": {"volumes": {"data": {"enabled": True, "existingClaim": "data"}}},
}
"""What is set besides, before and after, for a value to have a meaning; by its path's start."""

NOT_ALONE = {
    "code.source",
    "networkPolicy.egress.apiServerPorts",
    "sample.dataset",
    "strategy",
    "tpu.chips",
    "volumes.data.csi",
    "volumes.data.hostPath",
    "volumes.data.nfs",
    *(f"volumes.{name}.roles" for name in ("checkpoints", "logs", "models")),
}
"""Values of which the chart refuses some, unless others are changed with them."""


@dataclass(frozen=True)
class Step:
    """One upgrade that changes one value."""

    path: str
    value: Any
    old: Rendered
    new: Rendered
    report: Report

    @property
    def name(self) -> str:
        return f"{self.path}={json.dumps(self.value)}"


def around(path: str) -> Values:
    found = [start for start in AROUND if path == start or path.startswith(f"{start}.")]
    return AROUND[max(found, key=len)] if found else {}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    running = Pool(2)
    yield running
    running.close()


Steps = Callable[..., tuple[list[Step], list[tuple[str, str]]]]


@pytest.fixture(scope="module")
def every_step(pool: Pool) -> Steps:
    """`every_step(base, leave_out)`: all upgrades of one value over a base, and what was refused,
    and why; without the values of some blocks.
    """
    remembered: dict[str, Rendered] = {}

    def case(values: Values, upgrade: bool) -> Case:
        text = (json.dumps(values),)
        return Case(CHART, values_text=text, is_upgrade=upgrade, skip_schema=True)

    def render(values: Values) -> Rendered:
        key = json.dumps(values)
        if key not in remembered:
            remembered[key] = pool.render(case(values, upgrade=False))
        return remembered[key]

    def one(base: Values, path: str, value: Any) -> Step | tuple[str, str]:
        values = laid_over(around(path), base)
        new = case(laid_over(values, setting(path, value)), upgrade=True)
        try:
            old, after = render(values), pool.render(new)
        except RenderError as error:
            return path, error.message
        return Step(path, value, old, after, between(new, old, after))

    def run(
        base: Values, leave_out: tuple[str, ...] = ()
    ) -> tuple[list[Step], list[tuple[str, str]]]:
        asked = [
            (path, v)
            for path, old in leaves(VALUES)
            for v in others(path, old)
            if path.partition(".")[0] not in leave_out
        ]
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda each: one(base, *each), asked))
        return (
            [each for each in found if isinstance(each, Step)],
            [each for each in found if not isinstance(each, Step)],
        )

    return run


@pytest.fixture(scope="module")
def of_a_job(every_step):
    return every_step({})


@pytest.fixture(scope="module")
def of_a_session(every_step):
    no_part_of_it = ("chief", "evaluator", "run", "runPolicy", "sample", "success", "tpu", "waiter")
    return every_step({"mode": "session"}, leave_out=no_part_of_it)


# --- what the API server says ---------------------------------------------------------------------

CLAIM = ("spec.accessModes", "spec.storageClassName", "spec.resources.requests.storage")


def immutable(steps: list[Step]) -> dict[str, set[str]]:
    """What the API server would refuse, by the kind of object: the changes that ask for it."""
    found: dict[str, set[str]] = {}
    for step in steps:
        for finding in step.report.findings:
            if finding.rule == "upgrade-immutable":
                kind = finding.object.partition("/")[0]
                where = f"{kind} {finding.path.partition('[')[0]}"
                found.setdefault(where, set()).add(step.name)
    return found


def test_no_change_of_one_value_is_refused_by_the_api_server(of_a_job):
    steps, _ = of_a_job
    assert len(steps) > 240
    found = immutable(steps)
    # A claim keeps its class, and what it was made for, for ever. (In a cluster the chart looks the
    # modes up, and keeps them.)
    assert found.pop("PersistentVolumeClaim spec.storageClassName") == {
        *(
            f'volumes.{name}.storageClass="{other}"'
            for name in ("checkpoints", "logs", "models")
            for other in ("fast", "-")
        ),
        'global.storageClass="fast"',
    }
    shared = found.pop("PersistentVolumeClaim spec.accessModes")
    assert {name.partition("=")[0] for name in shared} == {
        "evaluator.replicas",
        "strategy",
        "success.role",
        "volumes.checkpoints.accessModes",
        "volumes.checkpoints.roles",
        "volumes.logs.accessModes",
        "volumes.logs.roles",
        "volumes.models.accessModes",
        "volumes.models.roles",
        "waiter.method",
    }
    assert found == {}


def test_no_class_at_all_is_another_class_than_the_clusters_own(of_a_job):
    steps = [s for s in of_a_job[0] if s.name == 'volumes.logs.storageClass="-"']
    assert set(immutable(steps)) == {"PersistentVolumeClaim spec.storageClassName"}


def test_no_change_of_one_value_of_a_session_is_refused_by_the_api_server(of_a_session):
    steps, _ = of_a_session
    assert len(steps) > 150
    assert {each for each in immutable(steps) if not each.startswith("PersistentV")} == set()


@pytest.mark.parametrize("base", [{}, {"mode": "session"}], ids=["job", "session"])
def test_a_chosen_name_and_another_chart_name_are_no_trap(pool, base):
    """Beside a chosen name the other one would change selectors alone, which nobody may."""
    values = {**base, "fullnameOverride": "nightly", "nameOverride": "training"}
    with pytest.raises(RenderError, match="nameOverride: beside fullnameOverride"):
        pool.render(Case(CHART, values_text=(json.dumps(values),)))


@pytest.mark.parametrize("path", ["fullnameOverride", "nameOverride"])
@pytest.mark.parametrize("base", [{}, {"mode": "session"}], ids=["job", "session"])
def test_another_name_is_another_set_of_objects(pool, base, path):
    old, new = (
        Case(CHART, values_text=(json.dumps({**base, **more}),))
        for more in ({}, {path: "training"})
    )
    report = between(replace(new, is_upgrade=True), pool.render(old), pool.render(new))
    assert [f.object for f in report.findings if f.rule == "upgrade-immutable"] == []
    assert {each.kind for each in report.changes} == {"added", "removed"}


def test_what_cannot_change_alone_is_refused_in_words(of_a_job, of_a_session):
    for _, refused in (of_a_job, of_a_session):
        for path, message in refused:
            assert is_refusal(message), (path, message)
            assert "to mend in the values:" in message, (path, message)
    assert {path for path, _ in of_a_job[1]} == NOT_ALONE


# --- what starts a new run ------------------------------------------------------------------------


def jobs(rendered: Rendered) -> dict[str, Object]:
    return {
        each.metadata["labels"][COMPONENT]: each for each in rendered.objects if each.kind == "Job"
    }


def fixed(job: Object) -> str:
    """What Kubernetes lets nobody change of a Job, as a text."""
    spec = job["spec"]
    keys = ("template", "podFailurePolicy", "successPolicy", "backoffLimitPerIndex")
    return json.dumps({key: spec.get(key) for key in keys}, sort_keys=True)


ON_PURPOSE = {"run.id", "ps.replicas", "code.inline", "queue"}
"""Values that start a new run though no pod template says so."""

OF_THE_LIST = {"worker.replicas", "run.onScale"}
"""Values that start those again who know the list of workers."""


def test_a_new_run_starts_when_something_fixed_has_changed_and_at_no_other_time(of_a_job):
    seen = {True: 0, False: 0}
    wrong = []
    for step in of_a_job[0]:
        old, new = jobs(step.old), jobs(step.new)
        cluster = (set(old) | set(new)) - {"evaluator"}
        same_fullname = step.path not in ("fullnameOverride", "nameOverride")
        if not set(new) - {"evaluator"} == cluster == set(old) - {"evaluator"} or not same_fullname:
            continue  # Other roles, or other names for all.
        other = any(fixed(old[role]) != fixed(new[role]) for role in cluster)
        expected = other or step.path in ON_PURPOSE
        renamed = {role for role in cluster if old[role].name != new[role].name}
        if step.path in OF_THE_LIST:
            assert renamed == {"chief"}, step.name
            continue
        if renamed != (cluster if expected else set()):
            wrong.append((step.name, renamed, expected))
        seen[expected] += 1
    assert wrong == [], wrong
    assert seen[True] > 120
    assert seen[False] > 60


WHILE_IT_RUNS = [
    "networkPolicy.enabled",
    "networkPolicy.from",
    "rbac.create",
    "run.onChange",
    "runPolicy.activeDeadlineSeconds",
    "runPolicy.backoffLimit",
    "runPolicy.suspend",
    "runPolicy.ttlSecondsAfterFinished",
    "service.ipFamilyPolicy",
    "serviceAccount.annotations",
    "test.timeoutSeconds",
    "volumes.checkpoints.keep",
    "volumes.checkpoints.size",
]


@pytest.mark.parametrize("path", WHILE_IT_RUNS)
def test_what_is_no_part_of_the_pods_may_change_while_they_run(of_a_job, path):
    steps = [step for step in of_a_job[0] if step.path == path]
    assert steps
    for step in steps:
        assert step.report.changes or path == "run.onChange", step.name
        assert {pod.what for pod in step.report.pods} <= {"stay"}, step.name


def test_removing_what_is_finished_is_no_new_run(of_a_job):
    (step,) = [s for s in of_a_job[0] if s.name == 'runPolicy.cleanPodPolicy="All"']
    assert {change.path for each in step.report.changes for change in each.changes} == {
        "spec.ttlSecondsAfterFinished"
    }


def test_a_change_to_keep_starts_the_chief_once_more_and_nobody_else(of_a_job):
    """Its name had the list in it, and then has not; whoever wants "keep" says so at the start."""
    (step,) = [s for s in of_a_job[0] if s.path == "run.onScale"]
    assert step.report.findings == ()
    roles = {(each.what, each.object.split("-")[3]) for each in step.report.pods}
    assert roles == {("start", "chief"), ("end", "chief"), ("stay", "worker"), ("stay", "ps")}


def names_of(pool: Pool, *several: Values) -> list[dict[str, str]]:
    """Give the names of the Jobs by role, for each of several values."""
    cases = [Case(CHART, values_text=(json.dumps(values),)) for values in several]
    return [{role: job.name for role, job in jobs(pool.render(case)).items()} for case in cases]


def test_a_chief_that_keeps_its_list_keeps_its_name_at_any_number_of_workers(pool):
    keep = {"run": {"onScale": "keep"}}
    two, five = names_of(pool, *({**keep, "worker": {"replicas": n}} for n in (2, 5)))
    assert two == five


RING = {"strategy": "multiWorkerMirrored"}
ALONE = {"strategy": "mirrored"}


@pytest.mark.parametrize(
    ("plan", "more"),
    [
        (RING, {"ps": {"replicas": 5}}),
        (ALONE, {"ps": {"replicas": 5}}),
        (ALONE, {"worker": {"replicas": 5}}),
        (ALONE, {"worker": {"replicas": 5}, "evaluator": {"replicas": 1}}),
        ({}, {"success": {"role": "chief"}}),
        (ALONE, {"success": {"role": "chief"}}),
        (RING, {"success": {"role": "allWorkers"}}),
        ({}, {"run": {"onScale": "restart", "id": "", "onChange": "refuse"}}),
        ({}, {"podSecurityContext": None, "waiter": None}),
    ],
    ids=lambda it: json.dumps(it)[:60],
)
def test_what_changes_nothing_starts_no_new_run(pool, plan, more):
    """A number of a role that there is not, and a default that is spelled out."""
    usual, same = names_of(pool, plan, {**plan, **more})
    assert {role: same[role] for role in usual} == usual


@pytest.mark.parametrize(
    "plan", [{"sample": {"program": "train_v1"}}, RING], ids=["workers of TensorFlow 1", "ring"]
)
def test_the_first_worker_alone_or_all_of_them_is_another_run(pool, plan):
    """Kubernetes lets nobody change a success policy."""
    first, everybody = names_of(
        pool, *({**plan, "success": {"role": role}} for role in ("worker0", "allWorkers"))
    )
    assert not set(first.values()) & set(everybody.values())


def test_the_jobs_of_a_run_have_its_name_and_workers_that_are_added_change_it_not(pool):
    def run(values: Values) -> str:
        found = jobs(pool.render(Case(CHART, values_text=(json.dumps(values),)))).values()
        (name,) = {str(job.metadata["labels"]["trainyard/run"]) for job in found}
        return name

    for plan in ({}, RING):
        evaluated = {**plan, "evaluator": {"replicas": 1}}
        assert run(evaluated) == run(plan)
        assert run({**evaluated, "worker": {"replicas": 5}}) == run(plan)
        assert run({**evaluated, "queue": "team"}) != run(plan)
        assert run({**evaluated, "run": {"id": "2"}}) != run(plan)


@pytest.mark.parametrize("plan", [{}, RING], ids=["chief", "ring"])
def test_an_evaluator_goes_on_when_workers_are_added(pool, plan):
    evaluated = {**plan, "evaluator": {"replicas": 1}}
    two, five = names_of(pool, *({**evaluated, "worker": {"replicas": n}} for n in (2, 5)))
    assert two["evaluator"] == five["evaluator"]
    moved = {role for role in two if two[role] != five[role]}
    assert moved == ({"worker"} if plan else {"chief"})


NEW_RUNS = ["run.id", "code.inline", "ps.replicas", "chief.args", "queue"]


@pytest.mark.parametrize("path", NEW_RUNS)
def test_a_new_run_has_its_own_evaluator(pool, path):
    """The evaluator ends with the deciding Job, so the old one is of no use to another run."""
    base = {
        "evaluator": {"replicas": 1},
        "code": {"source": "inline", "inline": {"train.py": "print(1)"}},
        "command": ["python3", "/opt/trainyard/code/train.py"],
    }
    value = {
        "run.id": "2",
        "code.inline": {"train.py": "print(2)"},
        "ps.replicas": 2,
        "queue": "team",
    }
    changed = laid_over(base, setting(path, value.get(path, ["--other"])))
    old, new = (
        jobs(pool.render(Case(CHART, values_text=(json.dumps(values),))))
        for values in (base, changed)
    )
    assert old["chief"].name != new["chief"].name
    assert old["evaluator"].name != new["evaluator"].name


def test_another_evaluator_does_not_disturb_the_training(pool):
    one, other = (
        jobs(pool.render(Case(CHART, values_text=(json.dumps({"evaluator": evaluator}),))))
        for evaluator in ({"replicas": 1}, {"replicas": 1, "nodeSelector": {"pool": "cheap"}})
    )
    assert one["evaluator"].name != other["evaluator"].name
    assert [one[role].name for role in ("chief", "worker", "ps")] == [
        other[role].name for role in ("chief", "worker", "ps")
    ]


def test_the_name_of_a_run_hangs_on_no_order_and_on_no_way_to_say_it(pool):
    cases = [
        Case(CHART, values_text=("nodeSelector: {a: '1', b: '2'}\nsample: {epochs: 1000000}",)),
        Case(CHART, values_text=("sample: {epochs: 1000000}\nnodeSelector: {b: '2', a: '1'}",)),
        Case(
            CHART,
            set_string=("nodeSelector.b=2", "nodeSelector.a=1"),
            set_values=("sample.epochs=1000000",),
            is_upgrade=True,
            kube_version="1.33",
        ),
    ]
    found = [{role: job.name for role, job in jobs(pool.render(case)).items()} for case in cases]
    assert found[0] == found[1] == found[2]


def test_a_change_that_is_taken_back_is_the_run_from_before(pool):
    text = [f"image: {{tag: '{tag}'}}" for tag in ("1", "2", "1")]
    names = [pool.render(Case(CHART, values_text=(each,))) for each in text]
    first, second, third = ({job.name for job in jobs(each).values()} for each in names)
    assert first == third
    assert not first & second
