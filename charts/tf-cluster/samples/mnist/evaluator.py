"""The evaluator: it looks for new checkpoints and tries each on the held-out digits.

It has no part in the training; all it shares with the others is the folder of checkpoints.
"""

import threading
from argparse import Namespace
from pathlib import Path

import data
import model
import tensorflow as tf
from errors import UsageError
from report import Events
from store import Store

HERE = "/job:localhost/replica:0/task:0/device:CPU:0"
LOOK_SECONDS = 1.0

Key = tuple[str, int]  # a checkpoint's path and time: a run that begins anew uses the path again


def run(flags: Namespace, asked_to_end: threading.Event) -> None:
    """Evaluate until asked to end, and then the last checkpoint, which may be new.

    Raises:
        UsageError: the checkpoints are of another model.
    """
    evaluator = Evaluator(data.load(flags.dataset, flags.data_dir), flags)
    print(f"watching {flags.checkpoint_dir}", flush=True)
    while True:
        last_look = asked_to_end.is_set()
        news = evaluator.evaluate_newest()
        if last_look and not news:
            return
        if not news:
            asked_to_end.wait(LOOK_SECONDS)


class Evaluator:
    """A model in this process that takes the weights of one checkpoint after the other."""

    def __init__(self, digits: data.Digits, flags: Namespace) -> None:
        self.digits, self.folder = digits, flags.checkpoint_dir
        with tf.device(HERE):
            self.model = model.build(digits.shape, flags.seed)
        state = {v.path: v.value for v in self.model.trainable_variables}
        self.store = Store("", state, HERE)
        self.events = Events(str(Path(flags.log_dir, "eval")) if flags.log_dir else "", HERE)
        self.evaluated: Key | None = None

    def evaluate_newest(self) -> bool:
        """Evaluate the newest checkpoint unless that is done; give whether there was a new one."""
        newest = newest_checkpoint(self.folder)
        if newest is None or newest == self.evaluated:
            return False
        try:
            step = self.store.read(newest[0])
        except (tf.errors.OpError, UsageError):
            if newest_checkpoint(self.folder) != newest:
                return True  # It was deleted while it was read, so there is a newer one.
            raise
        labels = self.digits.held_out_labels
        accuracy = model.accuracy(self.model, self.digits.held_out_floats(), labels)
        print(f"evaluated step={step} accuracy={accuracy:.4f} examples={len(labels)}", flush=True)
        self.events.write(step, {"accuracy": accuracy})
        self.evaluated = newest
        return True


def newest_checkpoint(folder: str) -> Key | None:
    """The newest checkpoint in `folder`; None if there is none, or no folder."""
    path = tf.train.latest_checkpoint(folder)
    try:
        return (path, Path(f"{path}.index").stat().st_mtime_ns) if path else None
    except OSError:
        return None
