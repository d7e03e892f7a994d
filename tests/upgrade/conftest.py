"""What the upgrade tests share: a renderer, and small charts that a test writes itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.render.renderer import RendererProcess


@pytest.fixture(scope="session")
def process() -> Iterator[RendererProcess]:
    """Give one renderer for all tests."""
    with RendererProcess() as running:
        yield running


@pytest.fixture
def write_chart(tmp_path: Path) -> Callable[..., Path]:
    """`write_chart(name, values, **templates)`: write a chart and give its folder.

    The names of templates stand without folder and ending.
    """

    def write(name: str, values: str = "", **templates: str) -> Path:
        folder = tmp_path / name / "small"
        (folder / "templates").mkdir(parents=True)
        (folder / "Chart.yaml").write_text(
            "apiVersion: v2\nname: small\nversion: 1.0.0\nappVersion: 1.2.3\n"
        )
        (folder / "values.yaml").write_text(values)
        for template, text in templates.items():
            (folder / "templates" / f"{template}.yaml").write_text(text)
        return folder

    return write
