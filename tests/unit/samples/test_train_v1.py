"""The TensorFlow-1 sample: its flags, and real small clusters of it on this machine."""

import json
from argparse import Namespace

import pytest
from tests.unit.samples.programs import ENDLESS


@pytest.fixture
def light(sample):
    """Give the half of the program that needs no TensorFlow."""
    pytest.importorskip("numpy", reason="the sample program needs numpy")
    return sample("train_v1")


def task(sample, role="worker", **cluster):
    addresses = {"chief": [], "ps": ["p:1"], "worker": ["w:1"]} | cluster
    config = {"cluster": addresses, "task": {"type": role, "index": 0}}
    return sample("cluster").parse_tf_config(json.dumps(config))


@pytest.mark.parametrize(
    ("wanted", "chief", "chosen"),
    [
        ("auto", [], "between-graph"),
        ("auto", ["c:1"], "in-graph"),
        ("between-graph", ["c:1"], "between-graph"),
        ("in-graph", ["c:1"], "in-graph"),
    ],
)
def test_a_chief_decides_how_the_model_is_replicated(sample, light, wanted, chief, chosen):
    assert light.replication(task(sample, chief=chief), wanted) == chosen


@pytest.mark.parametrize(
    ("wanted", "cluster", "message"),
    [
        ("in-graph", {}, "needs a chief"),
        ("auto", {"ps": []}, "lists no ps"),
    ],
)
def test_a_cluster_that_lacks_a_role_is_refused(sample, light, wanted, cluster, message):
    with pytest.raises(sample("errors").UsageError, match=message):
        light.replication(task(sample, **cluster), wanted)


def test_a_role_without_a_part_is_refused(sample, light):
    evaluator = Namespace(role="evaluator", cluster={"ps": ("p:1",), "worker": ("w:1",)})
    with pytest.raises(sample("errors").UsageError, match="no part for that role"):
        light.replication(evaluator, "auto")


def test_it_takes_the_flags_of_train_and_its_own(light):
    flags = light.parse(["--epochs=3", "--log-every=7", "--replication=in-graph"])
    assert (flags.epochs, flags.log_every, flags.replication) == (3, 7, "in-graph")


def test_a_flag_that_only_train_heeds_is_refused(sample, light, monkeypatch):
    original = sample("train").parser

    def with_another_flag():
        result = original()
        result.add_argument("--tune-it", default="no")
        return result

    monkeypatch.setattr(sample("train"), "parser", with_another_flag)
    assert light.parse([]).tune_it == "no"
    with pytest.raises(sample("errors").UsageError, match="tune-it is for train"):
        light.parse(["--tune-it=yes"])


SHORT = "--epochs=4"
FOLDERS = ("--checkpoint-dir=checkpoints", "--log-dir=logs", "--model-dir=models")


@pytest.fixture
def script():
    return "train_v1.py"


def test_between_graph_workers_train_each_by_itself_and_end(programs):
    programs.addresses(ps=1, worker=2)
    server, *workers = programs.members(SHORT, *FOLDERS)
    assert [worker.code() for worker in workers] == [0, 0]
    decider, other = workers
    assert decider.accuracy() >= 0.85
    assert decider.search(r"^step=20\d of=200 loss=0\.\d+ accuracy=0\.\d+ examples_per_s=\d+$")
    steps = [w.number(rf"^worker {i} did (\d+) steps$") for i, w in enumerate(workers)]
    assert 200 <= sum(steps) <= 201
    assert server.terminate() == 143
    # Only the worker that decides needs a file system.
    assert {path.name for path in decider.folder.iterdir()} == {"checkpoints", "logs", "models"}
    assert not [*other.folder.iterdir(), *server.folder.iterdir()]
    assert "exported models/mnist/1" in decider.output
    programs.predict(decider.folder / "models", "--min-accuracy=0.85")


def test_in_graph_the_chief_drives_all_workers(programs):
    programs.addresses(chief=1, ps=1, worker=2)
    chief, *servers = programs.members(SHORT)
    assert chief.code() == 0
    assert chief.accuracy() >= 0.85
    assert "step=200 of=200 " in chief.output
    assert [server.terminate() for server in servers] == [143] * 3


def test_a_lost_worker_and_a_lost_parameter_server_are_taken_back(programs):
    programs.addresses(ps=1, worker=2)
    flags = (ENDLESS, "--log-every=20", "--checkpoint-every=20", "--checkpoint-dir=checkpoints")
    server, decider, other = programs.members(*flags)
    decider.until(r"^step=")
    other.until(r"^worker 1 begins")
    other.kill()
    decider.until_after(decider.step())
    other = programs.member("worker", 1, *flags)
    other.until(r"^worker 1 begins at step [1-9]")
    server.kill()
    # One more may have been saved than it has told of, and workers step on while it saves.
    latest = decider.step() + 40
    server = programs.member("ps", 0, *flags)
    resumed = decider.until(r"^resumed step=(\d+) checkpoint=checkpoints/model")
    assert 0 < int(resumed[1]) <= latest
    decider.until_after(latest)
    assert other.runs
    assert [program.terminate() for program in (other, decider, server)] == [143] * 3


def test_a_worker_whose_decider_never_comes_ends(programs):
    programs.addresses(ps=1, worker=2)
    programs.member("ps", 0).until(r"^serving")
    worker = programs.member("worker", 1, "--peer-timeout=1")
    assert worker.code() == 69
    assert "worker 0 at 127.0.0.1:" in worker.output.splitlines()[-1]
