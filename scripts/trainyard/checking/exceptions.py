"""A chart's own list of findings that are meant: ``ci/check-exceptions.yaml``.

Each entry names a ``rule`` and gives a ``reason``; ``object`` (``Kind`` or ``Kind/name``) and
``path`` (the beginning of one) narrow it. An entry that explains nothing is itself a finding.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from trainyard.errors import TrainyardError
from trainyard.findings import Finding

FILE = "ci/check-exceptions.yaml"
UNUSED = "exception-unused"
KEYS = {"rule", "reason", "object", "path"}


@dataclass(frozen=True)
class Exemption:
    """One entry of the list."""

    rule: str
    reason: str
    object: str = ""
    path: str = ""

    def explains(self, found: Finding) -> bool:
        """Say whether a finding is the one that is meant."""
        kind = found.object.partition("/")[0]
        return (
            found.rule == self.rule
            and self.object in {"", kind, found.object}
            and found.path.startswith(self.path)
        )


def load(chart: Path) -> list[Exemption]:
    """Read a chart's list; TrainyardError where it is not one."""
    file = chart / FILE
    if not file.is_file():
        return []
    entries = yaml.safe_load(file.read_text()) or []
    if not isinstance(entries, list):
        raise TrainyardError(f"{file} is no list of exceptions.")
    for entry in entries:
        told = isinstance(entry, dict) and {"rule", "reason"} <= entry.keys() <= KEYS
        if not told or not all(isinstance(text, str) for text in entry.values()):
            raise TrainyardError(
                f"{file} holds an entry that is no exception: {entry}",
                "It needs rule and reason, and may have object and path, all of them texts.",
            )
    return [Exemption(**entry) for entry in entries]


def explained(
    chart: str, findings: Iterable[Finding], exceptions: list[Exemption]
) -> tuple[list[Finding], int]:
    """Give the findings that no entry explains, and how many were explained.

    Entries that explain nothing come as findings of their own.
    """
    used: set[Exemption] = set()
    left: list[Finding] = []
    count = 0
    for found in findings:
        meant = [entry for entry in exceptions if entry.explains(found)]
        used.update(meant)
        count += bool(meant)
        left += [] if meant else [found]
    for entry in exceptions:
        if entry not in used:
            message = f"nothing is found any more that this entry explains: {entry.rule}"
            place = " ".join(filter(None, (entry.object, entry.path)))
            left.append(
                Finding(chart, UNUSED, "", place, message, "Remove the entry.", template=FILE)
            )
    return left, count
