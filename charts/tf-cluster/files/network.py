"""Names and ports of other machines, and many of them asked at once."""

from __future__ import annotations

import concurrent.futures
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TypeVar

from cluster_file import split

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class UnknownHostError(Exception):
    """A host name has no address now; it may have one a moment later."""


def crew(size: int = 32) -> ThreadPoolExecutor:
    """Return the threads that ask: enough for a thousand tasks in seconds."""
    return ThreadPoolExecutor(size)


def ask(
    pool: Executor, question: Callable[[Asked], Answer], asked: Iterable[Asked], seconds: float
) -> Iterator[tuple[Asked, Answer]]:
    """Return each answer as it comes, and none of those that take longer than `seconds`.

    Who has heard enough need not hear all: what has not been asked by then stays unasked.
    """
    futures = {pool.submit(question, each): each for each in asked}
    try:
        for future in concurrent.futures.as_completed(futures, max(seconds, 0)):
            yield futures[future], future.result()
    except concurrent.futures.TimeoutError:
        pass
    finally:
        for future in futures:
            future.cancel()


def addresses(host: str) -> frozenset[str]:
    """Return all numbers of a host name; raise an UnknownHostError that says why there is none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(_why_unknown(error)) from error
    return frozenset(str(place[0]).partition("%")[0] for *_, place in found)


def unresolved(address: str) -> str:
    """Return why the host of `host:port` has no number; "" if it has one."""
    try:
        addresses(split(address)[0])
    except UnknownHostError as error:
        return str(error)
    return ""


def unreachable(address: str, timeout: float = 2.0) -> str:
    """Return why nobody accepts a connection to `host:port`; "" if somebody does."""
    try:
        socket.create_connection(split(address), timeout).close()
    except (socket.gaierror, UnicodeError) as error:
        return _why_unknown(error)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def _why_unknown(error: Exception) -> str:
    """Return in plain words why a name has no number."""
    if isinstance(error, UnicodeError):
        return "no valid host name"
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return "no name server answers"
    return "unknown host name"
