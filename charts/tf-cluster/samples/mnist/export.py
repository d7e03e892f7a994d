"""Finished models in the layout of TensorFlow Serving: `<model-dir>/<name>/<version>`."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

UNFINISHED = ".unfinished-"


def versions(folder: Path) -> list[int]:
    """The versions in a model's folder, ascending; [] if there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted(
        int(entry.name)
        for entry in folder.iterdir()
        if entry.is_dir() and entry.name.isascii() and entry.name.isdigit()
    )


@contextmanager
def next_version(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Give the hidden folder to write a model's next version into, and the one it will be.

    After the block the first is renamed to the second, so a server that watches `folder` never
    sees half a model. What an interrupted export left behind is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{UNFINISHED}*"):
        shutil.rmtree(leftover)
    version = max(versions(folder), default=0) + 1
    unfinished, finished = folder / f"{UNFINISHED}{version}", folder / str(version)
    yield unfinished, finished
    unfinished.rename(finished)


def save(model: "keras.Sequential", shape: tuple[int, int], folder: Path) -> Path:
    """Write `model` as the next version into `folder` and return the version's path.

    The signature `serving_default` takes `images`, float32 [batch, height, width] in [0, 1], and
    gives `probabilities`, float32 [batch, 10], and `classes`, int64 [batch].

    Raises:
        OSError: the folder cannot be written.
    """
    import tensorflow as tf  # noqa: PLC0415

    @tf.function(
        input_signature=[tf.TensorSpec([None, *shape], tf.float32, name="images")],
        autograph=False,
    )
    def classify(images: tf.Tensor) -> dict[str, tf.Tensor]:
        probabilities = tf.nn.softmax(model(images, training=False))
        return {"probabilities": probabilities, "classes": tf.argmax(probabilities, axis=-1)}

    module = tf.Module()
    module.weights = [weight.value for weight in model.variables]
    module.classify = classify
    with next_version(folder) as (unfinished, finished):
        tf.saved_model.save(module, str(unfinished), signatures={"serving_default": classify})
    return finished
