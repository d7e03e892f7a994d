"""Real small clusters of the sample, one for each way to train, and what happens to them."""

import json
import socket
import subprocess

import pytest
from tests.unit.samples.programs import ENDLESS, PATIENCE_SECONDS, SAMPLE, free_addresses

LOSS_SECONDS = 20  # by the heartbeat of TensorFlow if by nothing else


def is_listening(address):
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def test_mirrored_workers_survive_the_loss_of_one_by_starting_again(programs, tmp_path):
    programs.addresses(worker=2)
    kept = f"--checkpoint-dir={tmp_path / 'checkpoints'}"
    models = tmp_path / "models"
    often = ("--checkpoint-every=20", "--log-every=20", kept)
    first, second = programs.members(ENDLESS, *often)
    first.until(r"^step=60 ")
    second.kill()
    assert first.code(LOSS_SECONDS) == 75
    assert "lost a worker" in first.output
    assert "restart resumes from checkpoint step" in first.output

    total = (first.step() // 50 + 5) * 50
    flags = (f"--epochs={total // 50}", kept, f"--model-dir={models}")
    again = [programs.member("worker", index, *flags) for index in (1, 0)]
    assert [program.code() for program in again] == [0, 0]
    guest, host = again
    assert host.number(r"^resumed step=(\d+) ") >= 60
    assert f"step={total} of={total} " in host.output
    assert host.accuracy() >= 0.9
    assert "=" not in guest.output.replace("TF_ENABLE_ONEDNN_OPTS=0", "")  # Worker 0 speaks.
    assert programs.predict(models)["accuracy"] == pytest.approx(host.accuracy(), abs=1e-4)


def test_mirrored_workers_heed_sigterm_and_count_a_loss_before_progress(programs):
    (address, _) = programs.addresses(worker=2)["worker"]
    first = programs.member("worker", 0, ENDLESS, "--log-every=10")
    first.await_that("listening", lambda: is_listening(address))
    assert first.terminate() == 143  # while it waits for the other

    first, second = programs.members(ENDLESS, "--log-every=10")
    first.until(r"^step=10 ")
    assert second.terminate() == 143  # while it trains
    assert first.code(LOSS_SECONDS) == 69  # Nothing was saved.
    assert "no progress was saved" in first.output


def test_an_evaluator_follows_a_run_of_one_process_to_its_end(programs, tmp_path):
    kept = f"--checkpoint-dir={tmp_path / 'checkpoints'}"
    logs = f"--log-dir={tmp_path / 'logs'}"
    programs.cluster = {"evaluator": ["127.0.0.1:2222"]}
    evaluator = programs.member("evaluator", 0, kept, logs)
    evaluator.until("^watching")  # There is no folder yet.
    single = programs.start("--epochs=6", "--checkpoint-every=10", kept, logs)
    assert single.code() == 0
    assert evaluator.terminate(PATIENCE_SECONDS) == 0  # It ends by itself, or has another code.
    share = f"{single.accuracy():.4f}"
    assert evaluator.output.endswith(f"evaluated step=300 accuracy={share} examples=179\n")
    assert single.accuracy() >= 0.9
    assert list((tmp_path / "logs" / "eval").glob("events.*"))


def test_a_client_goes_on_after_changes_and_losses_and_so_does_another_strategy(programs, tmp_path):
    listed = programs.addresses(ps=1, worker=1)
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(listed))
    kept = f"--checkpoint-dir={tmp_path / 'checkpoints'}"
    variables = {"TRAINYARD_CLUSTER_FILE": str(path)}
    server, _ = [programs.start(**variables, TASK_TYPE=role) for role in ("ps", "worker")]
    (own,) = free_addresses(1)
    variables |= {"TASK_TYPE": "client", "TASK_PORT": own.rpartition(":")[2]}
    flags = ("--follow-cluster", "--updates=sync", "--log-every=10", kept)
    client = programs.start(ENDLESS, *flags, "--checkpoint-every=1000", **variables)
    client.until(r"^step=10 ")
    new = tmp_path / "new.json"
    new.write_text(json.dumps(listed).replace("127.0.0.1", "localhost"))
    new.replace(path)  # Another list, but of the same servers.
    assert client.code() == 75
    assert "cluster changed: worker 1 -> 1, ps 1 -> 1\n" in client.output
    step = client.number(r"stopped at step (\d+)")

    client = programs.start(ENDLESS, *flags, "--checkpoint-every=20", **variables)
    client.until(rf"^resumed step={step} ")
    rival = programs.start(ENDLESS, *flags, "--peer-timeout=0", **variables)
    assert rival.code() == 69
    assert "earlier run has not released" in rival.output
    client.until(rf"^step={step // 20 * 20 + 60} ")
    server.kill()
    assert client.code(LOSS_SECONDS) == 75
    assert "lost a parameter server" in client.output
    saved = client.number(r"resumes from checkpoint step (\d+)")
    assert saved >= step + 20

    alone = programs.start(f"--epochs={saved // 50 + 5}", kept)
    assert alone.code() == 0
    assert alone.number(r"^resumed step=(\d+) ") >= saved
    assert alone.accuracy() >= 0.9


def test_synchronous_updates_count_each_share_once(tensorflow_python, tmp_path):
    done = subprocess.run(
        [tensorflow_python, "-B", "-c", SHARES],
        env={"PYTHONPATH": str(SAMPLE), "TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")


# One server of each role in one process. SGD without dropout makes every update known exactly.
SHARES = """
import keras, numpy as np, os, socket, tensorflow as tf
import model, synchronous

model.DROPOUT = 0.0
held = {role: socket.create_server(("127.0.0.1", 0)) for role in ("ps", "worker")}
spec = {role: [f"127.0.0.1:{one.getsockname()[1]}"] for role, one in held.items()}
for role, one in held.items():
    one.close()
    own = tf.train.ClusterSpec({role: {0: spec[role][0]}})
    held[role] = tf.distribute.Server(own, job_name=role, protocol="grpc")
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
    tf.train.ClusterSpec(spec), rpc_layer="grpc"
)
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
random = np.random.default_rng(0)
images = random.integers(0, 16, [40, 8, 8], np.uint8)
labels = random.integers(0, 10, [40])


def make():
    classifier, optimizer = model.build((8, 8), 1), keras.optimizers.SGD(0.5)
    optimizer.build(classifier.trainable_variables)
    return classifier, optimizer, tf.Variable(tf.zeros([3]))


with strategy.scope():
    ours = make()
own = make()
gathering = synchronous.Gathering(strategy, *ours, shares=2)
step = gathering.worker_step(16, 9)
examples = iter(
    coordinator.create_per_worker_dataset(
        lambda: tf.data.Dataset.from_tensors((images, labels)).repeat()
    )
)


def do(batch, share, number):
    part = gathering.parts(batch)[share]
    numbers = part, np.int32(share), np.int64(number)
    coordinator.schedule(step, args=(examples, *map(tf.constant, numbers)))
    coordinator.join()


for number in range(3):
    batch = np.arange(number * 9, number * 9 + 9, dtype=np.int32)
    do(batch, 0, number)
    do(batch, 1, number)
    do(batch, 0, number)  # Its worker was lost, but had done it.
    do(batch + 9, 1, number - 1)  # A worker that was given up comes too late.
    gathering.apply()
    model.training_step(*own, 16)(images, labels, batch)
    np.testing.assert_allclose(ours[2].numpy(), own[2].numpy(), rtol=1e-5)
    for left, right in zip(ours[0].trainable_variables, own[0].trainable_variables):
        np.testing.assert_allclose(left.value.numpy(), right.value.numpy(), atol=1e-5)
assert own[2].numpy()[2] == 27
print("done", flush=True)
os._exit(0)
"""


def test_synchronous_training_survives_the_loss_of_a_worker(programs):
    programs.addresses(chief=1, ps=1, worker=2)
    flags = ("--updates=sync", "--log-every=10")
    _, kept, lost = [programs.member(*one) for one in (("ps", 0), ("worker", 0), ("worker", 1))]
    chief = programs.member("chief", 0, "--epochs=6", *flags)
    chief.until(r"^step=20 ")
    lost.kill()
    assert chief.code() == 0
    assert chief.accuracy() >= 0.9
    assert kept.terminate() == 143
