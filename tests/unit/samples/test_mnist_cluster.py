"""The cluster in TF_CONFIG or a file: what is read, what is refused, and when it has changed."""

import json
import os
import subprocess
import sys

import pytest
from tests.unit.samples.programs import SAMPLE

CLUSTER = {"chief": ["c:2222"], "ps": ["p:2222"], "worker": ["w0:2222", "w1:2222"]}


def config(role="worker", index=1, **changes):
    return json.dumps({"cluster": CLUSTER | changes, "task": {"type": role, "index": index}})


def test_a_task_knows_its_address_and_its_peers(sample):
    task = sample("cluster").parse_tf_config(config())
    assert (task.role, task.index, task.address) == ("worker", 1, "w1:2222")
    assert [str(peer) for peer in task.peers("ps", "worker")] == [
        "ps 0 at p:2222",
        "worker 0 at w0:2222",
        "worker 1 at w1:2222",
    ]


def test_an_index_may_come_as_text(sample):
    assert sample("cluster").parse_tf_config(config(index="1")).index == 1


def test_other_roles_of_the_cluster_are_left_out(sample):
    task = sample("cluster").parse_tf_config(config(evaluator=["e:2222"]))
    assert "evaluator" not in task.cluster


def test_a_server_needs_no_other_role(sample):
    text = '{"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": 0}}'
    assert sample("cluster").parse_tf_config(text).address == "p:1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "TF_CONFIG is not set"),
        ("", "TF_CONFIG is not set"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"cluster": {}}', "cannot be read"),
        ('{"cluster":$(CLUSTER),"task":{"type":"worker","index":0}}', "cannot be read"),
        (config(index="one"), "cannot be read"),
        (config(role="master", index=0), "'master'; known are chief, worker, ps, evaluator"),
        (config(role="evaluator", index=0), "names evaluator 0, but its cluster lists 0"),
        (config(index=2), "names worker 2, but its cluster lists 2 worker"),
        (config(index=-1), "names worker -1"),
        (config(worker=["w0:2222", "w1"]), "'w1'; it must be host:port"),
        (config(worker=["w0:2222", ":2222"]), "':2222'; it must be host:port"),
        (config(ps=["p:70000"]), "'p:70000'; it must be host:port"),
        (config(role="chief", index=0, ps=[]), "lists no ps; one"),
        (config(role="chief", index=0, worker=[]), "lists no worker"),
        (config(role="chief", index=0, chief=[":2222"]), "':2222'; it must be host:port"),
    ],
)
def test_what_cannot_be_right_is_named(sample, text, message):
    cluster = sample("cluster")
    with pytest.raises(sample("errors").UsageError) as caught:
        cluster.parse_tf_config(text)
    assert message in str(caught.value)


def test_an_evaluator_stands_alone(sample):
    text = '{"cluster": {"evaluator": ["e:1"]}, "task": {"type": "evaluator", "index": 0}}'
    task = sample("cluster").parse_tf_config(text)
    assert (task.role, task.address) == ("evaluator", "e:1")


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"worker": ["w0:2222", "w1:2222"], "ps": ["127.0.0.1:2222"]}))
    return path


def find(sample, path, **variables):
    environment = {"TRAINYARD_CLUSTER_FILE": str(path)} | variables
    return sample("cluster").find_task(environment)


def test_a_file_and_two_variables_say_the_same_as_tf_config(sample, listed):
    task = find(sample, listed, TASK_TYPE="worker", TASK_INDEX="1")
    assert (task.role, task.address) == ("worker", "w1:2222")
    assert task.cluster["chief"] == ()


def test_tf_config_wins_over_the_file(sample, listed):
    task = find(sample, listed, TASK_TYPE="ps", TF_CONFIG=config())
    assert (task.role, task.index) == ("worker", 1)


def test_an_empty_environment_has_no_task(sample):
    assert sample("cluster").find_task({"TF_CONFIG": ""}) is None


def test_an_evaluator_need_not_be_in_the_file(sample, listed):
    assert find(sample, listed, TASK_TYPE="evaluator").role == "evaluator"


def test_a_client_is_a_chief_at_the_address_that_the_servers_can_reach(sample, listed):
    task = find(sample, listed, TASK_TYPE="client", TASK_PORT="4000")
    assert (task.role, task.index) == ("chief", 0)
    assert task.located().address == "127.0.0.1:4000"
    assert task.located().cluster["worker"] == ("w0:2222", "w1:2222")


def test_a_client_that_is_told_its_address_takes_it(sample, listed):
    task = find(sample, listed, TASK_TYPE="client", TASK_HOST="me")
    assert task.located().address == "me:2222"


def test_a_client_without_a_way_to_the_servers_is_not_ready(sample, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text('{"worker": ["w:1"], "ps": ["no-such-host.invalid:1"]}')
    task = find(sample, path, TASK_TYPE="client")
    with pytest.raises(sample("errors").NotReadyError, match=r"no-such-host\.invalid"):
        task.located()


@pytest.mark.parametrize(
    ("text", "variables", "message"),
    [
        ("{}", {}, "TASK_TYPE must be one of chief, worker, ps, evaluator, client"),
        ("{}", {"TASK_TYPE": "ps", "TASK_INDEX": "one"}, "TASK_INDEX a number"),
        ("{", {"TASK_TYPE": "ps"}, "cannot be read"),
        ("[]", {"TASK_TYPE": "ps"}, "cannot be read"),
        ("{}", {"TASK_TYPE": "ps"}, "names ps 0, but its cluster lists 0 ps"),
        ('{"ps": ["p"]}', {"TASK_TYPE": "ps"}, "'p'; it must be host:port"),
        ('{"worker": ["w:1"]}', {"TASK_TYPE": "client"}, "lists no ps"),
        ("{}", {"TASK_TYPE": "client", "TASK_PORT": "x"}, "TASK_PORT must be a port"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(sample, tmp_path, text, variables, message):
    path = tmp_path / "cluster.json"
    path.write_text(text)
    with pytest.raises(sample("errors").UsageError) as caught:
        find(sample, path, **variables)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(sample, tmp_path):
    with pytest.raises(sample("errors").UsageError, match=str(tmp_path / "none")):
        find(sample, tmp_path / "none", TASK_TYPE="ps")


ALONE = '{"cluster": {"chief": ["c:1"]}, "task": {"type": "chief", "index": 0}}'
EQUAL = config(chief=[], ps=[])
SERVER = '{"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": 0}}'


@pytest.mark.parametrize(
    ("text", "wanted", "chosen"),
    [
        (config(role="chief", index=0), "auto", "parameter-server"),
        (config(), "auto", "parameter-server"),
        (SERVER, "auto", "parameter-server"),
        (EQUAL, "auto", "multi-worker-mirrored"),
        (EQUAL, "multi-worker-mirrored", "multi-worker-mirrored"),
        (EQUAL, "parameter-server", "parameter-server"),  # a server that knows not all
        (ALONE, "auto", "mirrored"),
        (config(index=0, chief=[], ps=[], worker=["w:1"]), "mirrored", "mirrored"),
        (None, "auto", "mirrored"),
        (None, "mirrored", "mirrored"),
    ],
)
def test_the_roles_of_a_cluster_decide_how_it_trains(sample, text, wanted, chosen):
    cluster = sample("cluster")
    task = cluster.parse_tf_config(text) if text else None
    assert cluster.choose_strategy(wanted, task) == chosen


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        (None, "parameter-server", "TF_CONFIG is not set"),
        (None, "multi-worker-mirrored", "TF_CONFIG is not set"),
        (config(), "multi-worker-mirrored", "workers and nothing else.* 1 chief, 2 worker, 1 ps"),
        (EQUAL, "mirrored", "a single process"),
        (ALONE, "parameter-server", "parameter servers and workers"),
    ],
)
def test_a_strategy_that_the_cluster_cannot_do_is_refused(sample, text, wanted, message):
    cluster = sample("cluster")
    task = cluster.parse_tf_config(text) if text else None
    with pytest.raises(sample("errors").UsageError, match=message):
        cluster.choose_strategy(wanted, task)


def swap(path, content):
    """Exchange a file as the kubelet does: by a new link in place of the old one."""
    new, link = path.with_name("new"), path.with_name("link")
    new.write_text(content)
    link.symlink_to(new)
    link.replace(path)


def test_a_list_that_grows_is_seen_and_told_once(sample, listed, capsys):
    cluster = sample("cluster")
    follower = cluster.Follower(str(listed), find(sample, listed, TASK_TYPE="client"))
    assert not follower.look()
    swap(listed, json.dumps({"worker": ["a:1", "b:1", "c:1", "d:1"], "ps": ["127.0.0.1:2222"]}))
    assert not follower.has_changed()  # It has looked only just now.
    follower.looked -= cluster.LOOK_SECONDS
    assert follower.has_changed()
    assert follower.look()
    assert capsys.readouterr().out == "cluster changed: worker 2 -> 4, ps 1 -> 1\n"


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_list_that_cannot_be_read_just_now_has_not_changed(sample, listed, content):
    task = find(sample, listed, TASK_TYPE="client")
    swap(listed, content)
    assert not sample("cluster").Follower(str(listed), task).look()


def test_without_a_file_nothing_changes(sample):
    follower = sample("cluster").Follower("", sample("cluster").parse_tf_config(config()))
    assert not follower.look()
    with follower.ending_waits():
        pass


def test_a_wait_for_a_cluster_that_is_no_more_ends(listed):
    code = (
        "import cluster, os, pathlib, time\n"
        "cluster.LOOK_SECONDS = 0.1\n"
        "follower = cluster.Follower(os.environ['TRAINYARD_CLUSTER_FILE'],"
        " cluster.find_task(os.environ))\n"
        "with follower.ending_waits():\n"
        f"    pathlib.Path({str(listed)!r}).write_text('{{}}')\n"
        "    time.sleep(60)\n"
    )
    variables = {"PYTHONPATH": str(SAMPLE), "TRAINYARD_CLUSTER_FILE": str(listed)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=os.environ | variables | {"TASK_TYPE": "client", "TF_CONFIG": ""},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (75, "cluster changed: worker 2 -> 0, ps 1 -> 0\n")
