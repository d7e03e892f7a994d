"""The chief: it builds the model on the parameter servers and hands training steps to workers.

Only the chief needs a file system: checkpoints, events and models are read and written by it
alone, and it sends the training data to the workers.
"""

import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import data
import export
import keras
import model
import numpy as np
import peers
import process
import tensorflow as tf
from cluster import Task
from errors import TryAgainError, UsageError

HERE = "/job:chief/replica:0/task:0/device:CPU:0"
CHECKPOINTS_KEPT = 3
LEAST_PATIENCE_SECONDS = 60.0  # for what takes a while even if all is well
LOSSES = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
)
tf.get_logger().propagate = False  # or each of its messages comes twice


def run(task: Task, flags: Namespace) -> None:
    """Train to the end, from the newest checkpoint if there is one; then evaluate and export.

    Raises:
        UsageError: flags, data and checkpoint do not fit together.
        TryAgainError: peers are missing, or were lost on the way.
        tf.errors.OpError: anything else that TensorFlow reports.
    """
    digits = data.load(flags.dataset, flags.data_dir)
    examples = len(digits.train_images)
    if flags.batch_size > examples:
        raise UsageError(f"--batch-size {flags.batch_size} exceeds the {examples} training images")
    peers.wait_for_peers(task.peers("ps", "worker"), flags.peer_timeout)
    store = Store(flags.checkpoint_dir)
    try:
        train(task, flags, digits, connect(task, flags.peer_timeout), store)
    except tf.errors.OpError as error:
        if not (loss := lost_peer(task, error)):
            raise
        raise TryAgainError(f"{loss}; {store.outlook()}") from error
    except TryAgainError as error:
        raise TryAgainError(f"{error}; {store.outlook()}") from error


def connect(task: Task, timeout: float) -> tf.distribute.ParameterServerStrategy:
    """Join the servers of `task` into one cluster; ends the process if one stays silent."""
    spec = {role: list(addresses) for role, addresses in task.cluster.items()}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(spec), task_type=task.role, task_id=task.index, rpc_layer="grpc"
    )
    reason = "every ps and worker accepts connections, but not all answer as TensorFlow servers"
    with process.deadline(max(LEAST_PATIENCE_SECONDS, timeout), reason):
        return tf.distribute.ParameterServerStrategy(resolver)


def lost_peer(task: Task, error: tf.errors.OpError) -> str:
    """Say which peer's loss `error` reports; "" if it reports something else.

    A lost parameter server takes the variables with it. The coordinator survives the loss of a
    worker once training runs, but not while it connects and sends the data.
    """
    names = {"ps": "lost a parameter server", "worker": "lost a worker at the start"}
    absent = peers.missing(task.peers("ps"))
    if absent:
        return f"{names['ps']}: {peers.describe(absent)}"
    if isinstance(error, LOSSES):
        for peer in task.peers("ps", "worker"):
            if f"/job:{peer.role}/replica:0/task:{peer.index}" in str(error):
                return f"{names[peer.role]}: {peer} was restarted or cut off"
    return ""


def train(
    task: Task,
    flags: Namespace,
    digits: data.Digits,
    strategy: tf.distribute.ParameterServerStrategy,
    store: "Store",
) -> None:
    """Train, evaluate and export on a cluster that is connected."""
    trainer = Trainer(task, flags, digits, strategy)
    step = store.restore(trainer.state())
    total = flags.epochs * (len(digits.train_images) // flags.batch_size)
    with tf.device(HERE):
        events = tf.summary.create_file_writer(flags.log_dir) if flags.log_dir else None
    report = Report(trainer, events, step, total)
    while step < total:
        stop = next_stop(step, total, flags.log_every, flags.checkpoint_every)
        trainer.advance(step, stop)
        step = stop
        if step % flags.log_every == 0 or step == total:
            report.write(step)
        if step % flags.checkpoint_every == 0 or step == total:
            store.save(step)
    finished = trainer.finished_model()
    share = model.accuracy(finished, digits.held_out_floats(), digits.held_out_labels)
    print(f"held_out accuracy={share:.4f} examples={len(digits.held_out_labels)}", flush=True)
    if flags.model_dir:
        folder = Path(flags.model_dir, flags.model_name)
        with tf.device(HERE):
            path = export.save(finished, digits.shape, folder)
        print(f"exported {path}", flush=True)


def next_stop(step: int, total: int, *intervals: int) -> int:
    """The next step at which something is due: a multiple of an interval, or the end."""
    return min(total, *((step // interval + 1) * interval for interval in intervals))


class Trainer:
    """The model and its optimizer on the parameter servers, and the workers that train it."""

    def __init__(
        self,
        task: Task,
        flags: Namespace,
        digits: data.Digits,
        strategy: tf.distribute.ParameterServerStrategy,
    ) -> None:
        self.flags, self.digits = flags, digits
        patience = max(LEAST_PATIENCE_SECONDS, flags.peer_timeout)
        self.watch = peers.Watch(task.peers("ps", "worker"), patience)
        with strategy.scope():
            self.model = model.build(digits.shape, flags.seed)
            self.optimizer = keras.optimizers.Adam(flags.learning_rate)
            self.optimizer.build(self.model.trainable_variables)
            self.totals = tf.Variable(tf.zeros([3]), name="totals")
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self.step = self._training_step(strategy)
        self.iterator = iter(self.coordinator.create_per_worker_dataset(self._all_examples))

    def _all_examples(self) -> tf.data.Dataset:
        """The whole training data, again and again; it goes to each worker once, as a constant."""
        images, labels = self.digits.train_images, self.digits.train_labels
        return tf.data.Dataset.from_tensors((images, labels)).repeat()

    def _training_step(
        self, strategy: tf.distribute.ParameterServerStrategy
    ) -> Callable[[tf.data.Iterator, tf.Tensor], None]:
        step = model.training_step(self.model, self.optimizer, self.totals, self.digits.white)

        @tf.function(autograph=False)
        def on_worker(examples: tf.data.Iterator, batch: tf.Tensor) -> None:
            strategy.run(step, (*next(examples), batch))

        return on_worker

    def state(self) -> dict[str, tf.Variable]:
        """What a checkpoint holds, by name. The learning rate is the flag's affair, not its."""
        variables = [*self.model.variables, *self.optimizer.variables]
        return {v.path: v.value for v in variables if v is not self.optimizer.learning_rate}

    def advance(self, start: int, stop: int) -> None:
        """Do steps `start` to `stop`.

        The coordinator survives the loss of a worker. Instead of its join(), which would wait for
        ever where a machine vanished without a word, this looks after the peers while it waits.

        Raises:
            tf.errors.OpError, TryAgainError: the cluster cannot go on.
        """
        examples, flags = len(self.digits.train_images), self.flags
        for batch in data.batches(examples, flags.batch_size, flags.seed, start, stop):
            self.coordinator.schedule(self.step, args=(self.iterator, tf.constant(batch)))
        self.watch.start()
        while not self.coordinator.done():
            time.sleep(0.01)
            self.watch.check()

    def take_totals(self) -> np.ndarray:
        """Sum of losses, right answers and examples since the last call, float32 [3]."""
        totals = self.totals.numpy()
        self.totals.assign(tf.zeros([3]))
        return totals

    def finished_model(self) -> keras.Sequential:
        """A copy of the model in this process, out of the parameter servers."""
        with tf.device(HERE):
            copy = model.build(self.digits.shape, self.flags.seed)
            for own, trained in zip(copy.variables, self.model.variables, strict=True):
                own.assign(trained.value.numpy())
        return copy


class Store:
    """The checkpoints in a folder of the chief; an empty folder name means that none are kept.

    What is saved are copies in this process. CheckpointOptions(experimental_io_device=...) would
    also keep the servers from writing files, but leaks 0.4 MB on each server at every save.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.saved_step = 0

    def restore(self, state: dict[str, tf.Variable]) -> int:
        """Restore `state` from the newest checkpoint; return its step, 0 if there is none.

        Raises:
            UsageError: the checkpoint is of another model.
        """
        if not self.folder:
            return 0
        self.state = state
        with tf.device(HERE):
            self.step = tf.Variable(0, dtype=tf.int64)
            self.copies = {
                name: tf.Variable(tf.zeros(remote.shape, remote.dtype))
                for name, remote in state.items()
            }
            checkpoint = tf.train.Checkpoint(step=self.step, state=self.copies)
        self.manager = tf.train.CheckpointManager(checkpoint, self.folder, CHECKPOINTS_KEPT)
        newest = self.manager.latest_checkpoint
        if newest:
            try:
                checkpoint.restore(newest).assert_existing_objects_matched()
            except (ValueError, AssertionError) as error:
                raise UsageError(
                    f"{newest} holds another model (was it trained with another --dataset?): "
                    "name another --checkpoint-dir, or empty this one"
                ) from error
            for name, remote in state.items():
                remote.assign(self.copies[name].numpy())
            self.saved_step = int(self.step.numpy())
            print(f"resumed step={self.saved_step} checkpoint={newest}", flush=True)
        return self.saved_step

    def save(self, step: int) -> None:
        """Save the state that `restore` was given, as of `step`."""
        if self.folder:
            self.step.assign(step)
            for name, remote in self.state.items():
                self.copies[name].assign(remote.numpy())
            self.manager.save()
            self.saved_step = step

    def outlook(self) -> str:
        """What a restart would do, in words."""
        if self.saved_step:
            return f"restart resumes from checkpoint step {self.saved_step}"
        return "restart begins anew, for there is no checkpoint"


class Report:
    """Prints and records how the training goes."""

    def __init__(
        self, trainer: Trainer, events: tf.summary.SummaryWriter | None, step: int, total: int
    ) -> None:
        self.trainer, self.events, self.total = trainer, events, total
        self.start = time.monotonic()

    def write(self, step: int) -> None:
        """One line, and one event of each kind, about the time since the last call."""
        losses, right, examples = self.trainer.take_totals()
        now = time.monotonic()
        loss, accuracy, rate = losses / examples, right / examples, examples / (now - self.start)
        self.start = now
        print(
            f"step={step} of={self.total} loss={loss:.4f} accuracy={accuracy:.4f} "
            f"examples_per_s={rate:.0f}",
            flush=True,
        )
        if self.events:
            with tf.device(HERE), self.events.as_default(step):
                write_scalars({"loss": loss, "accuracy": accuracy, "examples_per_s": rate})
            self.events.flush()


def write_scalars(values: dict[str, float]) -> None:
    """Write scalars for TensorBoard. tf.summary.scalar would need TensorBoard installed here."""
    metadata = tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
    )
    for name, value in values.items():
        tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)
