"""Read any mix of suites' outputs, in any order: each reader gets its suite's lines.

Only the open table is kept, or one JSON object of bounded size. Rows of an open table are most of a
large log: the table takes as many of them as follow each other, and each other line is searched for
the beginning of a suite.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from fabricgauge.logs.readers.command import Command, command_in, goes_on, request_in
from fabricgauge.logs.readers.dialects import (
    DIALECTS,
    JSON_DIALECTS,
    begins_at_start,
    dialect_begun,
    may_begin,
    opening_of,
)
from fabricgauge.logs.readers.interface import FOREIGN, LogLine, SuiteReader
from fabricgauge.logs.readers.json_text import Collector
from fabricgauge.logs.readers.launch import Launch, facts_in
from fabricgauge.logs.readers.lines import (
    LONGEST_BYTES,
    ONCE,
    is_certain,
    remembered,
    split_host,
    split_label,
    split_number,
    split_stamp,
    text_of,
    without_arrow,
    without_note,
)
from fabricgauge.logs.readers.messages import Messages, kind_of_message, variable_in
from fabricgauge.logs.readers.nccl.library import NcclLog
from fabricgauge.logs.readers.table import SHOWN_CHARACTERS
from fabricgauge.logs.readers.units import UnitWatch
from fabricgauge.model.nccl import ADAPTERS
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

#: Outputs of more ranks or hosts in one file are read as those of one.
MOST_LABELS = 4096
#: Above our own figures in another suite's layout (``report --format osu``).
OUR_REMARK = "# fabricgauge: "

Found = SuiteCurve | UnparsedLine

#: A training's log may have NCCL's warnings.
NCCL_ALONE = "a table of nccl-tests as well: NCCL's messages alone hold no figures"

_NUMBERS = re.compile(r"[ \d.]*")
#: Several suites' outputs begin with a ruler, which has no content.
_DECORATION = re.compile(r"[-=*#~_\s]*")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[^`]*")
#: A figure with a decimal comma. Three digits behind it may be thousands; CSV has more commas.
_COMMA = re.compile(r"(?<![\d.,\[{(:=-])\d+,(?!\d{3}(?!\d))\d+(?![\d.,])")
_POINT = "a decimal point; this line has a decimal comma (run the program with LC_ALL=C)"


def read(blocks: Iterable[bytes], source: str = "") -> Iterator[Found]:
    """Yield every curve of a file, and every line that could not be read.

    Each block is one raw line or several, the last one with or without its end. Unparsed lines that
    follow each other are one item.
    """
    yield from _name(_read(_ended(blocks)), source)


class TextDivider(Protocol):
    """Divides a file's text: some lines are read elsewhere, the others come in ``pieces``."""

    streams: "Streams | None"

    def pieces(self, blocks: Iterable[bytes]) -> Iterable[bytes]:
        """Yield the text to read, each piece when all items of the last one were taken."""
        ...

    def take_skipped(self) -> int:
        """Return how many lines in front of the last piece are read elsewhere."""
        ...


def read_with(divider: TextDivider, blocks: Iterable[bytes], source: str) -> Iterator[Found]:
    """Yield what ``read`` yields of the pieces of a file, with the file's line numbers."""
    yield from _name(_read(divider.pieces(_ended(blocks)), divider), source)


def _name(items: Iterable[Found], source: str) -> Iterator[Found]:
    for item in items:
        # No other code holds the item yet; a copy of its many fields would take longer than its
        # reading.
        msgspec.structs.force_setattr(item, "source", source)
        yield item


def _ended(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks with their line ends; only the file's last line may lack its end."""
    before = b""
    for block in blocks:
        if before:
            yield before if before.endswith(b"\n") else before + b"\n"
        before = block or b"\n"
    if before:
        yield before


def _read(blocks: Iterable[bytes], divider: TextDivider | None = None) -> Iterator[Found]:
    library = NcclLog()
    main = LogStream(library=library)
    streams = Streams(main)
    number, first_warning = 0, 0
    if divider is not None:
        divider.streams = streams
    for block in blocks:
        number += 0 if divider is None else divider.take_skipped()
        text, place = text_of(block), 0
        unended = 0 if text.endswith("\n") else number + text.count("\n") + 1
        while place < len(text):
            end = place if streams.numbered else main.rows(number + 1, text, place)
            if end > place:
                number += text.count("\n", place, end)
                place = end
                if end == len(text):
                    break
            other_lines = _UP_TO_A_ROW(text, place)
            end = other_lines.end() if other_lines else len(text)
            for line in text[place:end].removesuffix("\n").split("\n"):
                number += 1
                stream, line = streams.split(number, line)
                if "NCCL " in line:
                    if not first_warning and "NCCL WARN" in line:
                        first_warning = number
                    if library.take(line) and stream.idle and streams.begun:
                        continue  # another rank of a program whose output is open
                items = stream.line(LogLine(number, line, number != unended))
                if items:
                    yield from items
            place = end
    yield from streams.end()
    warnings = library.evidence().warnings
    if warnings and not streams.begun:
        yield UnparsedLine(first_warning, warnings[0], NCCL_ALONE, 1)


def _read_inside(log: str, number: int) -> Iterator[Found]:
    """Yield the items of a log that stands within line ``number`` of another file."""
    replace = msgspec.structs.replace
    for item in _read([log.encode("utf-8", "replace")]):
        if isinstance(item, UnparsedLine):
            yield replace(item, line=number)
            continue
        points = tuple(replace(point, line=number) for point in item.points)
        failures = tuple(replace(failure, line=number) for failure in item.failures)
        yield replace(item, points=points, failures=failures, first_line=number, last_line=number)


#: One line, and those behind it that do not look like a row of a table.
_UP_TO_A_ROW = re.compile(rf"[^\n]*\n?(?:(?![ \t]*[0-9])(?:[^\n]+\n?|\n))*{ONCE}").match


class Streams:
    """Divides lines by their launcher's rank, host or program.

    The text in front of a line counts as a label only after a suite's output began behind it, so
    that no row loses its first figure.
    """

    def __init__(self, main: "LogStream") -> None:
        self._main = main
        self._by_label: dict[str, LogStream] = {"": main}
        #: Numbers in front of lines: how far below the lines' own, and the sign behind them.
        self._numbers: tuple[int, str] | None = None
        self._counts: dict[str, Count] = {}

    @property
    def numbered(self) -> bool:
        return self._numbers is not None

    @property
    def is_single(self) -> bool:
        """Check whether no line has a number or a label in front."""
        return len(self._by_label) == 1 and not self.numbered

    @property
    def begun(self) -> bool:
        return any(stream.begun for stream in self._by_label.values())

    def end(self) -> "Iterator[Found]":
        for stream in self._by_label.values():
            yield from stream.end()

    def split(self, number: int, text: str) -> "tuple[LogStream, str]":
        if self._numbers is not None or text.lstrip(" \t")[:1].isdecimal():
            text = self._behind_number(number, text)
        # No label begins with a #, as most lines between rows do.
        if text[:1] != "#" and (":" in text or "|" in text or "[" in text):
            return self._behind_label(number, text)
        return self._main, text

    def _behind_number(self, number: int, text: str) -> str:
        """Return the text behind a line's number; the line itself if it has none."""
        split = split_number(text)
        if self._numbers is not None:
            shift, sign = self._numbers
            if split is not None and number - split[0] == shift and split[1] in (sign, ""):
                return split[2]
            if _begins(text):
                self._numbers = None
        elif split is not None and _begins(split[2]) and not begins_at_start(text):
            self._numbers = number - split[0], split[1]
            return split[2]
        return text

    def _behind_label(self, number: int, text: str) -> "tuple[LogStream, str]":
        """Return the stream of a line by its label, and the text behind the label."""
        if len(self._by_label) == 1 and not _is_divided(text):
            return self._main, text
        for label in _labels_in(text):
            stream = self._counted(number, label) or self._by_label.get(label.name)
            if stream is None:
                # An object's bare key (perftest 4.5 writes ``test_info: {``) is no host's label.
                around = None if label.around is None else self._by_label.get(label.around)
                if not label.certain or (around is not None and around.in_object):
                    continue
                if len(self._by_label) >= MOST_LABELS:
                    return self._main, label.rest
                stream = LogStream(self._main.launch.copy(), self._main.library)
                stream.messages = self._main.messages.copy()
                self._by_label[label.name] = stream
                if label.counted:
                    self._counts[label.counted[0]] = Count(label.counted[1], stream, label.rest)
            return stream, label.rest
        return self._main, text

    def _counted(self, number: int, label: "Label") -> "LogStream | None":
        """Return the stream of a line if ``7: `` is the line's number, as of ``grep -n``.

        A rank's number is repeated; a line's number grows from the line in which the suite began.
        """
        count = self._counts.get(label.counted[0]) if label.counted else None
        if label.counted is None or count is None:
            return None
        grows = label.counted[1] > count.last
        another = label.certain and (label.counted[1] != number or label.rest == count.first)
        if grows and (count.certain or not another):
            counted = count._replace(last=label.counted[1], certain=True)
            self._counts[label.counted[0]] = counted
            return count.stream
        del self._counts[label.counted[0]]
        return None


class Count(NamedTuple):
    """The last number with a colon in front of a line, and the stream of such lines.

    ``first`` is the text behind the first number: a rank that begins as well prints the same.
    """

    last: int
    stream: "LogStream"
    first: str
    certain: bool = False


class Label(NamedTuple):
    """A possible label of a line, and the text behind it; ``certain`` if a suite begins there.

    If it may be a key of an object instead, ``around`` is the label of that object's lines. If it
    may be a line's number, ``counted`` is the label in front of it, and the number.
    """

    name: str
    rest: str
    certain: bool
    around: str | None = None
    counted: tuple[str, int] | None = None


#: Labels in front of each other, as pdsh's in front of MPI's.
_MOST_IN_A_ROW = 3
_STAMP = "a time stamp"


@remembered
def _labels_in(text: str) -> Sequence[Label]:
    """Return possible labels of a line: of ranks, hosts and programs, also behind a time stamp."""
    return tuple(_labels(text, _MOST_IN_A_ROW))


@remembered
def _is_divided(text: str) -> bool:
    may_divide = may_begin(text) or ">:" in text
    return may_divide and any(label.certain for label in _labels_in(text))


def _labels(text: str, most: int) -> Iterator[Label]:
    if not (":" in text or "|" in text or "[" in text):
        return
    behind = split_stamp(text)
    if behind is not text:
        for label in _labels(behind, most - 1) if most else ():
            yield label._replace(around=_STAMP) if label.around == "" else label
        yield _alone(behind)._replace(name=_STAMP)
    # ``10:32 `` may be a time, or a row's size behind its line's number.
    name, remainder = split_label(text)
    is_host = not name
    if is_host:
        name, remainder = split_host(text)
        if not name or begins_at_start(text.lstrip()):
            return
    number = int(name[:-1]) if name[:-1].isdecimal() and len(name) < 9 else None
    for label in _labels(remainder, most - 1) if most else ():
        around = None if label.around is None else f"{name} {label.around}".rstrip()
        inner = label.counted[0] if label.counted else label.name
        count = label.counted and (f"{name} {inner}", label.counted[1])
        count = count if number is None else (f"{inner} behind", number)
        yield label._replace(name=f"{name} {label.name}", around=around, counted=count)
    certain = _alone(remainder).certain or is_certain(name)
    around, count = "" if is_host else None, None if number is None else ("", number)
    yield Label(name, remainder, certain, around, count)


@remembered
def _begins(text: str) -> bool:
    """Check whether a suite's output begins in a line, also behind a label."""
    return any(label.certain for label in (_alone(text), *_labels_in(text)))


def _alone(text: str) -> Label:
    begins = text.lstrip()[:1] == "{" or opening_of(text).indent is not None
    return Label("", text, begins)


@remembered
def is_decoration(text: str) -> bool:
    """Check whether a line has no content: blank, or a ruler, with or without a label."""
    text = split_stamp(f"{text} ")
    host, behind = split_host(text)
    remainder = behind if any(map(str.isdecimal, host)) else split_label(text)[1]
    return _DECORATION.fullmatch(remainder) is not None


@remembered
def is_fence(text: str) -> bool:
    """Check whether a line begins or ends a code block of Markdown, and so any output."""
    return ("```" in text or "~~~" in text) and _FENCE.fullmatch(text) is not None


#: A special line: it may begin an object, belong to an MPI's start, be our own, or a fence.
_TO_LOOK_AT = -2


@remembered
def _place_begun(text: str) -> int:
    """Return the place as ``dialect_begun`` does, or ``_TO_LOOK_AT`` for a special line."""
    more = text.lstrip().startswith(("{", "[", OUR_REMARK)) or is_fence(text)
    more = more or facts_in(text) is not None or request_in(text) is not None
    return _TO_LOOK_AT if more else dialect_begun(text)


@remembered
def _place_alone(text: str) -> int:
    """Return the place as ``_place_begun`` does; special are all lines but those of a suite alone.

    Most lines have no message, no command and no setting: one look-up for all of these.
    """
    is_special = (
        text[-1:] == "\\"
        or "_perf" in text
        or ADAPTERS in text
        or text.lstrip().startswith(("{", OUR_REMARK))
        or text.strip() in ("[", "[{")
        or is_fence(text)
        or kind_of_message(text) is not None
        or variable_in(text)
        or facts_in(text) is not None
        or request_in(text) is not None
        or (("run" in text or "mpiexec" in text) and command_in(text) is not None)
    )
    return _TO_LOOK_AT if is_special else dialect_begun(text)


class UnparsedRun:
    """Unparsed lines that follow each other; blank lines do not end a run.

    ``busy`` is false if no run is open and none waits to be returned.
    """

    def __init__(self) -> None:
        self.busy = False
        self._first: LogLine | None = None
        self._last = 0
        self._reason = ""
        self._count = 0
        self._closed_runs: list[UnparsedLine] = []

    def report(self, line: LogLine, reason: str) -> None:
        """Add a line, with the form that was expected; a document's fence is skipped."""
        if is_fence(line.text):
            return
        if reason == FOREIGN and kind_of_message(line.text):
            return
        if reason != FOREIGN and _COMMA.search(line.text):
            reason = _POINT
        self.add(line, reason)

    def add(self, line: LogLine, reason: str) -> None:
        """Add a line that is neither a fence nor a message."""
        if self._first is None or reason != self._reason:
            self.close()
            self._first, self._reason, self._count = line, reason, 0
        self._count += 1
        self._last = line.number
        self.busy = True

    def holds(self, line: LogLine) -> bool:
        """Check whether a line is the last one of the open run."""
        return self._first is not None and self._last == line.number

    def withdraw(self) -> None:
        """Remove the last line from the open run, because it could be read after all."""
        self._count -= 1
        self._first = self._first if self._count else None

    def understood(self, line: LogLine) -> None:
        """Close the open run if a reader took this line without reporting it."""
        if not self.holds(line) and line.text.strip():
            self.close()

    def take_closed(self) -> Sequence[UnparsedLine]:
        """Return the runs that ended since the last call."""
        if not self._closed_runs:
            return ()
        runs, self._closed_runs = self._closed_runs, []
        self.busy = self._first is not None
        return runs

    def close(self) -> None:
        if first := self._first:
            text = first.text.strip()[:SHOWN_CHARACTERS]
            self._closed_runs.append(UnparsedLine(first.number, text, self._reason, self._count))
        self._first = None


class LogStream:
    """Lines of one rank or host: at most one reader and one JSON object are open.

    Lines come in their order; each goes to the reader of the suite that began last. ``library`` is
    the file's: it has the messages of all ranks.
    """

    def __init__(self, launch: Launch | None = None, library: NcclLog | None = None) -> None:
        self.launch = launch or Launch()
        self.library = library or NcclLog()
        self.messages = Messages()
        #: True once a suite's output has begun.
        self.begun = False
        self._indent = ""
        self._place = -1
        self._reader: SuiteReader | None = None
        self._object: Collector | None = None
        self._unparsed = UnparsedRun()
        #: The lines of a command that goes on, joined.
        self._command = ""
        self._rows_of_reader: Callable[[int, str, int], int] | None = None
        self._units: UnitWatch | None = None

    @property
    def idle(self) -> bool:
        """Check whether neither a suite's output nor an object is open."""
        return self._reader is None and self._object is None

    @property
    def in_object(self) -> bool:
        return self._object is not None

    def rows(self, number: int, text: str, place: int) -> int:
        """Let the open table take rows; return their end. ``number`` is the first line's."""
        take = self._rows_of_reader
        if take is None or self._unparsed.busy or self._object is not None:
            return place
        return take(number, text, place)

    def line(self, line: LogLine) -> Sequence[Found]:
        """Return the items that this line completes.

        A line of numbers alone begins no output and needs no search.
        """
        if self._object is not None:
            return self._in_object(line, self._object)
        text, reader = line.text, self._reader
        numbers = text[:1] in " 0123456789" and _NUMBERS.fullmatch(text)
        if not numbers:
            line = self._as_printed(line)
            text = line.text
            if not (self._command or self.launch.in_start):
                place = _place_alone(text)
                if reader is None and place == -1:
                    if not is_decoration(text):
                        self._unparsed.add(line, FOREIGN)
                    return self._unparsed.take_closed()
                if reader is not None and place in (-1, self._place):
                    return self._in_output(line, reader, bool(numbers))
            self.messages.take(line.number, text)
        if self._command:
            # Behind the shell's prompt of a line that goes on.
            joined, self._command = f"{self._command} {text.lstrip('> ')}", ""
            if command_in(joined) or goes_on(joined):
                text = joined
                line = LogLine(line.number, text, line.ended)
        if text[-1:] == "\\" and goes_on(text):
            self._command = text[:-1].rstrip()
            return ()
        if "_perf" in text and text[:1] != "#":
            self.launch.name_collective(text)
        if ADAPTERS in text:
            self.launch.name_adapters(text)
        if (reader is None or "_perf" not in text) and ("run" in text or "mpiexec" in text):
            command = command_in(text)
            if command is not None:
                return self._commanded(command, line)
        if reader is not None and (numbers or _place_begun(text) in (-1, self._place)):
            return self._in_output(line, reader, bool(numbers))
        if "{" in text or "[" in text:
            self._object = Collector.begun_by(line)
            if self._object is not None:
                return self._in_object(line, self._object)
        return self._plain_line(line)

    def _in_output(self, line: LogLine, reader: SuiteReader, numbers: bool) -> Sequence[Found]:
        curves = reader.line(line)
        items = self._items_of(curves, line) if curves or self._unparsed.busy else ()
        if self._units is not None and not numbers:
            self._units.take(line)
        return items

    def end(self) -> Iterable[Found]:
        if self._object is not None:
            yield from self._read_object(self._object)
        yield from self._close(over=True)
        self.messages.end()
        self._unparsed.close()
        yield from self._unparsed.take_closed()

    def _as_printed(self, line: LogLine) -> LogLine:
        """Return the line without the suite's indentation, and with its ``# ``."""
        text = line.text
        has_tabs = self._place >= 0 and DIALECTS[self._place].tabs
        if not has_tabs and ("\t" in text or text[-1:] == " "):
            text = text.replace("\t", " ").rstrip(" ")
        opening = opening_of(text)
        if opening.indent is not None:
            self._indent = opening.indent
        text = opening.text.removeprefix(self._indent) if self._indent else opening.text
        if "<" in text or "\u2190" in text:
            text = without_arrow(text)
        return line if text == line.text else LogLine(line.number, text, line.ended)

    def _plain_line(self, line: LogLine) -> Sequence[Found]:
        if line.text.startswith(OUR_REMARK):
            return self._unparsed.take_closed()
        if request := request_in(line.text):
            self.launch.request = self.launch.request.joined(request)
            return self._unparsed.take_closed()
        facts = self.launch.take(line.text)
        if facts is not None:
            return self._starts(facts)
        if is_fence(line.text):
            over = () if self._reader is None else self._items_of(self._reader.line(line), line)
            return (*over, *self._close())
        place = dialect_begun(line.text)
        if place not in (-1, self._place):
            closed = self._close()
            dialect = DIALECTS[place]
            self._place, self._reader = place, dialect.reader(self._unparsed.report)
            self._units = UnitWatch(dialect.suite, dialect.units) if dialect.units else None
            self._rows_of_reader, self.begun = getattr(self._reader, "rows", None), True
            return (*closed, *self._items_of(self._reader.line(line), line))
        if self._reader is not None:
            return self._in_output(line, self._reader, numbers=False)
        if not is_decoration(line.text):
            self._unparsed.report(line, FOREIGN)
        return self._unparsed.take_closed()

    def _commanded(self, command: Command, line: LogLine) -> Sequence[Found]:
        """Take the command of a suite's program, which ends the output before it."""
        closed = self._close()
        if (request := request_in(line.text)) and request.begins:
            self.launch.request = request
        self.launch = self.launch.commanded(command)
        items = () if dialect_begun(line.text) < 0 else self._plain_line(line)
        return (*closed, *items)

    def _starts(self, facts: Mapping[str, str]) -> Sequence[Found]:
        """Take a line of an MPI's start; another start ends the output before it."""
        over = self.launch.is_over(facts)
        closed = self._close() if over else self._unparsed.take_closed()
        if over:
            self.launch = self.launch.begun_again()
        self.launch.learn(facts)
        return closed

    def _with_start(
        self, found_curves: Iterable[SuiteCurve], over: bool = False
    ) -> Sequence[SuiteCurve]:
        curves = tuple(found_curves)
        self.messages.add_to(curves, over)
        for curve in curves:
            self.launch.add_to(curve)
            self.library.add_to(curve)
        return curves

    def _items_of(self, found_curves: Iterable[SuiteCurve], line: LogLine) -> Sequence[Found]:
        curves = self._with_start(found_curves)
        if self._reader is not None and self._unparsed.holds(line):
            row = without_note(line.text)
            if row != line.text:
                self._unparsed.withdraw()
                more = self._reader.line(LogLine(line.number, row, line.ended))
                curves = (*curves, *self._with_start(more))
        self._unparsed.understood(line)
        if curves and self._units is not None:
            curves, refused = self._units.split(curves)
            return (*self._unparsed.take_closed(), *refused, *curves)
        return (*self._unparsed.take_closed(), *curves)

    def _close(self, over: bool = False) -> Sequence[Found]:
        """Close the open reader; another suite's first line ends its output."""
        reader, self._reader, self._rows_of_reader, self._place = self._reader, None, None, -1
        curves = self._with_start(reader.end(), over) if reader is not None else ()
        units, self._units = self._units, None
        curves, refused = units.split(curves) if units is not None else (curves, ())
        return (*self._unparsed.take_closed(), *refused, *curves)

    def _in_object(self, line: LogLine, collector: Collector) -> Sequence[Found]:
        state = collector.add(line)
        if state == "alien" and (dialect_begun(line.text) >= 0 or is_fence(line.text)):
            state = "broken"
        if state == "alien":
            self._unparsed.report(line, "a line of the JSON object around it")
        elif state == "whole":
            return tuple(self._read_object(collector))
        elif state == "broken":
            return (*self._read_object(collector), *self.line(line))
        return self._unparsed.take_closed()

    def _read_object(self, collector: Collector) -> Iterator[Found]:
        self._object = None
        text, number, report = collector.text, collector.first.number, self._unparsed.report
        for dialect in JSON_DIALECTS:
            if dialect.recognised(text):
                yield from self._close()
                yield from self._with_start(dialect.read(text, number, report))
                for log in dialect.logs(text, number, report):
                    yield from _read_inside(log, number)
                yield from self._unparsed.take_closed()
                return
        # Text that only looked like an object is read as single lines.
        for line in collector.lines:
            yield from self._plain_line(LogLine(line.number, line.text[:LONGEST_BYTES]))
