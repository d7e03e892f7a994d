"""The sample program in tests: its modules by their plain names, and real small clusters of it."""

import importlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from trainyard import samples

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "charts" / "tf-cluster" / "samples" / "mnist"
PATIENCE_SECONDS = 90


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Give an import of the sample's modules that leaves nothing behind in this process.

    Their names are common ones (`data`, `errors`), so another test may have others of that name.
    """
    own = {path.stem for path in SAMPLE.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in own & sys.modules.keys()}
    monkeypatch.syspath_prepend(str(SAMPLE))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    yield importlib.import_module
    for name in own:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture(scope="session")
def tensorflow_python() -> str:
    """Give a Python that has TensorFlow."""
    return str(samples.python())


class Program:
    """train.py as a process, with all that it prints in a file."""

    def __init__(
        self, python: str, log: Path, flags: tuple[str, ...], variables: dict[str, str]
    ) -> None:
        self.log = log
        own = {name: v for name, v in os.environ.items() if not name.startswith(("TF_", "TASK_"))}
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [python, "-B", "-u", str(SAMPLE / "train.py"), "--dataset=digits", *flags],
                env=own | variables,
                stdout=stream,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    @property
    def output(self) -> str:
        """All that it has printed so far."""
        return self.log.read_text(errors="replace")

    def until(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed a line that matches."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(pattern, self.output, re.MULTILINE)):
            code = self.process.poll()
            assert code is None, f"it ended with {code}:\n{self.output}"
            assert time.monotonic() < end, f"it never said {pattern}:\n{self.output}"
            time.sleep(0.05)
        return found

    def code(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for its end and give its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it does not end:\n{self.output}")

    def kill(self) -> None:
        """End it as a lost machine ends: without a chance to do anything."""
        self.process.kill()
        self.process.wait()

    def accuracy(self) -> float:
        """The accuracy on the held-out digits that it has printed."""
        found = re.search(r"^held_out accuracy=(0\.\d{4}) examples=179$", self.output, re.MULTILINE)
        assert found, self.output
        return float(found[1])


class Programs:
    """A cluster of train.py on this machine; by `variables` even without one."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.cluster: dict[str, list[str]] = {}
        self.started: list[Program] = []

    def addresses(self, **roles: int) -> dict[str, list[str]]:
        """Choose free ports for so many members of each role."""
        held = {
            role: [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
            for role, count in roles.items()
        }
        self.cluster = {
            role: [f"127.0.0.1:{one.getsockname()[1]}" for one in them]
            for role, them in held.items()
        }
        for one in (one for them in held.values() for one in them):
            one.close()
        return self.cluster

    def start(self, *flags: str, **variables: str) -> Program:
        """Start one process with these flags and variables."""
        log = self.folder / f"{len(self.started)}.log"
        self.started.append(Program(self.python, log, flags, variables))
        return self.started[-1]

    def member(self, role: str, index: int, *flags: str) -> Program:
        """Start one member of the cluster, with TF_CONFIG."""
        config = {"cluster": self.cluster, "task": {"type": role, "index": index}}
        return self.start(*flags, TF_CONFIG=json.dumps(config))


@pytest.fixture
def programs(tensorflow_python: str, tmp_path: Path) -> Iterator[Programs]:
    """Give a way to start processes, which end with the test."""
    folder = tmp_path / "programs"
    folder.mkdir()
    made = Programs(tensorflow_python, folder)
    yield made
    for program in made.started:
        program.kill()
