"""What a run says of itself: lines of progress for people, events for TensorBoard."""

import time

import numpy as np
import tensorflow as tf


class Events:
    """Scalars for TensorBoard in a folder; an empty folder name means that none are written."""

    def __init__(self, folder: str, device: str) -> None:
        """Write with this process's own `device`."""
        self.device = device
        with tf.device(device):
            self.writer = tf.summary.create_file_writer(folder) if folder else None

    def write(self, step: int, values: dict[str, float]) -> None:
        """Write them at once. tf.summary.scalar would need TensorBoard installed here."""
        if not self.writer:
            return
        metadata = tf.compat.v1.SummaryMetadata(
            plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
        )
        with tf.device(self.device), self.writer.as_default(step):
            for name, value in values.items():
                tf.summary.write(name, tf.constant(value, tf.float32), metadata=metadata)
        self.writer.flush()


class Report:
    """Prints and records how the training goes."""

    def __init__(self, events: Events, total: int) -> None:
        """`total` is the number of steps in all."""
        self.events, self.total = events, total
        self.start = time.monotonic()

    def write(self, step: int, totals: np.ndarray) -> None:
        """One line, and one event of each kind, about the time since the last call.

        `totals` are the sum of losses, the right answers and the examples of that time.
        """
        losses, right, examples = totals
        now = time.monotonic()
        loss, accuracy, rate = losses / examples, right / examples, examples / (now - self.start)
        self.start = now
        print(
            f"step={step} of={self.total} loss={loss:.4f} accuracy={accuracy:.4f} "
            f"examples_per_s={rate:.0f}",
            flush=True,
        )
        self.events.write(step, {"loss": loss, "accuracy": accuracy, "examples_per_s": rate})
