"""What one rank or host wrote: at most one reader and one JSON object are open."""

import re
from collections.abc import Iterable, Iterator, Sequence

from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.parse.dialects import DIALECTS, JSON_DIALECTS, dialect_begun
from fabricgauge.parse.interface import Line, SuiteReader
from fabricgauge.parse.json_text import Collector
from fabricgauge.parse.lines import LONGEST_BYTES
from fabricgauge.parse.not_understood import UnparsedRun

Found = SuiteCurve | UnparsedLine

_NUMBERS = re.compile(r"[\s\d.]*")
#: Several suites' outputs begin with a ruler, in documents with a code fence; neither tells
#: anything that could be lost.
_DECORATION = re.compile(r"[-=*#~_\s]*|`{3,}\w*\s*")
#: Above our own figures in another suite's layout (``report --format osu``).
OUR_REMARK = "# fabricgauge: "
_FOREIGN = "no output of a known suite"


def is_decoration(text: str) -> bool:
    """Whether a line between suites' outputs tells nothing: blank, a ruler, a code fence."""
    return _DECORATION.fullmatch(text) is not None


class LogStream:
    """Lines in their order; each goes to the reader of the suite that began last."""

    def __init__(self) -> None:
        self._place = -1
        self._reader: SuiteReader | None = None
        self._object: Collector | None = None
        self._strange = UnparsedRun()

    @property
    def in_object(self) -> bool:
        return self._object is not None

    def line(self, line: Line) -> Sequence[Found]:
        """What this line completes.

        Rows of numbers, most of a large log, begin nothing and need no search.
        """
        text = line.text
        if self._object is None:
            if self._reader is not None and _NUMBERS.fullmatch(text):
                return self._hand_over(self._reader, line)
            if "{" in text or "[" in text:
                self._object = Collector.begun_by(line)
        if self._object is not None:
            return self._in_object(line, self._object)
        return self._plain_line(line)

    def end(self) -> Iterable[Found]:
        """What is open yet, when the lines are over."""
        if self._object is not None:
            yield from self._read_object(self._object)
        yield from self._close()
        yield from self._strange.end()

    def _plain_line(self, line: Line) -> Sequence[Found]:
        if line.text.startswith(OUR_REMARK):
            return self._strange.told()
        place = dialect_begun(line.text)
        if place not in (-1, self._place):
            closed = self._close()
            self._place, self._reader = place, DIALECTS[place].reader(self._strange.report)
            return (*closed, *self._hand_over(self._reader, line))
        if self._reader is not None:
            return self._hand_over(self._reader, line)
        if not is_decoration(line.text):
            self._strange.report(line, _FOREIGN)
        return self._strange.told()

    def _hand_over(self, reader: SuiteReader, line: Line) -> Sequence[Found]:
        found = reader.line(line)
        curves = tuple(found) if found else ()
        if not self._strange.busy:
            return curves
        self._strange.understood(line)
        told = self._strange.told()
        return (*told, *curves) if told else curves

    def _close(self) -> Sequence[Found]:
        """Another suite's first line ends what was read before."""
        reader, self._reader, self._place = self._reader, None, -1
        curves = tuple(reader.end()) if reader is not None else ()
        return (*self._strange.told(), *curves)

    def _in_object(self, line: Line, collector: Collector) -> Sequence[Found]:
        state = collector.add(line)
        if state == "alien" and dialect_begun(line.text) >= 0:
            state = "broken"
        if state == "alien":
            self._strange.report(line, "a line of the JSON object around it")
        elif state == "whole":
            return tuple(self._read_object(collector))
        elif state == "broken":
            return (*self._read_object(collector), *self.line(line))
        return self._strange.told()

    def _read_object(self, collector: Collector) -> Iterator[Found]:
        self._object = None
        text = collector.text
        for dialect in JSON_DIALECTS:
            if dialect.recognised(text):
                yield from self._close()
                yield from dialect.read(text, collector.first.number, self._strange.report)
                yield from self._strange.told()
                return
        # What only looked like an object is read as the lines that it is.
        for line in collector.lines():
            yield from self._plain_line(Line(line.number, line.text[:LONGEST_BYTES]))
