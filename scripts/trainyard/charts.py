"""A chart folder: what its Chart.yaml says, and the cases that come with it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trainyard import paths
from trainyard.errors import TrainyardError
from trainyard.render.case import Case

NEEDS = re.compile(r"^# Needs Kubernetes (\d+\.\d+)\b", re.MULTILINE)
"""How a values file says that older versions have no objects for it."""


@dataclass(frozen=True)
class Chart:
    """A chart folder with what its Chart.yaml says."""

    path: Path
    name: str
    version: str
    library: bool
    """Whether it renders nothing by itself."""
    dependencies: tuple[dict[str, Any], ...] = ()
    """The dependencies as Chart.yaml names them."""

    @staticmethod
    def open(path: Path) -> "Chart":
        """Read a chart; TrainyardError where the folder holds none."""
        file = path / "Chart.yaml"
        try:
            about = yaml.safe_load(file.read_text())
        except OSError as error:
            raise TrainyardError(
                f"{path} is no chart: {file.name} cannot be read ({error.strerror}).",
                "Name the folder that holds Chart.yaml.",
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise TrainyardError(f"{file} is no YAML: {error}") from error
        if not isinstance(about, dict) or not about.get("name"):
            raise TrainyardError(f"{file} names no chart: it has no name.")
        dependencies = about.get("dependencies") or []
        if not isinstance(dependencies, list) or not all(isinstance(d, dict) for d in dependencies):
            raise TrainyardError(f"{file} has dependencies that are no list of maps.")
        return Chart(
            path,
            str(about["name"]),
            # Helm refuses a chart without one, in its own words, when it renders it.
            str(about.get("version", "")),
            about.get("type") == "library",
            tuple(dependencies),
        )

    @property
    def missing(self) -> list[str]:
        """The dependencies that lie neither as a folder nor as an archive in charts/."""
        there = self.path / "charts"
        names = [str(dependency.get("name", "")) for dependency in self.dependencies]
        return [
            name
            for name in names
            if not (there / name).is_dir() and not list(there.glob(f"{name}-*.tgz"))
        ]


def cases(chart: Chart, value_files: tuple[Path, ...] = ()) -> list[Case]:
    """Give a chart's cases: its defaults, each ``ci/*-values.yaml``, and those of ``values/``.

    With ``value_files`` there is one case, these files together. In ``values/`` of the
    checkout, the folders are situations and their files are named after charts. A comment
    ``# Needs Kubernetes 1.31 …`` in such a file keeps the case from older versions.
    """
    skip = bool(chart.missing)
    if value_files:
        for file in value_files:
            if not file.is_file():
                raise TrainyardError(f"There is no values file {file}.")
        name = ", ".join(file.name for file in value_files)
        return [Case(chart.path, name, value_files=value_files, skip_missing=skip)]
    files = [(f.name.removesuffix("-values.yaml"), f) for f in chart.path.glob("ci/*-values.yaml")]
    if chart.path.resolve().is_relative_to(paths.CHARTS):
        situations = paths.ROOT.glob(f"values/*/{chart.name}.yaml")
        files += [(f"values/{f.parent.name}", f) for f in situations]
    named = [
        Case(chart.path, name, value_files=(file,), kube_since=_needs(file), skip_missing=skip)
        for name, file in sorted(files)
    ]
    return [Case(chart.path, skip_missing=skip), *named]


def _needs(file: Path) -> str:
    found = NEEDS.search(file.read_text())
    return found[1] if found else ""
