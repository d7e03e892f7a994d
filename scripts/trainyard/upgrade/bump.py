"""A new version of a chart, and nothing else new, must change nothing but labels."""

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trainyard.errors import TrainyardError
from trainyard.findings import Finding
from trainyard.render.case import Case
from trainyard.render.objects import Object
from trainyard.render.renderer import Renderer
from trainyard.upgrade.differ import Change, ObjectChange, object_changes
from trainyard.upgrade.effects import is_hook
from trainyard.upgrade.immutable import is_effective
from trainyard.upgrade.report import SIGNS, hide

RULE = "upgrade-version-bump"
VERSION = "9.8.7"
"""A version that no chart has."""

METADATA = (("metadata", "labels"), ("metadata", "annotations"))


def version_bump(case: Case, renderer: Renderer) -> list[Finding]:
    """Upgrade a case to copies of its chart whose Chart.yaml names other versions.

    Three copies: another ``version``, one with ``+build`` behind it (no valid label as it is),
    another ``appVersion``. An appVersion may also change images: it names them in many charts.
    """
    # Whether the values are valid hangs on no version, and checking them is most of a render.
    case = replace(case, is_upgrade=True, include_crds=True, skip_schema=True)
    before = renderer.render(case)
    found: dict[tuple[str, str], Finding] = {}
    for what, version in (
        ("version", VERSION),
        ("version", f"{VERSION}+build.1"),
        ("appVersion", VERSION),
    ):
        with bumped(case.chart, {what: version}) as chart:
            after = renderer.render(replace(case, chart=chart))
        for each in object_changes(before, after, case.namespace):
            for finding in _faults(case, each, what, version):
                found.setdefault((finding.object, finding.path), finding)
    return list(found.values())


def _faults(case: Case, each: ObjectChange, what: str, version: str) -> Iterator[Finding]:
    found = each.object
    if is_hook(found):
        return
    if each.kind != "changed":
        sign = SIGNS[each.kind]
        message = f"{sign} {found.title}: the object's name or presence hangs on the chart's {what}"
        yield _finding(case, found, "metadata.name", message, version)
        return
    images = any(change.steps[-1] == "image" for change in each.changes)
    for change in each.changes:
        if change.steps[:2] in METADATA or not is_effective(found.kind, change):
            continue
        # With another image the pods are made anew anyway, and their labels may say so.
        if what == "appVersion" and (
            change.steps[-1] == "image" or (images and _is_template(change))
        ):
            continue
        yield _finding(case, found, change.path, hide(found, change).lines()[0], version)


def _is_template(change: Change) -> bool:
    return change.steps[:2] in {("spec", "template"), ("spec", "jobTemplate")}


def _finding(case: Case, found: Object, path: str, line: str, version: str) -> Finding:
    return Finding(
        case.chart.resolve().name,
        RULE,
        found.title,
        path,
        f"With nothing new but the version ({version}), something changes that is no label of the "
        f"object itself: {line}.",
        "Use the version in labels of the object's own metadata only: not in names, selectors, pod "
        "templates or volumeClaimTemplates.",
        case.title,
        found.template,
    )


@contextmanager
def bumped(chart: Path, versions: dict[str, str]) -> Iterator[Path]:
    """Give a copy of a chart, a folder or an archive, with other versions in its Chart.yaml."""
    with tempfile.TemporaryDirectory(prefix="trainyard-") as scratch:
        copy = Path(scratch) / "copy" / chart.resolve().name
        if chart.is_file():
            with tarfile.open(chart) as archive:
                archive.extractall(copy, filter="data")
            (copy,) = copy.iterdir()
        else:
            shutil.copytree(chart, copy)
        file = copy / "Chart.yaml"
        if not file.is_file():
            raise TrainyardError(f"{chart} is no chart: it has no Chart.yaml.")
        file.write_text(_with_versions(file.read_text(), versions))
        yield copy


def _with_versions(text: str, versions: dict[str, str]) -> str:
    kept = "\n".join(
        line
        for line in text.splitlines()
        if not any(line.startswith(f"{key}:") for key in versions)
    )
    return kept + "".join(f'\n{key}: "{value}"' for key, value in versions.items()) + "\n"
