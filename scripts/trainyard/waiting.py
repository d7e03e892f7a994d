"""Wait for a condition, never for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

from trainyard.errors import TrainyardError

Result = TypeVar("Result")


def wait_for(
    condition: Callable[[], Result | None],
    what: str,
    *,
    timeout: float,
    every: float = 0.2,
) -> Result:
    """Ask ``condition`` every ``every`` seconds until it gives something true, and give that.

    Raises TrainyardError naming ``what`` when ``timeout`` seconds have passed.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TrainyardError(f"Waited {timeout:.0f} s in vain for {what}.")
        time.sleep(every)
