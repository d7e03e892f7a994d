"""Every strategy in every mode, with every feature: what has to hold wherever the chart renders.

The grid is made from lists. The chart is asked for each combination; what it does not take it must
refuse in words of its own, and it must refuse exactly those that make no sense.
"""

import base64
import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from trainyard import paths
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import RenderError
from trainyard.upgrade.bump import bumped
from trainyard.upgrade.differ import object_changes
from trainyard.upgrade.immutable import is_effective
from trainyard.upgrade.report import between
from trainyard.values.fuzz import is_refusal

CHART = paths.CHARTS / "tf-cluster"
LONGEST = "a-release-of-fifty-three-characters-which-is-the-most"
LAST = {"chief": 0, "worker": 99999, "ps": 99999, "evaluator": 0}
"""An index that no task of a role goes beyond: the schema ends at 10000 tasks."""

Values = dict[str, Any]

STRATEGIES = ("parameterServer", "multiWorkerMirrored", "mirrored", "tpu")
MODES = ("job", "session")
DECIDING = (None, "chief", "worker0", "allWorkers")
EVALUATORS = (0, 1)
PROGRAMS = ("train", "train_v1", "own")


@dataclass(frozen=True)
class Plan:
    """What a release consists of."""

    strategy: str = "parameterServer"
    mode: str = "job"
    decides: str | None = None
    evaluators: int = 0
    program: str = "train"

    @property
    def name(self) -> str:
        decides = f"by {self.decides}" if self.decides else ""
        evaluated = "evaluated" if self.evaluators else ""
        return " ".join(filter(None, (self.strategy, self.mode, decides, evaluated, self.program)))

    @property
    def makes_sense(self) -> bool:
        """What a person would say, without having read the chart."""
        servers = self.strategy == "parameterServer"
        if self.mode == "session" and (not servers or self.evaluators or self.decides):
            return False
        if self.program != "own" and self.strategy == "tpu":
            return False
        if self.program == "train_v1" and (not servers or self.evaluators):
            return False
        if self.decides == "chief":
            return self.strategy in ("parameterServer", "mirrored")
        if self.decides in ("worker0", "allWorkers"):
            endless = servers and self.program == "train"
            return self.strategy != "mirrored" and not endless
        return True

    @property
    def values(self) -> Values:
        found: Values = {
            "strategy": self.strategy,
            "mode": self.mode,
            "success": {"role": self.decides},
            "evaluator": {"replicas": self.evaluators},
            "worker": {"replicas": 4 if self.strategy == "tpu" else 3},
            "ps": {"replicas": 2},
        }
        if self.strategy == "tpu":
            found["tpu"] = {"accelerator": "tpu-v5-lite-podslice", "topology": "4x4"}
        if self.program == "own":
            return found | {"code": {"source": "image"}, "command": ["/train"]}
        return found | {"sample": {"program": self.program}}

    @property
    def lead(self) -> str:
        """The role that decides; nothing in a session."""
        if self.mode == "session":
            return ""
        alone = self.strategy in ("parameterServer", "mirrored")
        return "worker" if self.decides in ("worker0", "allWorkers") or not alone else "chief"

    @property
    def dialled(self) -> set[str]:
        """The roles that are in the cluster spec."""
        found = {"chief"} if self.lead == "chief" else set()
        found |= {"worker"} if self.strategy != "mirrored" else set()
        return found | ({"ps"} if self.strategy == "parameterServer" else set())


PLANS = [
    Plan(*each) for each in itertools.product(STRATEGIES, MODES, DECIDING, EVALUATORS, PROGRAMS)
]

# The plans that features are tried on: each strategy and mode, each deciding role.
BASES = [
    Plan(evaluators=1),
    Plan(mode="session"),
    Plan(decides="worker0", program="train_v1"),
    Plan(decides="allWorkers", program="own"),
    Plan("multiWorkerMirrored", evaluators=1),
    Plan("mirrored", evaluators=1),
    Plan("tpu", program="own"),
]

FEATURES: dict[str, Values] = {
    "GPUs": {
        **{role: {"gpu": {"count": 2}} for role in ("chief", "worker", "evaluator")},
        "gpu": {"types": ["a", "b"], "runtimeClassName": "nvidia"},
        "nccl": {"DEBUG": "INFO"},
    },
    "the nodes' network": {
        "hostNetwork": True,
        **{role: {"port": 3000 + n} for n, role in enumerate(("chief", "worker", "ps"))},
        "evaluator": {"port": 3009},
    },
    "ports of their own": {
        "chief": {"port": 4000},
        "ps": {"port": 4001},
        "service": {"port": 4002},
    },
    "no word to the API server": {"waiter": {"method": "marker"}},
    "packed": {"topology": {"policy": "pack", "key": "topology.kubernetes.io/zone"}},
    "spread": {
        "topology": {"policy": "spread"},
        "networkPolicy": {"egress": {"restricted": True}},
        "sample": {"dataset": "digits"},
    },
    "code from git": {
        "code": {"source": "git", "git": {"repository": "https://git.example.org/t.git"}},
        "command": ["/train"],
    },
    "code in the values": {
        "code": {"source": "inline", "inline": {"a.py": "print()"}},
        "command": ["/train"],
    },
    "on its own": {"run": {"onScale": "keep"}, "runPolicy": {"startDeadlineSeconds": 0}},
    "in a queue, as a gang": {
        "queue": "team",
        "podGroup": {"name": "gang"},
        "schedulerName": "volcano",
    },
    "a file only": {"tfConfig": False, "clusterDomain": ""},
    "other volumes": {
        "volumes": {
            "checkpoints": {"csi": {"driver": "d", "shared": True}},
            "logs": {"enabled": False},
            "models": {"existingClaim": "team"},
            "data": {"enabled": True, "nfs": {"server": "s", "path": "/d"}, "roles": ["worker"]},
        }
    },
}


def fits(plan: Plan, feature: str) -> bool:
    """Say whether a feature is one that the plan can have."""
    session = plan.mode == "session"
    many = "ps" in plan.dialled and plan.decides == "allWorkers"
    return not (
        (feature == "GPUs" and plan.strategy == "tpu")
        or (feature == "on its own" and plan.lead == "worker")
        or (feature == "in a queue, as a gang" and session)
        # One marker speaks for one task, and the others have to hear whether that task lives.
        or (feature == "no word to the API server" and (session or many))
        or (feature == "no word to the API server" and plan.strategy == "mirrored")
    )


def with_feature(plan: Plan, feature: str) -> Values:
    """Give a plan's values with those of a feature; GPUs are for roles that there are."""
    values = dict(laid_over(plan.values, FEATURES[feature]))
    for role in {"chief", "worker"} - plan.dialled if feature == "GPUs" else ():
        values[role] = plan.values.get(role, {})
    return values


def laid_over(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        return {
            key: laid_over(base.get(key), over[key]) if key in over else base[key]
            for key in (*base, *(key for key in over if key not in base))
        }
    return over


@dataclass
class Cell:
    """One combination that the chart takes."""

    name: str
    plan: Plan
    case: Case
    rendered: Rendered
    objects: Any

    def tasks(self) -> Iterator[Any]:
        """Every training pod, with its index."""
        for pod in self.objects.tasks():
            for index in range(pod.replicas):
                yield pod, index


def case_of(values: Values, **more: Any) -> Case:
    return Case(CHART, values_text=(json.dumps(values),), **more)


@pytest.fixture(scope="module")
def answers(render_all) -> dict[Plan, Rendered | RenderError]:
    """What the chart says to every plan."""
    return dict(zip(PLANS, render_all([case_of(plan.values) for plan in PLANS]), strict=True))


@pytest.fixture(scope="module")
def tried(render_all) -> list[tuple[str, Plan, Case, Rendered | RenderError]]:
    """What the chart says to every plan of BASES with every feature."""
    asked = [
        (f"{plan.name}, {feature}", plan, case_of(with_feature(plan, feature)))
        for plan in BASES
        for feature in FEATURES
    ]
    results = render_all([case for _, _, case in asked])
    return [(*each, result) for each, result in zip(asked, results, strict=True)]


@pytest.fixture(scope="module")
def grid(answers, tried, as_objects) -> list[Cell]:
    """Every combination that the chart takes."""
    plain = [(plan.name, plan, case_of(plan.values), result) for plan, result in answers.items()]
    return [
        Cell(name, plan, case, result, as_objects(result))
        for name, plan, case, result in (*plain, *tried)
        if isinstance(result, Rendered)
    ]


@pytest.fixture(scope="module")
def plain(grid) -> list[Cell]:
    """The plans of BASES, without features."""
    found = [cell for cell in grid if cell.plan in BASES and cell.name == cell.plan.name]
    assert len(found) == len(BASES)
    return found


# --- what the chart takes -------------------------------------------------------------------------


def test_the_chart_takes_the_plans_that_make_sense_and_no_others(answers):
    taken = {plan for plan, result in answers.items() if isinstance(result, Rendered)}
    assert {p.name for p in taken} == {p.name for p in PLANS if p.makes_sense}


def test_the_chart_takes_every_feature_where_it_has_a_meaning(tried):
    wrong = []
    for name, plan, _, result in tried:
        if isinstance(result, Rendered) is not fits(plan, name.split(", ", 1)[1]):
            wrong.append((name, getattr(result, "message", "was taken")))
    assert wrong == []


def test_what_is_refused_is_refused_in_words(answers, tried):
    refused = [
        (plan.name, result)
        for plan, result in [*answers.items(), *((plan, result) for _, plan, _, result in tried)]
        if isinstance(result, RenderError)
    ]
    assert len(refused) > 100
    for name, error in refused:
        assert is_refusal(error.message), (name, error.message)
        assert "to mend in the values:" in error.message, (name, error.message)


def test_each_plan_has_its_roles_and_no_others(grid):
    for cell in grid:
        roles = cell.plan.dialled | ({"evaluator"} if cell.plan.evaluators else set())
        assert {pod.role for pod in cell.objects.tasks()} == roles, cell.name
        assert cell.objects.lead() == cell.plan.lead, cell.name
        kind = "StatefulSet" if cell.plan.mode == "session" else "Job"
        assert {each["kind"] for each in cell.objects.workloads()} == {kind}, cell.name


def test_all_jobs_of_a_run_carry_its_name_and_no_pod_does(grid):
    for cell in grid:
        runs = {
            each["metadata"]["labels"].get("trainyard/run") for each in cell.objects.workloads()
        }
        assert len(runs) == 1, cell.name
        assert (runs == {None}) is (cell.plan.mode == "session"), cell.name
        # The name is a hash of the pods.
        assert not any("trainyard/run" in pod.labels for pod in cell.objects.pods()), cell.name


def test_whoever_decides_waits_for_peers_first_and_nobody_else_does(grid):
    for cell in grid:
        peers = {pod.role for pod in cell.objects.tasks() if pod.has("await-peers")}
        assert peers == ({cell.plan.lead} if cell.plan.lead else set()), cell.name


# --- 1. self address ------------------------------------------------------------------------------


def test_every_task_is_told_the_address_that_the_objects_give_it(grid):
    seen = 0
    for cell in grid:
        spec = cell.objects.cluster()
        assert set(spec) == cell.plan.dialled, cell.name
        for pod, index in cell.tasks():
            if pod.role == "evaluator":
                continue
            host, port = spec[pod.role][index].split(":")
            assert host.removesuffix(".cluster.local") == pod.address(index), cell.name
            assert int(port) == pod.container()["ports"][0]["containerPort"], cell.name
            seen += 1
        for role, addresses in spec.items():
            assert len(addresses) == cell.objects.pod(role).replicas, (cell.name, role)
    assert seen > 300


def test_tf_config_says_the_same_as_the_file_and_the_evaluator_is_alone(grid):
    for cell in grid:
        spec = cell.objects.cluster()
        for pod, index in cell.tasks():
            told = cell.objects.variables(pod, index)
            assert (told["TASK_TYPE"], told["TASK_INDEX"]) == (pod.role, str(index)), cell.name
            if pod.role == "evaluator":
                port = {"the nodes' network": 3009, "ports of their own": 4002}
                feature = next((each for each in port if each in cell.name), "")
                assert json.loads(told["TF_CONFIG"]) == {
                    "cluster": {"evaluator": [f"{pod.host(0)}:{port.get(feature, 2222)}"]},
                    "task": {"type": "evaluator", "index": 0},
                }, cell.name
                # It serves nobody, so it claims none of a node's ports either.
                assert "ports" not in pod.container(), cell.name
                continue
            wanted = cell.plan.strategy != "mirrored" and "a file only" not in cell.name
            assert ("TF_CONFIG" in told) is wanted, cell.name
            if wanted:
                assert json.loads(told["TF_CONFIG"]) == {
                    "cluster": spec,
                    "task": {"type": pod.role, "index": index},
                }, cell.name


def test_hosts_of_a_tpu_slice_know_themselves(grid):
    seen = 0
    for cell in grid:
        for pod, index in cell.tasks():
            told = cell.objects.variables(pod, index)
            host = cell.plan.strategy == "tpu" and pod.role == "worker"
            assert ("TPU_WORKER_HOSTNAMES" in told) is host, (cell.name, pod.role)
            if "TPU_WORKER_HOSTNAMES" in told:
                hosts = told["TPU_WORKER_HOSTNAMES"].split(",")
                mine = hosts[int(told["TPU_WORKER_ID"])]
                assert mine.removesuffix(".cluster.local") == pod.address(index), cell.name
                seen += 1
    assert seen > 20


# --- 2. selector closure --------------------------------------------------------------------------


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Judge a label selector as Kubernetes does, as far as the chart goes: by matchLabels."""
    assert set(selector) == {"matchLabels"}
    return bool(selector["matchLabels"].items() <= labels.items())


def selectors_of_places(spec: Any) -> Iterator[dict[str, Any]]:
    """Every selector of pods in a pod's affinity and spread."""
    for constraint in spec.get("topologySpreadConstraints", []):
        yield constraint["labelSelector"]
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = spec.get("affinity", {}).get(kind, {})
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution", []):
            yield term["labelSelector"]
        for term in terms.get("preferredDuringSchedulingIgnoredDuringExecution", []):
            yield term["podAffinityTerm"]["labelSelector"]


def test_every_selector_finds_the_pods_it_is_for_and_no_others(grid, render):
    foreign = [pod.labels for pod in render({"evaluator": {"replicas": 1}}, name="other").pods()]
    placed = 0
    for cell in grid:
        pods = cell.objects.pods()
        (service,) = cell.objects.of("Service")
        members = {"matchLabels": service["spec"]["selector"]}
        assert {pod.role for pod in pods if matches(members, pod.labels)} == cell.plan.dialled
        (policy,) = cell.objects.of("NetworkPolicy")
        everyone = policy["spec"]["podSelector"]
        assert all(matches(everyone, pod.labels) for pod in pods), cell.name
        own = policy["spec"]["ingress"][0]["from"][0]["podSelector"]
        assert all(matches(own, pod.labels) for pod in pods), cell.name
        for found in cell.objects.of("StatefulSet"):
            mine = found["metadata"]["labels"]["app.kubernetes.io/component"]
            at = found["spec"]["selector"]
            assert {pod.role for pod in pods if matches(at, pod.labels)} == {mine}, cell.name
        used = [members, everyone, own]
        for pod in pods:
            for selector in selectors_of_places(pod.spec):
                assert any(matches(selector, each.labels) for each in pods), (cell.name, pod.role)
                used.append(selector)
                placed += 1
        for selector in used:
            assert not any(matches(selector, labels) for labels in foreign), cell.name
    assert placed > 30


def test_the_policy_lets_everybody_in_at_every_port_that_a_task_has(grid):
    for cell in grid:
        (policy,) = cell.objects.of("NetworkPolicy")
        own, clients = policy["spec"]["ingress"]
        assert "ports" not in own, cell.name
        open_ports = {each["port"] for each in clients["ports"]}
        assert open_ports == {
            pod.container()["ports"][0]["containerPort"]
            for pod in cell.objects.tasks()
            if pod.role != "evaluator"
        }, cell.name


def test_a_statefulset_and_a_subdomain_name_the_service_that_there_is(grid):
    for cell in grid:
        (service,) = cell.objects.of("Service")
        for pod in cell.objects.tasks():
            if pod.role == "evaluator":
                assert "subdomain" not in pod.spec, cell.name
                continue
            zone = pod.spec.get("subdomain") or pod.owner["spec"]["serviceName"]
            assert zone == service["metadata"]["name"], cell.name


# --- 3. name budget -------------------------------------------------------------------------------


def test_the_longest_names_have_room_and_near_equal_ones_stay_apart(render_all, as_objects):
    releases = (LONGEST, LONGEST[:-1] + "b")
    cases = [case_of(plan.values, release=name) for plan in BASES for name in releases]
    results = [as_objects(result) for result in render_all(cases)]
    for plan, one, other in zip(BASES, results[::2], results[1::2], strict=True):
        for found in one.workloads():
            name = found["metadata"]["name"]
            last = LAST[found["metadata"]["labels"]["app.kubernetes.io/component"]]
            assert len(f"{name}-{last}") <= 63, (plan.name, name)
            assert found["kind"] == "Job" or len(name) <= 52, (plan.name, name)
        for address in itertools.chain(*one.cluster().values()):
            assert all(len(label) <= 63 for label in address.split(":")[0].split(".")), plan.name
        for each in one:
            assert len(each["metadata"]["name"]) <= 63, (plan.name, each["metadata"]["name"])
        names = [{(o["kind"], o["metadata"]["name"]) for o in found} for found in (one, other)]
        assert not names[0] & names[1], plan.name


# --- 4. version stability -------------------------------------------------------------------------


def test_a_new_version_changes_labels_of_objects_alone(grid, render_all):
    with bumped(CHART, {"version": "9.8.7+build.1", "appVersion": "9.8.6"}) as chart:
        # Whether values are valid hangs on no version.
        cases = [replace(cell.case, chart=chart, skip_schema=True) for cell in grid]
        after = render_all(cases)
    for cell, new in zip(grid, after, strict=True):
        assert isinstance(new, Rendered), (cell.name, new)
        changes = object_changes(cell.rendered, new, "default")
        assert changes, cell.name
        for each in changes:
            assert each.kind == "changed", (cell.name, each.object.title)
            paths_changed = {change.steps[:2] for change in each.changes}
            assert paths_changed == {("metadata", "labels")}, (cell.name, each.object.title)


# --- 5. scale diff --------------------------------------------------------------------------------

MAY_CHANGE = {
    ("ConfigMap", "data.cluster"),
    ("ConfigMap", "data.job"),
    ("Job", "spec.completions"),
    ("Job", "spec.parallelism"),
    ("Role", "rules[0].resourceNames[0]"),
    ("StatefulSet", "spec.replicas"),
}
"""What scaling may change of an object that stays."""


def test_scaling_changes_what_may_change_and_nothing_else(grid, render_all):
    scaled = [cell for cell in grid if cell.plan.strategy in STRATEGIES[:2]]
    cases = []
    for number, cell in enumerate(scaled):
        values = json.loads(cell.case.values_text[0])
        values["worker"]["replicas"] += (2, -2)[number % 2]
        cases.append(case_of(values, is_upgrade=True, skip_schema=True))
    for cell, new in zip(scaled, render_all(cases), strict=True):
        assert isinstance(new, Rendered), (cell.name, new)
        report = between(replace(cell.case, is_upgrade=True), cell.rendered, new)
        assert report.findings == (), cell.name
        come_and_go = {e.object.kind for e in report.changes if e.kind != "changed"}
        assert come_and_go <= {"Job"}, cell.name
        # The evaluator is in nobody's list; a server outlives its chief.
        moved = {
            e.object.metadata["labels"]["app.kubernetes.io/component"]
            for e in report.changes
            if e.kind != "changed"
        }
        keeps = cell.plan.mode == "session" or "on its own" in cell.name
        asked = {"chief"} if cell.plan.lead == "chief" else cell.plan.dialled
        assert moved == (set() if keeps else asked), cell.name
        fields = {
            (each.object.kind, change.path)
            for each in report.changes
            if each.kind == "changed"
            for change in each.changes
            if is_effective(each.object.kind, change)
        }
        assert fields <= MAY_CHANGE, cell.name
        assert ("ConfigMap", "data.cluster") in fields, cell.name


# --- 6. completeness of pod rules -----------------------------------------------------------------

FOR_ALL: Values = {
    "imagePullSecrets": ["login"],
    "global": {"imagePullSecrets": [{"name": "shared"}]},
    "serviceAccount": {"name": "who"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "nodeSelector": {"pool": "training"},
    "priorityClassName": "high",
    "schedulerName": "other",
    "podSecurityContext": {"fsGroup": 4711},
    "containerSecurityContext": {"readOnlyRootFilesystem": True},
    "podLabels": {"team": "vision"},
    "podAnnotations": {"note": "n"},
    "extraVolumes": [{"name": "scratch", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    "env": [{"name": "FOR_ALL", "value": "yes"}],
    "envFrom": [{"secretRef": {"name": "for-all"}}],
}


def test_what_is_asked_for_all_reaches_every_pod(render_all, as_objects):
    git = FEATURES["code from git"]
    cases = [case_of(laid_over(laid_over(plan.values, git), FOR_ALL)) for plan in BASES]
    for plan, result in zip(BASES, render_all(cases), strict=True):
        assert isinstance(result, Rendered), (plan.name, result)
        pods = as_objects(result).pods()
        assert "test" in {pod.role for pod in pods}
        for pod in pods:
            spec, where = pod.spec, (plan.name, pod.role)
            assert spec["imagePullSecrets"] == [{"name": "shared"}, {"name": "login"}], where
            assert spec["serviceAccountName"] == "who", where
            assert spec["automountServiceAccountToken"] is False, where
            assert spec["enableServiceLinks"] is False, where
            assert FOR_ALL["tolerations"][0] in spec["tolerations"], where
            assert spec["nodeSelector"]["pool"] == "training", where
            assert spec["priorityClassName"] == "high", where
            assert spec["schedulerName"] == "other", where
            assert spec["securityContext"]["fsGroup"] == 4711, where
            assert pod.labels["team"] == "vision", where
            assert pod.labels["sidecar.istio.io/inject"] == "false", where
            assert pod.metadata["annotations"]["sidecar.istio.io/inject"] == "false", where
            assert pod.metadata["annotations"]["note"] == "n", where
            for container in pod.containers:
                security = container["securityContext"]
                assert security["readOnlyRootFilesystem"] is True, where
                assert security["allowPrivilegeEscalation"] is False, where
                assert security["capabilities"] == {"drop": ["ALL"]}, where
            program = "check" if pod.role == "test" else "tensorflow"
            assert pod.env(program)["FOR_ALL"] == "yes", where
            assert {"secretRef": {"name": "for-all"}} in pod.container(program)["envFrom"], where
            assert pod.mount("scratch", program), where


# --- 7. round trip --------------------------------------------------------------------------------


def of_role(role: str, number: int) -> Values:
    """Settings of one role that no other has."""
    return {
        "image": {"tag": f"tag-{role}"},
        "command": [f"/{role}"],
        "args": [f"--{role}"],
        "env": [{"name": "ROLE", "value": role}, {"name": "NUMBER", "value": number}],
        "envFrom": [{"secretRef": {"name": f"secret-{role}"}}],
        "resources": {"limits": {"memory": f"{number}Gi"}},
        "nodeSelector": {"pool": role},
        "tolerations": [{"key": role, "operator": "Exists"}],
        "affinity": {"podAffinity": {"mark": role}},
        "topologySpreadConstraints": [{"topologyKey": role, "maxSkew": 1}],
        "priorityClassName": f"class-{role}",
        "podLabels": {"label": role},
        "podAnnotations": {"annotation": role},
        "port": 3000 + number,
        "terminationGracePeriodSeconds": 1000000 + number,
    }


def test_what_a_role_is_given_is_found_in_its_pod_with_its_type(render_all, as_objects):
    roles = ("chief", "worker", "ps", "evaluator")
    own = {role: of_role(role, number) for number, role in enumerate(roles, 1)}
    for number, role in enumerate(roles, 1):
        own[role]["terminationGracePeriodSeconds"] = 1000000 + number
    # A spread that names a topology twice, or has no whenUnsatisfiable, is for the API to judge.
    cases = [
        case_of(
            laid_over(laid_over(plan.values, own), {"code": {"source": "image"}}), skip_schema=True
        )
        for plan in BASES
    ]
    for plan, result in zip(BASES, render_all(cases), strict=True):
        assert isinstance(result, Rendered), (plan.name, result)
        for pod in as_objects(result).tasks():
            given, container, where = own[pod.role], pod.container(), (plan.name, pod.role)
            assert container["image"].endswith(f":{given['image']['tag']}"), where
            assert container["command"] == given["command"], where
            assert container["args"] == given["args"], where
            names = [each["name"] for each in container["env"]]
            assert len(names) == len(set(names)), where
            number = given["env"][1]["value"]
            assert (pod.env()["ROLE"], pod.env()["NUMBER"]) == (pod.role, str(number)), where
            assert container["envFrom"] == given["envFrom"], where
            assert container["resources"]["limits"]["memory"] == f"{number}Gi", where
            assert container["resources"]["limits"]["cpu"] == "2", where
            assert pod.spec["nodeSelector"]["pool"] == pod.role, where
            assert given["tolerations"][0] in pod.spec["tolerations"], where
            for key in ("affinity", "topologySpreadConstraints", "priorityClassName"):
                assert pod.spec[key] == given[key], where
            assert pod.labels["label"] == pod.role, where
            assert pod.metadata["annotations"]["annotation"] == pod.role, where
            if pod.role != "evaluator":
                assert container["ports"][0]["containerPort"] == 3000 + number, where
            grace = pod.spec["terminationGracePeriodSeconds"]
            assert (type(grace), grace) == (int, 1000000 + number), where


def test_no_variable_mount_or_volume_stands_twice(grid):
    for cell in grid:
        for pod in cell.objects.pods():
            lists = [[each["name"] for each in pod.spec["volumes"]]]
            lists.append([each["name"] for each in pod.containers])
            for container in pod.containers:
                lists.append([each["name"] for each in container.get("env", [])])
                lists.append([each["mountPath"] for each in container.get("volumeMounts", [])])
            for names in lists:
                assert len(names) == len(set(names)), (cell.name, pod.role, names)


# --- 8. ending ------------------------------------------------------------------------------------


def test_nobody_outlives_the_deciding_role(grid):
    for cell in grid:
        for pod in cell.objects.tasks():
            where = (cell.name, pod.role)
            main = [each["name"] for each in pod.spec["containers"]]
            if cell.plan.mode == "session":
                assert main == ["tensorflow"], where
                assert pod.spec["restartPolicy"] == "Always", where
                continue
            assert pod.spec["restartPolicy"] == "Never", where
            sidecars = [
                each["name"]
                for each in pod.spec.get("initContainers", [])
                if each.get("restartPolicy") == "Always"
            ]
            if pod.role == cell.plan.lead:
                assert (main, sidecars) == (["tensorflow"], []), where
                continue
            # Kubernetes stops a sidecar when the main containers have ended.
            assert (main, sidecars) == (["await-end"], ["tensorflow"]), where
            waiter = pod.container("await-end")
            assert "--job-file=/etc/trainyard/cluster/job" in waiter["args"], where
            assert "--after-end=stop" in waiter["args"], where
            assert pod.mount("cluster", "await-end"), where
            rules = pod.owner["spec"]["podFailurePolicy"]["rules"]
            assert rules[0] == {
                "action": "FailJob",
                "onExitCodes": {"containerName": "await-end", "operator": "In", "values": [3]},
            }, where


def test_everybody_can_see_the_end(grid):
    for cell in grid:
        objects = cell.objects
        waiting = [pod for pod in objects.tasks() if pod.has("await-end")]
        if cell.plan.mode == "session":
            assert "job" not in objects.told(), cell.name
            assert waiting == objects.of("Role") == [], cell.name
            continue
        lead = objects.pod(cell.plan.lead)
        if "no word to the API server" not in cell.name:
            (role,) = objects.of("Role")
            assert role["rules"][0]["resourceNames"] == [lead.owner["metadata"]["name"]], cell.name
            assert all(pod.mount("api-access", "await-end") for pod in waiting), cell.name
            continue
        assert objects.of("Role") == [], cell.name
        source = lead.volume("checkpoints")
        assert lead.container()["command"][2] == "/opt/trainyard/bin/mark_end.py", cell.name
        marker = "--marker=/mnt/checkpoints/.trainyard/$(TRAINYARD_JOB)-$(TASK_INDEX)"
        assert marker in lead.container()["command"], cell.name
        for pod in waiting:
            assert pod.volume("checkpoints") == source, (cell.name, pod.role)
            assert pod.mount("checkpoints", "await-end"), (cell.name, pod.role)
            folder = "--marker-folder=/mnt/checkpoints/.trainyard"
            assert folder in pod.container("await-end")["args"], (cell.name, pod.role)
            assert pod.volume("api-access") is None, (cell.name, pod.role)


def test_a_deciding_role_ends_by_the_rule_that_was_asked_for(grid):
    for cell in grid:
        for found in cell.objects.of("Job"):
            spec = found["spec"]
            decides = found["metadata"]["name"] == cell.objects.told()["job"]
            first = decides and cell.plan.decides == "worker0"
            rule = {"rules": [{"succeededIndexes": "0"}]} if first else None
            assert spec.get("successPolicy") == rule, cell.name
            assert spec["completions"] == spec["parallelism"], cell.name
            limits = {key: spec[key] for key in spec if key in LIMITS}
            if not decides:
                assert limits == {"backoffLimit": 1000}, cell.name
            elif cell.plan.lead == "chief":
                assert limits == {"backoffLimit": 3}, cell.name
            else:
                # One failure brings all down: each may fail as often, and none too often.
                assert limits == {"backoffLimitPerIndex": 3, "maxFailedIndexes": 0}, cell.name


LIMITS = ("backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes")


# --- 9. sizes -------------------------------------------------------------------------------------


def chart_files() -> dict[str, str]:
    """What Helm keeps of a chart with every release: all files that a package has."""
    return {
        str(path.relative_to(CHART)): base64.b64encode(path.read_bytes()).decode()
        for path in sorted(CHART.rglob("*"))
        if path.is_file() and path.relative_to(CHART).parts[0] != "ci"
    } | {
        f"charts/common/{path.name}": base64.b64encode(path.read_bytes()).decode()
        for path in sorted((CHART.parent / "common").rglob("*.tpl"))
    }


LARGE = {"worker": {"replicas": 1000}, "ps": {"replicas": 50}, "clusterDomain": ""}


def test_everything_fits_into_its_place(render_all, as_objects):
    large = [plan for plan in BASES if plan.strategy in STRATEGIES[:2]]
    cases = [case_of(laid_over(plan.values, LARGE), release="large") for plan in large]
    for plan, case, result in zip(large, cases, render_all(cases), strict=True):
        assert isinstance(result, Rendered), (plan.name, result)
        objects = as_objects(result)
        for each in objects:
            assert len(json.dumps(each)) < 2**20, (plan.name, each["kind"])
        for pod in objects.tasks():
            for name, value in objects.variables(pod, pod.replicas - 1).items():
                assert len(name) + len(value) + 2 <= 131072, (plan.name, name)
        release = {
            "manifest": result.manifest,
            "info": {"notes": result.notes},
            "config": json.loads(case.values_text[0]),
            "chart": chart_files(),
        }
        secret = base64.b64encode(gzip.compress(json.dumps(release).encode()))
        assert len(secret) < 1_000_000, (plan.name, len(secret))


def test_the_number_of_objects_does_not_hang_on_the_number_of_tasks(plain, render_all, as_objects):
    cases = [case_of(laid_over(cell.plan.values, LARGE)) for cell in plain]
    for cell, result in zip(plain, render_all(cases), strict=True):
        if isinstance(result, Rendered):
            assert len(as_objects(result)) == len(cell.objects), cell.name
        else:
            assert cell.plan.strategy == "tpu", (cell.name, result)


# --- 10. determinism ------------------------------------------------------------------------------


def test_the_same_values_give_the_same_bytes(grid, render_all):
    some = grid[::-4]
    again = render_all([cell.case for cell in some])
    for cell, result in zip(some, again, strict=True):
        assert isinstance(result, Rendered)
        assert result.manifest == cell.rendered.manifest, cell.name
        assert result.notes == cell.rendered.notes, cell.name


def test_the_notes_have_no_holes(grid):
    for cell in grid:
        assert "<no value>" not in cell.rendered.notes, cell.name
        assert "%!" not in cell.rendered.notes, cell.name
        assert f"helm uninstall -n default {cell.case.release}" in cell.rendered.notes
