"""Charts as they were: a revision of the git repository that a chart lies in."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainyard.errors import TrainyardError
from trainyard.process import run


@contextmanager
def chart_at(chart: Path, revision: str) -> Iterator[Path]:
    """Give a chart's folder as it was in a git revision, such as ``HEAD~1``.

    What its links lead to in the repository, such as a library chart beside it, comes along.
    The folder is gone when the block ends. TrainyardError where git has no such thing.
    """
    top = Path(run(["git", "rev-parse", "--show-toplevel"], cwd=_nearest(chart)).stdout.strip())
    inside = chart.resolve().relative_to(top)
    with tempfile.TemporaryDirectory(prefix="trainyard-") as scratch:
        root = Path(scratch).resolve() / "tree"
        wanted = [inside]
        fetched: set[Path] = set()
        while wanted:
            path = wanted.pop()
            _extract(top, revision, path, root)
            fetched.add(path)
            wanted += set(_outside(root, root / path)) - fetched
        if not (root / inside / "Chart.yaml").is_file():
            raise TrainyardError(f"{inside} is no chart in {revision}: it has no Chart.yaml.")
        yield root / inside


def _nearest(chart: Path) -> Path:
    """Give the deepest folder on the way to a chart that is there: it may be gone today."""
    found = chart.resolve()
    while not found.is_dir():
        found = found.parent
    return found


def _extract(top: Path, revision: str, path: Path, root: Path) -> None:
    argv = ["git", "archive", "--format=tar", revision, "--", str(path)]
    done = subprocess.run(argv, cwd=top, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise TrainyardError(
            f"git has no {path} in {revision}: {said}",
            "Name a revision of this repository that has the chart, such as HEAD~1 or a tag.",
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(root, filter="data")


def _outside(root: Path, folder: Path) -> Iterator[Path]:
    """Give where links below a folder lead that is not there yet, as paths in the repository."""
    for link in folder.rglob("*"):
        if link.is_symlink() and not link.exists():
            target = (link.parent / link.readlink()).resolve()
            if target.is_relative_to(root):
                yield target.relative_to(root)
