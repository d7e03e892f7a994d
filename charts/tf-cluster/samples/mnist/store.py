"""Checkpoints in a folder, in one format for every way to train."""

from collections.abc import Mapping

import tensorflow as tf
from errors import UsageError

CHECKPOINTS_KEPT = 3


class Store:
    """The checkpoints in a folder; an empty folder name means that none are kept.

    What is saved are copies in this process, by name, so it does not matter where and how often
    the variables exist. CheckpointOptions(experimental_io_device=...) would also keep parameter
    servers from writing files, but leaks 0.4 MB on each server at every save.
    """

    def __init__(self, folder: str, state: Mapping[str, tf.Variable], device: str) -> None:
        """Keep the values of `state` in `folder`, copied on this process's own `device`."""
        self.folder, self.state = folder, state
        with tf.device(device):
            self.step = tf.Variable(0, dtype=tf.int64)
            self.copies = {
                name: tf.Variable(tf.zeros(variable.shape, variable.dtype))
                for name, variable in state.items()
            }
            self.checkpoint = tf.train.Checkpoint(step=self.step, state=self.copies)
        self.manager = (
            tf.train.CheckpointManager(self.checkpoint, folder, CHECKPOINTS_KEPT)
            if folder
            else None
        )

    def restore(self) -> int:
        """Restore the state from the newest checkpoint; return its step, 0 if there is none.

        Raises:
            UsageError: the checkpoint is of another model.
        """
        newest = self.manager and self.manager.latest_checkpoint
        if not newest:
            return 0
        step = self.read(newest)
        print(f"resumed step={step} checkpoint={newest}", flush=True)
        return step

    def read(self, path: str) -> int:
        """Restore the state from the checkpoint at `path`; return its step.

        What the checkpoint holds beside the state is left alone.

        Raises:
            UsageError: the checkpoint is of another model.
            tf.errors.OpError: it cannot be read (any more).
        """
        try:
            status = self.checkpoint.restore(path)
            status.assert_existing_objects_matched().expect_partial()
        except (ValueError, AssertionError) as error:
            raise UsageError(
                f"{path} holds another model (was it trained with another --dataset?): "
                "name another --checkpoint-dir, or empty this one"
            ) from error
        for name, variable in self.state.items():
            variable.assign(self.copies[name].numpy())
        return int(self.step.numpy())

    def save(self, step: int) -> None:
        """Save the state as of `step`."""
        if self.manager:
            self.step.assign(step)
            for name, variable in self.state.items():
                self.copies[name].assign(variable.numpy())
            self.manager.save()
