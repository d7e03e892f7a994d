"""What the coverage tests share: a renderer, and charts of a few lines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.render.renderer import RendererProcess


@pytest.fixture(scope="session")
def process() -> Iterator[RendererProcess]:
    """Give one renderer for all tests."""
    with RendererProcess() as running:
        yield running


def write(folder: Path, kind: str, templates: dict[str, str]) -> Path:
    """Write a chart of templates by file name, and give its folder."""
    for name, text in templates.items():
        file = folder / "templates" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    (folder / "Chart.yaml").write_text(
        f"apiVersion: v2\nname: {folder.name}\nversion: 1.0.0\ntype: {kind}\n"
    )
    return folder


@pytest.fixture
def chart(tmp_path: Path) -> Callable[..., Path]:
    """`chart(templates, name=...)`: write a chart."""

    def make(templates: dict[str, str], name: str = "small") -> Path:
        return write(tmp_path / name, "application", templates)

    return make


@pytest.fixture
def library(tmp_path: Path) -> Callable[..., Path]:
    """`library(templates)`: write a library chart; `charts/library` of a chart may link to it."""
    return lambda templates: write(tmp_path / "library", "library", templates)
