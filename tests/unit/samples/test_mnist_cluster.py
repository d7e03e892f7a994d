"""TF_CONFIG: what is read from it, and what is said about one that cannot be right."""

import json

import pytest

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
        (config(role="evaluator", index=0), "'evaluator'; known are chief, ps, worker"),
        (config(index=2), "names worker 2, but its cluster lists 2 worker"),
        (config(index=-1), "names worker -1"),
        (config(worker=["w0:2222", "w1"]), "'w1'; it must be host:port"),
        (config(worker=["w0:2222", ":2222"]), "':2222'; it must be host:port"),
        (config(ps=["p:70000"]), "'p:70000'; it must be host:port"),
        (config(role="chief", index=0, ps=[]), "lists no ps; one"),
        (config(role="chief", index=0, ps=[], worker=[]), "lists no ps and no worker"),
    ],
)
def test_what_cannot_be_right_is_named(sample, text, message):
    cluster = sample("cluster")
    with pytest.raises(sample("errors").UsageError) as caught:
        cluster.parse_tf_config(text)
    assert message in str(caught.value)
