"""Random texts that a regular expression matches."""

from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

sre: Any = import_module("re._constants")
sre_parser: Any = import_module("re._parser")
"""How Python reads a regular expression; there is no public way to it."""

OTHER_LETTERS = "aZ09-_.é☃{%"
"""What a part that excludes some letters is tried with."""


def matching(pattern: str, random: Random) -> str:
    """Give a text that a pattern matches, short as often as long; look-around counts as nothing."""
    return _all_of(sre_parser.parse(pattern), random)


def _all_of(parsed: Any, random: Random) -> str:  # noqa: ANN401  # re has no types for this
    pieces = (PIECES[word](argument, random) for word, argument in parsed if word in PIECES)
    return "".join(pieces)


def _repeated(argument: Any, random: Random) -> str:  # noqa: ANN401  # see _all_of
    least, most, inner = argument
    wanted = random.choice((least, least, least + 1, least + 8, 64))
    return "".join(_all_of(inner, random) for _ in range(min(max(wanted, least), int(most))))


def _one_of(options: Any, random: Random) -> str:  # noqa: ANN401  # see _all_of
    letters: list[str] = []
    for word, argument in options:
        if word is sre.LITERAL:
            letters.append(chr(argument))
        elif word is sre.RANGE:
            letters += map(chr, range(argument[0], argument[1] + 1))
        elif word is sre.CATEGORY:
            letters += {sre.CATEGORY_DIGIT: "059", sre.CATEGORY_WORD: "aZ9_"}.get(argument, " \t\n")
    if any(word is sre.NEGATE for word, _ in options):
        letters = [letter for letter in OTHER_LETTERS if letter not in letters]
    return random.choice(letters)


PIECES: dict[Any, Callable[[Any, Random], str]] = {
    sre.LITERAL: lambda code, _: chr(code),
    sre.NOT_LITERAL: lambda code, _: "a" if code != ord("a") else "b",
    sre.ANY: lambda _, random: random.choice(OTHER_LETTERS),
    sre.IN: _one_of,
    sre.MAX_REPEAT: _repeated,
    sre.MIN_REPEAT: _repeated,
    sre.BRANCH: lambda argument, random: _all_of(random.choice(argument[1]), random),
    sre.SUBPATTERN: lambda argument, random: _all_of(argument[-1], random),
}
