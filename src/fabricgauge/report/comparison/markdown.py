"""A comparison as a page of Markdown that reads well in an issue tracker."""

from collections.abc import Iterator

from fabricgauge.model.comparison import Comparison, Operand, Pair
from fabricgauge.report.comparison import words
from fabricgauge.report.inert import inert
from fabricgauge.report.interface import Setting
from fabricgauge.report.markdown import table

MOST_UNMATCHED = 60


def render(comparison: Comparison, _setting: Setting) -> str:
    """Outcome, both sides, a table of the pairs, then each pair size by size."""
    return "\n\n".join(_blocks(comparison)) + "\n"


def _blocks(comparison: Comparison) -> Iterator[str]:
    yield f"# {comparison.outcome.upper()}"
    yield f"{inert(words.headline(comparison))}."
    sides = (("A", comparison.a), ("B", comparison.b))
    yield table(("side", "what", "known of it"), (_operand(*one) for one in sides))
    if len(comparison.pairs) > 1:
        heads = ("result", "curves", "sizes", "median change")
        yield table(heads, map(_overview, comparison.pairs))
    for pair in comparison.pairs:
        yield from _pair(pair, comparison.tolerance)
    yield from _unmatched(comparison)
    if any(pair.basis != "means" for pair in comparison.pairs):
        yield words.INTERVALS


def _operand(side: str, operand: Operand) -> tuple[str, ...]:
    facts = (f"{key} {value}" for key, value in operand.facts.items())
    return side, inert(words.named(operand)), inert("; ".join((*facts, *operand.notes)))


def _overview(pair: Pair) -> tuple[str, ...]:
    result = f"**{words.result(pair)}**" if pair.regression else words.result(pair)
    change = words.change(pair.summary.median_change, pair.a.quantity)
    return result, inert(words.title(pair)), str(pair.summary.sizes), change


def _pair(pair: Pair, tolerance: float) -> Iterator[str]:
    yield f"## {words.result(pair)}: {inert(words.title(pair))}"
    yield "\n".join(f"- {inert(sentence)}" for sentence in _sentences(pair, tolerance))
    unit = words.unit(pair.a.quantity)
    heads = ["size", f"A {unit}", f"B {unit}", "B against A"]
    if pair.basis != "means":
        heads += ["interval", "beyond"]
    yield table(heads, (row[: len(heads)] for row in _rows(pair)), right=True)


def _sentences(pair: Pair, tolerance: float) -> Iterator[str]:
    if pair.regression:
        yield pair.regression
    yield words.summed_up(pair)
    yield words.counted(pair, tolerance)
    yield from words.crossings(pair)
    yield from pair.notes
    for side, only in (("A", pair.only_a), ("B", pair.only_b)):
        if only:
            yield f"only in {side}: {words.sizes(only)}"
    yield f"A: {words.origin(pair.a)}"
    yield f"B: {words.origin(pair.b)}"


def _rows(pair: Pair) -> Iterator[tuple[str, ...]]:
    quantity = pair.a.quantity
    for one in pair.differences:
        yield (
            words.size_or_none(one.message_bytes),
            words.figure(one.a, quantity),
            words.figure(one.b, quantity),
            words.change(one.change, quantity),
            words.change_interval(one),
            words.STANDINGS[one.standing],
        )


def _unmatched(comparison: Comparison) -> Iterator[str]:
    left = comparison.unmatched
    if not left:
        return
    yield "## Not compared"
    rows = ((one.side, words.described(one.curve), one.reason) for one in left[:MOST_UNMATCHED])
    yield table(("side", "curve", "why"), (tuple(map(inert, row)) for row in rows))
    if len(left) > MOST_UNMATCHED:
        yield f"And {len(left) - MOST_UNMATCHED} more; the JSON form has them all."
