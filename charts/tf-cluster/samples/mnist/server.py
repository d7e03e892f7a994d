"""What a `ps` or `worker` does: it serves its processor and memory to the chief."""

import time
from typing import NoReturn

import tensorflow as tf
from cluster import Task


def serve(task: Task) -> NoReturn:
    """Run a TensorFlow server until a signal ends it (see process.py).

    The server starts knowing only its own address; the chief tells it the rest when it connects.
    So servers need no restart when the cluster grows or shrinks.

    Raises:
        tf.errors.OpError: the port cannot be opened.
    """
    own = tf.train.ClusterSpec({task.role: {task.index: task.address}})
    server = tf.distribute.Server(own, job_name=task.role, task_index=task.index, protocol="grpc")
    print(f"serving {task.role} {task.index} on {task.address}", flush=True)
    while server:
        time.sleep(3600)
    raise AssertionError("unreachable")
