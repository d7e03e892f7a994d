"""Faults that others have reported in public, each tried on this chart.

A test is named after the fault's id and tells it in a sentence, with the reports' numbers.
"""

# ruff: noqa: N802  # The faults' ids are written as they are in the list.

import base64
import gzip
import itertools
import json
import random
import string
from pathlib import Path
from typing import Any

import pytest

CHART = Path(__file__).resolve().parents[2] / "charts" / "tf-cluster"
FULL = {"ps": {"replicas": 2}, "worker": {"replicas": 3}, "evaluator": {"replicas": 1}}
SESSION = {"mode": "session"}
RING = {"strategy": "multiWorkerMirrored"}
OWN = {"code": {"source": "image"}, "command": ["/train"]}
KINDS = {
    "with a chief": FULL,
    "session": SESSION,
    "ring": RING | {"evaluator": {"replicas": 1}},
    "mirrored": {"strategy": "mirrored"},
}
PARTS = ("limits", "requests")
LONGEST = "a-release-of-fifty-three-characters-which-is-the-most"
SWITCH = "sidecar.istio.io/inject"
COMPONENT = "app.kubernetes.io/component"


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request):
    """The values of each kind of cluster."""
    return request.param


@pytest.fixture
def cluster(kind, render):
    """The objects of each kind of cluster."""
    return render(kind)


# --- cluster spec ---------------------------------------------------------------------------------


def test_B01_the_evaluator_is_in_nobodys_cluster_but_its_own(render):
    """A coordinator dials an evaluator that serves nobody, and hangs (tensorflow#46169,
    TonY#506, trainer#1139, trainer#1633).
    """
    objects = render(FULL)
    seen = [
        objects.tf_config(objects.pod(role), index)
        for role, number in (("chief", 1), ("worker", 3), ("ps", 2))
        for index in range(number)
    ]
    spec = seen[0]["cluster"]
    assert {role: len(hosts) for role, hosts in spec.items()} == {"chief": 1, "worker": 3, "ps": 2}
    assert all(each["cluster"] == spec for each in seen)
    evaluator = objects.pod("evaluator")
    alone = objects.tf_config(evaluator, 0)
    assert alone["task"] == {"type": "evaluator", "index": 0}
    assert list(alone["cluster"]) == ["evaluator"]
    assert [host.split(":")[0] for host in alone["cluster"]["evaluator"]] == [evaluator.host(0)]
    assert "trainyard/cluster-member" not in evaluator.labels


def test_B02_every_task_finds_itself_at_its_own_place_of_the_list(cluster):
    """A chief was given an empty cluster, and a parameter server an index that is not there
    (trainer#1763, trainer#1795).
    """
    for pod in cluster.tasks():
        if pod.role == "evaluator":
            continue
        for index in range(pod.replicas):
            told = cluster.variables(pod, index)
            mine = cluster.cluster()[told["TASK_TYPE"]][int(told["TASK_INDEX"])]
            port = pod.container()["ports"][0]["containerPort"]
            assert mine == f"{pod.address(index)}.cluster.local:{port}"


@pytest.mark.parametrize("workers", [1000, 2000])
def test_B03_no_environment_string_is_longer_than_linux_takes(render, refuse, workers):
    """A list of hosts in a variable ends with "argument list too long" before the program has begun
    (trainer#1112, volcano#5471, horovod#2533).
    """
    names: dict[str, Any] = {"name": "r" * 40, "namespace": "n" * 20}
    many = {"worker": {"replicas": workers}}
    message = refuse(OWN | many, **names)
    assert "TF_CONFIG" in message
    assert "131072" in message
    # The sample reads a file where a variable would not do.
    for objects in (render(many, **names), render(OWN | many | {"tfConfig": False}, **names)):
        for pod in objects.tasks():
            for name, value in objects.variables(pod, 0).items():
                assert len(name) + len(value) + 2 <= 131072
        for each in objects:
            assert len(json.dumps(each)) < 1_048_576


def test_B04_the_services_of_a_namespace_are_in_no_environment(cluster):
    """Two thousand Services in a namespace are more variables than a program may start with
    (containerized-data-importer PR#4067).
    """
    assert all(pod.spec["enableServiceLinks"] is False for pod in cluster.pods())


def test_B12_what_a_lost_parameter_server_held_comes_back_from_a_checkpoint(render):
    """A parameter server that starts again has lost its variables (tensorflow#7767)."""
    objects, more = render(), render({"ps": {"replicas": 2}})
    chief = objects.pod("chief")
    claim = chief.volume("checkpoints")["persistentVolumeClaim"]["claimName"]
    assert chief.mount("checkpoints")["mountPath"] == "/mnt/checkpoints"
    for role in ("chief", "worker", "ps"):
        assert "--checkpoint-dir=/mnt/checkpoints" in objects.pod(role).container()["args"]
        # Another number of servers is another run: nobody goes on with variables that have moved.
        assert objects.job(role)["metadata"]["name"] != more.job(role)["metadata"]["name"]
    # And that run has the same checkpoints.
    assert more.pod("chief").volume("checkpoints")["persistentVolumeClaim"]["claimName"] == claim


# --- names of peers -------------------------------------------------------------------------------


def test_B13_peers_find_each_other_before_anybody_is_ready(cluster):
    """Peers have no names until they are ready, and are not ready until they have found their peers
    (jobset#504, kuberay PR#2375, grove#134, kubernetes#117819).
    """
    (service,) = cluster.of("Service")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "my"),
        ({"nameOverride": "training"}, "my"),
        ({"fullnameOverride": "digits"}, "my"),
        ({}, "tf-cluster"),
    ],
)
@pytest.mark.parametrize("mode", ["job", "session"])
def test_B14_pods_have_names_in_the_service_that_there_is(render, values, name, mode):
    """A StatefulSet's pods have no DNS names when serviceName is not the headless Service's
    (kubernetes#74950, kubernetes#124207).
    """
    objects = render({**values, "mode": mode}, name=name)
    (service,) = objects.of("Service")
    zone = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert service["spec"]["clusterIP"] == "None"
    for pod in objects.tasks():
        assert service["spec"]["selector"].items() <= pod.labels.items()
        assert pod.address(0) == f"{pod.host(0)}.{zone}"
        assert objects.cluster()[pod.role][0].startswith(f"{pod.address(0)}.")


def test_B18_waiting_for_peers_has_an_end_and_all_that_a_container_needs(render):
    """An init container asks for ever, and neither its image nor its resources can be set
    (trainer#1734, pytorch-operator#352, pytorch-operator#348).
    """
    values = {
        "waiter": {
            "image": {"repository": "library/python", "tag": "3.13"},
            "resources": {"limits": {"cpu": "1"}},
        },
        "runPolicy": {"startDeadlineSeconds": 77},
        "containerSecurityContext": {"readOnlyRootFilesystem": True},
        "imagePullSecrets": ["login"],
    }
    pod = render(values).pod("chief")
    waiting = pod.container("await-peers")
    assert "--deadline=77" in waiting["args"]
    assert waiting["image"] == "docker.io/library/python:3.13"
    assert waiting["resources"]["limits"]["cpu"] == "1"
    assert waiting["securityContext"]["readOnlyRootFilesystem"] is True
    assert waiting["securityContext"]["allowPrivilegeEscalation"] is False
    assert pod.spec["imagePullSecrets"] == [{"name": "login"}]
    # Whoever decides waits, if only until nobody of an earlier run is left; 0 means no deadline.
    for more, deadline in (
        ({"strategy": "mirrored"}, 600),
        ({"runPolicy": {"startDeadlineSeconds": None}}, 600),
        ({"runPolicy": {"startDeadlineSeconds": 0}}, 0),
    ):
        assert (
            f"--deadline={deadline}" in render(more).pod("chief").container("await-peers")["args"]
        )


def test_B19_a_thousand_workers_have_one_service(render):
    """Every replica has a Service of its own (trainer#1030)."""
    assert len(render({"worker": {"replicas": 1000}}).of("Service")) == 1


def test_B21_on_the_nodes_network_ports_do_not_collide_and_names_still_work(render, refuse):
    """Two tasks on one node want the same port, and a port that was changed is changed in one
    place only (trainer#1797, trainer#2282).
    """
    message = refuse({"hostNetwork": True})
    assert "worker.port: on the nodes' network 2222 is taken by chief" in message
    ports = {"chief": 3000, "worker": 3001, "ps": 3002}
    objects = render({"hostNetwork": True, **{r: {"port": p} for r, p in ports.items()}})
    for role, port in ports.items():
        pod = objects.pod(role)
        assert pod.spec["hostNetwork"] is True
        assert pod.spec["dnsPolicy"] == "ClusterFirstWithHostNet"
        assert pod.container()["ports"][0]["containerPort"] == port
        assert objects.cluster()[role][0].endswith(f":{port}")
        (apart,) = pod.spec["affinity"]["podAntiAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert apart["topologyKey"] == "kubernetes.io/hostname"
        assert apart["labelSelector"]["matchLabels"].items() <= pod.labels.items()
        assert apart["labelSelector"]["matchLabels"][COMPONENT] == role
    (policy,) = objects.of("NetworkPolicy")
    assert {each["port"] for each in policy["spec"]["ingress"][1]["ports"]} == set(ports.values())
    # An evaluator serves nobody, and may share a node and its ports with all others.
    beside = {"hostNetwork": True, "strategy": "mirrored", "evaluator": {"replicas": 1}}
    assert "ports" not in render(beside).pod("evaluator").container()


def test_B22_a_statefulsets_name_leaves_room_for_the_label_of_its_revision(render):
    """A StatefulSet of more than 52 characters has no pods, for a label of theirs is too long
    (kubernetes#64023, kubernetes#79337, lws#410).
    """
    one, other = (render(SESSION, name=name) for name in (LONGEST, LONGEST[:-1] + "b"))
    for found in one.of("StatefulSet"):
        assert len(found["metadata"]["name"]) <= 52
    names = [{each["metadata"]["name"] for each in objects} for objects in (one, other)]
    assert not names[0] & names[1]
    assert one.cluster()["ps"][0].split(".")[1] == one.of("Service")[0]["metadata"]["name"]


def test_B23_the_name_of_the_last_pod_fits(render):
    """A Job makes no pods when the host name of the last one has more than 63 characters
    (trainer#1101, mlbatch#38, trainer#2735, jobset#408, torchx#232).
    """
    objects = render({"worker": {"replicas": 7000}}, name=LONGEST)
    for pod in objects.tasks():
        assert len(pod.host(pod.replicas - 1)) <= 63
    for host in itertools.chain(*objects.cluster().values()):
        assert max(map(len, host.split(":")[0].split("."))) <= 63


# --- labels, upgrades -----------------------------------------------------------------------------


def test_B25_no_version_is_in_a_selector_or_a_pod_template(cluster):
    """Every upgrade is refused when the chart's version is in a selector (helm/charts#7726,
    helm/charts#6885, helm#7725).
    """
    selectors = [each["spec"]["selector"] for each in cluster.of("Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in cluster.of("StatefulSet")]
    templates = [pod.labels for pod in cluster.tasks()]
    for labels in (*selectors, *templates):
        assert not labels.keys() & {
            "app.kubernetes.io/version",
            "app.kubernetes.io/managed-by",
            "chart",
            "helm.sh/chart",
            "heritage",
        }


def test_B26_servers_and_evaluator_end_with_the_chief(render):
    """The chief has succeeded, and days later the others still hold their GPUs (trainer#774,
    kubeflow#1334, kubeflow#1853, trainer#657).
    """
    objects = render(FULL)
    for role in ("worker", "ps", "evaluator"):
        pod = objects.pod(role)
        # The kubelet stops a sidecar when the containers beside it have ended.
        assert [each["name"] for each in pod.spec["containers"]] == ["await-end"]
        assert pod.container()["restartPolicy"] == "Always"
        assert "--after-end=stop" in pod.container("await-end")["args"]
    # To keep them has to be said.
    stay = render({**FULL, "runPolicy": {"cleanPodPolicy": "None"}})
    for role in ("worker", "ps", "evaluator"):
        assert "--after-end=stay" in stay.pod(role).container("await-end")["args"]


def test_B31_a_failed_pod_and_its_log_stay(render, kind):
    """With restartPolicy OnFailure the pod is removed at the backoff limit, and its log with it
    (kubernetes#54870).
    """
    for found in render(kind).of("Job"):
        assert found["spec"]["template"]["spec"]["restartPolicy"] == "Never"
        assert found["spec"]["podFailurePolicy"]["rules"]


def test_B33_every_role_says_how_it_is_restarted(cluster):
    """The default of restartPolicy is another one than the page says (trainer#2127)."""
    for pod in cluster.tasks():
        endless = pod.owner["kind"] == "StatefulSet"
        assert pod.spec["restartPolicy"] == ("Always" if endless else "Never")


def test_B34_nothing_that_has_ended_is_removed_unless_it_was_asked(render, kind):
    """A time to live removes Jobs that a queue still looks at, or that others have to read
    (jobset#117, jobset#1042, kueue#2923).
    """
    queue = {} if kind.get("mode") == "session" else {"queue": "team"}
    for found in render({**kind, **queue}).of("Job"):
        assert "ttlSecondsAfterFinished" not in found["spec"]
    objects = render({**FULL, "queue": "team", "runPolicy": {"ttlSecondsAfterFinished": 0}})
    kept = {role: objects.job(role)["spec"]["ttlSecondsAfterFinished"] for role in objects.roles()}
    assert kept == {"chief": 300, "worker": 0, "ps": 0, "evaluator": 0}


def test_B35_no_mesh_proxy_runs_in_a_pod_that_has_to_end(render, kind):
    """A Job with a proxy never completes, and newer meshes heed the label alone (trainer#1637,
    trainer#1636, kubeflow#3935, community-distribution#2040, mpi-operator#480).
    """
    for pod in render(kind).pods():
        assert pod.labels[SWITCH] == pod.metadata["annotations"][SWITCH] == "false"
    on = {"podLabels": {SWITCH: "true"}, "podAnnotations": {SWITCH: "true"}}
    for pod in render({**kind, **on}).pods():
        assert pod.labels[SWITCH] == pod.metadata["annotations"][SWITCH] == "true"


MUTABLE = {
    "Job": {"completions", "parallelism", "backoffLimit", "ttlSecondsAfterFinished", "suspend"},
    "StatefulSet": {"replicas", "template"},
}


@pytest.mark.parametrize(
    "changed",
    [{"worker": {"replicas": 4}}, {"image": {"tag": "1.10"}}, {"args": ["--epochs=1"]}],
    ids=["scale", "image", "arguments"],
)
def test_B36_an_upgrade_changes_no_field_that_kubernetes_holds_fast(render, kind, changed):
    """helm upgrade fails with "field is immutable", for example when the number of workers is in a
    Job's arguments (helm#7998, helm#2149, pulsar-helm-chart#241, helm#7725).
    """
    old, new = render(kind), render({**kind, **changed})
    before = {each["metadata"]["name"]: each["spec"] for each in old.workloads()}
    for found in new.workloads():
        was, now = before.get(found["metadata"]["name"], found["spec"]), found["spec"]
        moved = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        assert moved <= MUTABLE[found["kind"]]


def test_B37_who_has_read_the_old_list_starts_again_and_nobody_else(render):
    """After scaling, old pods go on with the old list of hosts (stable/distributed-tensorflow)."""
    two, four = (render({**FULL, "worker": {"replicas": number}}) for number in (2, 4))
    anew = {
        role
        for role in two.roles()
        if two.job(role)["metadata"]["name"] != four.job(role)["metadata"]["name"]
    }
    assert anew == {"chief"}
    two, four = (render({**RING, "worker": {"replicas": number}}) for number in (2, 4))
    assert two.job("worker")["metadata"]["name"] != four.job("worker")["metadata"]["name"]


def test_B38_a_queue_is_for_jobs_and_a_session_is_told_so(render, refuse):
    """Kueue lets nobody scale a StatefulSet, and the user sees the webhook's words (kueue#3996,
    kueue#13641, kueue#14266, jobset#463).
    """
    message = refuse({**SESSION, "queue": "team"})
    assert "queue: Kueue lets nobody scale a StatefulSet" in message
    for found in render({**FULL, "queue": "team"}).of("Job"):
        label = "kueue.x-k8s.io/queue-name"
        assert found["metadata"]["labels"][label] == "team"
        assert label not in found["spec"]["template"]["metadata"]["labels"]


def test_B41_helm_can_keep_the_release(helm, rendering, tmp_path):
    """A release that is larger than a Secret cannot be installed (helm#7126, helm#9788, helm#6711,
    prometheus-community#3654).
    """
    assert helm("package", str(CHART), "--destination", str(tmp_path)).returncode == 0
    (package,) = tmp_path.glob("*.tgz")
    values = {**FULL, "worker": {"replicas": 1500}, "ps": {"replicas": 100}, "clusterDomain": ""}
    made = rendering(values, name=LONGEST)
    rest = gzip.compress(json.dumps([made.manifest, made.notes, values]).encode())
    assert len(base64.b64encode(package.read_bytes() + rest)) < 1_000_000


def test_B41_inline_text_that_helm_could_not_keep_is_refused(helm, refuse, tmp_path):
    """It is in the release's values and in its manifest, and gzip makes nothing of noise."""
    noise = "".join(random.Random(1).choices(string.printable[:94], k=262144 - len("a.py")))
    values = {"command": ["/t"], "worker": {"replicas": 10000}, "tfConfig": False}

    def kept(text):
        given = tmp_path / "values.json"
        code = {"source": "inline", "inline": {"a.py": text}}
        given.write_text(json.dumps({**values, "code": code}))
        made = helm("install", "my", str(CHART), "--dry-run=client", "-o", "json", "-f", str(given))
        assert made.returncode == 0, made.stderr
        return len(base64.b64encode(gzip.compress(made.stdout.encode())))

    assert 700_000 < kept(noise) < 1048576
    # Text in which gzip finds nothing at all would fit, too.
    assert kept("#") + 2 * 4 / 3 * 262144 < 1048576
    message = refuse({**values, "code": {"source": "inline", "inline": {"a.py": noise, "b": ""}}})
    assert "code.inline: its text has 262145 bytes, and at most 262144 are sure to fit" in message
    assert 'set code.source to "configMap", "claim", "git" or "image"' in message


def test_B43_what_stays_is_taken_up_again_and_nothing_is_made_by_chance(render, kind):
    """A claim that is a hook is left behind and stops the next installation, and what is made by
    chance is another thing in each upgrade (stable/tensorflow-serving, horovod#3604).
    """
    first, upgraded = render(kind), render(kind, is_upgrade=True)
    assert first == upgraded
    for claim in first.of("PersistentVolumeClaim"):
        assert "helm.sh/hook" not in claim["metadata"].get("annotations", {})
    names = {each["metadata"]["name"] for each in first.of("PersistentVolumeClaim")}
    another = render({**kind, "image": {"tag": "1.10"}})
    assert names == {each["metadata"]["name"] for each in another.of("PersistentVolumeClaim")}


# --- accelerators ---------------------------------------------------------------------------------


def test_B44_no_gpu_is_no_key_and_two_are_a_whole_number(render, refuse):
    """nvidia.com/gpu: 0 makes pods fail on nodes without one (k8s-device-plugin#61)."""
    for given in (0, "", None, "0"):
        for values in (
            {"worker": {"gpu": {"count": given}}},
            {"worker": {"resources": {"limits": {"nvidia.com/gpu": given}}}},
            {"worker": {"resources": {"requests": {"nvidia.com/gpu": given}}}},
            {"resources": {part: {"nvidia.com/gpu": given} for part in PARTS}},
            {"waiter": {"resources": {"limits": {"nvidia.com/gpu": given}}}},
            {"test": {"resources": {"limits": {"nvidia.com/gpu": given}}}},
        ):
            assert "nvidia.com/gpu" not in json.dumps(render(values)), values
    resources = render({"worker": {"gpu": {"count": 2}}}).pod("worker").container()["resources"]
    for key in ("limits", "requests"):
        amount = resources[key]["nvidia.com/gpu"]
        assert (type(amount), amount) == (int, 2)
    for bad in (0.5, -1, "two", "2", True):
        assert "at '/worker/gpu/count'" in refuse({"worker": {"gpu": {"count": bad}}})
    twice = {"worker": {"resources": {"limits": {"nvidia.com/gpu": 2}}}}
    assert "set worker.gpu.count" in refuse(twice)


def test_B45_who_asked_for_no_gpu_sees_none(render):
    """A container of an image made for CUDA sees all GPUs of its node (k8s-device-plugin#87,
    k8s-device-plugin#195, k8s-device-plugin#1596).
    """
    objects = render({**FULL, "worker": {"gpu": {"count": 1}}})
    hidden = {pod.role: pod.env().get("NVIDIA_VISIBLE_DEVICES") for pod in objects.tasks()}
    assert hidden == {"chief": "void", "worker": None, "ps": "void", "evaluator": "void"}
    off = render({**FULL, "gpu": {"hide": False}})
    assert not [pod for pod in off.tasks() if "NVIDIA_VISIBLE_DEVICES" in pod.env()]


def test_B47_nobody_chooses_the_network_interface_for_the_user(render):
    """A fixed NCCL_SOCKET_IFNAME=eth0 is wrong on half of the machines (mpi-operator#57,
    horovod PR#700, nccl#193).
    """
    gpus = {"worker": {"gpu": {"count": 1}}}
    assert not [name for name in render(gpus).pod("worker").env() if name.startswith("NCCL_")]
    values = {
        **gpus,
        "nccl": {"SOCKET_IFNAME": "^lo,docker0", "DEBUG": "INFO"},
        "env": [{"name": "NCCL_SOCKET_IFNAME", "value": "ib0"}],
    }
    objects = render(values)
    names = [each["name"] for each in objects.pod("worker").container()["env"]]
    assert names.count("NCCL_SOCKET_IFNAME") == 1
    assert objects.pod("worker").env()["NCCL_SOCKET_IFNAME"] == "ib0"
    assert objects.pod("worker").env()["NCCL_DEBUG"] == "INFO"
    assert "NCCL_DEBUG" not in objects.pod("ps").env()


# --- security, gangs, storage ---------------------------------------------------------------------


def test_B50_every_container_fits_pod_security_restricted(render, kind):
    """Pods are rejected for a field that one of their containers has not got (katib#2613,
    community-distribution#3015, trainer#2992).
    """
    git = {"code": {"source": "git", "git": {"repository": "https://a/b"}}, "command": ["/t"]}
    user = {"containerSecurityContext": {"readOnlyRootFilesystem": True}}
    for values in (kind, {**kind, **git}, {**kind, **user}):
        for pod in render(values).pods():
            assert not pod.spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
            assert not [each for each in pod.spec["volumes"] if "hostPath" in each]
            for container in pod.containers:
                security = container["securityContext"]
                assert security["allowPrivilegeEscalation"] is False
                assert security["capabilities"]["drop"] == ["ALL"]
                assert security["runAsNonRoot"] is True
                assert security["seccompProfile"] == {"type": "RuntimeDefault"}
                assert "privileged" not in security


def test_B52_a_gang_is_those_who_must_start_together(render):
    """Two gangs that have half started wait for each other, or a member is not in it
    (trainer#1264, volcano#1387, kubeflow/common#112, trainer#1245).
    """
    gang = {"podGroup": {"create": "volcano", "name": "gang"}, "schedulerName": "volcano"}
    objects = render({**FULL, **gang})
    for pod in objects.tasks():
        member = pod.role != "evaluator"
        label, note = "scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/group-name"
        assert pod.labels.get(label) == ("gang" if member else None)
        assert pod.metadata["annotations"].get(note) == ("gang" if member else None)
    assert {pod.spec["schedulerName"] for pod in objects.pods()} == {"volcano"}
    (group,) = objects.of("PodGroup")
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["metadata"]["name"] == "gang"
    assert group["spec"]["minMember"] == 6  # A chief, three workers, two servers.
    waiters = 3 + 2
    assert group["spec"]["minResources"] == {
        "cpu": f"{6 * 250 + waiters * 10}m",
        "memory": str(6 * 2**30 + waiters * 32 * 2**20),
    }
    workers = {"replicas": 5, "gpu": {"count": 2}}
    coscheduled = {**RING, "worker": workers, "podGroup": {"create": "coscheduling"}}
    (group,) = render(coscheduled).of("PodGroup")
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["metadata"]["name"] == "my-tf-cluster"
    assert group["spec"]["minMember"] == 5
    assert group["spec"]["minResources"]["nvidia.com/gpu"] == "10"


def test_B53_a_volume_of_several_pods_can_be_mounted_by_them(render, refuse):
    """A ReadWriteOnce volume of several pods ends with Multi-Attach errors (kserve#3409,
    airflow-helm#51, kubernetes#82453, ocs-ci#1149).
    """

    def modes(values: Any) -> dict[str, list[str]]:
        return {
            each["metadata"]["labels"][COMPONENT]: each["spec"]["accessModes"]
            for each in render(values).of("PersistentVolumeClaim")
        }

    once, many = ["ReadWriteOnce"], ["ReadWriteMany"]
    assert modes({}) == {"checkpoints": once, "logs": once, "models": once}
    assert modes(FULL) == {"checkpoints": many, "logs": many, "models": once}
    assert modes(RING) == {"checkpoints": many, "logs": many, "models": many}
    assert modes({"waiter": {"method": "marker"}})["checkpoints"] == many
    message = refuse({**FULL, "volumes": {"logs": {"accessModes": once}}})
    assert "volumes.logs.accessModes: 2 pods mount the volume" in message
    there = render({"volumes": {"logs": {"existingClaim": "team"}}})
    assert {c["metadata"]["labels"][COMPONENT] for c in there.of("PersistentVolumeClaim")} == {
        "checkpoints",
        "models",
    }
    assert there.pod("chief").volume("logs") == {"persistentVolumeClaim": {"claimName": "team"}}
    data = render({"volumes": {"data": {"enabled": True, "existingClaim": "d"}}})
    for role in ("chief", "worker"):
        claim = data.pod(role).volume("data")["persistentVolumeClaim"]
        assert claim == {"claimName": "d", "readOnly": True}
        assert data.pod(role).mount("data")["readOnly"] is True


# --- types of values ------------------------------------------------------------------------------


def test_B55_large_numbers_keep_their_digits(rendering):
    """Numbers of a million and more in a values file print as 1e+06 (helm#1707, helm#6431,
    helm#6867, helm#12195, helm#13254).
    """
    values = {
        "sample": {"epochs": 1000000, "batchSize": 16777216},
        "podSecurityContext": {"runAsUser": 1000650000},
        "runPolicy": {
            "ttlSecondsAfterFinished": 2592000,
            "activeDeadlineSeconds": 1000000,
            "startDeadlineSeconds": 3000000,
        },
        "env": [{"name": "SEED", "value": 123456789012}],
    }
    numbers = ("sample.epochs=1000000", "runPolicy.startDeadlineSeconds=3000000")
    by_file = rendering(values)
    assert rendering(values, set_values=numbers).manifest == by_file.manifest
    objects = json.dumps([each for each in by_file.objects if each.kind != "ConfigMap"])
    assert "e+" not in objects
    for text in (
        '"--epochs=1000000"',
        '"--batch-size=16777216"',
        '"runAsUser": 1000650000',
        '"ttlSecondsAfterFinished": 2592000',
        '"activeDeadlineSeconds": 1000000',
        '"--deadline=3000000"',
        '"123456789012"',
    ):
        assert text in objects


@pytest.mark.parametrize("tag", ["1.10", "1.0", "29111998", "1e3", "0755", "0x1f", "true"])
def test_B56_a_tag_is_text(rendering, tag):
    """The tag 1.10 becomes 1.1, and one of digits 2.9111998e+07 (helm#11800, helm#13378,
    conjur PR#107, rowanruseler#156).
    """
    images = {
        container["image"]
        for each in rendering({"image": {"tag": tag}}).objects
        if each.kind == "Job"
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"docker.io/tensorflow/tensorflow:{tag}"}


def test_B56_a_tag_that_is_a_number_is_refused(refuse):
    """YAML has made it another number before anybody can look (helm#11800)."""
    for number in (1.10, 29111998):
        assert "at '/image/tag': got number, want string" in refuse({"image": {"tag": number}})


def test_B58_zero_and_false_are_values(render):
    """What is 0, false or empty is taken for "not given" (stable/distributed-tensorflow)."""
    objects = render(
        {
            "sample": {"learningRate": 0.5, "seed": 0, "minAccuracy": 0},
            "runPolicy": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": 0,
                "startDeadlineSeconds": 0,
            },
            "chief": {"terminationGracePeriodSeconds": 0},
            "tolerations": [{"operator": "Exists"}],
            "worker": {"tolerations": []},
            "volumes": {"logs": {"enabled": False}, "models": {"keep": False}},
            "gpu": {"hide": False},
            "env": [{"name": "ZERO", "value": 0}, {"name": "NO", "value": False}],
        }
    )
    chief = objects.pod("chief")
    assert "--seed=0" in chief.container()["args"]
    assert "--deadline=0" in chief.container("await-peers")["args"]
    assert "--min-accuracy=0" in objects.pod("test").container("check")["args"]
    assert objects.job("chief")["spec"]["backoffLimit"] == 0
    assert objects.job("worker")["spec"]["ttlSecondsAfterFinished"] == 0
    assert chief.spec["terminationGracePeriodSeconds"] == 0
    assert "tolerations" not in objects.pod("worker").spec
    assert chief.volume("logs") == {"emptyDir": {}}
    assert not [
        each
        for each in objects.of("PersistentVolumeClaim")
        if "helm.sh/resource-policy" in each["metadata"].get("annotations", {})
    ]
    assert (chief.env()["ZERO"], chief.env()["NO"]) == ("0", "false")


def test_B60_pull_secrets_and_account_are_on_every_pod(render, kind):
    """Some pods have no pull secret, or another account (kubeflow/arena)."""
    values = {
        **kind,
        "global": {"imagePullSecrets": ["a"]},
        "imagePullSecrets": [{"name": "b"}, "a"],
        "serviceAccount": {"name": "who"},
    }
    for pod in render(values).pods():
        assert pod.spec["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
        assert pod.spec["serviceAccountName"] == "who"
        assert pod.spec["automountServiceAccountToken"] is False


# --- read in others' charts -----------------------------------------------------------------------


def test_S01_an_amount_of_gpus_is_a_map(render):
    """A space that a template eats makes nvidia.com/gpu:1 of it (stable/distributed-tensorflow)."""
    found = render({"worker": {"gpu": {"count": 1}}}).pod("worker").container()["resources"]
    assert found.keys() == {"limits", "requests"}
    assert found["limits"]["nvidia.com/gpu"] == 1


@pytest.mark.parametrize("mode", ["job", "session"])
def test_S02_every_name_begins_with_the_full_name(render, mode):
    """Half of the objects are named after the release, and two of one namespace fall on the same
    name (stable/distributed-tensorflow).
    """
    values = {"mode": mode, "fullnameOverride": "digits"}
    for each in render(values):
        assert each["metadata"]["name"].partition("-")[0] == "digits"
    first, second = (
        {(o["kind"], o["metadata"]["name"]) for o in render({"mode": mode}, name=name)}
        for name in ("one", "two")
    )
    assert not first & second


def test_S03_new_pods_and_old_ones_see_one_list(render, kind):
    """Old pods have a list of two hosts and new ones a list of four
    (stable/distributed-tensorflow).
    """
    objects = render(kind)
    specs = {
        objects.variables(pod, index)["CLUSTER"]
        for pod in objects.tasks()
        for index in range(pod.replicas)
        if pod.role != "evaluator" and "CLUSTER" in objects.variables(pod, index)
    }
    assert len(specs) <= 1
    for pod in objects.tasks():
        if pod.role != "evaluator":
            # And the file follows the list while they run.
            assert pod.mount("cluster").keys() == {"name", "mountPath", "readOnly"}


def test_S04_what_ends_is_no_statefulset(render, kind):
    """Training under a StatefulSet ends well and is started again for ever
    (stable/distributed-tensorflow).
    """
    objects = render(kind)
    assert bool(objects.of("StatefulSet")) is (kind.get("mode") == "session")
    assert not (objects.of("StatefulSet") and objects.of("Job"))


def test_S06_no_label_of_a_pod_tells_the_charts_version(cluster):
    """The chart's label in a pod template rolls every pod with each version
    (stable/distributed-tensorflow).
    """
    for pod in cluster.pods():
        assert not [value for value in pod.labels.values() if value.startswith("tf-cluster-")]


def test_S07_hosts_have_their_whole_names(cluster):
    """Short names depend on the search list of whoever asks (stable/distributed-tensorflow)."""
    for host in itertools.chain(*cluster.cluster().values()):
        assert host.split(":")[0].endswith(".my-tf-cluster.default.svc.cluster.local")


def test_S08_what_is_set_for_the_workers_reaches_the_workers(render):
    """Workers read the driver's settings, and their own are ignored (stable/horovod)."""
    objects = render(
        {
            "chief": {"env": [{"name": "WHO", "value": "chief"}], "gpu": {"count": 1}},
            "worker": {"env": [{"name": "WHO", "value": "worker"}], "gpu": {"count": 4}},
        }
    )
    assert {pod.role: pod.env().get("WHO") for pod in objects.tasks()} == {
        "chief": "chief",
        "worker": "worker",
        "ps": None,
    }
    amounts = {
        pod.role: pod.container()["resources"]["limits"].get("nvidia.com/gpu")
        for pod in objects.tasks()
    }
    assert amounts == {"chief": 1, "worker": 4, "ps": None}
