"""The TensorFlow-1 half of train_v1.py: one graph, built on the servers of a cluster and trained.

Variables lie on the parameter servers and outlive every session: a worker that comes back finds
them there. A parameter server that comes back is empty, and the deciding process (the chief, or
worker 0 where there is none) fills it from the newest checkpoint.
"""

import itertools
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import data
import export
import lock
import numpy as np
import peers
import process
import tensorflow.compat.v1 as tf
from cluster import Peer, Task
from errors import NotReadyError, SampleError, TryAgainError, UsageError

tf.logging.set_verbosity(tf.logging.ERROR)
tf.disable_v2_behavior()
# The variables of TensorFlow 1.0 leave open what a read gives while another worker writes.
tf.enable_resource_variables()

CLASSES = 10
HIDDEN_UNITS = 512
DROPOUT = 0.2
CHECKPOINTS_KEPT = 3
LEAST_PATIENCE_SECONDS = 60.0  # for what takes a while even if all is well
LOSSES = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.FailedPreconditionError,
)


def start_server(task: Task) -> tf.train.Server:
    """Start this process's server; unlike one of TensorFlow 2, it must know all others at once."""
    spec = tf.train.ClusterSpec({role: list(them) for role, them in task.cluster.items() if them})
    return tf.train.Server(spec, job_name=task.role, task_index=task.index, protocol="grpc")


def device(role: str, index: int) -> str:
    """TensorFlow's name for a process of the cluster."""
    return f"/job:{role}/task:{index}"


def serve(task: Task) -> NoReturn:
    """Lend processor and memory to those who train, until a signal ends it (see process.py)."""
    server = start_server(task)
    print(f"serving {task.role} {task.index} on {task.address}", flush=True)
    while server:
        time.sleep(3600)
    raise AssertionError("unreachable")


def train(task: Task, flags: Namespace, *, in_graph: bool) -> None:
    """Train until all processes together have done all steps; who decides also exports.

    Raises:
        UsageError: flags, data and checkpoint do not fit together.
        NotReadyError: peers have not come.
        TryAgainError: a peer was lost and did not come back.
        tf.errors.OpError: anything else that TensorFlow reports.
    """
    digits = data.load(flags.dataset, flags.data_dir)
    examples = len(digits.train_images)
    if flags.batch_size > examples:
        raise UsageError(f"--batch-size {flags.batch_size} exceeds the {examples} training images")
    server = start_server(task)
    trainer = Trainer(task, flags, digits, in_graph=in_graph)
    peers.wait_for_peers(trainer.servers, flags.peer_timeout)
    watchdog = Watchdog(trainer.others(), flags.peer_timeout)
    try:
        weights = trainer.run(server.target, watchdog)
    except LOSSES as error:
        raise watchdog.complaint(error.message.splitlines()[0]) from error
    watchdog.stop()
    if trainer.decides:
        finish(weights, digits, flags)


class Watchdog:
    """Ends this process when nothing has got done for too long.

    TensorFlow waits for ever for servers that are gone, inside calls that nothing interrupts.
    """

    def __init__(self, others: list[Peer], timeout: float) -> None:
        self.others, self.timeout = others, timeout
        self.patience = max(LEAST_PATIENCE_SECONDS, timeout)
        self.stopped = False
        self.progressed = False  # whether a restart would find more than this run found
        self.fed = time.monotonic()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def feed(self) -> None:
        """Say that something got done."""
        self.fed = time.monotonic()

    def stop(self) -> None:
        """Say that the cluster is no longer needed."""
        self.stopped = True

    def complaint(self, what: str) -> SampleError:
        """The error for `what` went wrong in the cluster, with the peers that do not answer."""
        kind = TryAgainError if self.progressed else NotReadyError
        absent = peers.missing(self.others)
        return kind(f"{what}; no answer from {peers.describe(absent)}" if absent else what)

    def _watch(self) -> None:
        reported = self.fed
        while not self.stopped:
            time.sleep(1)
            now = time.monotonic()
            if now - self.fed >= self.patience:
                error = self.complaint(f"gave up: nothing got done for {self.patience:g} s")
                process.leave(error.exit_code, f"train_v1.py: {error}")
            if now - max(self.fed, reported) >= peers.REPORT_SECONDS:
                print(self.complaint(f"nothing got done for {now - self.fed:.0f} s"), flush=True)
                reported = now


def logits(images: tf.Tensor, seed: int, dropout: float = 0.0) -> tf.Tensor:
    """The classifier, from images, float32 [batch, height, width], to [batch, CLASSES]."""
    pixels = int(np.prod(images.shape[1:]))
    hidden = tf.nn.relu(dense(tf.reshape(images, [-1, pixels]), HIDDEN_UNITS, "hidden", seed))
    if dropout:
        hidden = tf.nn.dropout(hidden, rate=dropout, seed=seed)
    return dense(hidden, CLASSES, "logits", seed + 1)


def dense(inputs: tf.Tensor, units: int, name: str, seed: int) -> tf.Tensor:
    """One layer. tf.layers, where TensorFlow 1 had this, went away with Keras 2."""
    with tf.variable_scope(name):
        shape = [int(inputs.shape[1]), units]
        kernel = tf.get_variable("kernel", shape, initializer=tf.glorot_uniform_initializer(seed))
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, kernel) + bias


@dataclass(frozen=True)
class TrainingGraph:
    """What is fed into the graph and fetched from it.

    Totals are the sum of losses, right answers and examples since training began, by all workers.
    """

    towers: list[tuple[tf.Tensor, tf.Tensor]]  # of each, the images and labels to feed
    state: tuple[tf.Tensor, tf.Tensor]  # global step and totals
    update: tuple[tf.Tensor, tf.Tensor]  # the same, after one more training step
    saver: tf.train.Saver


def build(task: Task, flags: Namespace, digits: data.Digits, devices: list[str]) -> TrainingGraph:
    """Build the graph with one tower, which computes a part of each batch, on every device."""
    here = device(task.role, task.index)
    spec = {role: list(addresses) for role, addresses in task.cluster.items()}
    towers, sums = [], []
    for tower_device in devices:
        setter = tf.train.replica_device_setter(worker_device=tower_device, cluster=spec)
        # The second tower finds the variables of the first.
        with tf.device(setter), tf.variable_scope("classifier", reuse=tf.AUTO_REUSE):
            images = tf.placeholder(tf.uint8, [None, *digits.shape])
            labels = tf.placeholder(tf.int64, [None])
            towers.append((images, labels))
            sums.append(tower_sums(images, labels, digits.white, flags.seed))
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=spec)):
        step = tf.train.create_global_step()
        totals = tf.get_variable(
            "totals", [3], tf.float64, initializer=tf.zeros_initializer(), trainable=False
        )
        batch = tf.add_n(sums)
        train_op = tf.train.AdamOptimizer(flags.learning_rate).minimize(
            batch[0] / batch[2], global_step=step, colocate_gradients_with_ops=True
        )
        state = (step.read_value(), totals.read_value())
        with tf.control_dependencies([train_op]):
            update = (step.read_value(), totals.assign_add(tf.cast(batch, tf.float64)))
    # Files are written where this process is, so the parameter servers need no file system.
    with tf.device(f"{here}/cpu:0"):
        saver = tf.train.Saver(max_to_keep=CHECKPOINTS_KEPT)
    return TrainingGraph(towers, state, update, saver)


def tower_sums(images: tf.Tensor, labels: tf.Tensor, white: int, seed: int) -> tf.Tensor:
    """Sum of losses, right answers and examples of a tower's part of a batch, float32 [3]."""
    scores = logits(tf.cast(images, tf.float32) / white, seed, DROPOUT)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    right = tf.cast(tf.equal(tf.argmax(scores, axis=-1), labels), tf.float32)
    return tf.stack(
        [tf.reduce_sum(losses), tf.reduce_sum(right), tf.cast(tf.size(labels), tf.float32)]
    )


class Trainer:
    """One process that trains: its place among its like, its graph, its session, its batches."""

    def __init__(
        self, task: Task, flags: Namespace, digits: data.Digits, *, in_graph: bool
    ) -> None:
        self.task, self.flags, self.digits, self.in_graph = task, flags, digits, in_graph
        self.here = device(task.role, task.index)
        self.servers = task.peers("ps", "worker") if in_graph else task.peers("ps")
        self.trainers = task.peers("chief") if in_graph else task.peers("chief", "worker")
        self.place = [device(one.role, one.index) for one in self.trainers].index(self.here)
        self.decides = self.place == 0
        self.total = flags.epochs * (len(digits.train_images) // flags.batch_size)

    def others(self) -> list[Peer]:
        """The peers without whom this process cannot go on; the deciding one comes first."""
        return self.servers if self.decides else [self.trainers[0], *self.servers]

    def run(self, master: str, watchdog: Watchdog) -> list[np.ndarray]:
        """Train until all trainers together have done all steps; give the weights.

        Raises:
            SampleError, tf.errors.OpError: the cluster cannot go on.
        """
        workers = range(len(self.task.cluster["worker"])) if self.in_graph else ()
        devices = [device("worker", index) for index in workers] or [self.here]
        with tf.Graph().as_default():
            graph = build(self.task, self.flags, self.digits, devices)
            with self.session(master, graph, watchdog) as session:
                return self.train(session, graph, watchdog)

    def session(
        self, master: str, graph: TrainingGraph, watchdog: Watchdog
    ) -> tf.train.MonitoredSession:
        """A session that is made anew when a peer was lost, as often as that happens."""
        scaffold = tf.train.Scaffold(saver=graph.saver)
        # Without filters, a session would wait until the other workers are there, too.
        config = tf.ConfigProto(device_filters=[] if self.in_graph else ["/job:ps", self.here])
        if not self.decides:
            creator = LaterSession(scaffold, master, config, watchdog)
            return tf.train.MonitoredSession(creator)
        folder, hooks = self.flags.checkpoint_dir, []
        if folder:
            lock.take(folder, self.flags.peer_timeout)
            check_checkpoint(folder)
            hooks = [Checkpoints(folder, self.flags.checkpoint_every, graph.saver, watchdog)]
        return tf.train.MonitoredTrainingSession(
            master,
            is_chief=True,
            checkpoint_dir=folder or None,
            scaffold=scaffold,
            hooks=hooks,
            save_checkpoint_steps=None,  # this and the next four: only `hooks` write anything
            save_checkpoint_secs=None,
            save_summaries_steps=None,
            save_summaries_secs=None,
            log_step_count_steps=None,
            config=config,
        )

    def train(
        self, session: tf.train.MonitoredSession, graph: TrainingGraph, watchdog: Watchdog
    ) -> list[np.ndarray]:
        """Do steps as long as some are left to do; give the weights at the end."""
        (step, totals), done = session.run(graph.state), 0
        watchdog.feed()
        print(f"{self.task.role} {self.task.index} begins at step {step}", flush=True)
        report = Report(self.flags, self.total, step, totals) if self.decides else None
        batches = self.batches(int(step))
        while True:
            while step < self.total:
                step, totals = session.run(graph.update, self.feeds(graph, next(batches)))
                watchdog.feed()
                done += 1
                if report:
                    report.note(step, totals)
                else:  # The parameter servers have this step.
                    watchdog.progressed = True
            step, weights = session.run((graph.state[0], tf.trainable_variables()))
            # It is less if a parameter server was lost just now.
            if step >= self.total:
                print(f"{self.task.role} {self.task.index} did {done} steps", flush=True)
                return weights

    def batches(self, start: int) -> Iterator[np.ndarray]:
        """This trainer's share of the batches from step `start` on, without end.

        Trainers that keep pace see each example once an epoch; nobody waits for one that does not.
        """
        size, seed = self.flags.batch_size, self.flags.seed
        every = data.batches(len(self.digits.train_images), size, seed, start, sys.maxsize)
        return itertools.islice(every, self.place, None, len(self.trainers))

    def feeds(self, graph: TrainingGraph, batch: np.ndarray) -> dict[tf.Tensor, np.ndarray]:
        """What the placeholders of all towers get, each an equal part of the batch."""
        result = {}
        parts = np.array_split(batch, len(graph.towers))
        for (images, labels), part in zip(graph.towers, parts, strict=True):
            result[images] = self.digits.train_images[part]
            result[labels] = self.digits.train_labels[part]
        return result


class LaterSession(tf.train.SessionCreator):
    """Makes sessions of a process that does not decide, once the deciding one has made its own.

    tf.train.WorkerSessionCreator does the same, but looks only every 30 s.
    """

    def __init__(
        self, scaffold: tf.train.Scaffold, master: str, config: tf.ConfigProto, watchdog: Watchdog
    ) -> None:
        self.scaffold, self.master, self.config = scaffold, master, config
        self.watchdog = watchdog

    def create_session(self) -> tf.Session:
        """Make a session when the variables have values.

        Raises:
            SampleError: they have got none in time.
        """
        self.scaffold.finalize()
        manager = tf.train.SessionManager(
            local_init_op=self.scaffold.local_init_op,
            ready_op=self.scaffold.ready_op,
            ready_for_local_init_op=self.scaffold.ready_for_local_init_op,
            recovery_wait_secs=1,
        )
        timeout = self.watchdog.timeout
        try:
            return manager.wait_for_session(self.master, self.config, max_wait_secs=timeout)
        except tf.errors.DeadlineExceededError as error:
            what = f"gave up after {timeout:g} s: {self.watchdog.others[0]} has made no model"
            raise self.watchdog.complaint(what) from error


class Checkpoints(tf.train.CheckpointSaverHook):
    """Saves checkpoints, and tells which one a session begins with."""

    def __init__(self, folder: str, steps: int, saver: tf.train.Saver, watchdog: Watchdog) -> None:
        listener = Progress(watchdog)
        super().__init__(
            folder, save_steps=steps, saver=saver, listeners=[listener], save_graph_def=False
        )
        self.folder = folder

    def after_create_session(self, session: tf.Session, coord: tf.train.Coordinator) -> None:
        """Called for the first session and for each that is made after a loss."""
        if newest := tf.train.latest_checkpoint(self.folder):
            step = tf.train.load_variable(newest, tf.GraphKeys.GLOBAL_STEP)
            print(f"resumed step={step} checkpoint={newest}", flush=True)
        super().after_create_session(session, coord)


class Progress(tf.train.CheckpointSaverListener):
    """Tells the watchdog of the first checkpoint that is more than this run began with."""

    def __init__(self, watchdog: Watchdog) -> None:
        self.watchdog = watchdog
        self.begun: int | None = None

    def after_save(self, session: tf.Session, global_step_value: int) -> None:
        """Called after each checkpoint; the first one is made before the first step."""
        self.begun = global_step_value if self.begun is None else self.begun
        self.watchdog.progressed |= global_step_value > self.begun


def check_checkpoint(folder: str) -> None:
    """Look whether the newest checkpoint in `folder` holds this graph's variables.

    Raises:
        UsageError: it does not.
    """
    newest = tf.train.latest_checkpoint(folder)
    own = {variable.op.name: variable.shape.as_list() for variable in tf.global_variables()}
    if newest and dict(tf.train.list_variables(newest)) != own:
        raise UsageError(
            f"{newest} holds another model (was it written by train.py, or trained with another "
            "--dataset?): name another --checkpoint-dir, or empty this one"
        )


class Report:
    """Prints and records how the training goes, whoever does the steps."""

    def __init__(self, flags: Namespace, total: int, step: int, totals: np.ndarray) -> None:
        self.every, self.total = flags.log_every, total
        self.events = tf.summary.FileWriter(flags.log_dir) if flags.log_dir else None
        self._begin(step, totals)

    def _begin(self, step: int, totals: np.ndarray) -> None:
        self.step, self.totals, self.start = step, totals, time.monotonic()

    def note(self, step: int, totals: np.ndarray) -> None:
        """One line, and one event of each kind, if it is time for it.

        Other workers step on meanwhile, so it may be some steps after the full hundred.
        """
        if step < self.step:  # A session was made anew, from a checkpoint or from nothing.
            print(f"set back from step {self.step} to {step}: a peer was lost", flush=True)
            self._begin(step, totals)
        elif step // self.every > self.step // self.every or step >= self.total:
            self._write(step, *(totals - self.totals))
            self._begin(step, totals)

    def _write(self, step: int, losses: float, right: float, examples: float) -> None:
        loss, accuracy = losses / examples, right / examples
        rate = examples / (time.monotonic() - self.start)
        print(
            f"step={step} of={self.total} loss={loss:.4f} accuracy={accuracy:.4f} "
            f"examples_per_s={rate:.0f}",
            flush=True,
        )
        if self.events:
            values = {"loss": loss, "accuracy": accuracy, "examples_per_s": rate}
            summary = tf.Summary()
            for tag, value in values.items():
                summary.value.add(tag=tag, simple_value=value)
            self.events.add_summary(summary, step)
            self.events.flush()


def finish(weights: list[np.ndarray], digits: data.Digits, flags: Namespace) -> None:
    """Evaluate the trained model and export it, in a graph of this process alone."""
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.placeholder(tf.float32, [None, *digits.shape], name="images")
        with tf.variable_scope("classifier"):
            probabilities = tf.nn.softmax(logits(images, flags.seed))
        classes = tf.argmax(probabilities, axis=-1)
        for variable, value in zip(tf.trainable_variables(), weights, strict=True):
            variable.load(value, session)
        found = session.run(classes, {images: digits.held_out_floats()})
        share = np.mean(found == digits.held_out_labels)
        print(f"held_out accuracy={share:.4f} examples={len(found)}", flush=True)
        if flags.model_dir:
            outputs = {"probabilities": probabilities, "classes": classes}
            path = save_model(
                session, {"images": images}, outputs, Path(flags.model_dir, flags.model_name)
            )
            print(f"exported {path}", flush=True)


def save_model(
    session: tf.Session, inputs: dict[str, tf.Tensor], outputs: dict[str, tf.Tensor], folder: Path
) -> Path:
    """Write the next version into `folder`, with the signature and by the rules of export.save."""
    with export.next_version(folder) as (unfinished, finished):
        tf.saved_model.simple_save(session, str(unfinished), inputs, outputs)
    return finished
