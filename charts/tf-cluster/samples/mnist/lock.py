"""One writer at a time: an earlier run can still be ending when the next has begun."""

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from errors import NotReadyError

LOCK_FILE = ".lock"
POLL_SECONDS = 0.5
NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def take(
    folder: str,
    timeout: float,
    *,
    flock: Callable[[int, int], None] = fcntl.flock,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Take `folder` for this process alone, until it ends; an empty name needs no lock.

    An earlier run can still be ending while the next has begun: two that write one folder would
    spoil it. The last three arguments are for tests.

    Raises:
        NotReadyError: another process has held it for `timeout` seconds.
    """
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    descriptor = os.open(Path(folder, LOCK_FILE), os.O_RDWR | os.O_CREAT, 0o666)  # never closed
    start, told = clock(), False
    while not _is_taken(descriptor, folder, flock):
        if clock() - start >= timeout:
            raise NotReadyError(
                f"an earlier run has not released {folder} in {timeout:g} s (--peer-timeout): "
                "end it, or name another --checkpoint-dir"
            )
        if not told:
            print(f"waiting for the earlier run to release {folder}", flush=True)
            told = True
        sleep(POLL_SECONDS)


def _is_taken(descriptor: int, folder: str, flock: Callable[[int, int], None]) -> bool:
    """Try to take the lock; where there are no locks, warn and go on as if it were taken."""
    try:
        flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS_HERE:
            raise
        print(
            f"warning: the file system of {folder} has no locks ({error}): make sure that no other "
            "run writes there",
            flush=True,
        )
    return True
