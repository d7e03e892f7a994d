"""What a case's own values name lies outside the release, such as an ``existingClaim``."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from trainyard.render.case import Case
from trainyard.values.loading import load_values

NEXT = re.compile(r"(?<!\\),")
"""What parts the values of one ``--set`` argument."""


def named_by(case: Case) -> frozenset[str]:
    """Give ``*/name`` for every text that the case's values hold, for ``Render.external``.

    The chart's own defaults are left out: what they name must be in the release.
    """
    texts: set[str] = set()
    sources: list[str | Path] = [*case.values_text, *case.value_files]
    for source in sources:
        texts.update(_texts(load_values(source)[0]))
    for given in (*case.set_values, *case.set_string):
        for part in NEXT.split(given):
            texts.add(part.rpartition("=")[2].strip("{}"))
    texts.update(given.partition("=")[2] for given in case.set_literal)
    for given in case.set_json:
        texts.update(_texts(json.loads(given.partition("=")[2])))
    return frozenset(f"*/{text}" for text in texts if text)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else ():
        yield from _texts(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _texts(inner)
