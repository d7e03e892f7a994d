"""Training from the newest checkpoint to the finished model, whichever strategy does the steps."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import data
import export
import keras
import model
import numpy as np
import tensorflow as tf
from cluster import Follower
from errors import LostPeerError, TryAgainError, UsageError
from progress import Progress
from report import Events, Report
from store import Store

tf.get_logger().propagate = False  # or each of its messages comes twice


class Trainer(Protocol):
    """A strategy at work on a cluster that is connected."""

    leads: bool  # This process alone writes checkpoints, events and the model, and reports.
    device: str  # This process's own processor.
    leaving: bool  # The cluster changed during `advance`.

    def state(self) -> dict[str, tf.Variable]:
        """What a checkpoint holds, by name."""

    def share(self, step: int) -> int:
        """Give all processes the leader's state and step; return that step."""

    def advance(self, start: int, stop: int) -> int:
        """Do steps `start` to `stop`, or fewer if the cluster changes; return the next step."""

    def settle(self) -> None:
        """Return once all processes have come here."""

    def take_totals(self) -> np.ndarray:
        """Sum of losses, right answers and examples since the last call, float32 [3]."""

    def finished_model(self) -> keras.Sequential:
        """A copy of the model in this process."""

    def close(self) -> None:
        """Return once all processes have come here; none can be lost any more."""


def load_digits(flags: Namespace) -> data.Digits:
    """Load what the flags name.

    Raises:
        UsageError: the data is not there, or smaller than a batch.
    """
    digits = data.load(flags.dataset, flags.data_dir)
    examples = len(digits.train_images)
    if flags.batch_size > examples:
        raise UsageError(f"--batch-size {flags.batch_size} exceeds the {examples} training images")
    return digits


def run(
    connect: Callable[[], Trainer],
    lost_peer: Callable[[tf.errors.OpError], str],
    digits: data.Digits,
    flags: Namespace,
    follower: Follower,
) -> None:
    """Connect, train to the end, evaluate and export.

    `lost_peer` says which peer's loss an error reports, "" if it reports something else.

    Raises:
        UsageError: flags, data and checkpoint do not fit together.
        NotReadyError: a peer was lost before there was progress.
        TryAgainError: a peer was lost after progress, or the cluster has changed.
        tf.errors.OpError: anything else that TensorFlow reports.
    """
    progress = Progress()
    try:
        train(connect(), digits, flags, progress)
    except (tf.errors.OpError, LostPeerError) as error:
        loss = str(error) if isinstance(error, LostPeerError) else lost_peer(error)
        if follower.look():
            raise TryAgainError(f"{loss or error}: start again with the new list") from error
        if not loss:
            raise
        raise progress.after_loss(loss) from error


def train(trainer: Trainer, digits: data.Digits, flags: Namespace, progress: Progress) -> None:
    """Train, evaluate and export with a trainer that is ready."""
    total = flags.epochs * (len(digits.train_images) // flags.batch_size)
    store = Store(flags.checkpoint_dir if trainer.leads else "", trainer.state(), trainer.device)
    step = trainer.share(store.restore())
    progress.begin(step)
    report = Report(Events(flags.log_dir if trainer.leads else "", trainer.device), total)
    while step < total:
        stop = next_stop(step, total, flags.log_every, flags.checkpoint_every)
        step = trainer.advance(step, stop)
        if trainer.leads and (step % flags.log_every == 0 or step == total):
            report.write(step, trainer.take_totals())
        if step % flags.checkpoint_every == 0 or step == total or trainer.leaving:
            store.save(step)
            trainer.settle()
            progress.saved = step if flags.checkpoint_dir else 0
        if trainer.leaving and step < total:
            raise TryAgainError(f"stopped at step {step}: start again with the new list")
    if trainer.leads:
        finish(trainer, digits, flags)
    trainer.close()


def next_stop(step: int, total: int, *intervals: int) -> int:
    """The next step at which something is due: a multiple of an interval, or the end."""
    return min(total, *((step // interval + 1) * interval for interval in intervals))


def finish(trainer: Trainer, digits: data.Digits, flags: Namespace) -> None:
    """Evaluate the finished model and export it."""
    finished = trainer.finished_model()
    with tf.device(trainer.device):
        share = model.accuracy(finished, digits.held_out_floats(), digits.held_out_labels)
        print(f"held_out accuracy={share:.4f} examples={len(digits.held_out_labels)}", flush=True)
        if flags.model_dir:
            folder = Path(flags.model_dir, flags.model_name)
            print(f"exported {export.save(finished, digits.shape, folder)}", flush=True)


def copy_of(
    original: keras.Sequential, digits: data.Digits, seed: int, device: str
) -> keras.Sequential:
    """A copy of a distributed model on one device of this process."""
    with tf.device(device):
        copy = model.build(digits.shape, seed)
        for own, trained in zip(copy.variables, original.variables, strict=True):
            own.assign(trained.value.numpy())
    return copy
