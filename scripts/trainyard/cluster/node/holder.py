"""The process that holds the node's namespaces: start it, find it again, enter it, end it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from trainyard import system
from trainyard.waiting import wait_for

END_TIMEOUT_S = 30


@dataclass(frozen=True)
class Holder:
    """What is known of a node that was started, as it is kept in a file."""

    pid: int
    """The host's id of the ``unshare`` process."""

    born: int
    """Its start time in clock ticks since boot: an id may be given to another process later."""

    controllers_added: list[str]
    """What ``Cgroups.create`` gave."""

    ready: bool = False

    @property
    def alive(self) -> bool:
        """Say whether that very process still lives."""
        return birth(self.pid) == self.born

    @property
    def inner(self) -> int:
        """The host's id of the node's first process; 0 while, or when, there is none."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        try:
            return int((children.read_text().split() or ["0"])[0])
        except (FileNotFoundError, ProcessLookupError):
            return 0

    def marked_ready(self) -> "Holder":
        """Give the same holder as one whose node came up."""
        return replace(self, ready=True)

    def save(self, path: Path) -> None:
        """Write it to ``path``, whole or not at all."""
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.rename(path)

    @staticmethod
    def load(path: Path) -> "Holder | None":
        """Read what ``save`` wrote; nothing where there is none."""
        try:
            return Holder(**json.loads(path.read_text()))
        except FileNotFoundError:
            return None

    def enter(
        self, namespace: str, argv: list[str], stdin: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in one of the node's namespaces, ``mount`` or ``net``, as host process."""
        nsenter = system.which("nsenter") or "nsenter"
        return subprocess.run(
            [nsenter, f"--target={self.inner}", f"--{namespace}", *argv],
            stdin=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def end(self) -> None:
        """End the node: the kernel ends all its processes with the first one."""
        if not self.alive:
            return
        inner = self.inner
        os.kill(self.pid, signal.SIGKILL)
        wait_for(
            lambda: not self.alive and birth(inner) is None,
            "the node's processes to end",
            timeout=END_TIMEOUT_S,
        )


GO = b"go\n"
"""What the node's first process waits to read before it does anything."""


def spawn(
    record: Path, plan: Path, log: Path, listener: int, controllers_added: list[str]
) -> Holder:
    """Start the node's first process in namespaces of its own, and keep a record of it.

    ``plan`` is the file it reads, ``listener`` the descriptor of the socket it inherits. It
    waits until ``record`` is written, and ends when this process ends before: so there is
    never a node that nobody knows of.
    """
    argv = [
        system.which("unshare") or "unshare",
        *("--mount", "--net", "--uts", "--ipc", "--pid", "--mount-proc"),
        # When unshare ends, the kernel kills the first process, and with it all others.
        *("--fork", "--kill-child"),
        *(sys.executable, "-m", "trainyard.cluster.node.init", str(plan)),
    ]
    with log.open("ab") as stream:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd="/",
            pass_fds=[listener],
            start_new_session=True,
        )
    born = birth(process.pid)
    if born is None:
        raise RuntimeError("a child that was not waited for must have an entry in /proc")
    holder = Holder(process.pid, born, controllers_added)
    wait_for(
        lambda: holder.inner or not holder.alive,
        "the node's first process",
        timeout=10,
        every=0.01,
    )
    holder.save(record)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as gate:
        gate.write(GO)
    return holder


def birth(pid: int) -> int | None:
    """Give a process's start time in clock ticks since boot; nothing where it has ended."""
    try:
        # The second field, the command's name, may hold blanks and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])
