"""Processes of equal rank meet before TensorFlow joins them.

They listen only once they make their strategies, and making one blocks: without a message, for
ever if a peer never comes, and with all Python threads held, so that SIGTERM goes unheard. So all
meet here first, at the port of worker 0: once everybody is there, nobody waits inside TensorFlow.
"""

import hashlib
import socket
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

import peers
from cluster import Peer, Task, split_address

POLL_SECONDS = 0.1
GREETING_SECONDS = 2.0
GREETING_BYTES = 128
GO = b"go"


def meet(task: Task, timeout: float) -> None:
    """Return when every worker of `task` has called this.

    Raises:
        NotReadyError: not all have come in `timeout` seconds.
    """
    host, *guests = task.peers("worker")
    if not guests:
        return
    hosting = task.index == host.index
    with Host(task) if hosting else Guest(task) as side:
        peers.wait_for_peers(
            guests if hosting else [host],
            timeout,
            find_missing=side.missing,
            sleep=lambda seconds: time.sleep(min(seconds, POLL_SECONDS)),
        )
        side.part()


def greeting(task: Task, index: int) -> bytes:
    """What worker `index` says first: which cluster it knows, and who it is."""
    digest = hashlib.sha256(",".join(task.cluster["worker"]).encode()).hexdigest()
    return f"trainyard {digest} {index}".encode().ljust(GREETING_BYTES)


class Side:
    """One side of the meeting; leaving it closes its sockets."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sockets: dict[int, socket.socket] = {}  # by the index of the worker at the other end

    def __enter__(self) -> Self:
        """Begin the meeting."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        for connection in self.sockets.values():
            connection.close()

    def missing(self, awaited: Iterable[Peer]) -> dict[Peer, str]:
        """Those of `awaited` who are not ready, each with the reason."""
        raise NotImplementedError

    def part(self) -> None:
        """All are there: go."""


class Host(Side):
    """Worker 0: it listens where its TensorFlow server will, until all others are there."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        _, port = split_address(task.address)
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        self.listener = socket.create_server(("", port), family=family, dualstack_ipv6=both)
        self.listener.setblocking(False)
        self.guests = task.peers("worker")[1:]
        self.greetings = {greeting(task, guest.index): guest.index for guest in self.guests}

    def __exit__(self, *why: object) -> None:
        """Free the port for TensorFlow."""
        self.listener.close()
        super().__exit__(None, None, None)

    def missing(self, _: Iterable[Peer]) -> dict[Peer, str]:
        """Let in who has come; find who has not, or has gone again, be it awaited or not."""
        while self._let_in():
            pass
        for index in [i for i, connection in self.sockets.items() if _has_ended(connection)]:
            self.sockets.pop(index).close()
        return {p: "has not come" for p in self.guests if p.index not in self.sockets}

    def _let_in(self) -> bool:
        """Take the next visitor, if there is one; send away who does not know this cluster."""
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return False
        connection.settimeout(GREETING_SECONDS)
        try:
            index = self.greetings.get(connection.recv(GREETING_BYTES, socket.MSG_WAITALL))
        except OSError:
            index = None
        if index is None:
            connection.close()
        else:
            self.sockets[index] = connection
        return True

    def part(self) -> None:
        """Send all of them off."""
        for connection in self.sockets.values():
            connection.sendall(GO)


class Guest(Side):
    """Any other worker: it calls on worker 0, and stays until that one sends it off."""

    def missing(self, awaited: Iterable[Peer]) -> dict[Peer, str]:
        """Worker 0, unless it has said that all are there."""
        (host,) = awaited
        try:
            if host.index not in self.sockets:
                address = split_address(host.address)
                connection = socket.create_connection(address, GREETING_SECONDS)
                self.sockets[host.index] = connection
                connection.sendall(greeting(self.task, self.task.index))
                connection.settimeout(POLL_SECONDS)
            answer = self.sockets[host.index].recv(len(GO))
        except TimeoutError:
            return {host: "waits for others" if self.sockets else "no answer"}
        except OSError as error:
            answer, why = b"", peers.reason(error)
        else:
            why = "has not begun anew"  # What answers there is a run that is about to end.
        if answer == GO:
            return {}
        if connection := self.sockets.pop(host.index, None):
            connection.close()
        return {host: why}


def _has_ended(connection: socket.socket) -> bool:
    """Whether the other end is closed. Guests say nothing after their greeting."""
    try:
        connection.setblocking(False)
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
