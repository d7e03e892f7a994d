"""Synchronous updates on parameter servers: shares of a batch are gathered, then applied at once.

The coordinator hands a share to another worker when the first is lost, and cannot know how far
that one had come. So a share is not added to a sum but put into a place of its own, where doing it
twice changes nothing; once all places are filled, the chief adds them up and applies the result.
"""

from collections.abc import Callable

import keras
import model
import numpy as np
import tensorflow as tf

# The chief applies the updates itself, on purpose: see Gathering.apply.
tf.get_logger().addFilter(lambda record: "ClusterCoordinator.schedule" not in record.getMessage())


class Gathering:
    """The places of the shares, on the servers beside the weights; how they are filled and used."""

    def __init__(
        self,
        strategy: tf.distribute.ParameterServerStrategy,
        classifier: keras.Sequential,
        optimizer: keras.optimizers.Optimizer,
        totals: tf.Variable,
        shares: int,
    ) -> None:
        """Train `classifier` with batches in so many `shares`, and count in `totals`."""
        self.strategy, self.model, self.optimizer = strategy, classifier, optimizer
        self.totals, self.shares = totals, shares
        beside = [*(weight.value for weight in classifier.trainable_variables), totals]
        self.applied = 0  # How many updates there were: on the servers, the same in `step`.
        with strategy.scope():
            self.step = tf.Variable(0, dtype=tf.int64, name="applied")
        self.places = [self._place(variable) for variable in beside]

    def _place(self, beside: tf.Variable) -> tf.Variable:
        """One variable for all shares of what belongs to `beside`, on the same server."""
        with self.strategy.scope(), self.strategy.extended.colocate_vars_with(beside):
            return tf.Variable(tf.zeros([self.shares, *beside.shape]), trainable=False)

    def parts(self, batch: np.ndarray) -> list[np.ndarray]:
        """The shares of a batch; the first may be one example larger than the last."""
        return np.array_split(batch, self.shares)

    def worker_step(self, white: int, batch_size: int) -> Callable[..., None]:
        """What a worker does: (iterator of all examples, indexes of the share, share, step)."""

        def fill(
            images: tf.Tensor, labels: tf.Tensor, part: tf.Tensor, share: tf.Tensor, step: tf.Tensor
        ) -> None:
            chosen = tf.gather(images, part), tf.gather(labels, part)
            gradients, counts = model.gradients(self.model, *chosen, white, batch_size)

            def put() -> None:
                for place, value in zip(self.places, [*gradients, counts], strict=True):
                    place.scatter_update(tf.IndexedSlices(value[tf.newaxis], [share]))

            # A worker that was given up may still be at it: it comes too late for its step.
            with tf.control_dependencies([*gradients, counts]):
                tf.cond(tf.equal(self.step, step), put, lambda: None)

        @tf.function(autograph=False)
        def on_worker(
            examples: tf.data.Iterator, part: tf.Tensor, share: tf.Tensor, step: tf.Tensor
        ) -> None:
            self.strategy.run(fill, (*next(examples), part, share, step))

        return on_worker

    def apply(self) -> None:
        """Apply what the shares add up to. No worker has a part in it, so none can be lost."""
        self._apply()
        self.applied += 1

    @tf.function(autograph=False)
    def _apply(self) -> None:
        def add_up() -> None:
            *gradients, counts = [tf.reduce_sum(place, axis=0) for place in self.places]
            self.optimizer.apply(gradients, self.model.trainable_variables)
            self.totals.assign_add(counts)
            self.step.assign_add(1)

        self.strategy.run(add_up)
