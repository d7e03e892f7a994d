"""The TensorFlow-1 sample: its flags, and real small clusters of it on this machine."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from argparse import Namespace
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[3] / "charts" / "tf-cluster" / "samples" / "mnist"
PATIENCE_SECONDS = 60
PROMPT_SECONDS = 3
ENDLESS = "--epochs=1000000"


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


class Processes:
    """The processes of one cluster, each in a folder of its own; `worker 0` is a name of one."""

    def __init__(self, python: str, folder: Path, **roles: int) -> None:
        self.python, self.folder = python, folder
        listeners = {
            role: [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
            for role, count in roles.items()
        }
        self.cluster = {
            role: [f"127.0.0.1:{one.getsockname()[1]}" for one in them]
            for role, them in listeners.items()
        }
        for one in (one for them in listeners.values() for one in them):
            one.close()
        self.names = [f"{role} {index}" for role, count in roles.items() for index in range(count)]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str, flags: tuple[str, ...] = ()) -> None:
        for name in names:
            role, index = name.split()
            config = {"cluster": self.cluster, "task": {"type": role, "index": int(index)}}
            (self.folder / name).mkdir(exist_ok=True)
            with (self.folder / f"{name}.log").open("wb") as log:
                self.running[name] = subprocess.Popen(
                    [self.python, "-B", SAMPLE / "train_v1.py", "--dataset=digits", *flags],
                    env=os.environ | {"TF_CONFIG": json.dumps(config)},
                    cwd=self.folder / name,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def output(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def step(self, name: str) -> int:
        """The last step of which the process told."""
        return max(int(step) for step in re.findall(r"^step=(\d+)", self.output(name), re.M))

    def await_line(self, name: str, pattern: str) -> re.Match[str]:
        """Wait until the process has printed a line that matches."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.output(name), re.M)):
            code = self.running[name].poll()
            assert code is None, f"{name} ended with {code}:\n{self.output(name)}"
            assert time.monotonic() < end, f"{name} never said {pattern}:\n{self.output(name)}"
            time.sleep(0.05)
        return found

    def await_step_after(self, name: str, step: int) -> None:
        """Wait until the process has told of a step after `step`."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.step(name) <= step:
            assert time.monotonic() < end, f"{name} stays at {step}:\n{self.output(name)}"
            time.sleep(0.05)

    def code(self, name: str, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for the end of a process and give its exit code."""
        try:
            return self.running[name].wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{name} does not end:\n{self.output(name)}")

    def terminate(self, name: str) -> int:
        self.running[name].terminate()
        return self.code(name, PROMPT_SECONDS)

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()


@pytest.fixture
def processes(tensorflow_python, tmp_path):
    """Give a way to make clusters, which end with the test."""
    made = []

    def make(**roles):
        made.append(Processes(tensorflow_python, tmp_path, **roles))
        return made[-1]

    yield make
    for one in (one for cluster in made for one in cluster.running.values()):
        one.send_signal(signal.SIGKILL)
        one.wait()


def held_out_accuracy(output: str) -> float:
    found = re.search(r"^held_out accuracy=(0\.\d{4}) examples=179$", output, re.M)
    assert found, output
    return float(found[1])


SHORT = "--epochs=4"
FOLDERS = ("--checkpoint-dir=checkpoints", "--log-dir=logs", "--model-dir=models")


def test_between_graph_workers_train_each_by_itself_and_end(processes, tensorflow_python, tmp_path):
    cluster = processes(ps=1, worker=2)
    cluster.start(*cluster.names, flags=(SHORT, *FOLDERS))
    assert [cluster.code(name) for name in ("worker 0", "worker 1")] == [0, 0]
    output = cluster.output("worker 0")
    assert held_out_accuracy(output) >= 0.85
    assert re.search(
        r"^step=20\d of=200 loss=0\.\d+ accuracy=0\.\d+ examples_per_s=\d+$", output, re.M
    )
    steps = [cluster.await_line(f"worker {i}", rf"^worker {i} did (\d+) steps$")[1] for i in (0, 1)]
    assert 200 <= sum(map(int, steps)) <= 201
    assert cluster.terminate("ps 0") == 143
    # Only the worker that decides needs a file system.
    assert {path.name for path in (tmp_path / "worker 0").iterdir()} == {
        *("checkpoints", "logs", "models")
    }
    assert not list((tmp_path / "worker 1").iterdir()) + list((tmp_path / "ps 0").iterdir())
    judge = [tensorflow_python, "-B", SAMPLE / "predict.py"]
    check = [*judge, "--dataset=digits", "--min-accuracy=0.85"]
    assert "exported models/mnist/1" in output
    subprocess.run([*check, "--model-dir", tmp_path / "worker 0" / "models"], check=True)


def test_in_graph_the_chief_drives_all_workers(processes):
    cluster = processes(chief=1, ps=1, worker=2)
    cluster.start(*cluster.names, flags=(SHORT,))
    assert cluster.code("chief 0") == 0
    assert held_out_accuracy(cluster.output("chief 0")) >= 0.85
    assert "step=200 of=200 " in cluster.output("chief 0")
    assert [cluster.terminate(name) for name in cluster.names[1:]] == [143] * 3


def test_a_lost_worker_and_a_lost_parameter_server_are_taken_back(processes):
    cluster = processes(ps=1, worker=2)
    flags = (ENDLESS, "--log-every=20", "--checkpoint-every=20", "--checkpoint-dir=checkpoints")
    cluster.start(*cluster.names, flags=flags)
    cluster.await_line("worker 0", r"^step=")
    cluster.await_line("worker 1", r"^worker 1 begins")
    cluster.kill("worker 1")
    cluster.await_step_after("worker 0", cluster.step("worker 0"))
    cluster.start("worker 1", flags=flags)
    cluster.await_line("worker 1", r"^worker 1 begins at step [1-9]")
    cluster.kill("ps 0")
    step = cluster.step("worker 0")
    cluster.start("ps 0", flags=flags)
    resumed = cluster.await_line("worker 0", r"^resumed step=(\d+) checkpoint=checkpoints/model")
    assert 0 < int(resumed[1]) <= step + 20
    cluster.await_step_after("worker 0", step + 20)
    assert cluster.running["worker 1"].poll() is None
    assert [cluster.terminate(name) for name in reversed(cluster.names)] == [143] * 3


def test_a_worker_whose_decider_never_comes_ends(processes):
    cluster = processes(ps=1, worker=2)
    cluster.start("ps 0")
    cluster.await_line("ps 0", r"^serving")
    cluster.start("worker 1", flags=("--peer-timeout=1",))
    assert cluster.code("worker 1") == 69
    assert "worker 0 at 127.0.0.1:" in cluster.output("worker 1").splitlines()[-1]
