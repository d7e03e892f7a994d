"""The cases of a chart folder, and those in which the chart must refuse."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from trainyard import charts
from trainyard.errors import TrainyardError
from trainyard.render.case import Case

VERSION = re.compile(r"^# Kubernetes (\d+\.\d+)$", re.MULTILINE)
LONGEST_NAME = 53
"""Characters that Helm permits in a release's name."""


@dataclass(frozen=True)
class Refusal:
    """A case that the chart must refuse, and a part of what it must say."""

    case: Case
    says: str


def cases(chart: Path) -> list[Case]:
    """Give the cases that ``check`` runs, and the defaults under every shape of release name.

    Names that charts treat in their own way: the chart's own name, one that begins with a digit
    and holds a dot, and the longest.
    """
    opened = charts.Chart.open(chart)
    found = charts.cases(opened)
    names = (opened.name[:LONGEST_NAME], "0.9", "n" * LONGEST_NAME)
    named = [replace(found[0], release=name, tags=(f"release {name}",)) for name in names]
    return [*found, *named]


def refusals(chart: Path) -> list[Refusal]:
    """Give the cases of ``ci/refused/*-values.yaml``.

    The first line of such a file is a comment that says what is wrong with the values, the
    second a comment with a part of the message that the user must see. A third one may name the
    version of Kubernetes for which they are wrong: ``# Kubernetes 1.30``.
    """
    return list(_refusals(chart))


def _refusals(chart: Path) -> Iterator[Refusal]:
    for file in sorted(chart.glob("ci/refused/*-values.yaml")):
        head = file.read_text().splitlines()[:2]
        if len(head) < 2 or not all(line.startswith("# ") for line in head):
            raise TrainyardError(
                f"{file} does not say what is to be refused.",
                "Its first line is a comment: what is wrong; its second: a part of the message.",
            )
        name = file.name.removesuffix("-values.yaml")
        says = head[1].removeprefix("# ").strip()
        version = VERSION.search(file.read_text())
        case = Case(chart, name, value_files=(file,), tags=("refused",))
        yield Refusal(replace(case, kube_version=version[1] if version else ""), says)
