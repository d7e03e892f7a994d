"""The marker: a file on a shared volume that says how the training ended.

It stands in for the Job's own status where pods may not read that. Each task of the deciding Job
leaves its own, named like the Job with the task's index; the first task's decides. One line of
JSON: {"result": "Complete" or "Failed", "exit_code": 0}.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from job_reader import COMPLETE, FAILED, NoAnswerError


class UnreadableError(NoAnswerError):
    """There may be a marker, but it cannot be read now."""


@dataclass(frozen=True)
class Mark:
    """How the training ended."""

    result: str
    exit_code: int


class Markers:
    """The folder of the markers, to be asked as one asks the API server (job_reader.Jobs)."""

    def __init__(self, folder: Path) -> None:
        """Look for the markers that mark_end.py leaves in `folder`."""
        self.folder = folder
        self._old: tuple[Path, int, int] | None = None

    def path(self, name: str) -> Path:
        """Return where the marker of the Job called `name` is, or will be."""
        return self.folder / f"{name}-0"

    def disregard(self, name: str) -> None:
        """Take the marker that is there now for one of an earlier run.

        The same values give the same name, and the volume may have outlived that run.
        """
        self._old = _identity_at(self.path(name))

    def outcome(self, name: str, *, old_too: bool = False) -> tuple[str, str]:
        """Return how the Job ended (COMPLETE, FAILED or "", not yet) and who says so.

        With `old_too` a marker that was disregarded counts. Raise an UnreadableError when nobody
        can tell now.
        """
        path = self.path(name)
        mark = read(path, None if old_too else self._old)
        return (mark.result, f"exit code {mark.exit_code}, says {path}") if mark else ("", "")


def read(path: Path, old: tuple[Path, int, int] | None = None) -> Mark | None:
    """Return the marker, or None while there is none but `old`.

    Raise an UnreadableError that says why it cannot be read.
    """
    try:
        if path.name not in _names(path.parent):
            return None
        with path.open(encoding="utf-8") as file:
            # Of the open file: that of the path may be cleared or replaced at any moment.
            if _identity(path, file.fileno()) == old:
                return None
            text = file.read()
    except (OSError, ValueError) as error:
        raise UnreadableError(f"the marker {path} cannot be read: {error}") from error
    try:
        values = json.loads(text)
        mark = Mark(values["result"], int(values["exit_code"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"the marker {path} is not whole: {text[:200]!r}") from error
    if mark.result not in (COMPLETE, FAILED):
        raise UnreadableError(f"the marker {path} holds no known result: {text[:200]!r}")
    return mark


def _identity_at(path: Path) -> tuple[Path, int, int] | None:
    """Return the identity of the marker that is there now, if any."""
    try:
        if path.name not in _names(path.parent):
            return None
        with path.open("rb") as file:
            return _identity(path, file.fileno())
    except OSError:
        return None


def _identity(path: Path, descriptor: int) -> tuple[Path, int, int]:
    """Return what tells one marker from the next of the same name."""
    found = os.fstat(descriptor)
    return path, found.st_ino, found.st_mtime_ns


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, none if it is absent.

    An NFS client remembers that a name was absent and asks its server anew when the folder is
    listed. That holds for the folder itself too, so then the one above is listed.
    """
    try:
        return [each.name for each in folder.iterdir()]
    except FileNotFoundError:
        if folder.parent != folder:
            _names(folder.parent)
        return []


def write(path: Path, mark: Mark) -> None:
    """Write the marker at once and durably, or raise an OSError: nobody may see half of it."""
    _place(path, json.dumps(asdict(mark)) + "\n")


def clear(path: Path) -> None:
    """Remove an earlier run's marker, and raise an OSError where none could be written.

    Nothing but the folder is left.
    """
    trial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.trial")
    _place(trial, "")
    trial.unlink()
    path.unlink(missing_ok=True)


def _place(path: Path, text: str) -> None:
    """Put a file with this text in its place, creating the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    try:
        # Not tempfile's mode: other pods of the cluster may run as another user.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name durable, where the file system can do that for a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
