"""The sample program in tests: its modules by their plain names, and real small clusters of it."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.unit.samples.programs import SAMPLE, Programs

from trainyard import samples


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


@pytest.fixture
def script() -> str:
    """Name the program that `programs` starts; a module of tests may have another one."""
    return "train.py"


@pytest.fixture
def programs(tensorflow_python: str, script: str, tmp_path: Path) -> Iterator[Programs]:
    """Give a way to start processes, which end with the test."""
    made = Programs(tensorflow_python, script, tmp_path / "programs")
    yield made
    made.end()
