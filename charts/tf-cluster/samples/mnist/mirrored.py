"""Mirrored training: every processor has the whole model and does its share of each batch.

The shares' gradients are added up over all of them (all-reduce), within one process or over many.
All processes do the same steps; worker 0 alone needs a file system: it writes checkpoints, events
and models, and tells the others at the start where training goes on.
"""

import contextlib
import re
from argparse import Namespace
from functools import partial

import data
import keras
import lock
import model
import numpy as np
import peers
import process
import rendezvous
import tensorflow as tf
import training
from cluster import MULTI_WORKER_MIRRORED, Follower, Task

CREATION_SECONDS = 60.0  # Everybody is there: it takes about a second.
SINGLE = "/job:localhost/replica:0/task:0/device:CPU:0"
LOSSES = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
    tf.errors.UnknownError,
)


def run(task: Task | None, strategy: str, flags: Namespace, follower: Follower) -> None:
    """Train to the end; training.run says how, and what is raised."""
    digits = training.load_digits(flags)
    several = strategy == MULTI_WORKER_MIRRORED
    with follower.ending_waits():
        if not several or task.index == 0:
            lock.take(flags.checkpoint_dir, flags.peer_timeout)
        if several:
            rendezvous.meet(task, flags.peer_timeout)

    def start() -> Replicas:
        made = connect(task, flags.collectives) if several else tf.distribute.MirroredStrategy()
        return Replicas(made, task if several else None, flags, digits, follower)

    lost = partial(lost_peer, task) if several else lambda _: ""
    training.run(start, lost, digits, flags, follower)


def connect(task: Task, collectives: str) -> tf.distribute.MultiWorkerMirroredStrategy:
    """Join all workers of `task`, who must all be about to call this."""
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": list(task.cluster["worker"])}),
        task_type=task.role,
        task_id=task.index,
        rpc_layer="grpc",
        num_accelerators={"GPU": len(tf.config.list_physical_devices("GPU"))},
    )
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation(collectives.upper())
    )
    with process.deadline(CREATION_SECONDS, "a worker was lost while TensorFlow joined them"):
        return tf.distribute.MultiWorkerMirroredStrategy(resolver, options)


def lost_peer(task: Task, error: tf.errors.OpError) -> str:
    """Say which peer's loss `error` reports; "" if it reports something else.

    TensorFlow notices a process that dies at once, and one that falls silent by its heartbeat.
    """
    if not isinstance(error, LOSSES):
        return ""
    others = [peer for peer in task.peers("worker") if peer.index != task.index]
    if absent := peers.missing(others):
        return f"lost a worker: {peers.describe(absent)}"
    named = {int(index) for index in re.findall(r"/job:worker/(?:\S*/)?task:(\d+)", str(error))}
    silent = [peer for peer in others if peer.index in named]
    return f"lost a worker: {' or '.join(map(str, silent or others))} fell silent or was restarted"


class Replicas:
    """The mirrored model and its optimizer, and the steps that all replicas do together."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        task: Task | None,
        flags: Namespace,
        digits: data.Digits,
        follower: Follower,
    ) -> None:
        self.strategy, self.flags, self.digits = strategy, flags, digits
        self.follower, self.leaving = follower, False
        self.leads = task is None or task.index == 0
        self.device = SINGLE if task is None else f"/job:worker/task:{task.index}/device:CPU:0"
        with strategy.scope():
            self.model = model.build(digits.shape, flags.seed)
            self.optimizer = keras.optimizers.Adam(flags.learning_rate)
            self.optimizer.build(self.model.trainable_variables)
        self.totals = np.zeros([3], np.float32)

    def state(self) -> dict[str, tf.Variable]:
        """What a checkpoint holds, by name."""
        return model.variables(self.model, self.optimizer)

    def share(self, step: int) -> int:
        """Give all replicas the first one's state and step; return that step."""
        variables = self.state().values()
        parts = [np.array([step]), *(variable.numpy() for variable in variables)]
        own = np.concatenate([part.ravel().astype(np.float64) for part in parts])
        agreed = self._from_first(own)
        places = np.cumsum([part.size for part in parts])
        for variable, values in zip(variables, np.split(agreed, places)[1:], strict=False):
            variable.assign(tf.cast(values.reshape(variable.shape), variable.dtype))
        return int(agreed[0])

    def _from_first(self, own: np.ndarray) -> np.ndarray:
        """The first replica's `own`, in all processes: the others add zeros to it."""
        nothing = np.zeros_like(own)
        given = self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(nothing if context.replica_id_in_sync_group else own)
        )
        return self._first(self._add_up(given))

    @tf.function(autograph=False)
    def _add_up(self, values: tf.distribute.DistributedValues) -> tf.distribute.DistributedValues:
        def add_up(value: tf.Tensor) -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            # A function's argument lies on no device as yet, and a sum needs to know where to go.
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(value))

        return self.strategy.run(add_up, (values,))

    @tf.function(autograph=False)
    def _step(self, images: tf.Tensor, labels: tf.Tensor, wish: tf.Tensor) -> tf.Tensor:
        """One step of all replicas; gives its totals, and how many wish to leave."""

        def share(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            own, counts = model.gradients(
                self.model, images, labels, self.digits.white, self.flags.batch_size
            )
            # The optimizer adds up the gradients over the replicas before it applies them.
            self.optimizer.apply(own, self.model.trainable_variables)
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.concat([counts, [wish]], 0))

        return self.strategy.run(share, (images, labels))

    def advance(self, start: int, stop: int) -> int:
        """Do steps `start` to `stop`, or fewer if the leader sees the cluster change.

        Raises:
            tf.errors.OpError: the cluster cannot go on.
        """
        flags, digits = self.flags, self.digits
        examples, replicas = len(digits.train_images), self.strategy.num_replicas_in_sync
        batches = data.batches(examples, flags.batch_size, flags.seed, start, stop)
        for step, batch in enumerate(batches, start):
            shares = np.array_split(batch, replicas)
            images = self._per_replica([digits.train_images[share] for share in shares])
            labels = self._per_replica([digits.train_labels[share] for share in shares])
            wish = float(self.leads and self.follower.has_changed())
            *totals, wishes = self._first(self._step(images, labels, tf.constant(wish)))
            self.totals += totals
            if wishes:
                self.leaving = True
                return step + 1
        return stop

    def _per_replica(self, values: list[np.ndarray]) -> tf.distribute.DistributedValues:
        """One value for each replica of all processes; only this process's own are used."""
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(values[context.replica_id_in_sync_group])
        )

    def _first(self, result: tf.distribute.DistributedValues) -> np.ndarray:
        """The result of one replica, where all have the same."""
        return self.strategy.experimental_local_results(result)[0].numpy()

    def settle(self) -> None:
        """Return once all processes have come here."""
        self._from_first(np.zeros([1]))

    def close(self) -> None:
        """Return once all processes have come here; none can be lost any more.

        Who has come through the first meeting has still to serve the others who come through it,
        so there is a second one. By then all is done: it does not matter how that one ends.
        """
        self.settle()
        with contextlib.suppress(*LOSSES):
            self.settle()

    def take_totals(self) -> np.ndarray:
        """Sum of losses, right answers and examples since the last call, float32 [3]."""
        totals, self.totals = self.totals, np.zeros([3], np.float32)
        return totals

    def finished_model(self) -> keras.Sequential:
        """A copy of the model in this process, outside of the strategy."""
        return training.copy_of(self.model, self.digits, self.flags.seed, self.device)
