"""How a process of the cluster ends: at once when asked, and with a code that says why."""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from errors import EXIT_FAILED, EXIT_TRY_AGAIN, SampleError


def end(program: Callable[[Sequence[str]], None], arguments: Sequence[str]) -> NoReturn:
    """Run a program and end this process with its exit code.

    It ends without Python's and TensorFlow's cleaning up, which can hang once a peer is gone.
    """
    name = Path(sys.argv[0]).name
    end_on_signals()
    try:
        program(arguments)
    except SystemExit as error:
        leave(int(error.code or 0))
    except SampleError as error:
        leave(error.exit_code, f"{name}: {error}")
    except BaseException:
        leave(EXIT_FAILED, traceback.format_exc())
    leave(0)


def leave(code: int, message: str = "") -> NoReturn:
    """Print the last words and end this process.

    Call it inside the `except` block: with the exception still alive, TensorFlow has nothing to
    destroy, and so cannot follow the message with errors of its own.
    """
    if message:
        print(message, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_on_signals() -> None:
    """Make SIGTERM and SIGINT end this process at once, with exit code 128 + signal.

    A Python signal handler alone would not do: it never runs while the main thread is inside
    TensorFlow, and as process 1 of a container there is no default action either. So Python's
    C-level handler writes the signal's number into a pipe, and a thread waits at its other end.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wait() -> NoReturn:
        number = os.read(reader, 1)[0]
        os._exit(128 + number)

    threading.Thread(target=wait, name="signals", daemon=True).start()
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)


@contextmanager
def deadline(seconds: float, reason: str) -> Iterator[None]:
    """End this process with EXIT_TRY_AGAIN unless the block is done in `seconds`.

    For calls into TensorFlow that wait for ever and cannot be interrupted.
    """

    def give_up() -> NoReturn:
        print(f"gave up after {seconds:g} s: {reason}", file=sys.stderr, flush=True)
        os._exit(EXIT_TRY_AGAIN)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
