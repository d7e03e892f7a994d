"""All checks of the tree in one call: linters first, then the tests."""

import os
import subprocess
import sys
from pathlib import Path

from trainyard import ground, images, paths
from trainyard.charts import Chart
from trainyard.cluster.choice import VARIABLE, choose, wanted
from trainyard.console import Stages, say
from trainyard.process import run

STATIC_SUITES = ("tests/unit", "tests/render", "tests/upgrade")


def run_all(*, static: bool) -> int:
    """Run linters, the checks of the charts, and pytest; give 0, or the first failing status.

    With ``static`` only what needs no cluster runs. Otherwise the cluster is started and
    given its image where that is not done yet, unless the user said that there is none.
    """
    for argv in [*_linters(), *_chart_checks()]:
        say(f"$ {' '.join(argv)}")
        status = _call(argv)
        if status != 0:
            return status
    suites = STATIC_SUITES if static else ("tests",)
    if not static and wanted() != "none":
        ground.lay(choose(), images.TENSORFLOW, Stages())
    paths.BUILD.mkdir(exist_ok=True)
    report = paths.BUILD / ("junit-static.xml" if static else "junit.xml")
    if wanted() == "none":
        say(f"{VARIABLE}=none: the tests that need a cluster are skipped and counted.")
    return _call([sys.executable, "-m", "pytest", f"--junitxml={report}", *suites])


def _linters() -> list[list[str]]:
    python = [sys.executable, "-m"]
    return [
        [*python, "ruff", "check", "."],
        [*python, "ruff", "format", "--check", "."],
        [*python, "mypy"],
        ["shellcheck", *_shell_scripts()],
    ]


def _chart_checks() -> list[list[str]]:
    """Give the harness's own commands on every chart, as anybody would call them on theirs."""
    charts = [Chart.open(path.parent) for path in sorted(paths.CHARTS.glob("*/Chart.yaml"))]
    every = [str(chart.path.relative_to(paths.ROOT)) for chart in charts]
    # A library has no cases: its branches are counted through the charts that use it.
    rendered = [str(c.path.relative_to(paths.ROOT)) for c in charts if not c.library]
    trainyard = [sys.executable, "-m", "trainyard"]
    return [
        [*trainyard, "check", *every],
        [*trainyard, "cover", *rendered],
        [*trainyard, "docs", "--verify", *rendered],
    ]


def _shell_scripts() -> list[str]:
    """Give every tracked file that a shell runs."""
    tracked = run(["git", "ls-files"], cwd=paths.ROOT).stdout.split("\n")
    found = []
    for name in filter(None, tracked):
        path = paths.ROOT / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                if stream.readline(64).startswith((b"#!/bin/sh", b"#!/usr/bin/env bash")):
                    found.append(name)
    return found


def _call(argv: list[str]) -> int:
    # The linters lie beside the interpreter that runs this.
    beside = str(Path(sys.executable).parent)
    search = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    child = {**os.environ, "PATH": search}
    return subprocess.run(argv, cwd=paths.ROOT, env=child, check=False).returncode
