"""Places in an object, as a person writes them."""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_$][\w$-]*")


def step(key: object) -> str:
    """Give ``[0]`` for an index, ``.name`` for a plain key, ``["a.b/c"]`` for any other."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(str(key)) else f'["{key}"]'


def dotted(keys: Iterable[object]) -> str:
    """Give such as ``spec.template.spec.containers[0].env[2].name``."""
    return "".join(step(key) for key in keys).removeprefix(".")
