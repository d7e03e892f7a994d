"""A chart's own list of findings that are meant: ``ci/check-exceptions.yaml``.

Each entry names a ``rule`` and gives a ``reason``; ``object`` (``Kind`` or ``Kind/name``) and
``path`` (the beginning of one) narrow it. An entry that explains nothing is itself a finding.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainyard import exceptions
from trainyard.findings import Finding

FILE = "ci/check-exceptions.yaml"
UNUSED = "exception-unused"
NEEDS = frozenset({"rule", "reason"})
MAY = frozenset({"object", "path"})


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
    return [Exemption(**entry) for entry in exceptions.read(chart / FILE, NEEDS, MAY)]


def explained(
    chart: str, findings: Iterable[Finding], exemptions: list[Exemption]
) -> tuple[list[Finding], int]:
    """Give the findings that no entry explains, and how many were explained.

    Entries that explain nothing come as findings of their own.
    """
    used: set[Exemption] = set()
    left: list[Finding] = []
    count = 0
    for found in findings:
        meant = [entry for entry in exemptions if entry.explains(found)]
        used.update(meant)
        count += bool(meant)
        left += [] if meant else [found]
    for entry in exemptions:
        if entry not in used:
            message = f"nothing is found any more that this entry explains: {entry.rule}"
            place = " ".join(filter(None, (entry.object, entry.path)))
            left.append(
                Finding(chart, UNUSED, "", place, message, "Remove the entry.", template=FILE)
            )
    return left, count
