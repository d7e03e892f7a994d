"""Run the deciding program as process 1, and mark on a shared volume how it ended.

Where pods may not read Jobs, the servers of the cluster learn from this marker that the training
is over (await_job.py --marker-folder), and `helm test` too. The marker has the name of the Job in
whose pod this runs. Exit codes:

    the program's own, or 128 + the number of the signal that killed it
    1    the marker cannot be written
    126  the program cannot be started
    127  there is no such program

0 leaves a marker "Complete", a code of --permanent leaves "Failed". Any other leaves none, for
Kubernetes starts the program again. A program that was asked to stop (SIGTERM, SIGINT) leaves none
either: it has not come to its end, and another pod takes its place.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

import marker
from console import leave, say, split_command, stop_on_sigterm
from job_reader import COMPLETE, FAILED
from marker import Mark

EXIT_UNMARKED = 1
EXIT_NOT_STARTED = 126
EXIT_NOT_FOUND = 127
FORWARDED = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
)
HEARD = (*FORWARDED, signal.SIGCHLD)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Child:
    """The deciding program.

    All signals are waited for in one place, and none is handled in passing: one that came just
    before a wait for the child would be heard only after it.
    """

    def __init__(self, command: list[str]) -> None:
        """Start it, with each signal at its default; raise an OSError that says why not."""
        self.stopped = False
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            self.number = os.posix_spawnp(
                command[0],
                command,
                os.environ,
                setsigmask=self._before,
                setsigdef=[*FORWARDED, *IGNORED_BY_PYTHON],
            )
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
            raise

    def end(self) -> int:
        """Forward signals until the child's end; return its exit code, or 128 + signal."""
        while True:
            number = signal.sigwait(HEARD)
            if number == signal.SIGCHLD:
                for child, status in _ended():
                    if child == self.number:
                        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
                        return _exit_code(status)
                continue
            self.stopped |= number in (signal.SIGTERM, signal.SIGINT)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, number)


def _ended() -> Iterator[tuple[int, int]]:
    """Give the children that have ended, each with its status.

    Process 1 inherits the orphans of its container and must take note of their ends, too.
    """
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            yield child, status


def _exit_code(status: int) -> int:
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def run(path: Path, permanent: Collection[int], command: list[str]) -> int:
    """Run the command, mark its end, and return the exit code."""
    try:
        # Better now than after hours of training.
        marker.clear(path)
    except OSError as error:
        return _unmarked(path, error)
    try:
        child = Child(command)
    except FileNotFoundError:
        say(f"{command[0]} cannot be started: this image has no such program (or no interpreter)")
        return EXIT_NOT_FOUND
    except OSError as error:
        say(f"{command[0]} cannot be started: {error.strerror}")
        return EXIT_NOT_STARTED
    code = child.end()
    if child.stopped:
        say(f"{command[0]} was asked to stop and ended with exit code {code}: no marker")
        return code
    return _mark(path, code, permanent, command)


def _mark(path: Path, code: int, permanent: Collection[int], command: list[str]) -> int:
    """Write the marker if this end is one for good, and return the exit code."""
    if code and code not in permanent:
        say(f"{command[0]} ended with exit code {code}: no marker, it may be started again")
        return code
    mark = Mark(FAILED if code else COMPLETE, code)
    try:
        marker.write(path, mark)
    except OSError as error:
        return _unmarked(path, error)
    say(f"{command[0]} ended with exit code {code}: marked as {mark.result} in {path}")
    return code


def _unmarked(path: Path, error: OSError) -> int:
    say(
        f"the marker {path} cannot be written ({error.strerror or error}), and without it the "
        "servers of the cluster do not learn how the training ended: the shared volume must be "
        f"mounted at {path.parent} or above, writable for user {os.getuid()} and not full"
    )
    return EXIT_UNMARKED


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    stop_on_sigterm()
    own, command = split_command(arguments)
    parser = argparse.ArgumentParser(
        description="Run a program, and mark on a shared volume how it ended.",
        allow_abbrev=False,
        usage="%(prog)s --marker PATH [--permanent CODE ...] -- command ...",
    )
    parser.add_argument("--marker", required=True, type=Path, help="the file to write")
    parser.add_argument(
        "--permanent",
        type=int,
        nargs="*",
        action="append",
        default=[],
        metavar="CODE",
        help="exit codes of the program with which it is not started again",
    )
    given = parser.parse_args(own)
    if not command:
        parser.error("no command after --")
    return run(given.marker, {code for codes in given.permanent for code in codes}, command)


if __name__ == "__main__":
    leave(main())
