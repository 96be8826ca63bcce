"""A printout's lines, blocks, pairs or JSON, and what is said when they are not understood."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")

#: A rate, size or index above this is not a fact about a machine (10^15 bit/s is 1 Pb/s).
LARGEST_NUMBER = 10**15

#: A printout that is not the tool's at all would else be quoted line by line.
MOST_TROUBLES = 20
_QUOTED = 80


def lines(text: str) -> list[str]:
    """Cut at line feeds only, so that numbers are those of an editor; no carriage returns."""
    found = text.split("\n")
    return [line.rstrip("\r") for line in found] if "\r" in text else found


def pair(line: str) -> tuple[str, str]:
    """``KEY: VALUE`` without the blanks around both; an empty key where there is no colon."""
    key, middle, value = line.partition(":")
    return (key.strip(), value.strip()) if middle else ("", line.strip())


def pairs(text: str, separator: str = ": ") -> dict[str, str]:
    """``KEY separator VALUE`` lines; the first of two equal keys counts, other lines do not."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        key, middle, value = line.partition(separator)
        if middle:
            found.setdefault(key.strip(), value.strip())
    return found


def blocks(text: str, begins: Callable[[str], _T | None]) -> list[tuple[_T, str]]:
    """What ``begins`` makes of each line that begins a block, with the lines below it."""
    found: list[tuple[_T, list[str]]] = []
    for line in lines(text):
        if head := begins(line):
            found.append((head, []))
        elif found:
            found[-1][1].append(line)
    return [(head, "\n".join(body)) for head, body in found]


def trouble(tool: str, number: int, what: str, line: str) -> str:
    """A sentence on line ``number`` of what a tool printed."""
    return f"{tool}: line {number}: {what}: {line.strip()[:_QUOTED]!r}"


def unrecognised(tool: str, text: str, known: object) -> tuple[str, ...]:
    """One trouble where nothing is ``known`` though the tool printed something."""
    if known:
        return ()
    filled = ((number, line) for number, line in enumerate(lines(text), 1) if line.strip())
    return tuple(trouble(tool, n, "not what it prints", line) for n, line in islice(filled, 1))


#: Old lshw prints neither brackets nor, in places, commas; a list that was cut off loses its end.
_BETWEEN = re.compile(r"[\s,\[\]]*")
_decode = json.JSONDecoder().raw_decode


def objects(text: str) -> tuple[list[dict[str, object]], bool]:
    """The objects up to the first place that is none, and whether that is the text's end."""
    found: list[dict[str, object]] = []
    place = 0
    while (place := _next(text, place)) < len(text):
        try:
            value, place = _decode(text, place)
        except (ValueError, RecursionError):
            return found, False
        if isinstance(value, dict):
            found.append(value)
    return found, True


def _next(text: str, place: int) -> int:
    between = _BETWEEN.match(text, place)
    return between.end() if between else place


def entries(
    tool: str,
    text: str,
    of_object: Callable[[dict[str, object]], Iterable[_T]],
    of_text: Callable[[str], Iterable[_T]],
) -> tuple[list[_T], tuple[str, ...]]:
    """What a tool told as JSON or as text, and a trouble where it broke off or told nothing."""
    if text.lstrip()[:1] not in ("[", "{"):
        told = list(of_text(text))
        return told, unrecognised(tool, text, told)
    found, whole = objects(text)
    broken = () if whole else (f"{tool}: its JSON breaks off; what stood before that was read",)
    return [one for entry in found for one in of_object(entry)], broken


def word(value: object) -> str:
    """A string, whole number or truth as text; empty for everything else.

    Half a surrogate pair, which JSON can escape but UTF-8 cannot hold, becomes ``?``.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def words(value: object) -> Iterator[str]:
    """The strings of a list, or the one string."""
    return filter(None, map(word, value if isinstance(value, list) else [value]))


def table(value: object) -> dict[str, str]:
    """An object's entries that are words."""
    if not isinstance(value, dict):
        return {}
    return {word(key): word(entry) for key, entry in value.items() if word(entry)}
