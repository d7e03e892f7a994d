"""What a person sees while a command works: progress in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

console = Console(stderr=True, highlight=False, soft_wrap=True)
"""Progress and messages; standard output is kept for results."""

out = Console(highlight=False, soft_wrap=True)
"""Results."""


def say(text: str) -> None:
    """Print one line for the person at the terminal."""
    console.print(text, markup=False)


@dataclass
class Stages:
    """The stages of a command, each with the seconds it took, in their order."""

    seconds: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    @property
    def total_s(self) -> float:
        """Seconds since the first stage began."""
        return round(time.monotonic() - self._started, 2)

    @contextmanager
    def stage(
        self, name: str, doing: str, steps: int | None = None
    ) -> Iterator[Callable[[], None]]:
        """Time one stage, and show what it is ``doing``.

        In a terminal that is a progress bar, elsewhere a line when it ends. Gives a function
        to call after each of the ``steps``; without a number of them the bar only moves.
        """
        start = time.monotonic()
        if console.is_terminal:
            with Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            ) as progress:
                task = progress.add_task(doing, total=steps)
                yield lambda: progress.advance(task)
        else:
            yield lambda: None
        self.record(name, time.monotonic() - start)
        console.print(f"{self.seconds[name]:7.1f} s  {doing}", markup=False)

    def record(self, name: str, seconds: float) -> None:
        """Keep a stage's time that was measured elsewhere."""
        self.seconds[name] = round(seconds, 2)

    def report(self) -> dict[str, object]:
        """Give what ``--json`` prints: the stages and their total, in seconds."""
        return {"stages": self.seconds, "total_s": self.total_s}
