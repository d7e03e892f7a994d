"""What can be turned on: each feature gives what it says, where it says, and nothing elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

CHART = Path(__file__).resolve().parents[2] / "charts" / "tf-cluster"
GPU = "nvidia.com/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OWN = {"code": {"source": "image"}, "command": ["/train"]}
RING = {"strategy": "multiWorkerMirrored"}
OLD = {"sample": {"program": "train_v1"}}
EVALUATED = {"evaluator": {"replicas": 1}}


def claims(objects: Any) -> dict[str, Any]:
    return {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each
        for each in objects.of("PersistentVolumeClaim")
    }


# --- where the program comes from -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "volume", "sub_path"),
    [
        ({"configMap": {"name": "mine"}}, {"configMap": {"name": "mine"}}, None),
        (
            {"claim": {"name": "c"}},
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            None,
        ),
        (
            {"claim": {"name": "c", "subPath": "a/b"}},
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            "a/b",
        ),
        ({"inline": {"a.py": "x"}}, {"configMap": {"name": "my-tf-cluster-code"}}, None),
        ({"git": {"repository": "https://a/b.git"}}, {"emptyDir": {}}, None),
    ],
    ids=["configMap", "claim", "part of a claim", "inline", "git"],
)
def test_the_program_is_at_one_place_in_every_role(render, code, volume, sub_path):
    source = next(iter(code))
    values = {**EVALUATED, "code": {**code, "source": source}, "command": ["/train"]}
    for path in ("/opt/trainyard/code", "/code"):
        values["code"] = {**code, "source": source, "mountPath": path}
        for pod in render(values).tasks():
            assert pod.volume("code") == volume
            mount = {"name": "code", "mountPath": path, "readOnly": True}
            assert pod.mount("code") == mount | ({"subPath": sub_path} if sub_path else {})


def test_files_that_are_written_in_the_values_come_out_as_they_were(render):
    files = {"train.py": "print('{{ .Values.x }}')\n\n\n  # é\t\n", "b": "", "c.txt": "1"}
    objects = render({"code": {"source": "inline", "inline": files}, "command": ["/train"]})
    assert objects.one("ConfigMap", "my-tf-cluster-code")["data"] == files


def test_a_repository_is_fetched_before_anything_else_and_its_secret_is_in_no_argument(render):
    git = {
        "repository": "https://git.example.org/t.git",
        "revision": "v1",
        "credentialsSecret": "login",
    }
    objects = render({"code": {"source": "git", "git": git}, "command": ["/train"], **EVALUATED})
    for pod in objects.tasks():
        first = pod.spec["initContainers"][0]
        assert first["name"] == "fetch-code"
        assert pod.mount("code", "fetch-code") == {"name": "code", "mountPath": "/code"}
        told = pod.env("fetch-code")
        assert (told["REPOSITORY"], told["REVISION"]) == (git["repository"], "v1")
        for variable, key in (("GIT_USERNAME", "username"), ("GIT_PASSWORD", "password")):
            assert told[variable] == {"secretKeyRef": {"name": "login", "key": key}}
            assert variable not in pod.env()
        assert "v1" not in "".join(first["command"])
        assert pod.containers.index(first) < pod.containers.index(pod.container())


def test_what_a_clone_may_use_is_its_own_and_not_the_waiters(render):
    git = {"repository": "https://git.example.org/t.git"}
    usual = {"code": {"source": "git", "git": git}, "command": ["/train"]}
    pod = render({**usual, "waiter": {"resources": {"limits": {"memory": "9Gi"}}}}).pod("chief")
    limits = pod.container("fetch-code")["resources"]["limits"]
    assert limits == {"cpu": "1", "memory": "512Mi"}
    assert pod.container("await-peers")["resources"]["limits"]["memory"] == "9Gi"
    more = {"resources": {"limits": {"memory": "8Gi", "cpu": None}}}
    values: Any = {**usual, "code": {"source": "git", "git": {**git, **more}}}
    limits = render(values).pod("chief").container("fetch-code")["resources"]["limits"]
    assert limits == {"memory": "8Gi"}


def test_a_clone_has_variables_and_mounts_of_its_own(render):
    proxy = {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
    token = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    mount = {"name": "ca", "mountPath": "/ca", "readOnly": True}
    git: Any = {
        "repository": "https://git.example.org/t.git",
        "env": [proxy, token, {"name": "HOME", "value": "/h"}],
        "extraVolumeMounts": [mount],
    }
    values: Any = {"extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}]}
    for pod in render({"code": {"source": "git", "git": git}, "command": ["/t"], **values}).tasks():
        told = pod.env("fetch-code")
        assert told["HTTPS_PROXY"] == "http://proxy:3128"
        assert told["A"] == token["valueFrom"]
        assert (told["HOME"], told["GIT_TERMINAL_PROMPT"]) == ("/h", "0")
        assert "HTTPS_PROXY" not in pod.env()
        assert pod.mount("ca", "fetch-code") == mount
        assert pod.mount("ca") is None


def test_a_public_repository_needs_no_secret(render):
    git = {"repository": "https://git.example.org/t.git"}
    told = render({"code": {"source": "git", "git": git}, "command": ["/t"]}).pod("ps")
    assert told.env("fetch-code")["REVISION"] == "HEAD"
    assert "GIT_PASSWORD" not in told.env("fetch-code")


def test_the_test_of_a_program_of_ones_own_has_no_use_for_its_code(render):
    pod = render(OWN).pod("test")
    assert pod.volume("code") is None
    assert "--min-accuracy" not in "".join(pod.container("check")["args"])


# --- volumes --------------------------------------------------------------------------------------

NFS = {"server": "nfs.example.org", "path": "/exports"}
CSI = {"driver": "example.csi.k8s.io", "volumeAttributes": {"share": "team"}}
HOST = {"path": "/data", "type": "Directory"}


@pytest.mark.parametrize("name", ["checkpoints", "logs", "models", "data"])
@pytest.mark.parametrize(
    ("given", "source"),
    [
        ({"nfs": NFS}, {"nfs": NFS}),
        ({"csi": CSI}, {"csi": CSI}),
        ({"hostPath": HOST}, {"hostPath": HOST}),
        ({"existingClaim": "c"}, {"persistentVolumeClaim": {"claimName": "c"}}),
    ],
    ids=["nfs", "csi", "hostPath", "claim"],
)
def test_a_volume_may_be_many_things_and_then_no_claim_is_made(render, name, given, source):
    objects = render({"volumes": {name: {"enabled": True, **given}}})
    found = objects.pod("chief").volume(name)
    if name == "data":
        (content,) = found.values()
        # A folder of the node has no word for it; the mount says so.
        assert content.pop("readOnly", False) is ("hostPath" not in given)
        assert objects.pod("chief").mount("data")["readOnly"] is True
    assert found == source
    assert name not in claims(objects)


@pytest.mark.parametrize("kind", ["csi", "hostPath"])
def test_that_a_volume_is_shared_is_told_to_the_chart_alone(render, kind):
    given: Any = {"csi": CSI, "hostPath": HOST}[kind]
    objects = render({**RING, "volumes": {"checkpoints": {kind: {**given, "shared": True}}}})
    assert objects.pod("worker").volume("checkpoints") == {kind: given}


PARTS = {name: f"team/{name}" for name in ("checkpoints", "logs", "models", "data")}
MARKER = {"waiter": {"method": "marker"}}


@pytest.mark.parametrize("values", [EVALUATED, {**MARKER, **EVALUATED}, {**RING, **MARKER}])
def test_every_container_sees_the_same_folder_of_a_volume(render, values):
    volumes: Any = {name: {"subPath": part} for name, part in PARTS.items()}
    volumes["data"] |= {"enabled": True, "existingClaim": "c"}
    seen = set()
    for pod in render({**values, "volumes": volumes}).pods():
        for container in pod.containers:
            for mount in container.get("volumeMounts", []):
                if mount["name"] in PARTS:
                    assert mount["subPath"] == PARTS[mount["name"]]
                    seen.add((pod.role, container["name"], mount["name"]))
    lead = "worker" if "strategy" in values else "chief"
    assert {(lead, "tensorflow", name) for name in PARTS} <= seen
    assert {("test", "check", name) for name in ("models", "data")} <= seen
    for role in ("chief", "worker", "ps", "evaluator", "test"):
        if any(each[0] == role for each in seen) and role != lead and "waiter" in values:
            container = "check" if role == "test" else "await-end"
            assert (role, container, "checkpoints") in seen


@pytest.mark.parametrize("with_code", [True, False], ids=["with the program", "without"])
@pytest.mark.parametrize("names", [list(PARTS), ["data"], ["models", "logs"]], ids=str)
def test_what_lies_in_one_claim_is_one_volume_of_a_pod(render, names, with_code):
    """A pod with two volumes of one claim never starts."""
    volumes: Any = {name: {"existingClaim": "team", "subPath": PARTS[name]} for name in names}
    volumes.setdefault("data", {"existingClaim": "other"})["enabled"] = True
    code: Any = {"source": "claim", "claim": {"name": "team", "subPath": "team/code"}}
    own: Any = {"code": code, "command": ["/train"]} if with_code else {}
    for pod in render({**EVALUATED, **MARKER, **own, "volumes": volumes}).pods():
        claims_of = [
            each["persistentVolumeClaim"]
            for each in pod.spec["volumes"]
            if "persistentVolumeClaim" in each
        ]
        named = [each["claimName"] for each in claims_of]
        assert len(named) == len(set(named))
        known = {each["name"] for each in pod.spec["volumes"]}
        for container in pod.containers:
            for mount in container.get("volumeMounts", []):
                assert mount["name"] in known
                if mount.get("subPath") in (PARTS["data"], "team/code"):
                    assert mount["readOnly"] is True
        for each in claims_of:
            if each["claimName"] == "team":
                # What somebody of the pod writes to is mounted for writing.
                assert each.get("readOnly", False) is (names == ["data"])


def test_volumes_of_one_claim_are_where_they_are_said_to_be(render):
    volumes: Any = {name: {"existingClaim": "team", "subPath": PARTS[name]} for name in PARTS}
    volumes["data"]["enabled"] = True
    pod = render({"volumes": volumes}).pod("chief")
    assert pod.volume("checkpoints") == {"persistentVolumeClaim": {"claimName": "team"}}
    found = {
        mount["mountPath"]: mount["subPath"]
        for mount in pod.container()["volumeMounts"]
        if mount["name"] == "checkpoints"
    }
    assert found == {f"/mnt/{name}": part for name, part in PARTS.items()}


def test_whom_a_volume_belongs_to_can_be_said(render):
    roles = {"checkpoints": ["ps", "chief"], "logs": ["worker"], "models": []}
    objects = render({**OWN, "volumes": {name: {"roles": of} for name, of in roles.items()}})
    for name, of in roles.items():
        having = {pod.role for pod in objects.tasks() if pod.mount(name)}
        assert having == set(of)
    # What nobody mounts is not made, and servers may become many.
    assert set(claims(objects)) == {"checkpoints", "logs"}
    for name in ("checkpoints", "logs"):
        assert claims(objects)[name]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_the_sample_is_refused_a_volume_that_its_deciding_task_has_not(render, refuse):
    for name in ("checkpoints", "logs", "models"):
        for values, lead in (({}, "chief"), (RING, "worker"), ({"strategy": "mirrored"}, "chief")):
            message = refuse({**values, "volumes": {name: {"roles": ["evaluator"]}}})
            assert (
                f'volumes.{name}.roles: the sample\'s {lead} writes there; add "{lead}"' in message
            )
        assert render({**OWN, "volumes": {name: {"roles": ["evaluator"]}}})
        assert render({"mode": "session", "volumes": {name: {"roles": ["ps"]}}})


@pytest.mark.parametrize(
    ("values", "mounting"),
    [
        ({}, {"chief"}),
        (EVALUATED, {"chief", "evaluator"}),
        (RING, {"worker"}),
        ({**RING, **EVALUATED}, {"worker", "evaluator"}),
        ({"strategy": "mirrored"}, {"chief"}),
        ({"mode": "session"}, set()),
    ],
    ids=["chief", "evaluator", "ring", "ring with evaluator", "mirrored", "session"],
)
def test_checkpoints_belong_to_those_whose_result_counts(render, values, mounting):
    objects = render(values)
    assert {pod.role for pod in objects.tasks() if pod.mount("checkpoints")} == mounting
    assert ("checkpoints" in claims(objects)) is bool(mounting)


def test_a_single_worker_that_may_become_many_has_a_volume_for_many(render):
    objects = render({**RING, "worker": {"replicas": 1}})
    assert claims(objects)["models"]["spec"]["accessModes"] == ["ReadWriteMany"]


@pytest.mark.parametrize("values", [OWN, {"mode": "session"}], ids=["job", "session"])
@pytest.mark.parametrize("role", ["worker", "ps"])
def test_scaling_a_role_that_has_a_volume_asks_for_no_other_claim(render, values, role):
    """What a claim was made for can never change."""
    made = [
        claims(
            render({**values, role: {"replicas": number}, "volumes": {"logs": {"roles": [role]}}})
        )["logs"]
        for number in (1, 2)
    ]
    assert made[0] == made[1]


# --- accelerators ---------------------------------------------------------------------------------


def test_an_accelerator_may_have_any_name(render):
    mig = "nvidia.com/mig-1g.5gb"
    objects = render(
        {"gpu": {"resource": mig}, "worker": {"gpu": {"count": 2}}, "chief": {"gpu": {"count": 0}}}
    )
    worker = objects.pod("worker")
    for kind in ("limits", "requests"):
        assert worker.container()["resources"][kind][mig] == 2
        assert worker.container()["resources"][kind].keys() == {"cpu", "memory", mig}
    # Nodes whose GPUs are in parts have the taint of whole ones.
    assert worker.spec["tolerations"] == [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in (mig, GPU)
    ]
    assert "tolerations" not in objects.pod("chief").spec


@pytest.mark.parametrize("resource", [GPU, "amd.com/gpu", "nvidia.community.org/gpu"])
def test_an_accelerator_that_is_no_part_has_the_one_taint_of_its_name(render, resource):
    values = {"gpu": {"resource": resource}, "worker": {"gpu": {"count": 1}}}
    tolerated = render(values).pod("worker").spec["tolerations"]
    assert [each["key"] for each in tolerated] == [resource]


def test_a_taint_that_the_user_tolerates_is_tolerated_once(render):
    own = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    values = {"gpu": {"resource": "nvidia.com/gpu.shared"}, "worker": {"gpu": {"count": 1}}}
    spec = render({**values, "tolerations": [own]}).pod("worker").spec
    assert [each["key"] for each in spec["tolerations"]] == [GPU, "nvidia.com/gpu.shared"]


def test_a_type_is_demanded_beside_what_the_user_demands(render):
    terms = [
        {"matchExpressions": [{"key": "room", "operator": "In", "values": [room]}]} for room in "12"
    ]
    weak = [{"weight": 1, "preference": {"matchExpressions": []}}]
    objects = render(
        {
            "affinity": {
                "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: weak},
                "podAntiAffinity": {PREFERRED: []},
            },
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "gpu": {"types": ["A100", "H100"], "typeLabel": "kind"},
            "worker": {"gpu": {"count": 1}},
            "chief": {"gpu": {"count": 1, "types": ["L4"]}},
        }
    )
    for role, types in (("worker", ["A100", "H100"]), ("chief", ["L4"])):
        spec = objects.pod(role).spec
        demand = {"key": "kind", "operator": "In", "values": types}
        found = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert found == [
            {"matchExpressions": [*term["matchExpressions"], demand]} for term in terms
        ]
        assert spec["affinity"]["nodeAffinity"][PREFERRED] == weak
        assert spec["affinity"]["podAntiAffinity"] == {PREFERRED: []}
        assert [each["key"] for each in spec["tolerations"]] == ["dedicated", "nvidia.com/gpu"]
    ps = objects.pod("ps").spec
    assert ps["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == terms
    assert [each["key"] for each in ps["tolerations"]] == ["dedicated"]


def test_an_empty_list_of_types_takes_any_in_one_role(render):
    objects = render({"gpu": {"types": ["A100"]}, "worker": {"gpu": {"count": 1, "types": []}}})
    assert "affinity" not in objects.pod("worker").spec


def test_a_role_with_gpus_has_their_runtime_and_shared_memory(render):
    objects = render(
        {
            "gpu": {"runtimeClassName": "nvidia"},
            "worker": {"gpu": {"count": 1}},
            "sharedMemory": {"size": "8Gi"},
            "resources": {"limits": {"memory": "16Gi"}},
        }
    )
    memory = {"emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    for role, has in (("worker", True), ("chief", False), ("ps", False)):
        pod = objects.pod(role)
        assert pod.spec.get("runtimeClassName") == ("nvidia" if has else None)
        assert pod.volume("shared-memory") == (memory if has else None)
        assert pod.mount("shared-memory") == (
            {"name": "shared-memory", "mountPath": "/dev/shm"} if has else None
        )


@pytest.mark.parametrize(("wanted", "number"), [(True, 3), (False, 0)])
def test_shared_memory_is_for_all_or_none_when_it_is_said(render, wanted, number):
    values = {"sharedMemory": {"enabled": wanted}, "worker": {"gpu": {"count": 1}}}
    assert len([p for p in render(values).tasks() if p.volume("shared-memory")]) == number


@pytest.mark.parametrize(
    ("limit", "hidden"),
    [
        ("nvidia.com/gpu", False),
        ("nvidia.com/mig-1g.5gb", False),
        ("example.com/fpga", True),
        ("cpu", True),
    ],
)
@pytest.mark.parametrize("place", ["for all", "of a role"])
def test_gpus_are_hidden_where_the_resources_have_none(render, limit, hidden, place):
    resources = {"resources": {"limits": {limit: 1}}}
    values: Any = resources if place == "for all" else {"worker": resources}
    objects = render({**values, "gpu": {"resource": "example.com/gpu"}})
    for pod in objects.tasks():
        here = place == "for all" or pod.role == "worker"
        told = pod.env().get("NVIDIA_VISIBLE_DEVICES")
        assert told == (None if here and not hidden else "void"), pod.role


def test_gpus_that_are_given_by_number_or_not_to_be_hidden_are_not_hidden(render):
    seen = render({"chief": {"gpu": {"count": 1}}})
    assert "NVIDIA_VISIBLE_DEVICES" not in seen.pod("chief").env()
    assert seen.pod("ps").env()["NVIDIA_VISIBLE_DEVICES"] == "void"
    for pod in render({"gpu": {"hide": False}}).tasks():
        assert "NVIDIA_VISIBLE_DEVICES" not in pod.env()


@pytest.mark.parametrize("number", [0, "0", ""])
def test_a_limit_of_no_gpu_is_none(render, number):
    values = {"worker": {"resources": {"limits": {"nvidia.com/gpu": number}}}}
    assert render(values).pod("worker").env()["NVIDIA_VISIBLE_DEVICES"] == "void"


# --- helm test ------------------------------------------------------------------------------------


def test_helm_test_has_the_common_resources_and_its_own_and_no_gpu(render):
    values = {
        "strategy": "mirrored",
        "chief": {"gpu": {"count": 8}, "resources": {"limits": {"memory": "900Gi", "cpu": 96}}},
        "resources": {"limits": {"cpu": 3}},
        "test": {"resources": {"limits": {"memory": "5Gi"}, "requests": {"cpu": "250m"}}},
    }
    check = render(values).pod("test").container("check")
    assert check["resources"]["limits"] == {"cpu": 3, "memory": "5Gi"}
    assert check["resources"]["requests"]["cpu"] == "250m"
    told = {each["name"]: each["value"] for each in check["env"]}
    assert told["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_helm_test_has_no_gpu_where_all_tasks_have_one(render):
    """It would wait for one that the training has."""
    objects = render({role: {"gpu": {"count": 1}} for role in ("chief", "worker", "ps")})
    assert objects.pod("chief").container()["resources"]["limits"]["nvidia.com/gpu"] == 1
    assert "nvidia.com/gpu" not in json.dumps(objects.pod("test").container("check")["resources"])


@pytest.mark.parametrize(
    ("values", "role"),
    [({}, "chief"), (RING, "worker"), ({"mode": "session"}, "worker")],
    ids=["chief", "ring", "session"],
)
def test_helm_test_may_run_where_the_deciding_task_may(render, values, role):
    taint = {"key": "dedicated", "operator": "Exists"}
    nodes: Any = {"nodeAffinity": {PREFERRED: []}}
    place = {"tolerations": [taint], "affinity": nodes, "nodeSelector": {"pool": role}}
    objects = render({**values, role: place})
    test = objects.pod("test").spec
    for key in ("tolerations", "nodeSelector"):
        assert test[key] == objects.pod(role).spec[key]
    assert test["affinity"]["nodeAffinity"] == nodes["nodeAffinity"]
    # Its volumes may be such as one node at a time can mount; without a judge it has none of them.
    assert ("podAffinity" in test["affinity"]) is (values.get("mode") != "session")


JUDGE = "/opt/trainyard/mnist/predict.py"


@pytest.mark.parametrize(
    ("values", "judged"),
    [
        ({}, True),
        (RING, True),
        ({"strategy": "mirrored"}, True),
        ({"ps": {"args": ["--mine"]}, "worker": {"command": ["/mine"]}}, True),
        ({"command": ["/mine"]}, False),
        ({"args": ["--mine"]}, False),
        ({"args": []}, False),
        ({"chief": {"args": ["--mine"]}}, False),
        ({**RING, "worker": {"command": ["/mine"]}}, False),
        (OWN, False),
        ({"mode": "session"}, False),
        ({"volumes": {"models": {"enabled": False}}}, False),
    ],
    ids=lambda it: json.dumps(it)[:50],
)
def test_a_model_is_judged_where_the_sample_has_made_it_and_can_be_seen(render, values, judged):
    waiter = {"waiter": {"image": {"repository": "library/python", "tag": "3.13"}}}
    pod = render({**values, **waiter}).pod("test")
    check = pod.container("check")
    assert (JUDGE in check["args"]) is judged
    assert bool(pod.mount("models", "check")) is bool(pod.mount("code", "check")) is judged
    # To judge takes TensorFlow; to look takes Python alone.
    assert ("library/python" in check["image"]) is not judged


def test_a_task_without_a_port_is_not_dialled_by_helm_test(render):
    for values, alone in (({"strategy": "mirrored"}, True), ({}, False), (RING, False)):
        args = render(values).pod("test").container("check")["args"]
        assert ("--no-ports" in args) is alone
        assert not alone or args.index("--no-ports") < args.index("--")


# --- TPUs -----------------------------------------------------------------------------------------


def test_an_evaluator_is_no_host_of_a_slice(render):
    values = {
        **OWN,
        **EVALUATED,
        "strategy": "tpu",
        "tpu": {"accelerator": "tpu-v5-lite-podslice", "topology": "4x4"},
        "worker": {"replicas": 4},
    }
    objects = render(values)
    told = {pod.role: {name for name in pod.env() if "TPU" in name} for pod in objects.tasks()}
    assert told == {"worker": {"TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"}, "evaluator": set()}
    evaluator = json.dumps(objects.pod("evaluator").spec)
    assert "google.com/tpu" not in evaluator
    assert "gke-tpu" not in evaluator


def test_a_tpu_slice_has_its_nodes_chips_and_hosts_in_order(render):
    values = {
        **OWN,
        "strategy": "tpu",
        "tpu": {"accelerator": "tpu-v5-lite-podslice", "topology": "4x8", "chips": 8},
        "worker": {"replicas": 4, "nodeSelector": {"pool": "t"}},
    }
    objects = render(values)
    (pod,) = objects.tasks()
    assert pod.spec["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "4x8",
        "pool": "t",
    }
    for kind in ("limits", "requests"):
        assert pod.container()["resources"][kind]["google.com/tpu"] == 8
    hosts = [f"{pod.address(index)}.cluster.local" for index in range(4)]
    for index in range(4):
        told = objects.variables(pod, index)
        assert told["TPU_WORKER_ID"] == str(index)
        assert told["TPU_WORKER_HOSTNAMES"].split(",") == hosts
    assert objects.told()["hosts"] == ",".join(hosts)
    # Whoever asks for none is kept off such nodes, by a taint of the cloud's.
    test = json.dumps(objects.pod("test").spec)
    assert "google.com/tpu" not in test
    assert "gke-tpu" not in test


@pytest.mark.parametrize(
    ("topology", "chips", "hosts"), [("2x2", 4, 1), ("2x2", 1, 4), ("2x2x4", 4, 4), ("4x4", 8, 2)]
)
def test_a_slice_has_as_many_hosts_as_its_topology_says(render, refuse, topology, chips, hosts):
    values: dict[str, Any] = {
        **OWN,
        "strategy": "tpu",
        "tpu": {"accelerator": "a", "topology": topology, "chips": chips},
        "worker": {"replicas": hosts},
    }
    assert render(values).pod("worker").replicas == hosts
    values["worker"] = {"replicas": hosts + 1}
    assert f"set worker.replicas to {hosts}" in refuse(values)


# --- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
def test_spread_keeps_tasks_of_a_role_apart(render, key):
    for pod in render({"topology": {"policy": "spread", "key": key}, **EVALUATED}).tasks():
        (rule,) = pod.spec["topologySpreadConstraints"]
        assert (rule["topologyKey"], rule["whenUnsatisfiable"]) == (key, "ScheduleAnyway")
        mine = rule["labelSelector"]["matchLabels"]
        assert mine["app.kubernetes.io/component"] == pod.role
        assert mine.items() <= pod.labels.items()
        assert "affinity" not in pod.spec


def test_pack_brings_all_tasks_together_as_a_wish(render):
    objects = render({"topology": {"policy": "pack", "key": "zone"}})
    for pod in objects.tasks():
        (wish,) = pod.spec["affinity"]["podAffinity"][PREFERRED]
        assert wish["weight"] == 100
        assert wish["podAffinityTerm"]["topologyKey"] == "zone"
        together = wish["podAffinityTerm"]["labelSelector"]["matchLabels"]
        assert all(together.items() <= each.labels.items() for each in objects.tasks())
        assert "topologySpreadConstraints" not in pod.spec


def test_what_a_user_says_of_places_goes_before(render):
    spread = [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]
    objects = render(
        {"topology": {"policy": "spread"}, "worker": {"topologySpreadConstraints": spread}}
    )
    assert objects.pod("worker").spec["topologySpreadConstraints"] == spread
    assert objects.pod("ps").spec["topologySpreadConstraints"] != spread
    mine: Any = {"podAffinity": {PREFERRED: []}, "nodeAffinity": {PREFERRED: []}}
    other: Any = {"nodeAffinity": {PREFERRED: []}}
    objects = render(
        {"topology": {"policy": "pack"}, "worker": {"affinity": mine}, "ps": {"affinity": other}}
    )
    assert objects.pod("worker").spec["affinity"] == mine
    assert objects.pod("ps").spec["affinity"].keys() == {"podAffinity", "nodeAffinity"}


def test_on_the_nodes_network_a_users_terms_stay_and_earlier_pods_are_not_looked_for(render):
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "noisy"}}}
    values = {
        "hostNetwork": True,
        "worker": {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}},
        "chief": {"port": 3000},
        "ps": {"port": 3001},
    }
    objects = render(values)
    terms = objects.pod("worker").spec["affinity"]["podAntiAffinity"][REQUIRED]
    assert terms[0] == term
    assert len(terms) == 2
    args = objects.pod("chief").container("await-peers")["args"]
    assert not [each for each in args if each.startswith("--service=")]
    usual = render().pod("chief").container("await-peers")["args"]
    assert "--service=my-tf-cluster.default.svc.cluster.local" in usual


# --- the marker -----------------------------------------------------------------------------------


def test_the_deciding_program_leaves_a_marker_and_nobody_needs_a_right(render):
    objects = render(
        {
            "waiter": {"method": "marker"},
            "args": ["--epochs=1"],
            "runPolicy": {"exitCodes": {"permanent": [9, 2]}},
            "volumes": {"checkpoints": {"mountPath": "/ck/"}},
        }
    )
    chief = objects.pod("chief")
    assert chief.container()["command"] == [
        "python3",
        "-u",
        "/opt/trainyard/bin/mark_end.py",
        "--marker=/ck/.trainyard/$(TRAINYARD_JOB)-$(TASK_INDEX)",
        "--permanent",
        "2",
        "9",
        "--",
        "python3",
        "-u",
        "/opt/trainyard/mnist/train.py",
    ]
    assert all(isinstance(each, str) for each in chief.container()["command"])
    assert chief.container()["args"] == ["--epochs=1"]
    job_name = "metadata.labels['batch.kubernetes.io/job-name']"
    assert chief.env()["TRAINYARD_JOB"]["fieldRef"]["fieldPath"] == job_name
    assert chief.mount("programs")["mountPath"] == "/opt/trainyard/bin"
    assert not objects.of("Role") + objects.of("RoleBinding")
    assert not [pod.role for pod in objects.pods() if pod.volume("api-access")]


def test_whoever_waits_sees_the_marker_and_knows_when_to_give_up(render):
    values = {"waiter": {"method": "marker"}, "runPolicy": {"startDeadlineSeconds": 1000}}
    objects = render({**values, **EVALUATED})
    for role in ("worker", "ps", "evaluator"):
        pod = objects.pod(role)
        args = pod.container("await-end")["args"]
        assert "--marker-folder=/mnt/checkpoints/.trainyard" in args
        assert "--silence-seconds=1600" in args
        assert pod.mount("checkpoints", "await-end")["readOnly"] is True
        assert bool(pod.mount("checkpoints")) is (role == "evaluator")
    test = objects.pod("test")
    assert "--marker-folder=/mnt/checkpoints/.trainyard" in test.container("check")["args"]
    assert test.mount("checkpoints", "check")["readOnly"] is True


@pytest.mark.parametrize(
    ("values", "silence"),
    [
        ({}, 1200),
        ({"runPolicy": {"startDeadlineSeconds": 60}}, 660),
        ({"waiter": {"silenceSeconds": None}}, 1200),
        ({"waiter": {"silenceSeconds": 7200}, "runPolicy": {"startDeadlineSeconds": 60}}, 7200),
        ({"waiter": {"silenceSeconds": 7200}, "runPolicy": {"startDeadlineSeconds": 0}}, 7200),
    ],
    ids=["usual", "a short deadline", "null", "as it was said", "said for any start"],
)
def test_how_long_a_silent_task_is_waited_for_can_be_said(render, values, silence):
    for method in ("marker", "api"):
        waiter = {**values.get("waiter", {}), "method": method}
        args = render({**values, "waiter": waiter}).pod("ps").container("await-end")["args"]
        assert f"--silence-seconds={silence}" in args
        assert "--no-ports" not in args


def test_silence_tells_nothing_where_a_start_may_last_for_ever(render):
    values = {"runPolicy": {"startDeadlineSeconds": 0}}
    args = render(values).pod("ps").container("await-end")["args"]
    assert "--silence-seconds=0" in args


def test_an_evaluator_looks_for_the_name_of_a_task_without_a_port(render):
    values = {"strategy": "mirrored", **EVALUATED}
    args = render(values).pod("evaluator").container("await-end")["args"]
    assert {"--no-ports", "--silence-seconds=1200"} <= set(args)


def test_the_first_of_several_workers_leaves_a_marker_and_so_do_all_of_a_ring(render):
    for values in ({**OLD, "success": {"role": "worker0"}}, RING):
        objects = render({**values, "waiter": {"method": "marker"}})
        worker = objects.pod("worker")
        # Names of Jobs are told by the kubelet, and indices tell the workers apart.
        (marker,) = [each for each in worker.container()["command"] if each.startswith("--marker=")]
        assert marker.endswith("/$(TRAINYARD_JOB)-$(TASK_INDEX)")
        names = [each["name"] for each in worker.container()["env"]]
        assert {"TRAINYARD_JOB", "TASK_INDEX"} <= set(names)


def test_by_the_api_no_program_runs_below_a_wrapper(render):
    for pod in render(OWN).tasks():
        assert pod.container()["command"] == ["/train"]
        assert "TRAINYARD_JOB" not in pod.env()


# --- how it ends ----------------------------------------------------------------------------------


def rules(objects: Any, role: str) -> Any:
    return objects.job(role)["spec"]["podFailurePolicy"]["rules"]


def test_exit_codes_with_a_meaning_come_in_order(render):
    codes = {"permanent": [64, 2, 9, 10], "retryable": [143, 75, 137]}
    fail, disrupted, again = rules(render({"runPolicy": {"exitCodes": codes}}), "chief")
    assert (fail["action"], fail["onExitCodes"]["values"]) == ("FailJob", [2, 9, 10, 64])
    assert disrupted["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert (again["action"], again["onExitCodes"]["values"]) == ("Ignore", [75, 137, 143])
    assert fail["onExitCodes"]["containerName"] == "tensorflow"


def test_exit_codes_without_a_meaning_leave_one_rule(render):
    nothing: Any = {"runPolicy": {"exitCodes": {"permanent": [], "retryable": []}}}
    (only,) = rules(render(nothing), "chief")
    assert only["action"] == "Ignore"
    assert "onPodConditions" in only


def test_the_users_exit_codes_speak_of_the_deciding_program_alone(render):
    objects = render({"runPolicy": {"exitCodes": {"permanent": [9]}}, **EVALUATED})
    for role in ("worker", "ps", "evaluator"):
        fail, ignore = rules(objects, role)
        assert fail["onExitCodes"] == {
            "containerName": "await-end",
            "operator": "In",
            "values": [3],
        }
        assert "onPodConditions" in ignore


@pytest.mark.parametrize(
    ("values", "lead", "policy"),
    [
        ({}, "chief", None),
        ({"success": {"role": "chief"}}, "chief", None),
        ({**OLD, "success": {"role": "worker0"}}, "worker", "0"),
        ({**OLD, "success": {"role": "allWorkers"}}, "worker", None),
        (RING, "worker", None),
        ({**RING, "success": {"role": "worker0"}}, "worker", "0"),
        ({"strategy": "mirrored"}, "chief", None),
    ],
    ids=["default", "chief", "worker 0", "all workers", "ring", "ring's worker 0", "mirrored"],
)
def test_whose_end_is_the_end(render, values, lead, policy):
    objects = render({**values, **({} if "sample" in values else EVALUATED)})
    assert objects.lead() == lead
    for found in objects.of("Job"):
        rule = found["spec"].get("successPolicy")
        mine = found["metadata"]["labels"]["app.kubernetes.io/component"] == lead
        wanted = {"rules": [{"succeededIndexes": policy}]} if mine and policy else None
        assert rule == wanted
    waiting = {pod.role for pod in objects.tasks() if pod.has("await-end")}
    assert waiting == objects.roles() - {lead}
    peers = {pod.role for pod in objects.tasks() if pod.has("await-peers")}
    assert peers == {lead}


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_chief_is_started_again_as_often_as_it_was_said(render, limit):
    for values in ({}, {"strategy": "mirrored"}):
        spec = render({**values, "runPolicy": {"backoffLimit": limit}}).job("chief")["spec"]
        assert spec["backoffLimit"] == limit
        assert "backoffLimitPerIndex" not in spec


@pytest.mark.parametrize("limit", [0, 1, 3])
@pytest.mark.parametrize("workers", [1, 5])
def test_each_of_several_deciding_tasks_is_started_again_as_often(render, workers, limit):
    """One failure brings them all down, so a limit for all together would be used up at once."""
    values = {"worker": {"replicas": workers}, "runPolicy": {"backoffLimit": limit}}
    for plan in (RING, {**OLD, "success": {"role": "allWorkers"}}):
        objects = render({**values, **plan})
        spec = objects.job("worker")["spec"]
        assert spec["completions"] == workers
        assert spec["backoffLimitPerIndex"] == limit
        assert spec["maxFailedIndexes"] == 0
        assert "backoffLimit" not in spec


def test_servers_put_up_with_any_number_of_lost_pods(render):
    objects = render({**EVALUATED, "runPolicy": {"backoffLimit": 0}})
    for role in ("worker", "ps", "evaluator"):
        assert objects.job(role)["spec"]["backoffLimit"] == 1000


@pytest.mark.parametrize(
    ("policy", "ttl", "kept"),
    [
        ("Running", None, (None, None)),
        ("Running", 60, (300, 60)),
        ("All", None, (None, 0)),
        ("All", 60, (300, 0)),
        ("All", 3600, (3600, 0)),
        ("None", None, (None, None)),
    ],
)
@pytest.mark.parametrize(
    "plan", [EVALUATED, {**OLD, "success": {"role": "allWorkers"}}], ids=["chief", "all workers"]
)
def test_what_is_left_when_it_has_ended(render, plan, policy, ttl, kept):
    """The result stays, and with it a `helm upgrade` that changes nothing trains no second time."""
    run_policy = {"cleanPodPolicy": policy, "ttlSecondsAfterFinished": ttl}
    objects = render({"runPolicy": run_policy, **plan})
    deciding = "worker" if "success" in plan else "chief"
    after = "stay" if policy == "None" else "stop"
    assert deciding in objects.roles()
    for role in objects.roles():
        seconds = objects.job(role)["spec"].get("ttlSecondsAfterFinished")
        assert seconds == kept[role != deciding]
        if role != deciding:
            assert f"--after-end={after}" in objects.pod(role).container("await-end")["args"]


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ({}, {"chief": 30, "worker": 5, "ps": 5, "evaluator": 60}),
        (RING, {"worker": 30, "evaluator": 60}),
        ({"worker": {"terminationGracePeriodSeconds": 0}, **RING}, {"worker": 0, "evaluator": 60}),
    ],
    ids=["chief", "ring", "as it was said"],
)
def test_who_decides_has_time_for_a_last_checkpoint(render, values, seconds):
    grace = {
        pod.role: pod.spec["terminationGracePeriodSeconds"]
        for pod in render({**values, **EVALUATED}).tasks()
    }
    assert grace == seconds


def test_a_release_on_hold_is_the_same_run_later(render):
    on_hold, going = (render({"runPolicy": {"suspend": held}}) for held in (True, False))
    assert all(job["spec"].pop("suspend") is True for job in on_hold.of("Job"))
    assert on_hold == going


def test_the_deadline_for_peers_is_for_those_who_decide(render):
    objects = render({**RING, "runPolicy": {"startDeadlineSeconds": 60}, **EVALUATED})
    waiting = objects.pod("worker").container("await-peers")
    assert "--deadline=60" in waiting["args"]
    assert "--role=worker" in waiting["args"]
    assert objects.variables(objects.pod("worker"), 1, "await-peers")["TASK_INDEX"] == "1"
    assert not objects.pod("evaluator").has("await-peers")


def test_a_session_has_servers_that_are_ready_when_they_answer(render):
    objects = render({"mode": "session", "worker": {"replicas": 3}, "ps": {"replicas": 2}})
    assert {pod.role: pod.replicas for pod in objects.tasks()} == {"worker": 3, "ps": 2}
    for pod in objects.tasks():
        assert [each["name"] for each in pod.containers] == ["tensorflow"]
        assert pod.container()["readinessProbe"]["tcpSocket"] == {"port": "grpc"}
        assert pod.owner["spec"]["podManagementPolicy"] == "Parallel"
        assert "subdomain" not in pod.spec
    assert set(objects.told()) == {"cluster"}


# --- network --------------------------------------------------------------------------------------


def policy(objects: Any) -> Any:
    (found,) = objects.of("NetworkPolicy")
    return found["spec"]


CLIENT = {"podSelector": {"matchLabels": {"trainyard/client": "my"}}}
RELEASE = {
    "podSelector": {
        "matchLabels": {
            "app.kubernetes.io/name": "tf-cluster",
            "app.kubernetes.io/instance": "my",
        }
    }
}


def test_only_the_release_and_its_clients_come_in(render):
    spec = policy(render())
    assert spec["podSelector"] == RELEASE["podSelector"]
    assert spec["policyTypes"] == ["Ingress"]
    own, clients = spec["ingress"]
    assert own == {"from": [RELEASE]}
    assert clients == {"from": [CLIENT], "ports": [{"port": 2222, "protocol": "TCP"}]}
    assert "egress" not in spec


def test_others_come_in_where_they_are_named(render):
    jupyter = {"podSelector": {"matchLabels": {"app": "jupyter"}}}
    metrics = {"ports": [{"port": 9090}], "from": [{"namespaceSelector": {}}]}
    spec = policy(render({"networkPolicy": {"from": [jupyter], "ingress": [metrics]}}))
    assert spec["ingress"][1]["from"] == [CLIENT, jupyter]
    assert spec["ingress"][2] == metrics


def test_ways_out_are_names_the_api_server_and_what_is_given(render):
    data = {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 443}]}
    egress = {"restricted": True, "apiServerPorts": [6443], "to": [data]}
    spec = policy(render({"networkPolicy": {"egress": egress}}))
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    tasks, names, api, more = spec["egress"]
    assert tasks == {"to": [RELEASE, CLIENT]}
    # Behind the Service the DNS pods of OpenShift listen on 5353.
    assert {(each["port"], each["protocol"]) for each in names["ports"]} == {
        (port, protocol) for port in (53, 5353) for protocol in ("UDP", "TCP")
    }
    assert api == {"ports": [{"port": 6443, "protocol": "TCP"}]}
    assert more == data


def test_who_may_come_in_may_be_answered(render):
    """A session's client is dialled by the servers, too."""
    jupyter = {"podSelector": {"matchLabels": {"app": "jupyter"}}}
    values = {"from": [jupyter], "egress": {"restricted": True}}
    spec = policy(render({"networkPolicy": values, "sample": {"dataset": "digits"}}))
    assert spec["egress"][0] == {"to": [RELEASE, CLIENT, jupyter]}


def test_no_policy_where_none_is_wanted(render):
    assert not render({"networkPolicy": {"enabled": False}}).of("NetworkPolicy")


def test_a_service_of_two_families(render):
    values = {"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"]}
    (service,) = render({"service": values}).of("Service")
    assert service["spec"]["ipFamilyPolicy"] == "RequireDualStack"
    assert service["spec"]["ipFamilies"] == ["IPv6", "IPv4"]
    (usual,) = render().of("Service")
    assert not usual["spec"].keys() & {"ipFamilyPolicy", "ipFamilies"}


@pytest.mark.parametrize(
    ("families", "said", "policy"),
    [
        (["IPv6", "IPv4"], None, "PreferDualStack"),
        (["IPv4", "IPv6"], "RequireDualStack", "RequireDualStack"),
        (["IPv6"], None, None),
        (["IPv6"], "SingleStack", "SingleStack"),
        ([], "PreferDualStack", "PreferDualStack"),
    ],
)
def test_two_families_have_a_policy_for_two(render, families, said, policy):
    values = {"ipFamilies": families, "ipFamilyPolicy": said}
    (service,) = render({"service": values}).of("Service")
    assert service["spec"].get("ipFamilies", []) == families
    assert service["spec"].get("ipFamilyPolicy") == policy


def test_a_port_of_its_own_is_a_roles_everywhere(render):
    objects = render({"service": {"port": 3000}, "ps": {"port": 3001}})
    spec = objects.cluster()
    assert {role: hosts[0].rpartition(":")[2] for role, hosts in spec.items()} == {
        "chief": "3000",
        "worker": "3000",
        "ps": "3001",
    }
    for pod in objects.tasks():
        assert spec[pod.role][0].endswith(f":{pod.container()['ports'][0]['containerPort']}")


# --- messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.29.0", "1.30.9", "1.30.5-gke.100"])
def test_a_success_policy_is_for_newer_clusters(refuse, render, version):
    values = {**OLD, "success": {"role": "worker0"}}
    assert "of Kubernetes 1.31 or later" in refuse(values, kube_version=version)
    assert render(values, kube_version="1.31.0-eks-1").lead() == "worker"
    everybody = {**OLD, "success": {"role": "allWorkers"}}
    assert render(everybody, kube_version=version).lead() == "worker"


def test_each_file_of_refused_values_is_of_one_kind():
    files = sorted((CHART / "ci" / "refused").glob("*"))
    said = [file.read_text().splitlines()[1] for file in files]
    assert all(file.name.endswith("-values.yaml") for file in files)
    assert len(said) == len(set(said)) > 35
