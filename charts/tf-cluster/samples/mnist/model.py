"""The classifier: flatten, 512 hidden units, dropout, 10 classes; and one step of its training."""

from collections.abc import Callable

import keras
import tensorflow as tf

CLASSES = 10
HIDDEN_UNITS = 512
DROPOUT = 0.2


def build(shape: tuple[int, int], seed: int) -> keras.Sequential:
    """An untrained model from images, float32 [batch, height, width], to logits [batch, 10]."""
    return keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Flatten(),
            keras.layers.Dense(
                HIDDEN_UNITS,
                activation="relu",
                kernel_initializer=keras.initializers.GlorotUniform(seed),
                name="hidden",
            ),
            keras.layers.Dropout(DROPOUT, seed=seed),
            keras.layers.Dense(
                CLASSES,
                kernel_initializer=keras.initializers.GlorotUniform(seed + 1),
                name="logits",
            ),
        ],
        name="classifier",
    )


def accuracy(model: keras.Sequential, images: tf.Tensor, labels: tf.Tensor) -> float:
    """The share of images, float32 [n, height, width], that `model` gives their label."""
    logits = model(images, training=False)
    right = tf.equal(tf.argmax(logits, axis=-1), tf.cast(labels, tf.int64))
    return float(tf.reduce_mean(tf.cast(right, tf.float32)))


def training_step(
    model: keras.Sequential, optimizer: keras.optimizers.Optimizer, totals: tf.Variable, white: int
) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], None]:
    """One step on a worker: (all images, all labels, int32 [batch] indexes of this batch).

    Adds (sum of losses, right answers, examples) to `totals`, float32 [3].
    """
    weights = model.trainable_variables

    def step(images: tf.Tensor, labels: tf.Tensor, batch: tf.Tensor) -> None:
        inputs = tf.cast(tf.gather(images, batch), tf.float32) / white
        expected = tf.gather(labels, batch)
        # Keras hides the variables from the tape; differentiate by what they wrap.
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(expected, logits)
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)
        right = tf.equal(tf.argmax(logits, axis=-1), expected)
        totals.assign_add(
            [
                tf.reduce_sum(losses),
                tf.reduce_sum(tf.cast(right, tf.float32)),
                tf.cast(tf.size(batch), tf.float32),
            ]
        )

    return step
