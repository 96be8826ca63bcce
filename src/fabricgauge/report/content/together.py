"""Show what many ranks measured together: collectives, latency under load, many pairs at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import Judged
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, NEIGHBOUR_PATTERNS, words_of
from fabricgauge.model.words.figures import amount, digits, duration, microseconds, percent, size
from fabricgauge.model.words.networks import named
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content import cases as series
from fabricgauge.report.content.cases import (
    concurrent_cases,
    find_idle,
    is_biased,
    load,
    ratio,
    select_patterns,
)
from fabricgauge.report.interface import ConcurrentCase
from fabricgauge.report.picture import Picture

MOST_COLLECTIVES, MOST_CROWDS, MOST_CASES = 16, 40, 80
#: Most rows of a page that opens quickly; the CSV report has all.
MOST_ROWS = 400
#: Most plots of cases on a page: each takes time to draw.
MOST_PLOTS = 32
CROWDS = ("multi_latency", "multi_bandwidth", "sendrecv", "exchange", "bisection")
TOO_FEW = "–"

_BIASED = (
    "Some of these times start after a barrier, since no synchronised clock was available: "
    "ranks leave a barrier at different moments, which biases the figures."
)
_WAITED = (
    "“Waits” marks a median that waits for processors made: half of the samples or more may contain"
    " one. It is the hosts' figure, not the network's, so it has no interval."
)
_COLLECTIVES = (
    "A time is that of one operation: from the first rank's start to the last rank's exit, so that"
    " percentiles are those of the slowest rank. Clock “synchronised”: one clock for all ranks,"
    " right within its error; “barrier”: the slowest rank's own time after a barrier, which biases"
    " it. A late start is an iteration that a rank began after the agreed moment; it is left out."
    " Whiskers are the interval of the median, the tint reaches to the 99th percentile. Overlap is"
    " the share of a non-blocking operation's time that concurrent computing hid."
)
_LOADS = (
    "Victim pairs measure half round trips while the other ranks make the load. Ratios compare with"
    " the same victims without load."
)
_CROWDS = (
    "Times are those of one pair, or of one rank in a chain. A rate of pairs is the sum over all"
    " pairs; a rate in a chain is what one rank sends and receives: 2 × size / time of a Sendrecv,"
    " 4 × size / time of an exchange. “Over pairs at once” is latency or rate against the number of"
    " active sessions."
)

#: A head, and the cell of one case below it.
Column = tuple[str, Callable[[ConcurrentCase], str]]
#: The plots of one operation, and the columns of its table.
_Shown = tuple[Iterable[Picture | None], tuple[Column, ...]]

_SECONDS: dict[str, Callable[[ConcurrentCase], float | None]] = {
    "median": lambda case: case.median_s,
    "p90": lambda case: case.p90_s,
    "p99": lambda case: case.p99_s,
    "p99.9": lambda case: case.p999_s,
    "min": lambda case: case.minimum_s,
    "max": lambda case: case.maximum_s,
}


def _time(statistic: str, head: str = "", words: Callable[[float], str] = duration) -> Column:
    """Return a column of ``_SECONDS``, with a sign for too few samples."""
    seconds = _SECONDS[statistic]
    return (
        head or statistic,
        lambda case: TOO_FEW if (time_s := seconds(case)) is None else words(time_s),
    )


def _millions(head: str, per_s: Callable[[ConcurrentCase], float]) -> Column:
    """Return a column in 10^6 per second, of all pairs; empty if messages are not counted."""
    return head, lambda case: digits(per_s(case) / 1e6) if per_s(case) else ""


def _longer(cases: Sequence[ConcurrentCase], head: str, statistic: str) -> Column:
    """Return a column with the factor to the same victims without a load: ``3.21 ×``."""

    def cell(case: ConcurrentCase) -> str:
        if case.load == "none":
            return ""
        still, seconds = find_idle(cases, case), _SECONDS[statistic]
        times = ratio(seconds(case), seconds(still) if still else None)
        return TOO_FEW if times is None else f"{digits(times, 3)} ×"

    return head, cell


_PATTERN: Column = ("pattern", lambda case: case.pattern)
_SIZE: Column = ("size", lambda case: size(case.message_bytes))
_RANKS: Column = ("ranks", lambda case: f"{case.ranks:,}")
_PAIRS: Column = ("pairs", lambda case: f"{case.pairs:,}")
_LOAD: Column = ("load", load)
_RATE = _millions("MB/s", lambda case: case.throughput_bytes_per_s or 0.0)
_OVERLAP: Column = ("overlap", lambda case: "" if case.overlap is None else percent(case.overlap))
_CLOCK: Column = ("clock", lambda case: case.clock)
_LOAD_SENDS: Column = (
    "load sends",
    lambda case: f"{amount(case.load_bytes_per_s)}/s" if case.load_bytes_per_s else "",
)
_WAITS: Column = ("host", lambda case: "waits" if case.waiting else "")
#: Error of the clock that all ranks share; empty without such a clock.
_ERROR: Column = (
    "its error",
    lambda case: duration(case.clock_error_s) if case.clock == "synchronised" else "",
)


def _interval_us(case: ConcurrentCase) -> str:
    return f"{microseconds(case.low_s)} to {microseconds(case.high_s)}"


#: Every time of a case, in µs.
_TIMES: tuple[Column, ...] = (
    _time("median", "median µs", microseconds),
    ("interval µs", lambda case: TOO_FEW if case.waiting else _interval_us(case)),
    *(_time(statistic, words=microseconds) for statistic in ("p90", "p99", "p99.9", "min", "max")),
)
_COUNTS: tuple[Column, ...] = (
    ("samples", lambda case: f"{case.samples:,}"),
    ("launches", lambda case: str(case.launches)),
)


def _table(
    cases: Iterable[ConcurrentCase],
    *columns: Column,
    limit: doc.RowLimit | None = None,
    right: bool = False,
) -> doc.Table:
    cases = tuple(cases)
    columns = (*columns, _WAITS) if _any_waited(cases) else columns
    rows = tuple(tuple(cell(case) for _, cell in columns) for case in cases)
    heads = tuple(doc.ColumnHead(head, right) for head, _ in columns)
    return doc.Table(heads, rows, limit=limit)


def together(judged: Judged) -> Iterator[doc.Section]:
    """Show the ends of each in text; a page has every case, with plots."""
    cases = concurrent_cases(judged.run)
    collectives = select_patterns(cases, *COLLECTIVE_PATTERNS)
    loaded = select_patterns(cases, "loaded_latency")
    more = "and {count} more; the HTML report lists them"
    times = (_time("median"), _time("p99"), _time("p99.9"))
    columns = (
        ("operation", _PATTERN[1]), _SIZE, _RANKS, _time("median"), _time("p99"), _RATE, _OVERLAP,
        _CLOCK,
    )  # fmt: skip
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_COLLECTIVES})
    title = "Collectives at most ranks; last exit - first start; by barrier: slowest rank"
    title += "; MB/s is size / time"
    table = _table(_most_ranks(collectives), *columns, limit=limit)
    yield doc.Section("", title, (table,), on=doc.SCREEN)
    longer = (_longer(cases, "× median", "median"), _longer(cases, "× p99", "p99"))
    crowds = select_patterns(cases, *CROWDS)
    columns = (("pattern", _PATTERN[1]), _SIZE, _RANKS, _PAIRS, *times, _RATE)
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_CROWDS})
    title = "Many ranks at once; MB/s: sum of all pairs, or one rank's sent and received"
    table = _table(_most_pairs(crowds), *columns, limit=limit)
    yield doc.Section("", title, (table,), on=doc.SCREEN)
    title = "Latency under load; half round trip, and the factor to idle"
    table = _table(loaded, _LOAD, _SIZE, _PAIRS, *times, *longer)
    yield doc.Section("", title, (table,), on=doc.SCREEN)
    limit = doc.RowLimit("and {count} more; the CSV report has them all", {doc.TRACKER: MOST_CASES})
    of_all = (_PATTERN, _SIZE, _RANKS, _PAIRS, _LOAD, *times, _RATE, _OVERLAP, _CLOCK)
    table = _table(cases, *of_all, limit=limit)
    yield doc.Section("together", "Many ranks together", (table,), on=doc.TRACKER)
    pictures: list[Picture] = []
    for ident, nav, title, intro, group, make in (
        ("load", "Load", "Latency under load", _LOADS, loaded, _loaded),
        ("crowds", "Many pairs", "Many pairs at once", _CROWDS, crowds, _crowd),
        ("collectives", "Collectives", "Collectives", _COLLECTIVES, collectives, _collective),
    ):  # fmt: skip
        blocks = (doc.Deferred(partial(_operations, group, make, pictures)),) if group else ()
        yield doc.Section(ident, title, blocks, nav=nav, intro=intro, on=doc.PAGE)


def _most_ranks(cases: Sequence[ConcurrentCase]) -> list[ConcurrentCase]:
    """Return the smallest and the largest message of each operation at the most ranks."""
    ends: list[ConcurrentCase] = []
    for group in group_by(cases, _operation).values():
        largest = max(case.ranks for case in group)
        largest_cases = [case for case in group if case.ranks == largest]
        ends += dict.fromkeys((largest_cases[0], largest_cases[-1]))
    return ends


def _most_pairs(cases: Sequence[ConcurrentCase]) -> list[ConcurrentCase]:
    groups = group_by(cases, _operation)
    largest = {key: max(case.pairs for case in group) for key, group in groups.items()}
    return [case for case in cases if case.pairs == largest[_operation(case)]]


def _operation(case: ConcurrentCase) -> tuple[str | None, str]:
    return case.network, case.pattern


def _operations(
    cases: Sequence[ConcurrentCase],
    make: Callable[[Sequence[ConcurrentCase]], _Shown],
    page_pictures: list[Picture],
) -> Iterator[doc.Fold]:
    """Yield each operation of each network; ``page_pictures`` counts the page's plots so far."""
    limit = doc.RowLimit("{count} more rows are in the CSV report.", {doc.PAGE: MOST_ROWS})
    for place, group in enumerate(group_by(cases, _operation).values()):
        pictures, columns = make(group)
        plots = [picture for picture in pictures if picture is not None]
        fit = len(page_pictures) + len(plots) <= MOST_PLOTS
        page_pictures += plots * fit
        blocks: tuple[doc.Block, ...] = (
            *([doc.Paragraph(_BIASED, kind="caution")] if any(map(is_biased, group)) else []),
            *([doc.Paragraph(_WAITED, kind="caution")] if _any_waited(group) else []),
            doc.side_by_side(plots) if fit else doc.Paragraph(_WITHOUT, kind="soft"),
            _table(group, *columns, limit=limit, right=True),
        )
        title = words_of(group[0].pattern).title
        note = f"{named(group[0].network)}, {counted(len(group), 'case')}"
        yield doc.Fold(title, note, blocks, open=bool(plots and fit) or not place)


def _any_waited(cases: Iterable[ConcurrentCase]) -> bool:
    return any(case.waiting for case in cases)


_WITHOUT = f"Without plots: a page has at most {MOST_PLOTS}. The figures are all here."
_SPAN = "last exit - first start, µs"


def _ranks(case: ConcurrentCase) -> str:
    return f"{case.ranks:,} ranks"


def _collective(group: Sequence[ConcurrentCase]) -> _Shown:
    hides = (_OVERLAP,) if any(case.overlap is not None for case in group) else ()
    late: Column = ("late starts", lambda case: f"{case.late_starts:,}")
    over = partial(series.curves, y_label=_SPAN, figure=series.TIME)
    few_sizes = series.few_sizes(group)
    pictures = [
        over(group, "Time over message size", axis=series.SIZES, by=_ranks),
        over(few_sizes, "Time over ranks", axis=series.RANKS, by=_SIZE[1]),
    ]
    if hides:
        title, label = "Overlap over message size", "% of the operation hidden"
        pictures.append(series.curves(group, title, label, series.SIZES, series.OVERLAP, _ranks))
    return pictures, (_SIZE, _RANKS, *_TIMES, _RATE, *hides, _CLOCK, _ERROR, late, *_COUNTS)


def _crowd(group: Sequence[ConcurrentCase]) -> _Shown:
    window: Column = ("window", lambda case: f"{case.window:,}")
    rate = _millions("M messages/s, sum", lambda case: case.messages_per_s)
    columns = (_SIZE, window, _PAIRS, _RANKS, *_TIMES, _RATE, rate, *_COUNTS)
    return _crowd_pictures(group), columns


def _crowd_pictures(group: Sequence[ConcurrentCase]) -> Iterator[Picture | None]:
    few_sizes = series.few_sizes(group)
    over = partial(series.curves, axis=series.PAIRS, by=_SIZE[1])
    sized = [case for case in group if case.message_bytes]
    if group[0].pattern in NEIGHBOUR_PATTERNS:
        over_sizes = partial(series.curves, axis=series.SIZES, by=_ranks)
        yield over_sizes(group, "Time over message size", "µs", figure=series.TIME)
        label = "MB/s, sent and received by one rank"
        yield over_sizes(sized, "Throughput over message size", label, figure=series.THROUGHPUT)
    elif group[0].pattern == "multi_latency" or not any(case.messages_per_s for case in group):
        yield over(few_sizes, "Time over pairs at once", "µs", figure=series.TIME)
    else:
        few_sized = [case for case in few_sizes if case.message_bytes]
        yield over(few_sized, "Bandwidth of all pairs", "MB/s, sum", figure=series.RATE)
        label = "10⁶ messages/s, sum"
        yield over(few_sizes, "Message rate of all pairs", label, figure=series.MESSAGES)
        yield series.curves(
            sized, "Bandwidth over message size", "MB/s, sum", series.SIZES, series.RATE,
            lambda case: f"{case.pairs:,} pairs",
        )  # fmt: skip


def _loaded(group: Sequence[ConcurrentCase]) -> _Shown:
    longer = (
        _longer(group, f"{statistic} ÷ idle", statistic) for statistic in ("median", "p99", "p99.9")
    )
    victims: Column = ("victims", _PAIRS[1])
    columns = (_SIZE, victims, _RANKS, _LOAD, *_TIMES, *longer, _LOAD_SENDS, *_COUNTS)
    largest = max((case.ranks, case.pairs) for case in group)
    largest_cases = [case for case in group if (case.ranks, case.pairs) == largest]
    least_bytes = min(case.message_bytes for case in largest_cases)
    smallest = [case for case in largest_cases if case.message_bytes == least_bytes]
    same_size = [case for case in group if case.message_bytes == least_bytes]
    over = partial(series.curves, y_label="half round trip, µs", figure=series.TIME, by=load)
    pictures = (
        series.ladder(smallest, f"Idle and loaded, {size(least_bytes)}, {largest[1]:,} pairs"),
        over(largest_cases, "Median and p99 (tint) over message size", axis=series.SIZES),
        over(same_size, f"Over active pairs, {size(least_bytes)}", axis=series.PAIRS),
    )
    return pictures, columns
