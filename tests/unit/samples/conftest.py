"""Import the sample program's modules by their plain names, as they find each other in a pod."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "charts" / "tf-cluster" / "samples" / "mnist"


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
