"""The strict schemas that the wheel ``kubernetes-validate`` carries, read as data.

A folder ``vX.Y.0-local-strict`` holds one ``_definitions.json`` with every type of that
Kubernetes version; all its references point into that file.
"""

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trainyard.errors import TrainyardError

OLDEST = (1, 29)
"""The oldest Kubernetes version whose schemas are used, as (major, minor)."""

DEFINITIONS = "file:///api/_definitions.json"
"""Where schemas find the definitions."""

OBJECT_META = f"{DEFINITIONS}#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@cache
def _folder() -> Path:
    # The package itself is not imported: it would load a second, slower validator.
    found = find_spec("kubernetes_validate")
    if not found or not found.submodule_search_locations:
        raise TrainyardError(
            "The Kubernetes schemas are not installed.", "pip install kubernetes-validate"
        )
    return Path(found.submodule_search_locations[0]) / "kubernetes-json-schema"


@cache
def versions() -> list[str]:
    """Give the Kubernetes versions with schemas, such as ``1.33``, oldest first."""
    names = (re.fullmatch(r"v(\d+)\.(\d+)\.0-local-strict", p.name) for p in _folder().iterdir())
    found = sorted((int(name[1]), int(name[2])) for name in names if name)
    return [f"{major}.{minor}" for major, minor in found if (major, minor) >= OLDEST]


def order(version: str) -> tuple[int, ...]:
    """Give what versions are sorted by: the numbers of ``1.33`` or ``v1.33.2-gke.100``."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def minor_of(version: str) -> str:
    """Give ``1.33`` for ``v1.33.2-gke.100``, and the newest version for an empty text."""
    if not version:
        return versions()[-1]
    found = re.match(r"v?(\d+\.\d+)", version)
    if not found or found[1] not in versions():
        raise TrainyardError(
            f"There are no schemas of Kubernetes {version}.",
            f"There are those of {versions()[0]} to {versions()[-1]}.",
        )
    return found[1]


def definitions(version: str) -> dict[str, Any]:
    """Read the file of a version: ``$defs`` maps names such as ``io.k8s.api.core.v1.Pod``."""
    path = _folder() / f"v{version}.0-local-strict" / "_definitions.json"
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    # Its own address must be the one under which its parts refer to each other.
    return {**loaded, "$id": DEFINITIONS}


def kinds(loaded: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Map (apiVersion, kind) to the definition's name."""
    found: dict[tuple[str, str], str] = {}
    for name, schema in loaded["$defs"].items():
        meanings = schema.get("x-kubernetes-group-version-kind", ())
        if len(meanings) == 1:
            group, version = meanings[0]["group"], meanings[0]["version"]
            found[f"{group}/{version}" if group else version, meanings[0]["kind"]] = name
    return found
