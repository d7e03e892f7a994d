"""How a process of the cluster ends: at once when asked, and with a code that says why."""

import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from errors import EXIT_FAILED, EXIT_NOT_READY, SampleError

SIGNALS = (signal.SIGTERM, signal.SIGINT)
BACKUP_SECONDS = 5.0
_grace: threading.Event | None = None  # set by a first signal that does not end the process yet


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
    TensorFlow, and TensorFlow puts one of its own in place that ignores SIGTERM. So the signals
    are blocked in this thread and all that it starts, whatever handler there is, and a thread
    fetches them. Threads that libraries started earlier do not block them: there Python's C-level
    handler writes the number into a pipe, and another thread waits at its end.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    _act_on_each(lambda: signal.sigwait(SIGNALS))
    _act_on_each(lambda: os.read(reader, 1)[0])


def _act_on_each(receive: Callable[[], int]) -> None:
    def act() -> NoReturn:
        while True:
            number = receive()
            if _grace is None or _grace.is_set():
                os._exit(128 + number)
            _grace.set()

    threading.Thread(target=act, name="signals", daemon=True).start()


def ask_first(seconds: float) -> threading.Event:
    """Let the first signal only set the event that this gives.

    A second signal ends the process as ever, and so do `seconds` that pass after the first.
    """
    global _grace  # noqa: PLW0603  (There is one process, and it ends once.)
    _grace = asked = threading.Event()

    def give_up() -> NoReturn:
        asked.wait()
        threading.Event().wait(seconds)
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=give_up, name="grace", daemon=True).start()
    return asked


@contextmanager
def deadline(seconds: float, reason: str) -> Iterator[None]:
    """End this process with EXIT_NOT_READY unless the block is done in `seconds`.

    For calls into TensorFlow that wait for ever and cannot be interrupted. Some of them keep all
    Python threads from running: then a C-level timer ends the process a little later, with
    EXIT_FAILED and the stack.
    """

    def give_up() -> NoReturn:
        print(f"gave up after {seconds:g} s: {reason}", file=sys.stderr, flush=True)
        os._exit(EXIT_NOT_READY)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(seconds + BACKUP_SECONDS, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
