"""Run other programs, and write files that are nobody else's business."""

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainyard.errors import TrainyardError

TAIL_LINES = 25
"""How much of a failed program's output an error repeats."""


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """Give the last ``lines`` lines of ``text``."""
    return "\n".join(text.rstrip().splitlines()[-lines:])


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run ``argv`` to its end and give what it printed.

    ``timeout`` is in seconds; ``env`` is the whole environment where it is given.
    Raises TrainyardError, with the command and the end of its output, when the program
    is missing, takes too long, or (with ``check``) ends with another status than 0.
    """
    command = [str(part) for part in argv]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=dict(env) if env is not None else None,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise TrainyardError(f"The program {command[0]} is not there.") from error
    except subprocess.TimeoutExpired as error:
        raise TrainyardError(
            f"This command did not end within {timeout:.0f} s: {shlex.join(command)}"
        ) from error
    if check and done.returncode != 0:
        raise TrainyardError(
            f"This command failed with status {done.returncode}: {shlex.join(command)}\n"
            f"{tail(done.stderr or done.stdout)}"
        )
    return done


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, at no moment anything else."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)
