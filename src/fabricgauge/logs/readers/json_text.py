"""Read an array's elements, or a named value, from JSON text that may be cut off.

Find a JSON object among lines: its end and its text.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.lines import LONGEST_BYTES

#: iperf3's largest known outputs have some 10 MB; what exceeds these is read as lines.
MOST_CHARACTERS = 1 << 25
MOST_LINES = 1 << 20
#: Launchers' lines that an object may contain before it counts as broken.
MOST_ALIENS = 64

Schema = TypeVar("Schema", bound=msgspec.Struct)
ObjectState = Literal["open", "whole", "alien", "broken"]

#: Every escape in a string; in the group half a character of UTF-16, which no text that is
#: to be written as UTF-8 may hold.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
_STRING = re.compile(r'"[^"]*"')
#: The beginnings of an object's lines, and of those that may also be other lines.
_FITTING = re.compile(
    r'\s*(?:["{}\],]|\[\s*(?:["{}\[\]\d-]|true\b|false\b|null\b|$)'
    r"|-?\d[-\d.eE+,}\]\s]*$|(?:true|false|null)\b|$)"
)
#: Old perftest leaves out the quotes around keys; in other objects such a line is a launcher's.
_BARE_KEY = re.compile(r"\s*[\w.]+\s*:")
_QUOTED_KEY = re.compile(r'[\s{\[]*"[^"]*"\s*:')


class Collector:
    def __init__(self, first: LogLine) -> None:
        self.first = first
        self.lines: list[LogLine] = []
        self._parts: list[str] = []
        self._depth = 0
        self._size = 0
        self._aliens = 0
        self._quoted = False

    @staticmethod
    def begun_by(line: LogLine) -> "Collector | None":
        """Return a collector if the line can begin an object or an array of objects.

        ``[`` alone opens an array; ``[ ID] Interval`` and labels are no JSON.
        """
        text = line.text.lstrip()
        first = text[:1]
        fits = first == "{" or (first == "[" and text.rstrip() in ("[", "[{"))
        return Collector(line) if fits else None

    @property
    def text(self) -> str:
        """Return the lines as they are, except escapes that stand for half a character.

        Foreign lines become blank ones, so that counting lines gives each line's number.
        """
        text = "".join(self._parts)
        if "\\ud" not in text and "\\uD" not in text:
            return text
        return _ESCAPE.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], text)

    def add(self, line: LogLine) -> ObjectState:
        """Take a line, unless it is ``alien`` or shows that the object is ``broken``."""
        self._quoted = self._quoted or _QUOTED_KEY.match(line.text) is not None
        bare = None if self._quoted else _BARE_KEY.match(line.text)
        if self.lines and not (bare or _FITTING.match(line.text)):
            self._aliens += 1
            return "alien" if self._aliens <= MOST_ALIENS else "broken"
        if self._size > MOST_CHARACTERS or len(self.lines) >= MOST_LINES:
            return "broken"
        gap = "\n" * (line.number - self.lines[-1].number) if self.lines else ""
        self._parts += (gap, line.text)
        self.lines.append(line)
        self._size += len(gap) + len(line.text)
        outside = line.text
        if '"' in outside:
            outside = _STRING.sub("", outside.replace("\\\\", "").replace('\\"', ""))
        self._depth += outside.count("{") + outside.count("[")
        self._depth -= outside.count("}") + outside.count("]")
        return "open" if self._depth > 0 else "whole"


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

    ``complete`` is true once the array's closing bracket was seen; a text that is cut off gives the
    elements before the cut. ``inf`` and ``nan`` become strings.
    """

    def __init__(self, text: str, name: str) -> None:
        self.complete = False
        start = re.search(rf'(?<!\\)"{re.escape(name)}"\s*:\s*\[', text)
        self._first_line = text.count("\n", 0, start.end()) if start else 0
        rest = text[start.end() :] if start else ""
        self._text = _NO_NUMBER.sub(lambda match: f'"{match[0]}"', rest)

    def __iter__(self) -> Iterator[Element]:
        place, line = 0, self._first_line
        while True:
            between = _BETWEEN.match(self._text, place)
            after = between.end() if between else place
            line += self._text.count("\n", place, after)
            self.complete = self._text.startswith("]", after)
            element = None if self.complete else _decoded(self._text, after)
            if element is None:
                return
            yield Element(line, element[0])
            place = element[1]
            line += self._text.count("\n", after, place)


def value(text: str, name: str) -> Any:
    """Return the first value called ``name`` at any depth; None if there is no whole one."""
    start = re.search(rf'(?<!\\)"{re.escape(name)}"\s*:\s*', text)
    decoded = _decoded(text, start.end()) if start else None
    return decoded[0] if decoded else None


def converted(value: Any, schema: type[Schema]) -> Schema | None:
    """Return a decoded value in the schema's type; None if it does not fit.

    Numbers may stand in strings.
    """
    try:
        return msgspec.convert(value, schema, strict=False)
    except (msgspec.ValidationError, RecursionError, OverflowError):
        return None


def joined(text: str) -> str:
    """Return one long line of JSON, joined from its pieces."""
    divided = len(text.partition("\n")[0]) > LONGEST_BYTES // 2
    return text.replace("\n", "") if divided else text


def _decoded(text: str, place: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
