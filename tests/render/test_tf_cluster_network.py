"""Every task is where the cluster spec says that it is, and scaling moves nobody."""

import json
from typing import Any

import pytest
import yaml

LONGEST = "a-release-of-fifty-three-characters-which-is-the-most"
TRAINING_ROLES = ("chief", "worker", "ps")

SITUATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "as it comes": ({}, "my"),
    "many tasks": ({"worker": {"replicas": 12}, "ps": {"replicas": 3}}, "my"),
    "another port and domain": ({"service": {"port": 3000}, "clusterDomain": "k8s.lan"}, "my"),
    "no domain": ({"clusterDomain": ""}, "my"),
    "the longest release name": ({}, LONGEST),
    "a release named as the chart": ({}, "tf-cluster"),
    "a release with a dot": ({}, "my.run"),
    "a release that begins with a digit": ({}, "1st"),
    "a name of one's own": ({"fullnameOverride": "digits"}, "my"),
    "another chart name": ({"nameOverride": "training"}, "my"),
}


@pytest.fixture(params=SITUATIONS.values(), ids=list(SITUATIONS))
def release(request, render):
    values, name = request.param
    return render(values, name=name)


def test_every_task_finds_itself_at_its_own_address(release):
    (service,) = release.of("Service")
    for role in TRAINING_ROLES:
        pod = release.pod(role)
        for index in range(pod.replicas):
            task = release.tf_config(pod, index)
            host, port = task["cluster"][role][index].split(":")
            name, subdomain, namespace, zone = host.split(".", 3)
            assert task["task"] == {"type": role, "index": index}
            assert name == f"{pod.owner['metadata']['name']}-{index}"
            assert subdomain == pod.spec["subdomain"] == service["metadata"]["name"]
            assert namespace == pod.owner["metadata"]["namespace"]
            assert zone.split(".")[0] == "svc"
            assert int(port) == pod.container("tensorflow")["ports"][0]["containerPort"]


def test_every_task_finds_itself_in_the_file_too(release):
    for role in TRAINING_ROLES:
        pod = release.pod(role)
        for index in range(pod.replicas):
            told = release.variables(pod, index)
            assert (told["TASK_TYPE"], told["TASK_INDEX"]) == (role, str(index))
            assert told["TRAINYARD_CLUSTER_FILE"] == "/etc/trainyard/cluster/cluster"
            mount = pod.mount("cluster")
            assert mount == {
                "name": "cluster",
                "mountPath": "/etc/trainyard/cluster",
                "readOnly": True,
            }
            assert (
                release.cluster()[role][index]
                == release.tf_config(pod, index)["cluster"][role][index]
            )


def test_the_spec_names_the_training_roles_and_all_their_tasks(release):
    spec = release.cluster()
    assert list(spec) == ["chief", "worker", "ps"]
    for role, addresses in spec.items():
        assert len(addresses) == release.job(role)["spec"]["completions"]


def test_all_tasks_see_the_same_cluster(release):
    seen = {
        json.dumps(release.tf_config(pod, 0)["cluster"])
        for pod in release.pods()
        if pod.role in TRAINING_ROLES
    }
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("domain", "end"),
    [
        ("cluster.local", ".svc.cluster.local:2222"),
        ("k8s.lan", ".svc.k8s.lan:2222"),
        ("", ".svc:2222"),
    ],
)
def test_the_domain_of_addresses_is_a_value(render, domain, end):
    objects = render({"clusterDomain": domain})
    assert objects.cluster()["ps"][0] == (
        f"{objects.job('ps')['metadata']['name']}-0.my-tf-cluster.default{end}"
    )


def test_the_service_gives_names_to_pods_that_are_not_ready(release):
    (service,) = release.of("Service")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True


def test_the_service_finds_the_training_pods_of_its_release_and_no_others(release, render):
    (service,) = release.of("Service")
    wanted = service["spec"]["selector"].items()
    found = {pod.role for pod in release.pods() if wanted <= pod.metadata["labels"].items()}
    assert found == set(TRAINING_ROLES)
    foreign = render({}, name="someone-elses").pods()
    assert not [pod.role for pod in foreign if wanted <= pod.metadata["labels"].items()]


def test_the_service_leads_to_the_port_that_the_program_listens_on(release):
    (service,) = release.of("Service")
    (port,) = service["spec"]["ports"]
    for role in TRAINING_ROLES:
        (listening,) = release.pod(role).container("tensorflow")["ports"]
        assert port["targetPort"] == listening["name"]
        assert port["port"] == listening["containerPort"]


# --- scaling ------------------------------------------------------------------------------------


def test_a_worker_does_not_know_how_many_there_are(render):
    two = render({"worker": {"replicas": 2}})
    three = render({"worker": {"replicas": 3}})
    for role in TRAINING_ROLES:
        assert yaml.safe_dump(two.job(role)["spec"]["template"]) == yaml.safe_dump(
            three.job(role)["spec"]["template"]
        )


def changed(old: Any, new: Any) -> set[tuple[str, ...]]:
    """What differs: kind, name and path of every leaf; of an object that comes or goes, its kind
    and name.
    """

    def leaves(tree: Any, path: Any = ()) -> Any:
        if isinstance(tree, dict):
            return {k: v for key in tree for k, v in leaves(tree[key], (*path, key)).items()}
        return {path: json.dumps(tree)}

    before, after = (
        {(each["kind"], each["metadata"]["name"]): leaves(each) for each in objects}
        for objects in (old, new)
    )
    both = before.keys() & after.keys()
    return (before.keys() ^ after.keys()) | {
        (*which, *path)
        for which in both
        for path in before[which].keys() | after[which].keys()
        if before[which].get(path) != after[which].get(path)
    }


LIST = ("ConfigMap", "my-tf-cluster-cluster", "data", "cluster")


def test_scaling_starts_the_chief_anew_and_touches_no_other_pod(render):
    two, four = render({"worker": {"replicas": 2}}), render({"worker": {"replicas": 4}})
    chiefs = [objects.job("chief")["metadata"]["name"] for objects in (two, four)]
    worker = two.job("worker")["metadata"]["name"]
    assert chiefs[0] != chiefs[1]
    assert changed(two, four) == {
        LIST,
        ("ConfigMap", "my-tf-cluster-cluster", "data", "job"),
        ("Job", worker, "spec", "completions"),
        ("Job", worker, "spec", "parallelism"),
        ("Role", "my-tf-cluster", "rules"),
        ("Job", chiefs[0]),
        ("Job", chiefs[1]),
    }


def test_a_chief_that_keeps_its_list_is_not_touched_by_scaling(render):
    two, four = (
        render({"run": {"onScale": "keep"}, "worker": {"replicas": number}}) for number in (2, 4)
    )
    worker = two.job("worker")["metadata"]["name"]
    assert changed(two, four) == {
        LIST,
        ("Job", worker, "spec", "completions"),
        ("Job", worker, "spec", "parallelism"),
    }


def test_scaling_a_session_adds_replicas_and_addresses(render):
    two, four = (render({"mode": "session", "worker": {"replicas": number}}) for number in (2, 4))
    assert changed(two, four) == {
        LIST,
        ("StatefulSet", "my-tf-cluster-worker", "spec", "replicas"),
    }


def test_workers_that_decide_together_all_start_with_the_new_list(render):
    values = {"strategy": "multiWorkerMirrored"}
    two, four = (render({**values, "worker": {"replicas": number}}) for number in (2, 4))
    jobs = [objects.job("worker")["metadata"]["name"] for objects in (two, four)]
    assert jobs[0] != jobs[1]
    assert changed(two, four) == {
        LIST,
        ("ConfigMap", "my-tf-cluster-cluster", "data", "job"),
        ("Role", "my-tf-cluster", "rules"),
        ("Job", jobs[0]),
        ("Job", jobs[1]),
    }


def test_completions_and_parallelism_go_together(release):
    for job in release.of("Job"):
        assert job["spec"]["completionMode"] == "Indexed"
        assert job["spec"]["completions"] == job["spec"]["parallelism"]


# --- names --------------------------------------------------------------------------------------


def test_names_have_room_for_the_largest_index_and_for_a_statefulset(render):
    for length in (1, 2, 20, 30, 31, 32, 40, 41, 42, 43, 44, 52, 53):
        objects = render(name=("abcdefghi-" * 6)[: length - 1] + "z")
        name = objects.of("Service")[0]["metadata"]["name"]
        assert len(f"{name}-worker-99999") <= 63
        assert len(f"{name}-evaluator") <= 52


def test_two_long_releases_that_differ_at_the_end_keep_apart(render):
    one, other = render(name=LONGEST[:-1] + "a"), render(name=LONGEST[:-1] + "b")
    names = [
        {(each["kind"], each["metadata"]["name"]) for each in objects} for objects in (one, other)
    ]
    assert not names[0] & names[1]


def test_a_dot_in_a_release_name_does_not_make_two_releases_one(render):
    dotted, dashed = render(name="my.run"), render(name="my-run")
    assert (
        dotted.of("Service")[0]["metadata"]["name"] != dashed.of("Service")[0]["metadata"]["name"]
    )


def test_a_release_that_ends_with_the_charts_name_does_not_say_it_twice(render):
    assert render(name="my-tf-cluster").of("Service")[0]["metadata"]["name"] == "my-tf-cluster"
    assert render(name="tf-cluster-my").of("Service")[0]["metadata"]["name"] == (
        "tf-cluster-my-tf-cluster"
    )


def test_no_two_objects_share_a_name(release):
    names = [(each["kind"], each["metadata"]["name"]) for each in release]
    assert len(names) == len(set(names))


# --- sizes --------------------------------------------------------------------------------------


def largest_variable(objects: Any) -> int:
    """The longest environment string that any task gets."""
    spec = json.dumps(objects.cluster(), separators=(",", ":"))
    config = objects.pod("worker").env()["TF_CONFIG"].replace("$(CLUSTER)", spec)
    return len("TF_CONFIG=") + len(config.replace("$(TASK_INDEX)", "9999")) + 1


def test_a_thousand_workers_cost_no_more_objects_than_two(render):
    many = render({"worker": {"replicas": 1000}})
    assert len(many) == len(render())
    assert largest_variable(many) <= 131072


OWN = {"code": {"source": "image"}, "command": ["/train"]}


@pytest.mark.parametrize(("name", "fit", "over"), [("my", 1610, 1645), (LONGEST, 940, 960)])
def test_a_cluster_that_no_environment_can_hold_is_refused(render, refuse, name, fit, over):
    most = largest_variable(render({**OWN, "worker": {"replicas": fit}}, name=name))
    # The chart judges before it knows the names, a little on the safe side.
    assert 0.95 * 131072 < most <= 131072
    message = refuse({**OWN, "worker": {"replicas": over}}, name=name)
    assert "TF_CONFIG" in message
    assert "131072" in message
    assert "worker.replicas" in message
    assert "ask for fewer" in message
    assert "tfConfig to false" in message


@pytest.mark.parametrize(
    ("domain", "fit", "over"), [("cluster.local", 1800, 1900), ("", 2200, 2400)]
)
def test_a_slice_of_hosts_that_no_environment_can_name_is_refused(
    render, refuse, domain, fit, over
):
    def slice_of(hosts):
        tpu = {"accelerator": "tpu-v5p-slice", "topology": f"4x4x{hosts}", "chips": 4}
        worker = {"replicas": hosts * 4}
        values = {"strategy": "tpu", "tpu": tpu, "worker": worker, "tfConfig": False}
        return {**OWN, **values, "clusterDomain": domain}

    objects = render(slice_of(fit // 4))
    hosts = objects.told()["hosts"]
    assert 0.9 * 131072 < len(f"TPU_WORKER_HOSTNAMES={hosts}") + 1 <= 131072
    message = refuse(slice_of(over // 4))
    assert "1 thing to mend" in message
    assert "TPU_WORKER_HOSTNAMES: the environment variable would have" in message
    assert "more than 131072" in message
    assert f"{over} hosts" in message
    assert "shorten the addresses" in message
    assert "tpu.topology" in message


@pytest.mark.parametrize("values", [{}, {**OWN, "tfConfig": False}], ids=["the sample", "own"])
def test_a_program_that_reads_the_file_may_have_as_many_tasks_as_it_likes(render, values):
    objects = render({**values, "worker": {"replicas": 5000}})
    for pod in objects.tasks():
        assert not pod.env().keys() & {"TF_CONFIG", "CLUSTER"}
        assert pod.env()["TRAINYARD_CLUSTER_FILE"] == "/etc/trainyard/cluster/cluster"
    assert len(objects.cluster()["worker"]) == 5000


def test_a_list_that_no_configmap_can_hold_is_refused(refuse):
    values = {"tfConfig": False, "worker": {"replicas": 10000}, "ps": {"replicas": 1000}}
    message = refuse({**values, **OWN}, name=LONGEST)
    assert "the ConfigMap of the cluster spec would hold" in message
    assert "1048576" in message


def test_a_sample_that_no_configmap_can_hold_is_refused(copy_of_chart, template):
    (copy_of_chart / "samples" / "mnist" / "large.py").write_text("#" * 1_100_000)
    message = template({}, chart=copy_of_chart).stderr
    assert "1048576" in message
    assert "samples/mnist" in message
