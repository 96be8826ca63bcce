"""Any mix of suites' outputs, in any order, line by line: each reader gets what is its own.

Nothing is kept but the table that is being read, or one JSON object of bounded size.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.model.suite import Strange, SuiteCurve
from fabricgauge.parse.dialects import DIALECTS, JSON_DIALECTS
from fabricgauge.parse.interface import Line, Reader
from fabricgauge.parse.json_text import Collector
from fabricgauge.parse.lines import plain, split_host, split_label

#: Outputs of more ranks or hosts in one file are read as if they were one's.
MOST_LABELS = 4096
SHOWN_CHARACTERS = 200

_BEGINS = re.compile("|".join(f"(?P<d{i}>{one.begins})" for i, one in enumerate(DIALECTS)))
_NUMBERS = re.compile(r"[\s\d.]*")
_FOREIGN = "no output of a known suite"

Found = SuiteCurve | Strange


def read(lines: Iterable[bytes], source: str = "") -> Iterator[Found]:
    """Every curve of a file, and every line that nothing could be made of.

    ``lines`` are raw, with or without their ends. Lines not understood that follow each
    other are told of together.
    """
    for found in _read(lines):
        yield msgspec.structs.replace(found, source=source)


def _read(lines: Iterable[bytes]) -> Iterator[Found]:
    streams: dict[str, _Stream] = {"": _Stream()}
    for number, raw in enumerate(lines, 1):
        label, text = split_label(plain(raw))
        if not label:
            label, text = _of_host(text, streams)
        stream = streams.get(label)
        if stream is None:
            few = len(streams) < MOST_LABELS
            stream = streams.setdefault(label if few else "", _Stream())
        yield from stream.line(Line(number, text))
    for stream in streams.values():
        yield from stream.end()


def _of_host(text: str, streams: dict[str, "_Stream"]) -> tuple[str, str]:
    """A host's label counts once a suite's output was seen to begin behind it."""
    host, rest = split_host(text)
    if host and (host in streams or _BEGINS.search(rest)) and not _BEGINS.match(text):
        return host, rest
    return "", text


class _Stream:
    """What one rank or host wrote: at most one reader and one JSON object are open."""

    def __init__(self) -> None:
        self._place = -1
        self._reader: Reader | None = None
        self._object: Collector | None = None
        self._strange: list[Strange] = []
        self._told: list[Strange] = []

    def line(self, line: Line) -> Iterator[Found]:
        if self._object is None and line.text.lstrip()[:1] in ("{", "["):
            self._object = Collector.begun_by(line)
        if self._object is not None:
            yield from self._more_of_object(line)
            return
        if self._reader is None or not _NUMBERS.fullmatch(line.text):
            yield from self._turn_to(_BEGINS.search(line.text))
        if self._reader is not None:
            yield from self._reader.line(line)
        elif line.text.strip():
            self._report(line, _FOREIGN)
        yield from self._all_told()

    def end(self) -> Iterator[Found]:
        if self._object is not None:
            yield from self._read_object(self._object)
        yield from self._close()
        self._told += self._strange
        self._strange = []
        yield from self._all_told()

    def _turn_to(self, begun: "re.Match[str] | None") -> Iterator[Found]:
        """Another suite's first line ends what was read before."""
        if begun is None:
            return
        place = int(str(begun.lastgroup)[1:])
        if place != self._place:
            yield from self._close()
            self._place, self._reader = place, DIALECTS[place].reader(self._report)

    def _close(self) -> Iterator[Found]:
        if self._reader is not None:
            yield from self._reader.end()
        self._place, self._reader = -1, None

    def _more_of_object(self, line: Line) -> Iterator[Found]:
        assert self._object is not None
        if self._object.add(line):
            whole, self._object = self._object, None
            yield from self._read_object(whole)

    def _read_object(self, whole: Collector) -> Iterator[Found]:
        self._object = None
        for dialect in JSON_DIALECTS:
            if dialect.recognised(whole.text):
                yield from self._close()
                yield from dialect.read(whole.text, whole.first.number, self._report)
                yield from self._all_told()
                return
        yield from self._as_lines(whole)

    def _as_lines(self, whole: Collector) -> Iterator[Found]:
        """What only looked like an object is read as the lines that it is."""
        for line in whole.lines():
            if self._reader is not None:
                yield from self._reader.line(line)
            elif line.text.strip():
                self._report(line, _FOREIGN)
        yield from self._all_told()

    def _report(self, line: Line, reason: str) -> None:
        if self._strange:
            last = self._strange[-1]
            if last.reason == reason and last.line + last.count == line.number:
                self._strange[-1] = msgspec.structs.replace(last, count=last.count + 1)
                return
            self._told.append(self._strange.pop())
        text = line.text.strip()[:SHOWN_CHARACTERS]
        self._strange.append(Strange(line.number, text, reason))

    def _all_told(self) -> Sequence[Strange]:
        told, self._told = self._told, []
        return told
