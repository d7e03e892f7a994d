"""Each public fault, seeded into a small chart, is found; its near miss is not."""

from pathlib import Path

import pytest
from tests.unit.rules import depot, table
from tests.unit.rules.faults import FAULTS, Fault, Seed

from trainyard.errors import TrainyardError
from trainyard.render.case import Case
from trainyard.render.objects import Rendered
from trainyard.render.renderer import RendererProcess
from trainyard.rules import Render, check, named_by, validate
from trainyard.schemas import crds
from trainyard.schemas.validator import Schemas
from trainyard.upgrade.report import compare
from trainyard.upgrade.reuse import reuse
from trainyard.values.check import check_values

SEEDED = [fault for fault in FAULTS if table.part(fault) in {"objects", "render", "upgrade"}]
VALUES = [fault for fault in FAULTS if table.part(fault) == "values"]


@pytest.fixture(scope="module")
def process():
    with RendererProcess() as running:
        yield running


def found(process: RendererProcess, folder: Path, seed: Seed) -> set[str]:
    """Seed the chart, and give the ids of all rules that find something."""
    case = write(folder / "old", seed)
    if seed.upgraded is not None:
        new = write(folder / "new", Seed({**seed.edits, **seed.upgraded}))
        report = compare(case, new, process)
        reused = reuse(case, new, process)
        return {one.rule for one in (*report.findings, *reused.findings)}
    try:
        rendered, again = process.render(case), process.render(case)
        render = Render(case, rendered, named_by(case), again)
        schemas = Schemas(seed.kube_version, crds.of_chart(case.chart))
        return {one.rule for one in (*check(render), *validate(render, schemas).findings)}
    except TrainyardError:
        return {"render"}


def write(folder: Path, seed: Seed) -> Case:
    chart = folder if seed.parent is None else folder / "charts" / "depot"
    depot.write(chart, seed.edits)
    if seed.parent is not None:
        depot.write_parent(folder, seed.parent, seed.condition)
    return Case(
        folder,
        release=seed.release,
        values_text=(seed.values,) if seed.values else (),
        set_values=seed.sets,
        kube_version=seed.kube_version,
    )


def test_the_chart_itself_has_no_fault(process, tmp_path):
    assert found(process, tmp_path, Seed()) == set()


@pytest.mark.parametrize("fault", SEEDED, ids=lambda fault: fault.id)
def test_the_fault_is_found(process, tmp_path, fault: Fault):
    assert fault.rule in found(process, tmp_path, fault.bad)


@pytest.mark.parametrize("fault", SEEDED, ids=lambda fault: fault.id)
def test_its_near_miss_is_not(process, tmp_path, fault: Fault):
    assert found(process, tmp_path, fault.near_miss) == set()


@pytest.mark.parametrize("fault", VALUES, ids=lambda fault: fault.id)
def test_the_values_part_finds_it_and_not_its_near_miss(process, tmp_path, fault: Fault):
    def rules(name: str, seed: Seed) -> set[str]:
        chart = write(tmp_path / name, seed).chart
        return {one.rule for one in check_values(chart, process).findings}

    assert fault.rule in rules("bad", fault.bad)
    assert fault.rule not in rules("right", fault.near_miss)


def test_selecting_nothing_is_an_error():
    with pytest.raises(TrainyardError):
        Rendered("{apiVersion: v1, kind: Pod, metadata: {name: a}}").all("Pod", component="web")


def test_no_two_faults_have_one_id():
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)


def test_the_table_is_fresh():
    assert table.FILE.read_text() == table.text(), f"run {table.COMMAND}"
