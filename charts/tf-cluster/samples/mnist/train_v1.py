"""Train the digit classifier as programs of TensorFlow 1 did: a graph, a session, a device setter.

It shows that such programs run on this cluster unchanged, by way of tensorflow.compat.v1. New
programs should do as train.py does.

Start the same command in every process of the cluster; TF_CONFIG tells each one its role.
Between-graph: every worker builds the model's graph and trains at its own pace, and the first of
them also reports, keeps checkpoints and exports; in-graph: the chief builds one graph over all
workers and drives it alone. Who trains ends by itself, all others serve until they are ended.

Exit codes: 0 done · 1 failed · 2 wrong flags, TF_CONFIG or data · 69 peers did not come · 75 a
peer was lost, start again to resume · 143 ended by SIGTERM.
"""

import argparse
import os
import sys
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import cluster
import process
import train
from cluster import Task
from errors import UsageError

IN_GRAPH, BETWEEN_GRAPH = "in-graph", "between-graph"
SHARED_FLAGS = {
    *("dataset", "data_dir", "epochs", "batch_size", "learning_rate", "seed"),
    *("checkpoint_dir", "checkpoint_every", "log_dir", "log_every"),
    *("model_dir", "model_name", "peer_timeout"),
}


def parser() -> argparse.ArgumentParser:
    """The command line of this program: train.py's, and how the model is replicated."""
    result = train.parser()
    result.prog = "train_v1.py"
    result.description = "Train a digit classifier on the cluster of TF_CONFIG, TensorFlow-1 style."
    result.add_argument(
        "--replication",
        choices=("auto", BETWEEN_GRAPH, IN_GRAPH),
        default="auto",
        help="between-graph = every worker trains by itself, without waiting for the others; "
        "in-graph = the chief splits each batch among the workers; auto = in-graph if TF_CONFIG "
        "has a chief (default: auto)",
    )
    return result


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line.

    Raises:
        UsageError: a flag is set that only train.py can heed.
    """
    program = parser()
    flags = program.parse_args(arguments)
    for name, value in vars(flags).items():
        if name not in {*SHARED_FLAGS, "replication"} and value != program.get_default(name):
            raise UsageError(f"--{name.replace('_', '-')} is for train.py only: leave it out")
    return flags


def replication(task: Task, wanted: str) -> str:
    """How the model is replicated on the cluster of `task`: IN_GRAPH or BETWEEN_GRAPH.

    Raises:
        UsageError: the cluster has not the roles for it.
    """
    if task.role not in ("chief", "worker", "ps"):
        raise UsageError(f"TF_CONFIG says {task.role}: train_v1.py has no part for that role")
    absent = [role for role in ("ps", "worker") if not task.cluster[role]]
    if absent:
        raise UsageError(f"TF_CONFIG lists no {' and no '.join(absent)}; one is the least")
    if wanted == IN_GRAPH and not task.cluster["chief"]:
        raise UsageError("--replication in-graph needs a chief, and TF_CONFIG lists none")
    if wanted == "auto":
        return IN_GRAPH if task.cluster["chief"] else BETWEEN_GRAPH
    return wanted


def run(arguments: Sequence[str]) -> None:
    """Do the part of the process that TF_CONFIG names."""
    flags = parse(arguments)
    task = cluster.find_task(os.environ)
    if task is None:
        raise UsageError(cluster.NO_CLUSTER)
    in_graph = replication(task, flags.replication) == IN_GRAPH
    # Only now TensorFlow is imported: a wrong flag need not wait for it.
    import graph_v1  # noqa: PLC0415

    if task.role == "ps" or (in_graph and task.role == "worker"):
        graph_v1.serve(task)
    graph_v1.train(task, flags, in_graph=in_graph)


if __name__ == "__main__":
    process.end(run, sys.argv[1:])
