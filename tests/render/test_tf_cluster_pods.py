"""What every pod has to be: restricted, modest, and gone when the deciding role has ended."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CHART = Path(__file__).resolve().parents[2] / "charts" / "tf-cluster"
CASES = sorted((CHART / "ci").glob("*-values.yaml"))
SERVERS = ("worker", "ps")


@pytest.fixture(params=CASES, ids=lambda path: path.name.removesuffix("-values.yaml"))
def case(request, render):
    return render(yaml.safe_load(request.param.read_text()))


# --- security -----------------------------------------------------------------------------------


ADMITTED = ("configMap", "csi", "emptyDir", "persistentVolumeClaim", "projected", "secret")


def against_restricted(pod: Any) -> Any:
    """What Pod Security "restricted" would have against a pod."""
    whole = pod.spec.get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(key):
            yield key
    for volume in pod.spec.get("volumes", []):
        kind = next(key for key in volume if key != "name")
        if kind not in ADMITTED:
            yield f"volume {kind}"
    for container in pod.containers:
        own = container.get("securityContext", {})
        both = {**whole, **own}
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{container['name']}: allowPrivilegeEscalation"
        if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add"):
            yield f"{container['name']}: capabilities"
        if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
            yield f"{container['name']}: runAsNonRoot"
        if both.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            yield f"{container['name']}: seccompProfile"
        if own.get("privileged"):
            yield f"{container['name']}: privileged"


# What these ask for is not to be had under "restricted", and values.yaml says so.
UNRESTRICTED = {
    "host-network": {"hostNetwork"},
    "other-volumes": {"volume nfs", "volume hostPath"},
}


def test_pod_security_restricted_admits_every_pod(case, request):
    asked = UNRESTRICTED.get(request.node.callspec.id, set())
    for pod in case.pods():
        assert set(against_restricted(pod)) <= asked, pod.role


def test_the_measure_of_restricted_finds_what_is_wrong(render):
    objects = render({"containerSecurityContext": {"capabilities": {"drop": []}}})
    assert list(against_restricted(objects.pod("chief"))) == [
        "await-peers: capabilities",
        "tensorflow: capabilities",
    ]


def test_a_users_security_context_is_laid_over_key_by_key(render):
    objects = render(
        {
            "containerSecurityContext": {"readOnlyRootFilesystem": True, "runAsUser": 0},
            "podSecurityContext": {"fsGroup": 1000650000},
        }
    )
    for pod in objects.pods():
        assert pod.spec["securityContext"]["fsGroup"] == 1000650000
        assert pod.spec["securityContext"]["runAsUser"] == 1000
        assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod.containers:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["runAsUser"] == 0
            assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_a_platform_may_choose_the_user(render):
    objects = render({"podSecurityContext": {"runAsUser": None, "fsGroup": None}})
    for pod in objects.pods():
        assert "runAsUser" not in pod.spec["securityContext"]
        assert "fsGroup" not in pod.spec["securityContext"]
        assert pod.spec["securityContext"]["runAsNonRoot"] is True


def test_a_token_reaches_the_waiter_and_the_test_and_no_training_program(case):
    for pod in case.pods():
        assert pod.spec["automountServiceAccountToken"] is False
        secret = {each["name"] for each in pod.spec.get("volumes", []) if "projected" in each}
        holders = {
            container["name"]
            for container in pod.containers
            for mount in container.get("volumeMounts", [])
            if mount["name"] in secret
        }
        waits = pod.has("await-end") or (pod.role == "test" and case.lead())
        by_marker = any("--marker-folder=" in str(c.get("args")) for c in pod.containers)
        expected = {"check"} if pod.role == "test" else {"await-end"}
        assert holders == (expected if waits and not by_marker else set())


def test_the_release_may_read_the_chiefs_job_and_nothing_else(render):
    objects = render()
    (role,) = objects.of("Role")
    assert role["rules"] == [
        {
            "apiGroups": ["batch"],
            "resources": ["jobs"],
            "resourceNames": [objects.job("chief")["metadata"]["name"]],
            "verbs": ["get"],
        }
    ]
    (binding,) = objects.of("RoleBinding")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {pod.spec["serviceAccountName"] for pod in objects.pods()} == {
        binding["subjects"][0]["name"]
    }
    account = objects.one("ServiceAccount", binding["subjects"][0]["name"])
    assert account["automountServiceAccountToken"] is False


def test_an_account_made_by_somebody_else_is_used_as_it_is(render):
    objects = render(
        {"serviceAccount": {"create": False, "name": "training"}, "rbac": {"create": False}}
    )
    assert not objects.of("ServiceAccount") + objects.of("Role") + objects.of("RoleBinding")
    assert {pod.spec["serviceAccountName"] for pod in objects.pods()} == {"training"}


# --- good neighbours ----------------------------------------------------------------------------


def test_service_links_are_off(case):
    assert all(pod.spec["enableServiceLinks"] is False for pod in case.pods())


@pytest.mark.parametrize(
    "file", [file for file in CASES if "mesh" not in file.name], ids=lambda path: path.name
)
def test_no_mesh_proxy_keeps_a_pod_from_ending(render, file):
    for pod in render(yaml.safe_load(file.read_text())).pods():
        assert pod.metadata["labels"]["sidecar.istio.io/inject"] == "false"
        assert pod.metadata["annotations"]["sidecar.istio.io/inject"] == "false"


def test_a_user_may_turn_the_mesh_on(render):
    switch = {"sidecar.istio.io/inject": True}
    for pod in render({"podLabels": switch, "podAnnotations": switch}).pods():
        assert pod.metadata["labels"]["sidecar.istio.io/inject"] == "true"
        assert pod.metadata["annotations"]["sidecar.istio.io/inject"] == "true"


def test_every_container_has_requests_and_limits(case, request):
    case_id = request.node.callspec.id
    for pod in case.pods():
        for container in pod.containers:
            if case_id == "image-entrypoint":  # Each amount is null there.
                assert container["resources"] == {"requests": {}, "limits": {}}, container["name"]
                continue
            wanted = {"cpu", "memory"}
            assert container["resources"]["requests"].keys() >= wanted, container["name"]
            if (case_id, pod.role, container["name"]) == ("no-gpu", "worker", "tensorflow"):
                wanted = {"memory"}  # It may have all the CPU time that nobody else wants.
            assert container["resources"]["limits"].keys() >= wanted, container["name"]


def test_pull_secrets_of_both_kinds_reach_every_pod_once(render):
    objects = render(
        {
            "global": {"imagePullSecrets": ["shared", {"name": "mapped"}]},
            "imagePullSecrets": [{"name": "own"}, "shared"],
        }
    )
    for pod in objects.pods():
        assert pod.spec["imagePullSecrets"] == [
            {"name": "shared"},
            {"name": "mapped"},
            {"name": "own"},
        ]


def test_no_name_is_used_twice_where_kubernetes_merges_by_name(case):
    for pod in case.pods():
        names = [volume["name"] for volume in pod.spec.get("volumes", [])]
        assert len(names) == len(set(names))
        for container in pod.containers:
            mounts = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
            env = [variable["name"] for variable in container.get("env", [])]
            assert len(mounts) == len(set(mounts))
            assert len(env) == len(set(env))


def test_every_mount_has_its_volume_and_every_volume_its_mount(case):
    for pod in case.pods():
        volumes = {volume["name"] for volume in pod.spec.get("volumes", [])}
        mounted = {
            mount["name"]
            for container in pod.containers
            for mount in container.get("volumeMounts", [])
        }
        assert mounted == volumes


def test_what_a_pod_refers_to_is_in_the_release_or_was_named_by_the_user(case):
    named_by_users = {"company-ca", "fashion-mnist", "my-code", "team"}
    named_by_users |= {"team-checkpoints", "team-code", "team-models"}
    have = {(each["kind"], each["metadata"]["name"]) for each in case}
    for pod in case.pods():
        for volume in pod.spec.get("volumes", []):
            for kind, name in (
                ("ConfigMap", volume.get("configMap", {}).get("name")),
                ("PersistentVolumeClaim", volume.get("persistentVolumeClaim", {}).get("claimName")),
            ):
                assert name is None or name in named_by_users or (kind, name) in have


# --- how it ends --------------------------------------------------------------------------------


def test_the_chief_ends_by_itself_and_is_started_again_a_few_times(render):
    chief = render().job("chief")["spec"]
    assert [each["name"] for each in chief["template"]["spec"]["containers"]] == ["tensorflow"]
    assert [each["name"] for each in chief["template"]["spec"]["initContainers"]] == ["await-peers"]
    assert chief["completions"] == 1
    assert chief["backoffLimit"] == 3


@pytest.mark.parametrize("role", SERVERS)
def test_a_server_is_a_sidecar_of_the_container_that_waits_for_the_end(render, role):
    objects = render()
    pod = objects.pod(role)
    (server,) = pod.spec["initContainers"]
    (waiter,) = pod.spec["containers"]
    assert (server["name"], server["restartPolicy"]) == ("tensorflow", "Always")
    assert waiter["name"] == "await-end"
    assert "--job-file=/etc/trainyard/cluster/job" in waiter["args"]
    assert pod.mount("cluster", "await-end")["mountPath"] == "/etc/trainyard/cluster"
    assert objects.told()["job"] == objects.job("chief")["metadata"]["name"]
    assert waiter["image"] == server["image"]
    programs = objects.one("ConfigMap", "my-tf-cluster-programs")["data"]
    assert waiter["command"][-1] == "/opt/trainyard/bin/await_job.py"
    assert programs["await_job.py"] == (CHART / "files" / "await_job.py").read_text()


def test_no_pod_of_a_job_is_restarted_by_the_kubelet_and_every_pod_of_a_session_is(case):
    for pod in case.pods():
        always = pod.owner["kind"] == "StatefulSet"
        assert pod.spec["restartPolicy"] == ("Always" if always else "Never")


@pytest.mark.parametrize("role", SERVERS)
def test_a_chief_that_failed_fails_the_servers_at_once_and_an_eviction_does_not(render, role):
    job = render().job(role)["spec"]
    fail, ignore = job["podFailurePolicy"]["rules"]
    assert fail["action"] == "FailJob"
    assert fail["onExitCodes"] == {"containerName": "await-end", "operator": "In", "values": [3]}
    assert ignore == {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    assert job["backoffLimit"] >= 1000


def test_servers_stop_fast_and_the_chief_has_time_for_a_checkpoint(render):
    objects = render()
    grace = {pod.role: pod.spec["terminationGracePeriodSeconds"] for pod in objects.pods()}
    assert (grace["chief"], grace["worker"], grace["ps"]) == (30, 5, 5)
    none = render({"worker": {"terminationGracePeriodSeconds": 0}})
    assert none.pod("worker").spec["terminationGracePeriodSeconds"] == 0


def test_run_policy_leaves_out_what_is_not_set(render):
    for role in ("chief", *SERVERS):
        spec = render().job(role)["spec"]
        assert "ttlSecondsAfterFinished" not in spec
        assert "activeDeadlineSeconds" not in spec


def test_zeros_of_the_run_policy_are_kept(render):
    objects = render({"runPolicy": {"backoffLimit": 0, "ttlSecondsAfterFinished": 0}})
    assert objects.job("chief")["spec"]["backoffLimit"] == 0
    assert objects.job("worker")["spec"]["ttlSecondsAfterFinished"] == 0
    assert objects.job("ps")["spec"]["ttlSecondsAfterFinished"] == 0


def test_the_chiefs_job_outlives_its_end_until_the_others_have_read_it(render):
    for ttl, kept in ((0, 300), (299, 300), (3600, 3600)):
        objects = render({"runPolicy": {"ttlSecondsAfterFinished": ttl}})
        assert objects.job("chief")["spec"]["ttlSecondsAfterFinished"] == kept


def test_the_deadline_is_the_chiefs_for_its_end_is_everybodys(render):
    objects = render({"runPolicy": {"activeDeadlineSeconds": 60}})
    assert objects.job("chief")["spec"]["activeDeadlineSeconds"] == 60
    assert "activeDeadlineSeconds" not in objects.job("worker")["spec"]


PYTHON = {"image": {"repository": "library/python", "tag": "3.13-slim"}}


def test_the_waiters_may_run_in_another_image(render):
    objects = render({"waiter": PYTHON, "volumes": {"models": {"enabled": False}}})
    own = [("ps", "await-end"), ("chief", "await-peers"), ("test", "check")]
    for role, name in own:
        container = objects.pod(role).container(name)
        assert container["image"] == "docker.io/library/python:3.13-slim"
        assert container["command"][0] == "python3"
    assert objects.pod("ps").container("tensorflow")["image"].startswith("docker.io/tensorflow/")


def test_a_waiter_of_ones_own_may_run_in_an_image_without_python(render):
    busybox = {"image": {"repository": "library/busybox", "tag": "1"}, "command": ["/wait"]}
    objects = render({"waiter": busybox, "volumes": {"models": {"enabled": False}}})
    waiter = objects.pod("ps").container("await-end")
    assert waiter["image"] == "docker.io/library/busybox:1"
    assert waiter["command"] == ["/wait"]
    python = [
        (pod.role, each)
        for pod in objects.pods()
        for each in pod.containers
        if each.get("command", [""])[0] == "python3"
    ]
    assert {(role, each["name"]) for role, each in python} >= {
        ("chief", "await-peers"),
        ("test", "check"),
    }
    for _, container in python:
        assert container["image"].startswith("docker.io/tensorflow/")


# --- images -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({}, "docker.io/tensorflow/tensorflow:2.21.0"),
        ({"registry": "", "repository": "tf", "tag": "dev"}, "tf:dev"),
        ({"registry": "", "repository": "1234", "tag": ""}, "1234"),
        ({"registry": "localhost", "repository": "tf", "tag": "29111998"}, "localhost/tf:29111998"),
        ({"tag": "1.10"}, "docker.io/tensorflow/tensorflow:1.10"),
        ({"tag": "1e3"}, "docker.io/tensorflow/tensorflow:1e3"),
        ({"tag": "0755"}, "docker.io/tensorflow/tensorflow:0755"),
        (
            {"digest": "sha256:" + "a" * 64},
            "docker.io/tensorflow/tensorflow:2.21.0@sha256:" + "a" * 64,
        ),
        (
            {"tag": "", "digest": "sha256:" + "a" * 64},
            "docker.io/tensorflow/tensorflow@sha256:" + "a" * 64,
        ),
    ],
)
def test_image_references(render, image, reference):
    for pod in render({"image": image}).pods():
        assert {container["image"] for container in pod.containers} == {reference}


def test_a_mirror_takes_the_place_of_every_registry(render):
    objects = render(
        {
            "global": {"imageRegistry": "mirror.example.org/hub"},
            "waiter": {"image": {"registry": "quay.io", "repository": "python", "tag": "3"}},
        }
    )
    images = {container["image"] for pod in objects.pods() for container in pod.containers}
    assert images == {
        "mirror.example.org/hub/tensorflow/tensorflow:2.21.0",
        "mirror.example.org/hub/python:3",
    }


def test_a_roles_image_drops_the_digest_of_the_common_one(render):
    objects = render(
        {"image": {"digest": "sha256:" + "a" * 64}, "ps": {"image": {"tag": "2.20.0"}}}
    )
    assert objects.pod("ps").container("tensorflow")["image"].endswith("tensorflow:2.20.0")
    assert "@sha256" in objects.pod("worker").container("tensorflow")["image"]


def test_an_empty_pull_policy_is_left_to_kubernetes(render):
    for pod in render({"image": {"pullPolicy": ""}}).pods():
        assert all("imagePullPolicy" not in container for container in pod.containers)


# --- environment --------------------------------------------------------------------------------


def test_a_roles_variable_wins_over_the_common_one_and_over_the_charts(render):
    objects = render(
        {
            "env": [{"name": "A", "value": "common"}, {"name": "HOME", "value": "/home/me"}],
            "worker": {"env": [{"name": "A", "value": "worker"}, {"name": "B", "value": ""}]},
        }
    )
    worker, ps = objects.pod("worker").env(), objects.pod("ps").env()
    assert (worker["A"], ps["A"]) == ("worker", "common")
    assert (worker["HOME"], ps["HOME"]) == ("/home/me", "/home/me")
    assert worker["B"] == ""
    assert "B" not in ps


def test_variables_keep_the_users_order_for_references_among_them(render):
    env = [{"name": "B", "value": "1"}, {"name": "A", "value": "$(B)$(TASK_INDEX)"}]
    names = list(render({"env": env}).pod("chief").env())
    assert names.index("TASK_INDEX") < names.index("B") < names.index("A")


def test_values_of_variables_reach_the_program_as_they_were_written(render):
    texts = {
        "BIG": (123456789012, "123456789012"),
        "MILLION": (1000000, "1000000"),
        "SMALL": (0.001, "0.001"),
        "ZERO": (0, "0"),
        "NO": (False, "false"),
        "TEMPLATE": ("{{ .Values.image.tag }}", "{{ .Values.image.tag }}"),
        "LINES": ("a: 1\n# b\n\t- c ", "a: 1\n# b\n\t- c "),
        "SECRET": ({"secretKeyRef": {"name": "s", "key": "k"}}, None),
    }
    env = [
        {"name": name, "valueFrom" if want is None else "value": given}
        for name, (given, want) in texts.items()
    ]
    seen = render({"env": env}).pod("ps").env()
    for name, (given, want) in texts.items():
        assert seen[name] == (given if want is None else want)


def test_a_home_that_any_user_may_write_to(render):
    env = render().pod("worker").env()
    assert env["HOME"].startswith("/tmp/")
    assert env["KERAS_HOME"].startswith("/tmp/")


# --- placement ----------------------------------------------------------------------------------


def test_a_roles_maps_merge_and_its_lists_replace(render):
    taint = {"key": "a", "operator": "Exists"}
    objects = render(
        {
            "nodeSelector": {"zone": "1", "pool": "cpu"},
            "tolerations": [taint],
            "resources": {"limits": {"memory": "3Gi"}},
            "podLabels": {"team": "vision"},
            "worker": {
                "nodeSelector": {"pool": "gpu"},
                "tolerations": [],
                "resources": {"limits": {"cpu": 8}},
                "podLabels": {"tier": 1},
                "priorityClassName": "high",
            },
        }
    )
    worker, ps = objects.pod("worker"), objects.pod("ps")
    assert worker.spec["nodeSelector"] == {"zone": "1", "pool": "gpu"}
    assert ps.spec["nodeSelector"] == {"zone": "1", "pool": "cpu"}
    assert "tolerations" not in worker.spec
    assert ps.spec["tolerations"] == [taint]
    assert worker.container("tensorflow")["resources"]["limits"] == {"cpu": 8, "memory": "3Gi"}
    assert ps.container("tensorflow")["resources"]["limits"] == {"cpu": "2", "memory": "3Gi"}
    assert worker.metadata["labels"]["team"] == "vision"
    assert worker.metadata["labels"]["tier"] == "1"
    assert "tier" not in ps.metadata["labels"]
    assert worker.spec["priorityClassName"] == "high"
    assert "priorityClassName" not in ps.spec


def test_null_takes_a_common_key_away_from_a_role(render):
    objects = render(
        {"nodeSelector": {"zone": "1", "pool": "a"}, "ps": {"nodeSelector": {"zone": None}}}
    )
    assert objects.pod("ps").spec["nodeSelector"] == {"pool": "a"}
    assert objects.pod("worker").spec["nodeSelector"] == {"zone": "1", "pool": "a"}


def test_common_placement_reaches_every_pod(render):
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    nodes: Any = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    objects = render(
        {
            "affinity": nodes,
            "topologySpreadConstraints": [spread],
            "priorityClassName": "low",
            "tolerations": [{"operator": "Exists"}],
            "nodeSelector": {"a": "b"},
        }
    )
    for pod in objects.pods():
        affinity = dict(pod.spec["affinity"])
        # The pod of `helm test` wishes to be where the chief's volumes are.
        assert bool(affinity.pop("podAffinity", {})) is (pod.role == "test")
        assert affinity == nodes
        assert pod.spec["topologySpreadConstraints"] == [spread]
        assert pod.spec["priorityClassName"] == "low"
        assert pod.spec["tolerations"] == [{"operator": "Exists"}]
        assert pod.spec["nodeSelector"] == {"a": "b"}


# --- program ------------------------------------------------------------------------------------


def test_the_sample_runs_in_every_role_and_its_files_are_there(render):
    objects = render()
    files = {path.name: path.read_text() for path in (CHART / "samples" / "mnist").glob("*.py")}
    assert "train.py" in files
    assert objects.one("ConfigMap", "my-tf-cluster-sample")["data"] == files
    for role in ("chief", *SERVERS):
        container = objects.pod(role).container("tensorflow")
        assert container["command"] == ["python3", "-u", "/opt/trainyard/mnist/train.py"]
        assert {"name": "code", "mountPath": "/opt/trainyard/mnist", "readOnly": True} in (
            container["volumeMounts"]
        )


def test_flags_of_the_sample_that_are_null_are_left_to_the_program(render):
    assert render().pod("chief").container("tensorflow")["args"] == [
        "--strategy=parameter-server",
        "--updates=async",
        "--dataset=auto",
        "--checkpoint-dir=/mnt/checkpoints",
        "--log-dir=/mnt/logs",
        "--model-dir=/mnt/models",
        "--model-name=mnist",
    ]


def test_every_setting_of_the_sample_becomes_its_flag(render):
    sample = {
        "updates": "sync",
        "dataset": "idx",
        "dataDir": "/d",
        "epochs": 1000000,
        "batchSize": 16777216,
        "learningRate": 0.001,
        "seed": 0,
        "checkpointDir": "/c",
        "checkpointEvery": 1,
        "logDir": "/l",
        "logEvery": 5,
        "modelDir": "/m",
        "modelName": "digits",
        "peerTimeout": 90,
    }
    flags = {
        "--strategy=parameter-server",
        "--updates=sync",
        "--dataset=idx",
        "--data-dir=/d",
        "--epochs=1000000",
        "--batch-size=16777216",
        "--learning-rate=0.001",
        "--seed=0",
        "--checkpoint-dir=/c",
        "--checkpoint-every=1",
        "--log-dir=/l",
        "--log-every=5",
        "--model-dir=/m",
        "--model-name=digits",
        "--peer-timeout=90",
    }
    assert set(render({"sample": sample}).pod("ps").container("tensorflow")["args"]) == flags


def test_the_sample_program_knows_every_flag_that_the_chart_can_give(render):
    text = "".join(path.read_text() for path in (CHART / "samples" / "mnist").glob("*.py"))
    settings = yaml.safe_load((CHART / "values.yaml").read_text())["sample"]
    settings.pop("program")  # It is the file's name.
    for setting in [*settings, "strategy", "replication"]:
        flag = "".join(f"-{char.lower()}" if char.isupper() else char for char in setting)
        assert f'"--{flag}"' in text, setting


def test_a_program_of_ones_own_is_run_as_told_and_nothing_is_mounted(render):
    objects = render(
        {"code": {"source": "image"}, "command": ["/train"], "ps": {"args": ["--serve"]}}
    )
    assert not [each for each in objects.of("ConfigMap") if "sample" in each["metadata"]["name"]]
    assert objects.pod("worker").container("tensorflow")["command"] == ["/train"]
    assert "args" not in objects.pod("worker").container("tensorflow")
    assert objects.pod("ps").container("tensorflow")["args"] == ["--serve"]
    assert [each["name"] for each in objects.pod("ps").container()["volumeMounts"]] == ["cluster"]


def test_a_program_from_a_configmap_is_mounted_in_every_role(render):
    code = {"source": "configMap", "configMap": {"name": "mine"}, "mountPath": "/code"}
    objects = render({"code": code, "command": ["python3", "/code/train.py"]})
    for role in ("chief", *SERVERS):
        pod = objects.pod(role)
        assert {"name": "code", "configMap": {"name": "mine"}} in pod.spec.get("volumes", [])
        assert {"name": "code", "mountPath": "/code", "readOnly": True} in (
            pod.container("tensorflow")["volumeMounts"]
        )


def test_arguments_of_ones_own_take_the_place_of_the_samples_flags(render):
    assert render({"args": ["--epochs=1"]}).pod("ps").container("tensorflow")["args"] == [
        "--epochs=1"
    ]
    assert "args" not in render({"args": []}).pod("ps").container("tensorflow")


# --- volumes ------------------------------------------------------------------------------------


def claims(objects: Any) -> Any:
    return {each["metadata"]["name"]: each for each in objects.of("PersistentVolumeClaim")}


def test_the_chief_alone_mounts_what_is_written(render):
    objects = render()
    written = {"/mnt/checkpoints", "/mnt/logs", "/mnt/models"}
    for role in ("chief", *SERVERS):
        mounts = objects.pod(role).container("tensorflow")["volumeMounts"]
        paths = {mount["mountPath"] for mount in mounts} & written
        assert paths == (written if role == "chief" else set())


def test_models_outlive_the_release_and_the_rest_does_not(render):
    kept = {
        name: each["metadata"].get("annotations", {}).get("helm.sh/resource-policy")
        for name, each in claims(render()).items()
    }
    assert kept == {
        "my-tf-cluster-checkpoints": None,
        "my-tf-cluster-logs": None,
        "my-tf-cluster-models": "keep",
    }


def test_a_claim_that_exists_is_used_and_not_made(render):
    objects = render({"volumes": {"checkpoints": {"existingClaim": "team"}}})
    assert "my-tf-cluster-checkpoints" not in claims(objects)
    volumes = {each["name"]: each for each in objects.pod("chief").spec["volumes"]}
    assert volumes["checkpoints"]["persistentVolumeClaim"] == {"claimName": "team"}


def test_a_volume_that_is_off_is_a_folder_all_the_same(render):
    objects = render({"volumes": {"models": {"enabled": False}}})
    assert "my-tf-cluster-models" not in claims(objects)
    assert {"name": "models", "emptyDir": {}} in objects.pod("chief").spec["volumes"]


def test_data_is_read_by_chief_and_workers_and_never_written(render):
    objects = render({"volumes": {"data": {"enabled": True, "existingClaim": "digits"}}})
    for role in ("chief", "worker", "test"):
        pod = objects.pod(role)
        volume = {each["name"]: each for each in pod.spec.get("volumes", [])}["data"]
        assert volume["persistentVolumeClaim"] == {"claimName": "digits", "readOnly": True}
        program = "check" if role == "test" else "tensorflow"
        assert pod.mount("data", program) == {
            "name": "data",
            "mountPath": "/mnt/data",
            "readOnly": True,
        }
        assert "--data-dir=/mnt/data" in pod.container(program)["args"]
    assert "data" not in {each["name"] for each in objects.pod("ps").spec["volumes"]}


@pytest.mark.parametrize(
    ("own", "shared", "rendered"),
    [
        ("", "", None),
        ("fast", "", "fast"),
        ("", "slow", "slow"),
        ("fast", "slow", "fast"),
        ("-", "slow", ""),
    ],
)
def test_the_storage_class_of_a_claim(render, own, shared, rendered):
    objects = render(
        {"volumes": {"logs": {"storageClass": own}}, "global": {"storageClass": shared}}
    )
    assert claims(objects)["my-tf-cluster-logs"]["spec"].get("storageClassName") == rendered


def test_extra_volumes_reach_every_training_container(render):
    objects = render(
        {
            "extraVolumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}],
            "extraVolumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        }
    )
    for role in ("chief", *SERVERS):
        mounts = objects.pod(role).container("tensorflow")["volumeMounts"]
        assert {"name": "scratch", "mountPath": "/scratch"} in mounts


# --- helm test ----------------------------------------------------------------------------------


def test_helm_test_is_a_hook_whose_log_stays(render):
    annotations = render().pod("test").metadata["annotations"]
    assert annotations["helm.sh/hook"] == "test"
    assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation"


def test_helm_test_judges_the_samples_model(render):
    pod = render({"sample": {"modelName": "digits", "minAccuracy": 0.5}}).pod("test")
    (check,) = pod.containers
    judge = check["args"][check["args"].index("--") + 1 :]
    assert judge == [
        "python3",
        "-u",
        "/opt/trainyard/mnist/predict.py",
        "--dataset=auto",
        "--model-dir=/mnt/models",
        "--model-name=digits",
        "--min-accuracy=0.5",
    ]
    assert {"name": "models", "mountPath": "/mnt/models", "readOnly": True} in check["volumeMounts"]


@pytest.mark.parametrize(
    "values",
    [
        {"volumes": {"models": {"enabled": False}}},
        {"code": {"source": "image"}, "command": ["/train"]},
    ],
)
def test_helm_test_judges_no_model_that_it_cannot_see(render, values):
    pod = render(values).pod("test")
    assert "--" not in pod.containers[0]["args"]
    assert "models" not in {volume["name"] for volume in pod.spec.get("volumes", [])}


def test_helm_test_reads_the_clusters_own_spec(render):
    objects = render()
    pod = objects.pod("test")
    assert "--cluster-file=/etc/trainyard/cluster/cluster" in pod.containers[0]["args"]
    volume = {each["name"]: each for each in pod.spec.get("volumes", [])}["cluster"]
    spec = objects.one("ConfigMap", volume["configMap"]["name"])["data"]["cluster"]
    assert json.loads(spec) == objects.cluster()


def test_null_takes_istios_switch_away_for_all_roles_or_for_one(render):
    switch = "sidecar.istio.io/inject"
    off = {"podLabels": {switch: None}, "podAnnotations": {switch: None}}

    def switched(values: dict[str, Any]) -> set[str]:
        """The roles whose pods carry the switch, as a label or as an annotation."""
        found = set()
        for pod in render(values).pods():
            both = {**pod.metadata["labels"], **(pod.metadata["annotations"] or {})}
            if switch in both and pod.role != "test":
                found.add(pod.role)
        return found

    assert switched({}) == {"chief", "worker", "ps"}
    assert switched(off) == set()
    assert switched({"chief": off}) == {"worker", "ps"}


def test_helm_test_runs_with_the_chiefs_environment_and_the_common_volumes(render):
    values = {
        "env": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.org"}],
        "chief": {"envFrom": [{"secretRef": {"name": "login"}}], "podLabels": {"a": "b"}},
        "containerSecurityContext": {"readOnlyRootFilesystem": True},
        "extraVolumes": [{"name": "tmp", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    (pod,) = [pod for pod in render(values).pods() if pod.role == "test"]
    container = pod.container("check")
    assert pod.env("check")["HTTPS_PROXY"] == "http://proxy.example.org"
    assert container["envFrom"] == [{"secretRef": {"name": "login"}}]
    assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
    assert {"name": "tmp", "emptyDir": {}} in pod.spec["volumes"]
    assert pod.metadata["labels"]["a"] == "b"
