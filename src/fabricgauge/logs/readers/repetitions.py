"""Fold tables that repeat one heading thousands of times into a matrix for each heading.

The usual readers read the first tables. From them comes a template: the text of a period, which is
one table or a few that repeat, with the columns of bytes in which its figures stand. Text that is
the template but for its figures gives many tables at once. All other text goes to the usual
readers; their tables join the family if they have its heading. A template is a suite's matter no
more: it holds what a reader made of that very text.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabricgauge.logs.readers.suites import Found, Streams, read_with
from fabricgauge.model.families import (
    LEAST_FIGURE,
    MOST_FIGURE,
    Table,
    family_of,
    figures_of,
    is_plain,
    key_of,
)
from fabricgauge.model.suite import LogContent, SuiteCurve, TableFamily

#: Bytes that are searched for repetitions at a time, and given to the usual readers at a time.
BLOCK_BYTES, _PIECE_BYTES = 1 << 20, 1 << 14
#: Periods that a template is made from, at least and at most, and the most tables of a period.
_LEAST_SAMPLES, _MOST_SAMPLES, _MOST_TABLES = 3, 8, 16
_MOST_TEMPLATES = 16
#: Tables of a family that are stored together.
_TOGETHER = 4096
#: So many digits are exact in a floating-point number.
_DIGITS = 15
#: A printed figure times one of these is in SI units.
_FACTORS = (1.0, 1e-6, 1e6, 1e-3, 1e3, 1e-9, 1e9, 0.01, 2.0**10, 2.0**20, 2.0**30)
_TOKEN = re.compile(rb"[^ \t]+")
_FIRST_LINE = re.compile(rb"\s*[^\n]*\n")
_NUMBER = re.compile(rb"[0-9]+(?:\.([0-9]+))?")


class _Closed(NamedTuple):
    """A table that a usual reader has read; lines count from 1."""

    key: object
    table: Table

    @property
    def last_line(self) -> int:
        return max(curve.last_line for curve in self.table)


class Template:
    """The text of a period, and where its figures stand: each ends in the same column."""

    def __init__(self, samples: Sequence[bytes], read_tables: Sequence[Sequence[_Closed]]) -> None:
        """Find the figures of all tables in the samples, which were read in this way.

        Raises:
            ValueError: samples differ in more than their figures, or a figure's column is unknown.
        """
        self.keys = tuple(closed.key for closed in read_tables[0])
        self.tables = tuple(closed.table for closed in read_tables[0])
        self.size, self.lines = len(samples[0]), samples[0].count(b"\n")
        # Up to the first line that is not blank: blank lines alone may be anywhere.
        match = _FIRST_LINE.match(samples[0])
        self.head = match[0] if match else b""
        if any(len(sample) != self.size or b"NCCL " in sample for sample in samples):
            raise ValueError("periods have different lengths")
        lines = [sample.split(b"\n") for sample in samples]
        begins = np.cumsum([0, *(len(line) + 1 for line in lines[0])])
        first_line = max(closed.last_line for closed in read_tables[0]) - self.lines + 1
        fields: list[tuple[int, int, int, float]] = []
        self.offsets: list[int] = []
        for place, closed in enumerate(read_tables[0]):
            self.offsets.append(closed.table[0].first_line - first_line)
            values = [figures_of(tables[place].table) for tables in read_tables]
            for number, figures in zip(
                _lines_of(closed.table), zip(*values, strict=True), strict=True
            ):
                row = number - first_line
                begin, end, decimals, factor = _find_field([text[row] for text in lines], figures)
                fields.append((int(begins[row]) + begin, int(begins[row]) + end, decimals, factor))
        self._place_fields(fields)
        self._text = np.frombuffer(samples[0], np.uint8)[self._fixed]
        for sample in samples[1:]:
            if (np.frombuffer(sample, np.uint8)[self._fixed] != self._text).any():
                raise ValueError("periods differ in more than their figures")

    def _place_fields(self, fields: Sequence[tuple[int, int, int, float]]) -> None:
        is_fixed = np.ones(self.size, bool)
        places = np.zeros((len(fields), _DIGITS), np.int64)
        self._pad = np.ones_like(places, bool)
        for number, (begin, end, decimals, _) in enumerate(fields):
            is_fixed[begin:end] = False
            point = end - 1 - decimals
            columns = [column for column in range(begin, end) if not decimals or column != point]
            is_fixed[point] |= bool(decimals)
            # Blanks that no figure reaches stay as they are.
            is_fixed[columns[:-_DIGITS]] = True
            columns = columns[-_DIGITS:]
            places[number, _DIGITS - len(columns) :] = columns
            self._pad[number, _DIGITS - len(columns) :] = False
        self._fixed, self._places = np.flatnonzero(is_fixed), places
        needed = np.array([decimals + 1 for _, _, decimals, _ in fields])
        self._needed = np.arange(_DIGITS) >= _DIGITS - needed[:, None]
        self._scale = np.array([10.0**decimals for _, _, decimals, _ in fields])
        self._factor = np.array([factor for *_, factor in fields])
        self._powers = 10.0 ** np.arange(_DIGITS - 1, -1, -1)

    def fits(self, block: bytes, place: int) -> bool | None:
        """Check for a period at ``place``; None if the block ends too early to know."""
        if not block.startswith(self.head, place):
            return False
        return None if len(block) - place < self.size else len(self._read(block, place, 1)) > 0

    def read(self, block: bytes, place: int) -> NDArray[np.float64]:
        """Return the figures of the periods that follow each other from ``place`` on."""
        left, count, read = (len(block) - place) // self.size, 8, [self._read(block, place, 0)]
        while left > 0:
            read.append(self._read(block, place, min(left, count)))
            if len(read[-1]) < count:
                break
            place, left, count = place + count * self.size, left - count, count * 8
        return np.concatenate(read)

    def _read(self, block: bytes, place: int, count: int) -> NDArray[np.float64]:
        rows = np.frombuffer(block, np.uint8, count * self.size, place).reshape(count, self.size)
        rows = rows[: _count_true((rows[:, self._fixed] == self._text).all(axis=1))]
        cells = rows[:, self._places] - np.uint8(ord("0"))
        blank = np.uint8(256 + ord(" ") - ord("0"))
        cells[:, self._pad] = blank
        is_digit = cells < 10
        sound = (is_digit | (cells == blank)).all(axis=(1, 2))
        sound &= ~(is_digit[..., :-1] & ~is_digit[..., 1:]).any(axis=(1, 2))
        sound &= (is_digit | ~self._needed).all(axis=(1, 2))
        figures = np.where(is_digit, cells, 0).astype(np.float64) @ self._powers
        # Whole numbers below 10^15 over a power of ten: the nearest number, as float() gives it.
        scaled: NDArray[np.float64] = figures / self._scale * self._factor
        sound &= ((scaled >= LEAST_FIGURE) & (scaled <= MOST_FIGURE)).all(axis=1)
        return scaled[: _count_true(sound)]


def _count_true(are_true: NDArray[np.bool_]) -> int:
    """Return how many are true up to the first that is not."""
    return len(are_true) if are_true.all() else int(are_true.argmin())


def _lines_of(table: Table) -> list[int]:
    """Return the line of each figure, as ``figures_of`` has them."""
    return [
        point.line
        for curve in table
        for point in curve.points
        for _ in range(1 + len(point.besides))
    ]


def _find_field(lines: Sequence[bytes], figures: Sequence[float]) -> tuple[int, int, int, float]:
    """Return begin and end of a figure's column, its decimals, and the factor to SI units.

    Raises:
        ValueError: no column, or several columns of these lines hold the figures.
    """
    tokens = [[*_TOKEN.finditer(line)] for line in lines]
    fields = []
    for place in range(min(map(len, tokens))):
        column = [line_tokens[place] for line_tokens in tokens]
        numbers = [_NUMBER.fullmatch(token[0]) for token in column]
        decimals = {len(number[1] or b"") if number else -1 for number in numbers}
        if -1 in decimals or len(decimals) != 1 or len({token.end() for token in column}) != 1:
            continue
        begin = max(line_tokens[place - 1].end() + 1 for line_tokens in tokens) if place else 0
        printed = [float(token[0]) for token in column]
        factors = [
            factor for factor in _FACTORS if [number * factor for number in printed] == [*figures]
        ]
        fields += [(begin, column[0].end(), min(decimals), factor) for factor in factors[:1]]
    if len(fields) != 1:
        raise ValueError(f"{len(fields)} columns hold a figure")
    return fields[0]


class Folder:
    """Divide a file's text into pieces for the usual readers and periods that repeat.

    A period is taken for a repetition only between two others that the usual readers read as the
    template has them, so that no table loses what stands beside it. The file's last table, and the
    first ``fold_from`` of each heading, stay as they are read.
    """

    def __init__(self, fold_from: int) -> None:
        self._fold_from = fold_from
        #: By a key's hash: a log may have thousands of headings.
        self._counts: Counter[int] = Counter()
        self._tries: Counter[int] = Counter()
        self._rows: defaultdict[object, list[Table]] = defaultdict(list)
        self._open: list[SuiteCurve] = []
        self._held: _Closed | None = None
        self._families: list[TableFamily] = []
        self._templates: list[Template] = []
        self._history: list[_Closed] = []
        self._block, self._block_line = b"", 1
        #: The line behind the text that was given out or folded.
        self._line = 1
        #: The template of the last pieces, the first line of these, and whether the usual readers
        #: read one of them as the template has it.
        self._template: Template | None = None
        self._since_line, self._is_sure = 0, False
        self._skipped = 0
        self.streams: Streams | None = None

    def pieces(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the text for the usual readers; ``take_skipped`` returns the lines between it."""
        rest = b""
        for block in _join(blocks):
            self._block, self._block_line, place = rest + block, self._line, 0
            while place < len(self._block):
                place += self._fold(place)
                end = self._end_of_piece(place)
                if not end:
                    break
                yield self._give(place, end)
                place = end
            rest = self._block[place:]
        if rest:
            self._block, self._block_line, self._template = rest, self._line, None
            yield self._give(0, len(rest))

    def _give(self, place: int, end: int) -> bytes:
        piece = self._block[place:end]
        self._line += piece.count(b"\n")
        return piece

    def take_skipped(self) -> int:
        skipped, self._skipped = self._skipped, 0
        return skipped

    def _fold(self, place: int) -> int:
        """Fold the periods at ``place`` but the last; return their bytes."""
        template = self._template
        if template is None or not (self._is_sure and self.streams and self.streams.is_single):
            return 0
        figures = template.read(self._block, place)[:-1]
        if not len(figures):
            return 0
        begin = 0
        for table, offset in zip(template.tables, template.offsets, strict=True):
            end = begin + len(figures_of(table))
            lines = self._line + offset + template.lines * np.arange(len(figures))
            self._families.append(family_of(table, lines, figures[:, begin:end]))
            begin = end
        self._line += template.lines * len(figures)
        self._skipped += template.lines * len(figures)
        return template.size * len(figures)

    def _end_of_piece(self, place: int) -> int:
        """Return the end of a period, or where one may begin; 0 if the block ends within one."""
        block = self._block
        for template in self._templates:
            fits = template.fits(block, place)
            if fits is None:
                return 0
            if fits:
                if template is not self._template:
                    self._template, self._since_line = template, self._line
                    self._is_sure = False
                return place + template.size
        self._template, self._is_sure = None, False
        limit = min(place + _PIECE_BYTES, len(block))
        heads = (block.find(b"\n" + template.head, place, limit) for template in self._templates)
        if begins := [head + 1 for head in heads if head >= 0]:
            return min(begins)
        return max(block.rfind(b"\n", place, limit), block.find(b"\n", place)) + 1 or len(block)

    def take(self, item: Found) -> Iterator[LogContent]:
        """Take what the usual readers found; yield what is not folded, in its order."""
        if self._families:
            families, self._families = self._families, []
            yield from families
        if self._open and not (
            isinstance(item, SuiteCurve) and item.first_line == self._open[0].first_line
        ):
            yield from self._close()
        if isinstance(item, SuiteCurve):
            self._open.append(item)
        else:
            self._forget()
            yield item

    def _forget(self) -> None:
        """Begin anew: something stands between the tables."""
        self._history.clear()
        self._template, self._is_sure = None, False

    def end(self) -> Iterator[LogContent]:
        yield from self._close()
        yield from self._families
        for tables in self._rows.values():
            yield _join_tables(tables)
        yield from self._held.table if self._held else ()

    def _close(self) -> Iterator[LogContent]:
        table, self._open = tuple(self._open), []
        key = key_of(table) if table and all(map(is_plain, table)) else None
        if key is None:
            self._forget()
            yield from table
            return
        template = self._template
        if template and key == template.keys[-1] and table[0].first_line >= self._since_line:
            self._is_sure = True
        self._counts[hash(key)] += 1
        if self._counts[hash(key)] > self._fold_from - _LEAST_SAMPLES * _MOST_TABLES:
            self._learn(_Closed(key, table))
        if self._counts[hash(key)] <= self._fold_from:
            yield from table
            return
        held, self._held = self._held, _Closed(key, table)
        if held is not None:
            self._rows[held.key].append(held.table)
            if len(self._rows[held.key]) >= _TOGETHER:
                yield _join_tables(self._rows.pop(held.key))

    def _learn(self, closed: _Closed) -> None:
        """Make a template of the last tables if they repeat."""
        history = self._history
        if history and closed.table[0].first_line <= history[-1].last_line:
            history.clear()
        history.append(closed)
        del history[: -_MOST_SAMPLES * _MOST_TABLES]
        if (
            self._counts[hash(closed.key)] < self._fold_from
            or len(self._templates) >= _MOST_TEMPLATES
            or any(closed.key in template.keys for template in self._templates)
        ):
            return
        # Attempts become rarer: text that never repeats costs little.
        self._tries[hash(closed.key)] += 1
        if self._tries[hash(closed.key)] & (self._tries[hash(closed.key)] - 1):
            return
        keys = [known.key for known in reversed(history[:-1])]
        if closed.key not in keys[:_MOST_TABLES]:
            return
        count = keys.index(closed.key) + 1
        periods = []
        for end in range(len(history), count, -count):
            period = history[end - count : end]
            if [known.key for known in period] != [known.key for known in history[-count:]]:
                break
            periods.append((history[end - count - 1].last_line, period))
        periods = periods[:_MOST_SAMPLES]
        texts = [self._text_of(before, period[-1].last_line) for before, period in periods]
        samples = [(text, period) for text, (_, period) in zip(texts, periods, strict=True) if text]
        if len(samples) >= _LEAST_SAMPLES:
            try:
                template = Template(*zip(*samples, strict=True))
            except ValueError:
                return
            self._templates.append(template)

    def _text_of(self, before: int, last: int) -> bytes:
        """Return the lines behind ``before`` to ``last``; nothing if they are in another block."""
        if before + 1 < self._block_line:
            return b""
        lines = self._block.split(b"\n", last - self._block_line + 1)
        chosen = lines[before + 1 - self._block_line : last - self._block_line + 1]
        return b"\n".join(chosen) + b"\n"


def _join(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines in large blocks."""
    parts, size = list[bytes](), 0
    for block in blocks:
        parts.append(block)
        size += len(block)
        if size >= BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _join_tables(tables: Sequence[Table]) -> TableFamily:
    lines = np.array([table[0].first_line for table in tables])
    return family_of(tables[0], lines, np.array([figures_of(table) for table in tables]))


def read_folded(blocks: Iterable[bytes], source: str, fold_from: int) -> Iterator[LogContent]:
    """Yield the contents of a file as ``read`` does, with families of tables beyond ``fold_from``.

    A family comes in several records.
    """
    folder = Folder(fold_from)
    for item in read_with(folder, blocks, source):
        yield from folder.take(item)
    yield from folder.end()
