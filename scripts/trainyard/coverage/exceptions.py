"""Branches that no case can take, each with its reason: ``ci/coverage-exceptions.yaml``."""

from dataclasses import dataclass
from pathlib import Path

from trainyard import exceptions
from trainyard.errors import TrainyardError
from trainyard.render.renderer import Branch

FILE = "ci/coverage-exceptions.yaml"
NEEDS = frozenset({"file", "way", "reason"})
MAY = frozenset({"line", "text"})
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
    entries = exceptions.read(file, NEEDS, MAY)
    for entry in entries:
        if entry["way"] not in WAYS or not entry.keys() & MAY:
            raise TrainyardError(
                f"An entry of {file} names no branch: {entry}.",
                "It needs text or line, and way is taken or else.",
            )
    return [Excepted(**entry) for entry in entries]
