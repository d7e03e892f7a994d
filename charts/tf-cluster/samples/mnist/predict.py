"""Check an exported model on the digits that were held out of its training.

Prints one line of JSON: {"accuracy": 0.946, "examples": 500, "model_path": "/models/mnist/1"}.
Needs no cluster. Exit codes: 0 done · 1 no model, or not accurate enough · 2 wrong flags or data.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import data
import export
import numpy as np
import process
from errors import SampleError, UsageError
from train import add_data_flags, model_name, number


def parser() -> argparse.ArgumentParser:
    """The command line of this program."""
    result = argparse.ArgumentParser(
        prog="predict.py",
        description="Check the newest version of an exported model on held-out digits.",
        allow_abbrev=False,
    )
    add_data_flags(result)
    add = result.add_argument
    add("--model-dir", required=True, metavar="DIR", help="where train.py exported to")
    add(
        "--model-name",
        type=model_name,
        default="mnist",
        metavar="NAME",
        help="name of the model (default: mnist)",
    )
    add(
        "--min-accuracy",
        type=number(float, 0),
        default=0.0,
        metavar="SHARE",
        help="end with exit code 1 if fewer are right, from 0 to 1 (default: 0)",
    )
    return result


def newest(folder: Path) -> Path:
    """The newest version of the model in `folder`.

    Raises:
        SampleError: there is none.
    """
    found = export.versions(folder)
    if not found:
        raise SampleError(f"{folder} holds no finished model: run train.py with this --model-dir")
    return folder / str(found[-1])


def predict(path: Path, images: np.ndarray) -> np.ndarray:
    """The classes, int64 [n], that the model at `path` gives to images, float32 [n, h, w].

    Raises:
        UsageError: the model takes images of another size.
    """
    import tensorflow as tf  # noqa: PLC0415

    classify = tf.saved_model.load(str(path)).signatures["serving_default"]
    expected = classify.structured_input_signature[1]["images"].shape
    if not expected.is_compatible_with(images.shape):
        raise UsageError(f"{path} takes images {expected[1:]}, the data set has {images.shape[1:]}")
    return classify(images=tf.constant(images))["classes"].numpy()


def run(arguments: Sequence[str]) -> None:
    """Predict, compare, print."""
    flags = parser().parse_args(arguments)
    path = newest(Path(flags.model_dir, flags.model_name))
    digits = data.load(flags.dataset, flags.data_dir)
    classes = predict(path, digits.held_out_floats())
    accuracy = float(np.mean(classes == digits.held_out_labels))
    result = {"accuracy": round(accuracy, 6), "examples": len(classes), "model_path": str(path)}
    print(json.dumps(result), flush=True)
    if accuracy < flags.min_accuracy:
        raise SampleError(
            f"{path} is right on {accuracy:.4f} of the held-out digits; "
            f"--min-accuracy asks for {flags.min_accuracy:g}"
        )


if __name__ == "__main__":
    process.end(run, sys.argv[1:])
