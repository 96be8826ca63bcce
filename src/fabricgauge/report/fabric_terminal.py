"""What the terminal report says of a fabric of many nodes: who is at fault, what is typical."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import PairAnalysis
from fabricgauge.report import fabric_case_words, fabric_words
from fabricgauge.report.fabric_cases import Joint, collectives, idle, joint, of_pattern, ratio
from fabricgauge.report.networks import named
from fabricgauge.report.quantities import duration, percent, size
from fabricgauge.report.terminal_tables import grid, indented, plain

MOST_FINDINGS = 8
MOST_EVIDENCE = 4
MOST_SUSPECTS = 4
#: A wider table of percentages does not fit 80 columns.
MOST_NODES_DRAWN = 16
LONGEST_NAME = 10
MOST_COLLECTIVES = 16


def findings(judged: Judged) -> Iterator[RenderableType]:
    """Right below the verdict; nothing without a matrix of pairs."""
    if not judged.fabric.analyses:
        return
    found = fabric_words.findings(judged)
    yield Text()
    yield plain(fabric_words.heading(found), "bold")
    for one in found[:MOST_FINDINGS]:
        yield indented(one.sentence)
        for sentence in one.evidence[:MOST_EVIDENCE]:
            yield indented(sentence, 4)
    yield from _more(len(found) - MOST_FINDINGS)
    suspects = fabric_words.suspects(judged)
    for suspect in suspects[:MOST_SUSPECTS]:
        said = f"{suspect.what} is {suspect.effect}, not named: {suspect.reason}"
        yield indented(f"suspect: {suspect.who}: {said}")
        yield indented(f"next: {suspect.next_test}", 4)
    yield from _more(len(suspects) - MOST_SUSPECTS)


def _more(count: int) -> Iterator[RenderableType]:
    if count > 0:
        yield indented(f"and {count} more; the HTML report lists them")


def pairs(judged: Judged) -> Iterator[RenderableType]:
    """What is typical and worst of each matrix; small ones are drawn in percent of the typical."""
    analyses = judged.fabric.analyses
    if not analyses:
        return
    yield Text()
    count = max(len(one.matrix.nodes) for one in analyses)
    yield plain(f"All pairs of {count:,} nodes", "bold")
    table = grid(("", "typical", "worst node", "noise", "covered", "named", "suspects"))
    table.columns[0].no_wrap = True
    for one in analyses:
        cells = (
            _name(one), fabric_words.typical(one), _worst(one), fabric_words.noise(one),
            percent(one.matrix.coverage), str(len(one.findings)), str(len(one.suspects)),
        )  # fmt: skip
        table.add_row(*map(plain, cells))
    yield table
    for one in analyses:
        if len(one.matrix.nodes) <= MOST_NODES_DRAWN:
            yield Text()
            yield plain(f"{fabric_words.title(one)}, % of the typical; rows send, columns receive")
            yield _drawn(one)


def _name(analysis: PairAnalysis) -> str:
    matrix = analysis.matrix
    what = f"{matrix.quantity} {size(matrix.message_bytes)}"
    return f"{named(matrix.network)} {what}"


def _worst(analysis: PairAnalysis) -> str:
    if not analysis.ranking:
        return "none"
    worst = analysis.ranking[0]
    return f"{worst.node} {fabric_words.value(analysis.matrix.quantity, worst.typical)}"


def _drawn(analysis: PairAnalysis) -> Table:
    """Cells in percent of the typical, ``·`` where nothing was measured."""
    order = list(analysis.order) or list(range(len(analysis.matrix.nodes)))
    names = [_short(analysis.matrix.nodes[place]) for place in order]
    shares = 100 * analysis.matrix.values[np.ix_(order, order)] / analysis.typical
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("")
    for place in range(1, len(names) + 1):
        table.add_column(str(place), justify="right")
    for place, (name, row) in enumerate(zip(names, shares.tolist(), strict=True), 1):
        cells = ("·" if share != share else f"{share:.0f}" for share in row)
        table.add_row(plain(f"{place} {name}"), *cells)
    return table


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def together(judged: Judged) -> Iterator[RenderableType]:
    """Collectives at their most ranks, and latency under load beside that without."""
    cases = joint(judged.run)
    found = _most_ranks(collectives(cases))
    if found:
        yield Text()
        yield plain(
            "Collectives at most ranks; last exit - first start; by barrier: slowest rank", "bold"
        )
        yield _collectives(found[:MOST_COLLECTIVES])
        yield from _more(len(found) - MOST_COLLECTIVES)
    loaded = of_pattern(cases, "loaded_latency")
    if loaded:
        yield Text()
        yield plain("Latency under load; half round trip, and times as long as idle", "bold")
        yield _loads(loaded)


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


def _collectives(cases: Sequence[Joint]) -> Table:
    table = grid(("operation", "size", "ranks", "median", "p99", "overlap", "clock"))
    for one in cases:
        cells = (
            one.pattern, size(one.message_bytes), f"{one.ranks:,}",
            duration(one.median_s), _tail(one.p99_s), fabric_case_words.overlap(one), one.clock,
        )  # fmt: skip
        table.add_row(*map(plain, cells))
    return table


def _loads(cases: Sequence[Joint]) -> Table:
    table = grid(("load", "size", "pairs", "median", "p99", "p99.9", "× median", "× p99"))
    for one in cases:
        still = idle(cases, one) if one.load != "none" else None
        times = (
            ratio(one.median_s, still.median_s if still else None),
            ratio(one.p99_s, still.p99_s if still else None),
        )
        cells = (
            fabric_case_words.LOADS.get(one.load, one.load),
            size(one.message_bytes), f"{one.pairs:,}", duration(one.median_s),
            _tail(one.p99_s), _tail(one.p999_s),
            *("" if each is None else fabric_case_words.times(each) for each in times),
        )  # fmt: skip
        table.add_row(*map(plain, cells))
    return table


def _tail(value_s: float | None) -> str:
    return duration(value_s) if value_s is not None else fabric_case_words.TOO_FEW
