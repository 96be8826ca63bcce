"""The elements of one array in a JSON text that may be cut off, or one value by its name."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fabricgauge.parse.lines import LONGEST_BYTES

_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")
#: C's printf writes these for numbers that are none.
_NO_NUMBER = re.compile(r"(?<=[:\[,\s])-?(?:inf|nan)\b(?=\s*[,}\]])")


class Element(NamedTuple):
    """One whole element: the number of its first line, counted from 0, and its value."""

    line: int
    value: Any


class Elements:
    """The elements of the array called ``name``, one after the other.

    ``complete`` is true once the array's closing bracket was seen; a text that is cut off
    gives the elements before the cut. ``inf`` and ``nan`` become strings.
    """

    def __init__(self, text: str, name: str) -> None:
        self.complete = False
        start = re.search(rf'(?<!\\)"{re.escape(name)}"\s*:\s*\[', text)
        self._first_line = text.count("\n", 0, start.end()) if start else 0
        self._rest = _quoted(text[start.end() :]) if start else ""

    def __iter__(self) -> Iterator[Element]:
        place, line = 0, self._first_line
        while True:
            after = _skip(self._rest, place)
            line += self._rest.count("\n", place, after)
            self.complete = self._rest.startswith("]", after)
            found = None if self.complete else _decoded(self._rest, after)
            if found is None:
                return
            yield Element(line, found[0])
            place = found[1]
            line += self._rest.count("\n", after, place)


def value(text: str, name: str) -> Any:
    """The first value called ``name`` at any depth, None if there is no whole one."""
    start = re.search(rf'(?<!\\)"{re.escape(name)}"\s*:\s*', text)
    found = _decoded(text, start.end()) if start else None
    return found[0] if found else None


def joined(text: str) -> str:
    """One long line of JSON that was handed on in pieces, undivided again."""
    divided = len(text.partition("\n")[0]) > LONGEST_BYTES // 2
    return text.replace("\n", "") if divided else text


def _skip(text: str, place: int) -> int:
    match = _BETWEEN.match(text, place)
    return match.end() if match else place


def _decoded(text: str, place: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None


def _quoted(text: str) -> str:
    return _NO_NUMBER.sub(lambda match: f'"{match[0]}"', text)
