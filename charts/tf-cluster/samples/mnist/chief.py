"""The chief: it builds the model on the parameter servers and hands training steps to workers.

Only the chief needs a file system: checkpoints, events and models are read and written by it
alone, and it sends the training data to the workers.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial

import data
import keras
import lock
import model
import numpy as np
import peers
import process
import synchronous
import tensorflow as tf
import training
from cluster import Follower, Task

HERE = "/job:chief/replica:0/task:0/device:CPU:0"
LEAST_PATIENCE_SECONDS = 60.0  # for what takes a while even if all is well
POLL_SECONDS = 0.002
LOSSES = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
)


def run(task: Task, flags: Namespace, follower: Follower) -> None:
    """Train to the end; training.run says how, and what is raised."""
    digits = training.load_digits(flags)
    with follower.ending_waits():
        # The lock comes first: the servers heed whoever connected last, so a chief that is about
        # to end must not be cut off by the next.
        lock.take(flags.checkpoint_dir, flags.peer_timeout)
        peers.wait_for_peers(task.peers("ps", "worker"), flags.peer_timeout)
    task = task.located()

    def start() -> Coordinator:
        with follower.ending_waits():
            strategy = connect(task, flags.peer_timeout)
        return Coordinator(task, flags, digits, strategy, follower)

    training.run(start, partial(lost_peer, task), digits, flags, follower)


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


class Coordinator:
    """The model and its optimizer on the parameter servers, and the workers that train it."""

    leads = True
    device = HERE
    leaving = False

    def __init__(
        self,
        task: Task,
        flags: Namespace,
        digits: data.Digits,
        strategy: tf.distribute.ParameterServerStrategy,
        follower: Follower,
    ) -> None:
        self.flags, self.digits, self.follower = flags, digits, follower
        patience = max(LEAST_PATIENCE_SECONDS, flags.peer_timeout)
        self.watch = peers.Watch(task.peers("ps", "worker"), patience)
        with strategy.scope():
            self.model = model.build(digits.shape, flags.seed)
            self.optimizer = keras.optimizers.Adam(flags.learning_rate)
            self.optimizer.build(self.model.trainable_variables)
            self.totals = tf.Variable(tf.zeros([3]), name="totals")
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self.iterator = iter(self.coordinator.create_per_worker_dataset(self._all_examples))
        if flags.updates == "sync":
            shares = len(task.cluster["worker"])
            self.gathering = synchronous.Gathering(
                strategy, self.model, self.optimizer, self.totals, shares
            )
            self.step = self.gathering.worker_step(digits.white, flags.batch_size)
        else:
            self.step = self._training_step(strategy)

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
        """What a checkpoint holds, by name."""
        return model.variables(self.model, self.optimizer)

    def share(self, step: int) -> int:
        """Nothing to do: there is one state, on the parameter servers."""
        return step

    def advance(self, start: int, stop: int) -> int:
        """Do steps `start` to `stop`, or fewer if the cluster changes.

        Raises:
            tf.errors.OpError, LostPeerError: the servers cannot go on.
        """
        examples, flags = len(self.digits.train_images), self.flags
        batches = data.batches(examples, flags.batch_size, flags.seed, start, stop)
        if flags.updates == "sync":
            return self._advance_together(start, batches)
        for batch in batches:
            self.coordinator.schedule(self.step, args=(self.iterator, tf.constant(batch)))
        self._wait()
        self.leaving = self.follower.has_changed()
        return stop

    def _advance_together(self, step: int, batches: Iterator[np.ndarray]) -> int:
        """Do a step for each batch: all workers' shares first, then one update."""
        for batch in batches:
            for share, part in enumerate(self.gathering.parts(batch)):
                numbers = part, np.int32(share), np.int64(self.gathering.applied)
                arguments = (self.iterator, *map(tf.constant, numbers))
                self.coordinator.schedule(self.step, args=arguments)
            self._wait()
            step += 1
            self.gathering.apply()
            self.leaving = self.follower.has_changed()
            if self.leaving:
                break
        return step

    def _wait(self) -> None:
        """Return once all that was scheduled is done.

        The coordinator survives the loss of a worker. Instead of its join(), which would wait for
        ever where a machine vanished without a word, this looks after the peers while it waits.
        """
        self.watch.start()
        while not self.coordinator.done():
            time.sleep(POLL_SECONDS)
            self.watch.check()

    def settle(self) -> None:
        """Nothing to do: the servers follow the chief."""

    def close(self) -> None:
        """Nothing to do: the servers are ended by whoever started them."""

    def take_totals(self) -> np.ndarray:
        """Sum of losses, right answers and examples since the last call, float32 [3]."""
        totals = self.totals.numpy()
        self.totals.assign(tf.zeros([3]))
        return totals

    def finished_model(self) -> keras.Sequential:
        """A copy of the model in this process, out of the parameter servers."""
        return training.copy_of(self.model, self.digits, self.flags.seed, HERE)
