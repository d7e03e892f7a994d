"""Branches that no case can take, each with its reason: ``ci/coverage-exceptions.yaml``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainyard.errors import TrainyardError
from trainyard.render.objects import UniqueKeyLoader
from trainyard.render.renderer import Branch

FILE = "ci/coverage-exceptions.yaml"
KEYS = frozenset({"file", "line", "text", "way", "reason"})
WAYS = ("taken", "else")


@dataclass(frozen=True)
class Excepted:
    """One allowed gap: all branches of a file with this condition, or on this line."""

    file: str
    """The template's path in the chart, such as ``templates/_names.tpl``."""
    way: str
    reason: str
    text: str = ""
    """The condition as it is written."""
    line: int = 0

    def fits(self, branch: Branch) -> bool:
        """Say whether it speaks of a branch."""
        return (
            (branch.file, branch.way) == (self.file, self.way)
            and self.text in ("", branch.text)
            and self.line in (0, branch.line)
        )

    @property
    def place(self) -> str:
        """Name it in messages."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where} {self.text} ({self.way})".replace("  ", " ")


def read(chart: Path) -> list[Excepted]:
    """Read a chart's exceptions; none where it has no such file. TrainyardError if it is wrong."""
    file = chart / FILE
    if not file.is_file():
        return []
    try:
        entries = yaml.load(file.read_text(), UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise TrainyardError(f"{file} is no YAML: {error}") from error
    if not isinstance(entries, list):
        raise TrainyardError(f"{file} holds no list of exceptions.")
    return [_exception(entry, file, number) for number, entry in enumerate(entries, start=1)]


def _exception(entry: Any, file: Path, number: int) -> Excepted:  # noqa: ANN401  # any YAML
    if not isinstance(entry, dict) or not entry.keys() <= KEYS:
        raise TrainyardError(
            f"Entry {number} of {file} is no exception: {entry}.",
            "It has the keys file, text or line, way (taken or else) and reason.",
        )
    named = entry.get("text") or entry.get("line")
    if not (entry.get("file") and named and entry.get("reason") and entry.get("way") in WAYS):
        raise TrainyardError(
            f"Entry {number} of {file} lacks something: {entry}.",
            "It needs file, text or line, way (taken or else) and reason.",
        )
    return Excepted(
        str(entry["file"]),
        str(entry["way"]),
        str(entry["reason"]),
        str(entry.get("text", "")),
        int(entry.get("line", 0)),
    )
