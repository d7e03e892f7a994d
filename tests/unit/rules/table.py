"""Writes ``docs/faults.md`` from the table of faults: ``python -m tests.unit.rules.table``."""

from pathlib import Path

from tests.unit.rules.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docs" / "faults.md"
COMMAND = "python -m tests.unit.rules.table"

HEAD = f"""# Public faults, and what finds them

Each fault was told of in a public tracker, or shown by running Helm. A self-test seeds it into a
small chart and requires the finding, and seeds a near miss and requires none. Written by
`{COMMAND}` from `tests/unit/rules/faults.py`; a test keeps it fresh.

| fault | told of in | found by rule | seen |
| --- | --- | --- | --- |
"""

SEEN = {
    "objects": "yes, in the rendered objects",
    "upgrade": "yes, by comparing two renders",
    "values": "yes, in the values and their schema",
    "render": "yes: the render fails, and the check says where",
    "selection": "yes: selecting nothing is an error",
}


def part(fault: Fault) -> str:
    """Name the part of the harness that must find a fault; empty where none can."""
    if fault.rule in {"render", "selection", ""}:
        return fault.rule
    prefix = fault.rule.partition("-")[0]
    return {"upgrade": "upgrade", "values": "values", "schema": "values"}.get(prefix, "objects")


def text() -> str:
    """Give the whole file."""
    return HEAD + "".join(map(_row, FAULTS))


def _row(fault: Fault) -> str:
    issues = ", ".join(map(_link, fault.issues)) or "a run of Helm"
    rule = f"`{fault.rule}`" if part(fault) not in {"render", "selection", ""} else ""
    seen = SEEN[part(fault)] if fault.rule else f"no: {fault.unseen}"
    return f"| {fault.seeded} | {issues} | {rule} | {seen} |\n"


def _link(issue: str) -> str:
    repository, _, number = issue.partition("#")
    return f"[{issue}](https://github.com/{repository}/issues/{number})"


if __name__ == "__main__":
    FILE.write_text(text())
