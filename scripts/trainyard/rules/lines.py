"""The line of a template that made a place of an object, where it can be known."""

import re
from functools import lru_cache
from pathlib import Path

PLAIN = re.compile(r'([A-Za-z][\w-]*)|\["([^"]+)"\]')


def line_of(chart: Path, template: str, path: str) -> int:
    """Give the line, counted from 1, of the innermost key of ``path`` that one line has.

    0 where the template cannot be read, or where more lines than one could be meant.
    """
    file = chart / template.partition("/")[2]
    try:
        lines = _lines(file, file.stat().st_mtime_ns)
    except (OSError, UnicodeDecodeError):
        return 0
    for plain, quoted in reversed(PLAIN.findall(path)):
        key = re.escape(quoted or plain)
        found = [n for n, line in enumerate(lines, 1) if re.match(rf'\s*(- )?"?{key}"?\s*:', line)]
        if len(found) == 1:
            return found[0]
        if found:
            return 0
    return 0


@lru_cache(maxsize=512)
def _lines(file: Path, _changed: int) -> tuple[str, ...]:
    return tuple(file.read_text().splitlines())
