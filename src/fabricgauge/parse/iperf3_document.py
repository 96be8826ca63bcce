"""``iperf3 -J``: one JSON object per test, and the events of ``--json-stream`` (3.17 on).

JSON whose writer was ended in the middle: what stands there up to the last whole object.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import JsonDialect, LogLine, Report
from fabricgauge.parse.iperf import curves
from fabricgauge.parse.iperf3_json import Iperf3Document, Iperf3End, test_of
from fabricgauge.parse.json_text import converted

#: Strings, and the brackets outside of them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_CLOSES = {"{": "}", "[": "]"}


class Piece(msgspec.Struct, frozen=True):
    """One document from ``offset`` on to ``end``; behind ``rest`` nothing of it was read."""

    value: Any
    offset: int
    rest: int
    end: int
    is_broken: bool = False


def piece(text: str, offset: int, end: int) -> Piece | None:
    """The document in that part of the text, or as much of it as there is.

    None if not even one whole object is there, or if it is nested too deeply.
    """
    part = text[offset:end]
    try:
        return Piece(json.loads(part), offset, end, end)
    except json.JSONDecodeError as error:
        rest = error.pos
    except (ValueError, RecursionError):
        return None
    length, closing = _last_whole(part[:rest])
    try:
        value = json.loads(part[:length] + closing)
    except (ValueError, RecursionError):
        return None
    return Piece(value, offset, offset + rest, end, is_broken=True)


def _last_whole(part: str) -> tuple[int, str]:
    """How far the last closed bracket reaches, and what closes those still open there."""
    stack: list[str] = []
    length, still_open = 0, ""
    for match in _TOKEN.finditer(part):
        token = match[0]
        if token in _CLOSES:
            stack.append(_CLOSES[token])
        elif token in ("}", "]") and stack:
            stack.pop()
            length, still_open = match.end(), "".join(reversed(stack))
    return length, still_open


#: A document's own bracket stands alone or at the begin of a line, nested ones are indented.
_OPENS = re.compile(r"^\{", re.MULTILINE)
_START = re.compile(r'"start"\s*:\s*\{\s*"connected"\s*:')
_EVENT = re.compile(r'\s*\{\s*"event"\s*:\s*"(?P<event>start|interval|end|error|server_\w+)"\s*,')
_SHOWN = 200
#: More broken documents in one object than this are read as one.
MOST_DOCUMENTS = 10_000


def recognised(text: str) -> bool:
    """Whether iperf 3 wrote the object, be it whole or cut off."""
    return _START.search(text, 0, 2000) is not None or _EVENT.match(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterable[SuiteCurve]:
    """The curves of one object, or of several that follow a cut-off one."""
    event = _EVENT.match(text)
    if event is not None:
        yield from _of_event(text, event["event"], first_line, report)
        return
    counted, line = 0, first_line
    for found in _pieces(text):
        place = found.offset if isinstance(found, Piece) else found[0]
        line += text.count("\n", counted, place)
        counted = place
        if isinstance(found, Piece):
            yield from _of_piece(text, found, line, report)
        else:
            _tell(text, *found, line, report, "iperf3 -J output with at least one result")


def _pieces(text: str) -> Iterator[Piece | tuple[int, int]]:
    """Each document, or from where to where one stands of which nothing can be read."""
    begun = islice(_OPENS.finditer(text), MOST_DOCUMENTS)
    places = [match.start() for match in begun] or [0]
    for place, following in zip(places, [*places[1:], len(text)], strict=True):
        yield piece(text, place, following) or (place, following)


def _of_piece(text: str, found: Piece, line: int, report: Report) -> Iterator[SuiteCurve]:
    document = converted(found.value, Iperf3Document)
    if document is None:
        _tell(text, found.offset, found.end, line, report, "fields as iperf 3 writes them")
        return
    mark = _figure_line(text, found, line)
    yield from curves(test_of(document, line, mark, cut_off=found.is_broken))
    rest = text.find("\n", found.rest, found.end) if found.is_broken else -1
    if rest >= 0:
        number = line + text.count("\n", found.offset, rest)
        _tell(text, rest, found.end, number, report, "more of a broken iperf3 -J output")


def _figure_line(text: str, found: Piece, line: int) -> int:
    """The line of the figure that is taken, as near as the text tells."""
    place = text.find('"sum_received"', found.offset, found.end)
    place = place if place >= 0 else text.find('"intervals"', found.offset, found.end)
    return line + text.count("\n", found.offset, max(place, found.offset))


def _tell(text: str, place: int, end: int, line: int, report: Report, why: str) -> None:
    for number, shown in enumerate(text[place:end].split("\n"), line):
        if shown.strip():
            report(LogLine(number, shown[:_SHOWN]), why)


def _of_event(text: str, event: str, line: int, report: Report) -> Iterator[SuiteCurve]:
    """Events stand on lines of their own; the last one holds the result."""
    if event == "start":
        report(LogLine(line, text[:_SHOWN]), "of --json-stream output only the end event is read")
    if event not in ("end", "error"):
        return
    found = piece(text, 0, len(text))
    data = found.value.get("data") if found and isinstance(found.value, dict) else None
    document = _end_of_stream(event, data)
    if document is None:
        report(LogLine(line, text[:_SHOWN]), "the end event of iperf3 --json-stream")
        return
    yield from curves(test_of(document, line, line, cut_off=found is None or found.is_broken))


def _end_of_stream(event: str, data: object) -> Iperf3Document | None:
    if event == "error":
        return Iperf3Document(error=str(data)[:_SHOWN])
    end = converted(data, Iperf3End)
    return None if end is None else Iperf3Document(end=end)


JSON_DIALECT = JsonDialect("iperf3", recognised, read)
