"""Results by the hash of all that went into them: a run on unchanged files repeats nothing."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from trainyard import paths, tools
from trainyard.checking.result import Result

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = ("jsonschema-rs", "kubernetes-validate", "pyyaml")


def key(chart: Path, settings: object, files: Iterable[Path]) -> str:
    """Hash a chart with its dependencies, the settings, the rules' own code and its libraries.

    ``settings`` is told by its ``repr``; ``files`` are those that the settings name.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for name in LIBRARIES:
        digest.update(f"{name}={version(name)}\0".encode())
    places = [chart, PACKAGE, tools.RENDERER.folder, *files, *_values(chart)]
    for file in _files(places):
        # Of a link that leads nowhere there is only where it leads.
        content = file.read_bytes() if file.is_file() else bytes(file.readlink())
        digest.update(f"{file}\0".encode() + content + b"\0")
    return digest.hexdigest()


def load(named: str) -> Result | None:
    """Give an earlier result; nothing where there is none, or one that cannot be read."""
    try:
        result = Result.from_dict(json.loads(_place(named).read_text()))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    result.cached = True
    return result


def store(named: str, result: Result) -> None:
    """Keep a result, whole or not at all."""
    place = _place(named)
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(result.as_dict()))
    fresh.rename(place)


def _place(named: str) -> Path:
    return paths.cache() / "checks" / f"{named[:32]}.json"


def _values(chart: Path) -> Iterator[Path]:
    if chart.resolve().is_relative_to(paths.CHARTS):
        yield from paths.ROOT.glob(f"values/*/{chart.name}.yaml")


def _files(places: Iterable[Path]) -> Iterator[Path]:
    """Give all files in or below the places, links followed, in a fixed order."""
    for place in places:
        if place.is_file():
            yield place
        for folder, below, names in os.walk(place, followlinks=True):
            below.sort()
            yield from (Path(folder, name) for name in sorted(names) if not name.endswith(".pyc"))
