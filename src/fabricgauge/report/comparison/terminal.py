"""A comparison as a page of text: the outcome, the pairs in a row each, then size by size."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fabricgauge.model.comparison import Comparison, Operand, Pair
from fabricgauge.report.comparison import words
from fabricgauge.report.interface import Setting
from fabricgauge.report.terminal_tables import grid, indented, plain
from fabricgauge.report.text_page import printed

STYLES = {
    "regression": "bold white on red",
    "no regression": "green",
    "undecided": "bold black on cyan",
    "nothing comparable": "bold black on cyan",
}
MOST_UNMATCHED = 12
MOST_NOTES = 8


def render(comparison: Comparison, setting: Setting) -> str:
    """Plain text unless the setting asks for colour."""
    return printed(_parts(comparison), setting)


def _parts(comparison: Comparison) -> Iterator[RenderableType]:
    outcome = comparison.outcome
    line = Text(f" {outcome.upper()} ", style=STYLES[outcome]).append(" ")
    yield line.append_text(plain(words.headline(comparison), "bold"))
    yield Text()
    yield from _operand("A", comparison.a)
    yield from _operand("B", comparison.b)
    if len(comparison.pairs) > 1:
        yield Text()
        yield _overview(comparison.pairs)
    for pair in comparison.pairs:
        yield from _pair(pair, comparison.tolerance)
    yield from _unmatched(comparison)
    if any(pair.basis != "means" for pair in comparison.pairs):
        yield Text()
        yield plain(words.INTERVALS, "dim")


def _operand(side: str, operand: Operand) -> Iterator[RenderableType]:
    facts = "; ".join(f"{key} {value}" for key, value in operand.facts.items())
    yield plain(f"{side}  {words.named(operand)}" + (f": {facts}" if facts else ""))
    for note in operand.notes[:MOST_NOTES]:
        yield indented(f"! {note}", 3)


def _overview(pairs: tuple[Pair, ...]) -> Table:
    table = grid(("result", "curves", "sizes", "median change"))
    for pair in pairs:
        change = words.change(pair.summary.median_change, pair.a.quantity)
        cells = (words.result(pair), words.title(pair), str(pair.summary.sizes), change)
        table.add_row(*map(plain, cells))
    return table


def _pair(pair: Pair, tolerance: float) -> Iterator[RenderableType]:
    yield Text()
    yield plain(f"{words.result(pair)}: {words.title(pair)}", "bold")
    if pair.regression:
        yield indented(pair.regression)
    yield indented(words.summed_up(pair))
    if pair.summary.sizes > 1:
        yield indented(words.counted(pair, tolerance))
    for sentence in (*words.crossings(pair), *pair.notes[:MOST_NOTES]):
        yield indented(sentence)
    for side, only in (("A", pair.only_a), ("B", pair.only_b)):
        if only:
            yield indented(f"only in {side}: {words.sizes(only)}")
    yield _sizes(pair)


def _sizes(pair: Pair) -> Table:
    quantity = pair.a.quantity
    unit = words.unit(quantity)
    intervals = pair.basis != "means"
    heads = ("size", f"A {unit}", f"B {unit}", "B against A")
    table = grid((*heads, "interval", "beyond") if intervals else heads, right=4)
    for one in pair.differences:
        cells = [
            words.size_or_none(one.message_bytes),
            words.figure(one.a, quantity),
            words.figure(one.b, quantity),
            words.change(one.change, quantity),
        ]
        if intervals:
            cells += [words.change_interval(one), words.STANDINGS[one.standing]]
        table.add_row(*map(plain, cells))
    return table


def _unmatched(comparison: Comparison) -> Iterator[RenderableType]:
    left = comparison.unmatched
    if not left:
        return
    yield Text()
    yield plain("Not compared", "bold")
    for one in left[:MOST_UNMATCHED]:
        yield indented(f"{one.side}: {words.described(one.curve)}: {one.reason}")
    if len(left) > MOST_UNMATCHED:
        yield indented(f"and {len(left) - MOST_UNMATCHED} more; JSON and HTML list all")
