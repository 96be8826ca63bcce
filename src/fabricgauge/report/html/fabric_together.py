"""The page's parts on collectives, many pairs and load: tables and plots."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fabricgauge.model.judged import Judged
from fabricgauge.report import fabric_case_words as words
from fabricgauge.report.fabric_cases import (
    Joint,
    collectives,
    idle,
    is_biased,
    joint,
    of_pattern,
    ratio,
)
from fabricgauge.report.html import fabric_series as series
from fabricgauge.report.html.document import Slot, slot
from fabricgauge.report.html.series import Picture
from fabricgauge.report.networks import named
from fabricgauge.report.quantities import amount, microseconds, size

#: More rows than this make a page slow to open; the CSV report has them all.
MOST_ROWS = 400
#: So many plots a page has at most: each takes time to make and to draw.
MOST_PLOTS = 32
CROWDS = ("multi_latency", "multi_bandwidth", "sendrecv", "exchange", "bisection")


class Operation(NamedTuple):
    """One pattern on one network: its plots and its figures in rows."""

    title: str
    network: str
    slots: tuple[Slot, ...]
    plots_left_out: int
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    caution: str


_TIMES = ("median µs", "interval µs", "p90", "p99", "p99.9", "min", "max")
_COUNTS = ("samples", "launches")
_BIASED = (
    "Some of these times are taken after a barrier, since no synchronised clock was there: "
    "ranks leave a barrier at different moments, and that bias is in the figures."
)


def filled(judged: Judged, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Values for the templates; all are empty when no case of many ranks was measured."""
    cases = joint(judged.run)
    return {
        "loads": _operations(of_pattern(cases, "loaded_latency"), _loaded, documents),
        "crowds": _operations(of_pattern(cases, *CROWDS), _crowd, documents),
        "collectives": _operations(collectives(cases), _collective, documents),
        "most_plots": MOST_PLOTS,
    }


class _Made(NamedTuple):
    pictures: tuple[Picture | None, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _operations(
    cases: Sequence[Joint], make: Any, documents: list[dict[str, Any]]
) -> list[Operation]:
    groups: dict[tuple[str | None, str], list[Joint]] = {}
    for one in cases:
        groups.setdefault((one.network, one.pattern), []).append(one)
    return [_operation(group, make(group), documents) for group in groups.values()]


def _operation(
    group: Sequence[Joint], made: _Made, documents: list[dict[str, Any]]
) -> Operation:  # fmt: skip
    pictures = [one for one in made.pictures if one is not None]
    room = len(documents) + len(pictures) <= MOST_PLOTS
    slots = tuple(slot(one, documents) for one in pictures) if room else ()
    return Operation(
        title=words.titled(group[0].pattern),
        network=named(group[0].network),
        slots=slots,
        plots_left_out=0 if room else len(pictures),
        heads=made.heads,
        rows=made.rows[:MOST_ROWS],
        left_out=max(0, len(made.rows) - MOST_ROWS),
        caution=_BIASED if any(map(is_biased, group)) else "",
    )


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
        words.LOADS.get(one.load, one.load), *_times(one),
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
        lambda one: words.LOADS.get(one.load, one.load),
    )  # fmt: skip
    same_size = [one for one in group if one.message_bytes == least]
    yield series.curves(
        same_size, f"Over active pairs, {size(least)}", "half round trip, µs", series.PAIRS,
        series.TIME, lambda one: one.load,
        lambda one: words.LOADS.get(one.load, one.load),
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
