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
            keras.layers.Dropout(DROPOUT, seed=seed, name="dropout"),
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


def gradients(
    model: keras.Sequential,
    images: tf.Tensor,
    labels: tf.Tensor,
    white: int,
    batch_size: int | tf.Tensor,
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """What a share of a batch of `batch_size` adds to the gradients, and to the totals.

    Totals are (sum of losses, right answers, examples), float32 [3]. The contributions of all
    shares, added up, are those of the whole batch: its mean loss is what is learned from.
    """
    inputs = tf.cast(images, tf.float32) / white
    # Keras hides the variables from the tape; differentiate by what they wrap.
    weights = [weight.value for weight in model.trainable_variables]
    with tf.GradientTape() as tape:
        logits = model(inputs, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_sum(losses) / tf.cast(batch_size, tf.float32)
    right = tf.equal(tf.argmax(logits, axis=-1), labels)
    totals = [
        tf.reduce_sum(losses),
        tf.reduce_sum(tf.cast(right, tf.float32)),
        tf.cast(tf.size(labels), tf.float32),
    ]
    return tape.gradient(loss, weights), tf.stack(totals)


def training_step(
    model: keras.Sequential, optimizer: keras.optimizers.Optimizer, totals: tf.Variable, white: int
) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], None]:
    """One step on a worker: (all images, all labels, int32 [batch] indexes of this batch).

    Adds (sum of losses, right answers, examples) to `totals`, float32 [3].
    """

    def step(images: tf.Tensor, labels: tf.Tensor, batch: tf.Tensor) -> None:
        chosen = tf.gather(images, batch), tf.gather(labels, batch)
        gradient, counts = gradients(model, *chosen, white, tf.size(batch))
        optimizer.apply(gradient, model.trainable_variables)
        totals.assign_add(counts)

    return step


def variables(
    model: keras.Sequential, optimizer: keras.optimizers.Optimizer
) -> dict[str, tf.Variable]:
    """What a checkpoint holds, by name. The learning rate is the flag's affair, not its."""
    both = [*model.variables, *optimizer.variables]
    return {v.path: v.value for v in both if v is not optimizer.learning_rate}
