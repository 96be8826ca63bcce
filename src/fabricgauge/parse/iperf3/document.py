"""``iperf3 -J``: one JSON object per test, and the events of ``--json-stream`` (3.17 on)."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line, Report
from fabricgauge.parse.iperf3.fields import Document, End
from fabricgauge.parse.iperf3.mend import Piece, piece
from fabricgauge.parse.iperf3.result import test_of
from fabricgauge.parse.iperf_flow import curves

#: A document's own bracket stands alone or at the begin of a line, nested ones are indented.
_OPENS = re.compile(r"^\{", re.MULTILINE)
_START = re.compile(r'"start"\s*:\s*\{\s*"connected"\s*:')
_EVENT = re.compile(r'\s*\{\s*"event"\s*:\s*"(?P<event>start|interval|end|error|server_\w+)"\s*,')
_SHOWN = 200


def recognised(text: str) -> bool:
    """Whether iperf 3 wrote the object, be it whole or cut off."""
    return _START.search(text, 0, 2000) is not None or _EVENT.match(text) is not None


def read(text: str, first_line: int, report: Report) -> Iterable[SuiteCurve]:
    """The curves of one object, or of several that follow a cut-off one."""
    event = _EVENT.match(text)
    if event is not None:
        yield from _of_event(text, event["event"], first_line, report)
        return
    for found in _pieces(text):
        if isinstance(found, Piece):
            yield from _of_piece(text, found, first_line, report)
        else:
            _tell(text, *found, first_line, report, "iperf3 -J output with at least one result")


def _pieces(text: str) -> Iterator[Piece | tuple[int, int]]:
    """Each document, or from where to where one stands of which nothing can be read."""
    places = [match.start() for match in _OPENS.finditer(text)] or [0]
    for place, following in zip(places, [*places[1:], len(text)], strict=True):
        yield piece(text, place, following) or (place, following)


def _of_piece(text: str, found: Piece, first_line: int, report: Report) -> Iterator[SuiteCurve]:
    line = first_line + text.count("\n", 0, found.offset)
    document = _document(found.value)
    if document is None:
        report(Line(line, "{"), "fields as iperf 3 writes them")
        return
    if found.is_broken:
        _tell_rest(text, found, first_line, report)
    mark = _figure_line(text, found, first_line)
    yield from curves(test_of(document, line, mark, cut_off=found.is_broken))


def _document(value: object) -> Document | None:
    try:
        return msgspec.convert(value, Document, strict=False)
    except (msgspec.ValidationError, RecursionError, OverflowError):
        return None


def _figure_line(text: str, found: Piece, first_line: int) -> int:
    """The line of the figure that is taken, as near as the text tells."""
    place = text.find('"sum_received"', found.offset)
    place = place if place >= 0 else text.find('"intervals"', found.offset)
    return first_line + text.count("\n", 0, max(place, found.offset))


def _tell_rest(text: str, found: Piece, first_line: int, report: Report) -> None:
    """Lines behind the broken one, if the piece has any, are named and not read."""
    place = text.find("\n", found.rest, found.end)
    if place >= 0:
        _tell(text, place, found.end, first_line, report, "more of a broken iperf3 -J output")


def _tell(text: str, place: int, end: int, first_line: int, report: Report, why: str) -> None:
    number = first_line + text.count("\n", 0, place)
    for shown in text[place:end].split("\n"):
        if shown.strip():
            report(Line(number, shown[:_SHOWN]), why)
        number += 1


def _of_event(text: str, event: str, line: int, report: Report) -> Iterator[SuiteCurve]:
    """Events stand on lines of their own; the last one holds the result."""
    if event == "start":
        report(Line(line, text[:_SHOWN]), "of --json-stream output only the end event is read")
    if event not in ("end", "error"):
        return
    found = piece(text, 0, len(text))
    data = found.value.get("data") if found and isinstance(found.value, dict) else None
    document = _end_of_stream(event, data)
    if document is None:
        report(Line(line, text[:_SHOWN]), "the end event of iperf3 --json-stream")
        return
    yield from curves(
        test_of(document, line, line, cut_off=found is None or found.is_broken)
    )


def _end_of_stream(event: str, data: object) -> Document | None:
    if event == "error":
        return Document(error=str(data)[:_SHOWN])
    try:
        return Document(end=msgspec.convert(data, End, strict=False))
    except (msgspec.ValidationError, RecursionError, OverflowError):
        return None
