"""How the chart's programs speak, and how they end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

FEW = 20
"""As many names as a line of a log bears."""


def say(text: str) -> None:
    """Print a line with the time of day in front."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


def few(names: Sequence[str]) -> str:
    """Return the names in one line, but of many only the first."""
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def split_command(arguments: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return what stands before the first "--" of a command line (None: this one's), and after."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    split = given.index("--") if "--" in given else len(given)
    return given[:split], given[split + 1 :]


def leave(code: int) -> NoReturn:
    """End this process now.

    A thread may still look a name up, which takes many seconds when no name server answers, and
    Python would wait for it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def stop_on_sigterm() -> None:
    """End at once on SIGTERM, which process 1 of a container hears only with a handler."""
    signal.signal(signal.SIGTERM, _stop)


def _stop(_signal: int, _frame: object) -> NoReturn:
    # Nothing is flushed here: the signal may have come in the middle of a print.
    os._exit(128 + signal.SIGTERM)
