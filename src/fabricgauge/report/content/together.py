"""What many ranks measured together: collectives, latency under load, many pairs at once."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from fabricgauge.model.judged import Judged
from fabricgauge.report import document as doc
from fabricgauge.report.content import case_pictures as series
from fabricgauge.report.content import fabric_cases as words
from fabricgauge.report.content.fabric_cases import (
    Joint,
    collectives,
    idle,
    is_biased,
    joint,
    of_pattern,
    ratio,
)
from fabricgauge.report.picture import Picture
from fabricgauge.words import patterns
from fabricgauge.words.figures import amount, duration, microseconds, size
from fabricgauge.words.networks import named

MOST_COLLECTIVES, MOST_CASES = 16, 80
#: More rows than this make a page slow to open; the CSV report has them all.
MOST_ROWS = 400
#: So many plots of cases a page has at most: each takes time to make and to draw.
MOST_PLOTS = 32
CROWDS = ("multi_latency", "multi_bandwidth", "sendrecv", "exchange", "bisection")

_TIMES = ("median µs", "interval µs", "p90", "p99", "p99.9", "min", "max")
_COUNTS = ("samples", "launches")
_BIASED = (
    "Some of these times are taken after a barrier, since no synchronised clock was there: "
    "ranks leave a barrier at different moments, and that bias is in the figures."
)
_OF_COLLECTIVES = (
    "A time is that of one operation: from the first rank's start to the last rank's exit, so that"
    " percentiles are those of the slowest rank. Clock “synchronised”: both are read on one clock,"
    " right within its error; “barrier”: the slowest rank's own time after a barrier, which biases"
    " it. Late starts are iterations that some rank began after the agreed moment; they are left"
    " out. Whiskers are the interval of the median, the tint reaches to the 99th percentile."
    " Overlap is the share of a non-blocking operation's time that computing beside it hid."
)
_OF_LOADS = (
    "Victim pairs measure half round trips while the other ranks make the load. Ratios are to the"
    " same victims without it."
)
_OF_CROWDS = (
    "Times are those of one pair; rates are sums over all pairs. “Over pairs at once” is latency or"
    " rate against the number of active sessions."
)


class _Room:
    """How many plots a page still has room for."""

    def __init__(self) -> None:
        self.left = MOST_PLOTS


def together(judged: Judged) -> Iterator[doc.Section]:
    """Text has the ends of each; a page has every case, with plots."""
    cases = joint(judged.run)
    found, loaded = collectives(cases), of_pattern(cases, "loaded_latency")
    yield from _told(found, loaded)
    room = _Room()
    if cases:
        limit = doc.RowLimit(
            "and {count} more; the CSV report has them all", {doc.TRACKER: MOST_CASES}
        )
        yield doc.Section(
            "together", "Many ranks together", (_tabled(cases, limit),), on=doc.TRACKER
        )
    parts = (
        ("load", "Latency under load", "Load", _OF_LOADS, loaded, _loaded),
        ("crowds", "Many pairs at once", "Many pairs", _OF_CROWDS, of_pattern(cases, *CROWDS),
         _crowd),
        ("collectives", "Collectives", "Collectives", _OF_COLLECTIVES, found, _collective),
    )  # fmt: skip
    for ident, title, nav, said, some, make in parts:
        if some:
            made = doc.Deferred(partial(_operations, some, make, room))
            blocks: tuple[doc.Block, ...] = (doc.Paragraph(said), made)
            yield doc.Section(ident, title, blocks, nav=nav, on=doc.PAGE)


def _told(found: Sequence[Joint], loaded: Sequence[Joint]) -> Iterator[doc.Section]:
    if found:
        title = "Collectives at most ranks; last exit - first start; by barrier: slowest rank"
        yield doc.Section("", title, (_collectives(_most_ranks(found)),), on=doc.SCREEN)
    if loaded:
        title = "Latency under load; half round trip, and times as long as idle"
        yield doc.Section("", title, (_loads(loaded),), on=doc.SCREEN)


def _most_ranks(cases: Sequence[Joint]) -> list[Joint]:
    """Of each operation the smallest and the largest message at the most ranks."""
    found: dict[tuple[str | None, str], list[Joint]] = {}
    for one in cases:
        kept = found.setdefault((one.network, one.pattern), [])
        if kept and kept[0].ranks < one.ranks:
            kept.clear()
        kept.append(one)
    ends = (dict.fromkeys((kept[0], kept[-1])) for kept in found.values())
    return [one for pair in ends for one in pair]


def _collectives(cases: Sequence[Joint]) -> doc.Table:
    heads = ("operation", "size", "ranks", "median", "p99", "overlap", "clock")
    limit = doc.RowLimit(
        "and {count} more; the HTML report lists them", {doc.SCREEN: MOST_COLLECTIVES}
    )
    rows = tuple(
        (
            one.pattern, size(one.message_bytes), f"{one.ranks:,}", duration(one.median_s),
            _tail(one.p99_s), words.overlap(one), one.clock,
        )
        for one in cases
    )  # fmt: skip
    return doc.Table(doc.heads(*heads), rows, limit=limit)


def _loads(cases: Sequence[Joint]) -> doc.Table:
    heads = ("load", "size", "pairs", "median", "p99", "p99.9", "× median", "× p99")
    rows = []
    for one in cases:
        still = idle(cases, one) if one.load != "none" else None
        longer = (
            ratio(one.median_s, still.median_s if still else None),
            ratio(one.p99_s, still.p99_s if still else None),
        )
        rows.append((
            patterns.LOADS.get(one.load, one.load), size(one.message_bytes), f"{one.pairs:,}",
            duration(one.median_s), _tail(one.p99_s), _tail(one.p999_s),
            *("" if each is None else words.times(each) for each in longer),
        ))  # fmt: skip
    return doc.Table(doc.heads(*heads), tuple(rows))


def _tabled(cases: Sequence[Joint], limit: doc.RowLimit) -> doc.Table:
    heads = ("pattern", "size", "ranks", "pairs", "load", "median", "p99", "p99.9", "MB/s, sum",
             "overlap", "clock")  # fmt: skip
    rows = tuple(
        (
            one.pattern, size(one.message_bytes), f"{one.ranks:,}", f"{one.pairs:,}",
            patterns.LOADS.get(one.load, one.load), duration(one.median_s), _tail(one.p99_s),
            _tail(one.p999_s), words.rate(one), words.overlap(one), one.clock,
        )
        for one in cases
    )  # fmt: skip
    return doc.Table(doc.heads(*heads), rows, limit=limit)


def _tail(value_s: float | None) -> str:
    return duration(value_s) if value_s is not None else words.TOO_FEW


class _Made(NamedTuple):
    pictures: tuple[Picture | None, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _operations(
    cases: Sequence[Joint], make: Callable[[Sequence[Joint]], _Made], room: _Room
) -> Iterator[doc.Fold]:
    groups: dict[tuple[str | None, str], list[Joint]] = {}
    for one in cases:
        groups.setdefault((one.network, one.pattern), []).append(one)
    for place, group in enumerate(groups.values()):
        blocks = tuple(_operation(group, make(group), room))
        drawn = any(isinstance(one, doc.Plots) for one in blocks)
        note = f"{named(group[0].network)}, {len(group)} cases"
        yield doc.Fold(
            patterns.words_of(group[0].pattern).title, note, blocks, open=drawn or not place
        )


def _operation(group: Sequence[Joint], made: _Made, room: _Room) -> Iterator[doc.Block]:
    if any(map(is_biased, group)):
        yield doc.Paragraph(_BIASED, kind="caution")
    plots = tuple(doc.Plot(one) for one in made.pictures if one is not None)
    if plots and len(plots) <= room.left:
        room.left -= len(plots)
        yield doc.Plots(plots)
    elif plots:
        said = f"Without plots: a page has at most {MOST_PLOTS}. The figures are all here."
        yield doc.Paragraph(said, kind="soft")
    columns = doc.heads(*made.heads, right=True)
    limit = doc.RowLimit("{count} more rows are in the CSV report.", {doc.PAGE: MOST_ROWS})
    yield doc.Table(columns, made.rows, limit=limit)


def _collective(group: Sequence[Joint]) -> _Made:
    non_blocking = any(one.overlap is not None for one in group)
    heads = ("size", "ranks", *_TIMES, *(("overlap",) if non_blocking else ()),
             "clock", "its error", "late starts", *_COUNTS)  # fmt: skip
    rows = tuple(
        (size(one.message_bytes), f"{one.ranks:,}", *_times(one),
         *((words.overlap(one),) if non_blocking else ()),
         one.clock, words.clock_error(one), f"{one.late_starts:,}", *_counts(one))
        for one in group
    )  # fmt: skip
    return _Made(tuple(_collective_pictures(group, non_blocking)), heads, rows)


def _collective_pictures(group: Sequence[Joint], hides: bool) -> Iterator[Picture | None]:
    yield series.curves(
        group, "Time over message size", "last exit - first start, µs", series.SIZES,
        series.TIME, lambda one: one.ranks, lambda one: f"{one.ranks:,} ranks",
    )  # fmt: skip
    yield series.curves(
        series.few_sizes(group), "Time over ranks", "last exit - first start, µs", series.RANKS,
        series.TIME, _message_bytes, _of_size,
    )  # fmt: skip
    if hides:
        yield series.curves(
            group, "Overlap over message size", "% of the operation hidden", series.SIZES,
            series.OVERLAP, lambda one: one.ranks,
            lambda one: f"{one.ranks:,} ranks", log=False, span=(0.0, 105.0),
        )  # fmt: skip


def _crowd(group: Sequence[Joint]) -> _Made:
    heads = ("size", "window", "pairs", "ranks", *_TIMES, "MB/s, sum", "M messages/s, sum",
             *_COUNTS)  # fmt: skip
    rows = tuple(
        (size(one.message_bytes), f"{one.window:,}", f"{one.pairs:,}",
         f"{one.ranks:,}", *_times(one), words.rate(one), words.message_rate(one),
         *_counts(one))
        for one in group
    )  # fmt: skip
    return _Made(tuple(_crowd_pictures(group)), heads, rows)


def _crowd_pictures(group: Sequence[Joint]) -> Iterator[Picture | None]:
    counted = any(one.messages_per_s for one in group) and group[0].pattern != "multi_latency"
    few = series.few_sizes(group)
    if not counted:
        yield series.curves(few, "Time over pairs at once", "µs", series.PAIRS, series.TIME,
                            _message_bytes, _of_size)  # fmt: skip
        return
    sized = [one for one in few if one.message_bytes]
    yield series.curves(sized, "Bandwidth of all pairs", "MB/s, sum", series.PAIRS, series.RATE,
                        _message_bytes, _of_size)  # fmt: skip
    yield series.curves(few, "Message rate of all pairs", "10⁶ messages/s, sum", series.PAIRS,
                        series.MESSAGES, _message_bytes, _of_size)  # fmt: skip
    all_sized = [one for one in group if one.message_bytes]
    yield series.curves(all_sized, "Bandwidth over message size", "MB/s, sum", series.SIZES,
                        series.RATE, lambda one: one.pairs,
                        lambda one: f"{one.pairs:,} pairs")  # fmt: skip


def _loaded(group: Sequence[Joint]) -> _Made:
    heads = ("size", "victims", "ranks", "load", *_TIMES, "median ÷ idle", "p99 ÷ idle",
             "p99.9 ÷ idle", "load sends", *_COUNTS)  # fmt: skip
    rows = tuple(_loaded_row(group, one) for one in group)
    return _Made(tuple(_loaded_pictures(group)), heads, rows)


def _loaded_row(group: Sequence[Joint], one: Joint) -> tuple[str, ...]:
    still = idle(group, one) if one.load != "none" else None
    ratios = (
        ratio(one.median_s, still.median_s if still else None),
        ratio(one.p99_s, still.p99_s if still else None),
        ratio(one.p999_s, still.p999_s if still else None),
    )
    load = f"{amount(one.load_bytes_per_s)}/s" if one.load_bytes_per_s else ""
    return (
        size(one.message_bytes), f"{one.pairs:,}", f"{one.ranks:,}",
        patterns.LOADS.get(one.load, one.load), *_times(one),
        *(words.times(each) if one.load != "none" else "" for each in ratios), load,
        *_counts(one),
    )  # fmt: skip


def _loaded_pictures(group: Sequence[Joint]) -> Iterator[Picture | None]:
    largest = max((one.ranks, one.pairs) for one in group)
    alike = [one for one in group if (one.ranks, one.pairs) == largest]
    least = min(one.message_bytes for one in alike)
    smallest = [one for one in alike if one.message_bytes == least]
    yield series.ladder(smallest, f"Idle and loaded, {size(least)}, {largest[1]:,} pairs")
    yield series.curves(
        alike, "Median and p99 (tint) over message size", "half round trip, µs", series.SIZES,
        series.TIME, lambda one: one.load,
        lambda one: patterns.LOADS.get(one.load, one.load),
    )  # fmt: skip
    same_size = [one for one in group if one.message_bytes == least]
    yield series.curves(
        same_size, f"Over active pairs, {size(least)}", "half round trip, µs", series.PAIRS,
        series.TIME, lambda one: one.load,
        lambda one: patterns.LOADS.get(one.load, one.load),
    )  # fmt: skip


def _times(one: Joint) -> tuple[str, ...]:
    return (
        microseconds(one.median_s), f"{microseconds(one.low_s)} to {microseconds(one.high_s)}",
        microseconds(one.p90_s), words.tail(one.p99_s), words.tail(one.p999_s),
        microseconds(one.minimum_s), microseconds(one.maximum_s),
    )  # fmt: skip


def _counts(one: Joint) -> tuple[str, str]:
    return f"{one.samples:,}", str(one.launches)


def _message_bytes(one: Joint) -> int:
    return one.message_bytes


def _of_size(one: Joint) -> str:
    return size(one.message_bytes)
