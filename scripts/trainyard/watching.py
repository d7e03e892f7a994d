"""Render a chart again whenever it is saved, and show what the objects have become."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trainyard.errors import TrainyardError
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import Renderer, RendererProcess
from trainyard.upgrade.report import between

POLL_S = 0.05
"""Looking at every file of a chart twenty times a second costs less than one render, and needs
nothing that tells of changes; of those, none follows a chart's links to its libraries."""

COLOURS = {"+": "green", "-": "red", "~": "yellow", "!": "bold red"}

State = dict[str, tuple[int, int]]
"""Files with their time of change (in ns) and size."""


class Watch:
    """A case whose chart and values files are looked at again and again."""

    def __init__(self, case: Case, renderer: Renderer) -> None:
        self._case = case
        self._renderer = renderer
        self._seen: State = {}
        self._good: Rendered | None = None
        self._error = ""

    def look(self) -> list[str]:
        """Give what to show: nothing while no file has changed.

        The first time that is how many objects there are; then the differences from the last
        render that worked. An error is told once, and that it is mended too.
        """
        state = self._state()
        if state == self._seen:
            return []
        self._seen = state
        try:
            rendered = self._renderer.render(self._case)
            return self._mended() + self._changes(rendered)
        except TrainyardError as error:
            return self._broken(error.message.strip())

    def _changes(self, rendered: Rendered) -> list[str]:
        before = self._good
        if before is None:
            lines = [f"{self._case.chart.resolve().name}: {len(rendered.objects)} objects."]
        else:
            report = between(self._case, before, rendered)
            # Saving what changes no object deserves no line.
            lines = report.lines() if report.changes else []
        self._good = rendered
        return lines

    def _broken(self, error: str) -> list[str]:
        if error == self._error:
            return []
        self._error = error
        return ["! The chart does not render:", *(f"    {line}" for line in error.splitlines())]

    def _mended(self) -> list[str]:
        was, self._error = self._error, ""
        return ["+ The chart renders again."] if was else []

    def _state(self) -> State:
        state: State = {}
        for path in _files(self._case):
            try:
                found = path.stat()
            except FileNotFoundError:
                # Editors write a new file and move it over the old one.
                continue
            state[str(path)] = (found.st_mtime_ns, found.st_size)
        return state


def _files(case: Case) -> Iterator[Path]:
    yield from case.value_files
    if case.chart.is_file():
        yield case.chart
    for folder, folders, names in os.walk(case.chart, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(folder, name) for name in names)


def watch(case: Case, console: Console) -> None:
    """Show a case and, until ctrl-C, what each save changes in its objects.

    ``console`` is where results go; colours are its own affair.
    """
    with RendererProcess() as process, contextlib.suppress(KeyboardInterrupt):
        follow(Watch(case, process), lambda lines: _show(console, lines), lambda: False)


def follow(watched: Watch, show: Callable[[list[str]], None], ended: Callable[[], bool]) -> None:
    """Show what there is to show, as soon as it is there, until it has ``ended``."""
    while not ended():
        lines = watched.look()
        if lines:
            show(lines)
        time.sleep(POLL_S)


def _show(console: Console, lines: list[str]) -> None:
    console.print(f"── {time.strftime('%H:%M:%S')}", markup=False, style="dim")
    for line in lines:
        console.print(Text(line, style=_colour(line)))


def _colour(line: str) -> str:
    """Give the colour of a line, by its sign or by that of the text it shows."""
    sign = line.lstrip()[:1] if line.startswith("        ") else line[:1]
    return COLOURS.get(sign, "")
