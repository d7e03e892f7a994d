"""Lists of exceptions in a chart's ``ci`` folder: what is meant as it is, each with its reason."""

from collections.abc import Set
from pathlib import Path
from typing import Any

import yaml

from trainyard.errors import TrainyardError
from trainyard.render.objects import UniqueKeyLoader


def read(file: Path, needs: Set[str], may: Set[str]) -> list[dict[str, Any]]:
    """Give the entries of a list; none where there is no such file.

    Each must have the keys ``needs`` and can have ``may``; their values are texts, or numbers of
    lines. TrainyardError, with file and entry, where it is otherwise.
    """
    if not file.is_file():
        return []
    try:
        entries = yaml.load(file.read_text(), UniqueKeyLoader) or []
    except yaml.YAMLError as error:
        raise TrainyardError(f"{file} is no YAML: {error}") from error
    if not isinstance(entries, list):
        raise TrainyardError(f"{file} holds no list of exceptions.")
    for number, entry in enumerate(entries, start=1):
        if not (isinstance(entry, dict) and needs <= entry.keys() <= needs | may and _told(entry)):
            raise TrainyardError(
                f"Entry {number} of {file} is no exception: {entry}.",
                f"It needs {', '.join(sorted(needs))}, and may have {', '.join(sorted(may))}.",
            )
    return entries


def _told(entry: dict[str, Any]) -> bool:
    return all(isinstance(value, str | int) and value for value in entry.values())
