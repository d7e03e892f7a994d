"""Programs of the sample as processes on this machine: started, watched and ended by tests."""

import json
import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from trainyard.errors import TrainyardError
from trainyard.waiting import wait_for

SAMPLE = Path(__file__).parents[3] / "charts" / "tf-cluster" / "samples" / "mnist"

ENDLESS = "--epochs=1000000"
"""The flag of a run that does not end by itself."""

PATIENCE_SECONDS = 120.0
"""After which what should happen will not, even on a machine with much else to do."""

PROMPT_SECONDS = 5.0
"""In which a signal ends a process: one that does not heed it would stay for ever."""

Found = TypeVar("Found")


def free_addresses(count: int) -> list[str]:
    """Choose addresses on this machine where nobody listens, no two of them alike."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return [f"127.0.0.1:{port}" for port in ports]


class Program:
    """One process, in a folder of its own, with all that it prints in a file beside that.

    Python does not flush what it prints into a file: a program has to do that itself.
    """

    def __init__(self, name: str, argv: list[str], folder: Path, variables: dict[str, str]) -> None:
        self.name, self.folder, self.log = name, folder, folder.with_suffix(".log")
        folder.mkdir(parents=True)
        # No word of a cluster that whoever runs the tests may be in.
        foreign = ("TF_", "TASK_", "TRAINYARD_")
        own = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                argv,
                cwd=folder,
                env=own | variables,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        """All that it has printed so far."""
        return self.log.read_text(errors="replace")

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def search(self, pattern: str) -> re.Match[str] | None:
        """Look for the first line that matches; `^` and `$` are a line's ends."""
        return re.search(pattern, self.output, re.MULTILINE)

    def said(self, pattern: str) -> re.Match[str]:
        """Give the first line that matches; it must have been printed by now."""
        found = self.search(pattern)
        assert found, f"{self.name} has not said {pattern}:\n{self.output}"
        return found

    def number(self, pattern: str) -> int:
        """Give the number in the first line that matches; it must have been printed by now."""
        return int(self.said(pattern)[1])

    def accuracy(self) -> float:
        """Give the accuracy on the held-out digits that it has printed."""
        return float(self.said(r"^held_out accuracy=(0\.\d{4}) examples=179$")[1])

    def step(self) -> int:
        """Give the last step of which it has told."""
        return max(int(step) for step in re.findall(r"^step=(\d+)", self.output, re.MULTILINE))

    def await_that(self, what: str, look: Callable[[], Found | None]) -> Found:
        """Wait until `look` gives something true, as it must before the process ends."""

        def look_while_it_runs() -> Found | None:
            # Asked first, for what it says last may come between the two.
            runs = self.runs
            found = look()
            assert found or runs, f"{self.name} ended without {what}:\n{self.output}"
            return found

        try:
            return wait_for(look_while_it_runs, what, timeout=PATIENCE_SECONDS, every=0.05)
        except TrainyardError as error:
            pytest.fail(f"{self.name}: {error}\n{self.output}")

    def until(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed a line that matches."""
        return self.await_that(pattern, lambda: self.search(pattern))

    def until_after(self, step: int) -> None:
        """Wait until it has told of a later step."""
        self.await_that(f"a step after {step}", lambda: self.step() > step)

    def code(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for its end and give its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{self.name} does not end in {seconds:g} s:\n{self.output}")

    def terminate(self, seconds: float = PROMPT_SECONDS) -> int:
        """Ask it to end, as Kubernetes does, and give its exit code."""
        self.process.terminate()
        return self.code(seconds)

    def kill(self) -> None:
        """End it as a lost machine ends: without a chance to do anything."""
        self.process.kill()
        self.process.wait()


class Programs:
    """The processes of a test: members of one cluster on this machine, and others beside them."""

    def __init__(self, python: str, script: str, folder: Path) -> None:
        self.python, self.script, self.folder = python, script, folder
        self.cluster: dict[str, list[str]] = {}
        self.started: list[Program] = []

    def addresses(self, **roles: int) -> dict[str, list[str]]:
        """Make a cluster, not started yet, with so many members of each role."""
        free = iter(free_addresses(sum(roles.values())))
        self.cluster = {role: [next(free) for _ in range(n)] for role, n in roles.items()}
        return self.cluster

    def start(self, *flags: str, name: str = "", **variables: str) -> Program:
        """Start one process with these flags and variables; `name` is for messages."""
        number = len(self.started)
        argv = [self.python, "-B", str(SAMPLE / self.script), "--dataset=digits", *flags]
        name = name or f"process {number}"
        self.started.append(Program(name, argv, self.folder / str(number), variables))
        return self.started[-1]

    def member(self, role: str, index: int, *flags: str) -> Program:
        """Start one member of the cluster, for the first time or again, with TF_CONFIG."""
        config = {"cluster": self.cluster, "task": {"type": role, "index": index}}
        return self.start(*flags, name=f"{role} {index}", TF_CONFIG=json.dumps(config))

    def members(self, *flags: str) -> list[Program]:
        """Start every member of the cluster, in the order of its roles."""
        return [
            self.member(role, index, *flags)
            for role, addresses in self.cluster.items()
            for index in range(len(addresses))
        ]

    def predict(self, models: Path, *flags: str) -> dict[str, Any]:
        """Give what predict.py, which must succeed, finds out about the newest exported model."""
        done = subprocess.run(
            [
                *(self.python, "-B", str(SAMPLE / "predict.py"), "--dataset=digits"),
                *("--model-dir", str(models), *flags),
            ],
            stdout=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def end(self) -> None:
        """Kill whatever still runs."""
        for program in self.started:
            program.kill()
