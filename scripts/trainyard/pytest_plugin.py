"""Fixtures for the tests of any chart. They come with the package: nothing is to be imported.

def test_workers_have_a_disruption_budget(render_chart):
    rendered = render_chart("charts/mine", {"worker": {"replicas": 3}})
    assert rendered.one("PodDisruptionBudget")["spec"]["minAvailable"] == 2
    assert rendered.absent("Ingress")
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import RendererProcess

RenderChart = Callable[..., Rendered]


@pytest.fixture(scope="session")
def renderer() -> Iterator[RendererProcess]:
    """Give a renderer process, one for the whole session."""
    with RendererProcess() as running:
        yield running


@pytest.fixture(scope="session")
def render_chart(renderer: RendererProcess) -> RenderChart:
    """Give a function that renders a chart's folder with values over its own.

    Further keywords are those of ``Case``, such as ``release`` or ``kube_version``.
    """

    def rendered(
        chart: str | Path,
        values: Mapping[str, Any] | None = None,
        **case: Any,  # noqa: ANN401  # the fields of Case
    ) -> Rendered:
        text = (yaml.safe_dump(dict(values), sort_keys=False),) if values else ()
        return renderer.render(Case(Path(chart), values_text=text, **case))

    return rendered
