"""Judge tens of thousands of tables with one heading: as boxes, and the odd ones one by one.

A table's figures are levels, its best rate or its best times of small and of large messages, and a
shape, all figures as shares of these. A box holds tables between least and largest levels and
shapes. Every limit of a rule compares a figure of a table with a constant, or with another figure
of that table. Such a comparison is decided alike in a whole box if it is decided alike at the box's
corners where one figure is highest and the other lowest. So the rules themselves judge these
corners, hundreds of made-up tables that are worse than any in the box. If all get one outcome for
the same reasons, so does every table in the box; otherwise the box is divided, and few tables are
judged one by one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fabricgauge.judge.interface import Context, worst
from fabricgauge.judge.judging import judge_table
from fabricgauge.model.families import Rows, is_plain, key_of, rows_of, with_figures
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import (
    Extreme,
    FamilyCurve,
    FamilyOutcome,
    FamilyPoint,
    FamilyVerdict,
)
from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import LESS_IS_BETTER, SuiteCurve, TableFamily
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.networks import named

#: So many tables for each figure of a table cost as much as a box's corners: fewer than that are
#: judged one by one.
FEW = 16
#: The share of a box's tables, those of the oddest shapes, that are judged one by one so that the
#: others fit a box; divisions of a box before its tables are judged one by one; and changes of the
#: outcome with the level at which boxes are cut.
PEELED, MOST_DIVISIONS, MOST_CUTS = 0.01, 3, 32
#: Tables that agree at each end of a level if the outcome changes with it, and not by chance.
AT_ENDS = 3
#: Tables of a box that are judged beside its corners: one in ten that differs shows among so many.
ASKED = 32
#: Tables of an outcome that are named at most: a person reads no more.
MOST_NAMED = {Outcome.INVALID: 50, Outcome.FAIL: 50, Outcome.INCONCLUSIVE: 10, Outcome.WARN: 10}
#: Tables named at each end of the figures, and lines of an outcome that a report lists.
MOST_EXTREMES, MOST_LINES = 5, 1000
#: A table stands out if a figure differs from the median by this share.
BEYOND = 0.2

_CALM = (Outcome.PASS, Outcome.SKIPPED)
_Indices = NDArray[np.intp]
_Figures = NDArray[np.float64]
#: Outcome, whether it decides, and the rules that neither pass nor skip.
_Sign = tuple[Outcome, bool, frozenset[tuple[str, Outcome]]]


def settle(context: Context) -> tuple[Context, tuple[FamilyVerdict, ...]]:
    """Return the families' verdicts, and the run with their named tables among its curves.

    A named table is judged once more like any other, so that it has its place in each report. The
    last table of a file stays alone: lines behind it belong to it.
    """
    launches, verdicts = [], []
    for launch in context.run.launches:
        if not launch.families:
            launches.append(launch)
            continue
        tables = group_by(launch.curves, lambda curve: curve.first_line)
        last = max(tables, default=0)
        ordinary = group_by(
            (table for line, table in tables.items() if line != last and all(map(is_plain, table))),
            key_of,
        )
        curves = [*launch.curves]
        kept = []
        for key, families in group_by(
            launch.families, lambda family: key_of(family.curves)
        ).items():
            joined = ordinary.get(key, ())
            family = _Family(context, launch, rows_of(families, joined))
            verdict, named_rows = family.judge()
            lines = {table[0].first_line for table in joined}
            curves = [curve for curve in curves if curve.first_line not in lines]
            curves += [curve for row in named_rows for curve in family.rows.table(row)]
            verdicts.append(verdict)
            kept.append(TableFamily(family.rows.first, verdict.tables - len(named_rows)))
        curves.sort(key=lambda curve: curve.first_line)
        launches.append(replace(launch, curves=tuple(curves), families=tuple(kept)))
    return replace(context, run=replace(context.run, launches=tuple(launches))), tuple(verdicts)


class _Column(NamedTuple):
    """One figure of a table; ``base`` is the column that it stands beside, or its own.

    A time of a large message divided by its size, the ``weight``, is the inverse of a rate.
    """

    curve: int
    message_bytes: int | None
    base: int
    weight: int = 1


class _Group(NamedTuple):
    """Columns with a level in common: a curve's rates, or its times of small or large messages."""

    columns: tuple[int, ...]
    is_time: bool
    is_large: bool


class _Family:
    """The tables of one family, and what is known of their outcomes."""

    def __init__(self, context: Context, launch: Launch, rows: Rows) -> None:
        self.rows = rows
        self._context = context
        self._launch = replace(launch, unparsed=(), families=())
        self._signs: dict[_Sign, _Sign] = {}
        self._known: dict[int, _Sign] = {}
        self._alone: defaultdict[_Sign, list[int]] = defaultdict(list)
        self._found: defaultdict[_Sign, list[_Indices]] = defaultdict(list)
        self._columns = [*_columns_of(rows.first)]
        self._values = [place for place, column in enumerate(self._columns) if column.base == place]
        self._is_time = [curve.quantity in LESS_IS_BETTER for curve in rows.first]
        by_size = group_by(self._values, self._find_level)
        # Rules that decide most read large messages.
        self._groups = [
            _Group(places, self._is_time[curve], is_large)
            for (is_large, curve), places in sorted(by_size.items(), reverse=True)
        ]
        self._group_of = {
            place: number for number, group in enumerate(self._groups) for place in group.columns
        }

    def _find_level(self, place: int) -> tuple[bool, int]:
        """Return whether a column is of a rate or of large messages, and its curve."""
        column = self._columns[place]
        return not self._is_time[column.curve] or _is_large(column), column.curve

    def judge(self) -> tuple[FamilyVerdict, tuple[int, ...]]:
        """Return the verdict, and the rows that are named."""
        self._resolve()
        for sign, rows in self._alone.items():
            self._found[sign].append(np.array(rows))
        medians = np.array([np.median(column) for column in self.rows.figures.T])
        gains = self._gains(medians)
        outcomes, names = [], set[int]()
        for sign, parts in self._found.items():
            members = np.concatenate(parts)
            names.add(int(members[len(members) // 2]))
            listed: Sequence[int] = ()
            if sign[0] not in _CALM:
                listed = members[np.argsort(gains[0][members], kind="stable")].tolist()
                names.update(listed[: MOST_NAMED[sign[0]]])
            rules = tuple(dict.fromkeys(rule for rule, _ in sorted(sign[2])))
            places = tuple(int(self.rows.lines[row]) for row in listed[:MOST_LINES])
            outcomes.append(FamilyOutcome(sign[0], rules, len(members), places))
        slowest = np.argsort(gains[0], kind="stable")[:MOST_EXTREMES].tolist()
        fastest = np.argsort(-gains[1], kind="stable")[:MOST_EXTREMES].tolist()
        names |= {*slowest, *fastest}
        first, lines = self.rows.first[0], self.rows.lines
        outcomes.sort(key=lambda group: (group.outcome.rank, -group.tables))
        network = self._launch.network
        verdict = FamilyVerdict(
            outcome=worst((group.outcome for group in outcomes), empty=Outcome.SKIPPED),
            source=first.source,
            suite=f"{first.suite} {first.version}".strip(),
            benchmark=first.benchmark,
            network="" if network is None else named(network),
            tables=len(lines),
            first_line=int(lines.min()),
            last_line=int(lines.max()) + first.last_line - first.first_line,
            outcomes=tuple(outcomes),
            curves=tuple(self._curves()),
            beyond=BEYOND,
            slower=int((gains[0] < 1 - BEYOND).sum()),
            faster=int((gains[1] > 1 / (1 - BEYOND)).sum()),
            slowest=tuple(self._extreme(row, medians, slow=True) for row in slowest),
            fastest=tuple(self._extreme(row, medians, slow=False) for row in fastest),
            named=tuple(sorted(int(lines[row]) for row in names)),
        )
        return verdict, tuple(sorted(names))

    @cached_property
    def _levels(self) -> _Figures:
        """The best figure of each group of columns of each table: (groups, tables)."""
        levels = np.empty((len(self._groups), len(self.rows.lines)))
        for level, group in zip(levels, self._groups, strict=True):
            level[:] = self._weigh(group.columns[0])
            for place in group.columns[1:]:
                (np.minimum if group.is_time else np.maximum)(level, self._weigh(place), out=level)
        return levels

    def _weigh(self, place: int) -> _Figures:
        figures: _Figures = self.rows.figures[:, place] / self._columns[place].weight
        return figures

    def _shape(self, place: int, rows: _Indices) -> _Figures:
        """Return a column as shares of the level, or of the figure that it stands beside."""
        base = self._columns[place].base
        shares: _Figures = (
            self._weigh(place)[rows] / self._levels[self._group_of[place]][rows]
            if base == place
            else self.rows.figures[rows, place] / self.rows.figures[rows, base]
        )
        return shares

    def _gains(self, medians: _Figures) -> tuple[_Figures, _Figures]:
        """Return each table's least and largest figure as a share of the median, speed for time."""
        least = np.full(len(self.rows.lines), np.inf)
        most = np.zeros(len(self.rows.lines))
        for place in self._values:
            share = self.rows.figures[:, place] / medians[place]
            if self._is_time[self._columns[place].curve]:
                share = 1 / share
            np.minimum(least, share, out=least)
            np.maximum(most, share, out=most)
        return least, most

    def _extreme(self, row: int, medians: _Figures, slow: bool) -> Extreme:
        figures = self.rows.figures[row]
        shares = [
            medians[place] / figures[place]
            if self._is_time[self._columns[place].curve]
            else figures[place] / medians[place]
            for place in self._values
        ]
        place = self._values[int(np.argmin(shares) if slow else np.argmax(shares))]
        column = self._columns[place]
        curve = self.rows.first[column.curve]
        return Extreme(
            line=int(self.rows.lines[row]),
            what=curve.what,
            quantity=curve.quantity,
            message_bytes=column.message_bytes,
            figure=float(figures[place]),
            ratio=float(figures[place] / medians[place]),
            outcome=self._sign(row)[0],
        )

    def _curves(self) -> Iterator[FamilyCurve]:
        for number, curve in enumerate(self.rows.first):
            points = tuple(
                _point(self._columns[place].message_bytes, self.rows.figures[:, place])
                for place in self._values
                if self._columns[place].curve == number
            )
            yield FamilyCurve(curve.what, curve.quantity, points)

    def _sign(self, row: int) -> _Sign:
        """Return how a table is judged."""
        if row not in self._known:
            sign = self._judge(self.rows.table(row))
            self._known[row] = self._signs.setdefault(sign, sign)
        return self._known[row]

    def _judge(self, table: tuple[SuiteCurve, ...]) -> _Sign:
        part = replace(self._context.run, launches=(replace(self._launch, curves=table),))
        verdict, verdicts = judge_table(self._context, part)
        loud = frozenset(
            (rule_verdict.rule, rule_verdict.outcome)
            for rule_verdict in verdicts
            if rule_verdict.outcome not in _CALM
        )
        return verdict.outcome, verdict.decides, loud

    def _judge_alone(self, rows: _Indices) -> None:
        for row in rows.tolist():
            self._alone[self._sign(row)].append(row)

    def _resolve(self) -> None:
        """Find the outcome of every table: of boxes at once, of the others alone."""
        few, cuts = FEW * len(self._columns), MOST_CUTS
        boxes = [(np.arange(len(self.rows.lines)), 0)]
        while boxes:
            rows, divisions = boxes.pop()
            if len(rows) <= few or divisions > MOST_DIVISIONS:
                self._judge_alone(rows)
            elif cuts and (ordered := self._find_order(rows)) is not None:
                cuts -= 1
                change = self._find_change(ordered)
                begin, end = max(0, change - few // 2), change + few // 2
                self._judge_alone(ordered[begin:end])
                boxes += [(ordered[:begin], divisions), (ordered[end:], divisions)]
            elif not self._fit_box(rows):
                odd = self._find_odd(rows)
                self._judge_alone(rows[odd])
                rows = rows[~odd]
                if not self._fit_box(rows):
                    divide = self._halve if divisions else self._group_by_peak
                    boxes += [(part, divisions + 1) for part in divide(rows)]

    def _find_order(self, rows: _Indices) -> _Indices | None:
        """Return tables by a level if those at its ends are judged otherwise; else None."""
        for levels in self._levels:
            ordered = rows[np.argsort(levels[rows], kind="stable")]
            ends = ordered[:AT_ENDS], ordered[-AT_ENDS:]
            low, high = ({self._sign(row) for row in end.tolist()} for end in ends)
            if len(low) == len(high) == 1 and low != high:
                return ordered
        return None

    def _group_by_peak(self, rows: _Indices) -> Iterator[_Indices]:
        """Yield the tables whose first group is best at the same figure together."""
        for place in self._groups[0].columns:
            is_peak = self._weigh(place)[rows] == self._levels[0][rows]
            yield rows[is_peak]
            rows = rows[~is_peak]

    def _find_change(self, rows: _Indices) -> int:
        """Return a place in the order of levels from which tables are judged otherwise."""
        sign, begin, end = self._sign(int(rows[0])), 0, len(rows) - 1
        while end - begin > 1:
            middle = (begin + end) // 2
            is_same = self._sign(int(rows[middle])) == sign
            begin, end = (middle, end) if is_same else (begin, middle)
        return end

    def _halve(self, rows: _Indices) -> Iterator[_Indices]:
        """Yield the tables below and above the median of the figure whose share varies most."""
        spreads = [float(np.ptp(np.log(self._shape(place, rows)))) for place in self._shapes]
        widest = self._shape(int(np.argmax(spreads)), rows)
        is_low = widest < np.median(widest)
        yield rows[is_low]
        yield rows[~is_low]

    @property
    def _shapes(self) -> range:
        return range(len(self._columns))

    def _find_odd(self, rows: _Indices) -> NDArray[np.bool_]:
        """Return which tables have the oddest shapes: those to judge one by one."""
        oddness = np.zeros(len(rows))
        for place in self._shapes:
            shares = np.log(self._shape(place, rows))
            distance = np.abs(shares - np.median(shares))
            np.maximum(oddness, distance / (np.median(distance) or 1e-3), out=oddness)
        count = max(FEW, int(PEELED * len(rows)))
        is_odd: NDArray[np.bool_] = oddness >= np.partition(oddness, -count)[-count]
        return is_odd

    def _fit_box(self, rows: _Indices) -> bool:
        """Check whether all corners of the tables' box are judged alike; note the outcome then.

        So must be some of its tables, or a rough few would speak for a smooth many.
        """
        sign = self._sign(int(rows[0]))
        if any(self._sign(row) != sign for row in rows[:: max(1, len(rows) // ASKED)].tolist()):
            return False
        if any(self._judge(corner) != sign for corner in self._corners(rows)):
            return False
        self._found[sign].append(rows)
        return True

    def _corners(self, rows: _Indices) -> Iterator[tuple[SuiteCurve, ...]]:
        """Yield tables at corners of the box: each figure at one end of its range.

        One figure of each group is the level itself: the first or the last one that is so in any
        table.
        """
        count = len(self._columns)
        ends = np.empty((2, count))
        for place in self._shapes:
            shares = self._shape(place, rows)
            ends[:, place] = shares.min(), shares.max()
        tops = [
            [place for place in group.columns if ends[int(not group.is_time), place] == 1.0]
            for group in self._groups
        ]
        peaks = {tuple(places[end] for places in tops) for end in (0, -1)}
        low, high = self._levels[:, rows].min(axis=1), self._levels[:, rows].max(axis=1)
        is_large = np.array([group.is_large for group in self._groups])
        mixed = np.where(is_large, low, high), np.where(is_large, high, low)
        for number, choice in enumerate(_choices(count)):
            shape = ends[choice, np.arange(count)]
            # Small messages and large ones are apart where a curve rises or falls, not in windows.
            levels = (low, high, *mixed) if number < 2 * count + 2 else (low, high)
            for places in peaks:
                shares = shape.copy()
                shares[[*places]] = 1.0
                for level in levels:
                    figures = self._scale(shares.tolist(), level)
                    yield with_figures(self.rows.first, self.rows.first[0].first_line, figures)

    def _scale(self, shares: list[float], level: _Figures) -> list[float]:
        """Return the figures of a shape at a level."""
        figures = shares.copy()
        for place, column in enumerate(self._columns):
            if column.base == place:
                figures[place] *= float(level[self._group_of[place]]) * column.weight
            else:
                figures[place] *= figures[column.base]
        return figures


def _choices(count: int) -> Iterator[NDArray[np.intp]]:
    """Yield for each figure 0 for its lowest value or 1 for its highest.

    Of any two figures each is lowest while the other is highest, in several ways.
    """
    numbers = np.arange(count)
    rising = [(numbers % 2 == 0), numbers >= count, *(numbers < place for place in range(1, count))]
    windows = [
        (numbers >= place) & (numbers < place + width) for width in (1, 3) for place in range(count)
    ]
    chance = np.random.default_rng(1).random((8, count)) < 0.5
    for choice in (*rising, *windows, *chance):
        yield choice.astype(np.intp)
        yield (~choice).astype(np.intp)


def _columns_of(table: tuple[SuiteCurve, ...]) -> Iterator[_Column]:
    place = 0
    for number, curve in enumerate(table):
        for point in curve.points:
            column = _Column(number, point.message_bytes, place)
            is_cost = curve.quantity in LESS_IS_BETTER and _is_large(column)
            for _ in range(1 + len(point.besides)):
                yield column._replace(weight=point.message_bytes or 1) if is_cost else column
            place += 1 + len(point.besides)


def _is_large(column: _Column) -> bool:
    return (column.message_bytes or 0) >= SUSTAINED_BYTES


def _point(message_bytes: int | None, figures: _Figures) -> FamilyPoint:
    low, p5, median, p95, high = np.percentile(figures, (0, 5, 50, 95, 100)).tolist()
    return FamilyPoint(message_bytes, median, p5, p95, low, high)
