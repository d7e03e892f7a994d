"""Benchmarks: two ways to do the same, side by side, in one run on one machine."""

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from trainyard import tools
from trainyard.process import run
from trainyard.render.case import Case
from trainyard.render.renderer import HelmCli, Pool
from trainyard.schemas import bundle
from trainyard.schemas.validator import Schemas

VERSION = "1.36"
OBJECTS = 4000


@dataclass(frozen=True)
class RenderBench:
    """Cases rendered and validated in a second, by the usual way and by ours."""

    chart: str
    helm_cli_per_s: float
    """One ``helm template`` a case, PyYAML, the package ``jsonschema`` with kept validators."""
    ours_per_s: float
    """Renderer processes, one for each processor, and compiled validators."""
    ratio: float
    objects: int
    objects_s: float
    """Seconds to validate that many parsed objects with our validators, on one processor."""

    def as_dict(self) -> dict[str, Any]:
        """Give it for JSON."""
        return asdict(self)


def bench_render(chart: Path | None, seconds: float) -> RenderBench:
    """Time both ways on ``chart`` for about ``seconds`` each, by turns; without one, on the
    scaffold that ``helm create`` makes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        if chart is None:
            run([tools.helm(), "create", "small"], cwd=Path(scratch))
            chart = Path(scratch) / "small"
        case = Case(chart, kube_version=VERSION)
        pool = Pool(os.cpu_count() or 1)
        try:
            return _measure(case, pool, seconds)
        finally:
            pool.close()


def _measure(case: Case, pool: Pool, seconds: float) -> RenderBench:
    """Take turns, so that both ways meet the same machine, and give the median of each."""
    schemas = Schemas(VERSION)
    usual = _usual_way(case)

    def ours() -> None:
        for found in pool.render(case).objects:
            schemas.check(found)

    rates: dict[str, list[float]] = {"usual": [], "ours": []}
    rounds = 3
    for _ in range(rounds):
        rates["usual"].append(_rate(usual, seconds / rounds, workers=1))
        rates["ours"].append(_rate(ours, seconds / rounds, workers=os.cpu_count() or 1))
    helm_cli, mine = (sorted(found)[rounds // 2] for found in (rates["usual"], rates["ours"]))
    objects = pool.render(case).objects
    many = [objects[number % len(objects)] for number in range(OBJECTS)]
    start = time.perf_counter()
    for found in many:
        schemas.check(found)
    objects_s = time.perf_counter() - start
    return RenderBench(
        case.chart.name,
        round(helm_cli, 2),
        round(mine, 1),
        round(mine / helm_cli, 1),
        OBJECTS,
        round(objects_s, 4),
    )


def _usual_way(case: Case) -> Callable[[], None]:
    """Give the work of one case as the harnesses of the field do it.

    A subprocess renders, PyYAML's own loader reads, and the package ``jsonschema`` validates,
    with one validator kept for each kind and the same schemas as ours.
    """
    helm = HelmCli()
    definitions = bundle.definitions(VERSION)
    resource = Resource.from_contents(definitions, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(bundle.DEFINITIONS, resource)
    kinds = bundle.kinds(definitions)

    @cache
    def validator(api: str, kind: str) -> Draft202012Validator:
        reference = f"{bundle.DEFINITIONS}#/$defs/{kinds[api, kind]}"
        return Draft202012Validator({"$ref": reference}, registry=registry)

    def work() -> None:
        for found in yaml.safe_load_all(helm.render(case).manifest):
            if found:
                validator(found["apiVersion"], found["kind"]).validate(found)

    return work


def _rate(work: Callable[[], None], seconds: float, workers: int) -> float:
    """Give how often ``work`` is done in a second, by ``workers`` threads, after one warm-up."""
    work()
    deadline = time.perf_counter() + seconds

    def until_then(_: int) -> int:
        done = 0
        while time.perf_counter() < deadline:
            work()
            done += 1
        return done

    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as threads:
        total = sum(threads.map(until_then, range(workers)))
    return total / (time.perf_counter() - start)
