"""Make values that fail smaller, as long as they fail."""

from collections.abc import Callable, Iterator
from typing import Any

from trainyard.values.loading import Values


def shrink(values: Values, fails: Callable[[Values], bool], most: int = 300) -> Values:
    """Give smaller values that still fail: keys and items go, what stays gets plainer.

    ``fails`` is asked ``most`` times at the most.
    """
    asked = 0
    progress = True
    while progress and asked < most:
        progress = False
        for smaller in _smaller(values):
            asked += 1
            if asked > most:
                break
            if fails(smaller):
                values, progress = smaller, True
                break
    return values


def _smaller(values: Any) -> Iterator[Any]:  # noqa: ANN401  # any JSON
    if isinstance(values, dict):
        keys = list(values)
        if len(keys) > 3:
            half = len(keys) // 2
            for kept in (keys[:half], keys[half:]):
                yield {key: values[key] for key in kept}
        for key in keys:
            yield {other: values[other] for other in keys if other != key}
        for key in keys:
            yield from ({**values, key: plainer} for plainer in _smaller(values[key]))
    elif isinstance(values, list):
        for at in range(len(values)):
            yield values[:at] + values[at + 1 :]
        for at, item in enumerate(values):
            for plainer in _smaller(item):
                yield [*values[:at], plainer, *values[at + 1 :]]
    elif isinstance(values, str) and len(values) > 1:
        yield from ("", "a", values[: len(values) // 2], values[:-1])
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield from (plainer for plainer in (0, 1) if abs(plainer) < abs(values))
