"""What other suites' output says, as rows: one per curve, one per figure."""

from collections.abc import Iterator
from typing import NamedTuple

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS, SuiteCurve, SuitePoint
from fabricgauge.words.figures import digits, of_unit, percent, size

#: Statistics that no reader takes for each other; words as the reports print them.
STATISTICS = {
    "mean": "mean", "median": "median", "typical": "typical (the suite's median)",
    "minimum": "minimum", "maximum": "maximum", "single": "as printed",
}  # fmt: skip


#: How ``what`` begins for the bandwidth column beside a ping-pong's times, which are judged.
_PING_PONG = "ping-pong bandwidth"


class Told(NamedTuple):
    """A curve and the launch (for imported ones: the file) that it is of."""

    launch: Launch
    curve: SuiteCurve


class SuiteRow(NamedTuple):
    """One curve in a line: ``figure`` is its best value and the size that has it."""

    where: str
    benchmark: str
    what: str
    sizes: str
    figure: str
    share: str
    rule: str
    remark: str


def told(judged: Judged) -> tuple[Told, ...]:
    """All curves that other suites' output gave, in the order of reading."""
    return tuple(Told(launch, one) for launch in judged.run.launches for one in launch.curves)


def row(judged: Judged, one: Told) -> SuiteRow:
    return row_of(one.curve, ceiling_of(judged, one))


def row_of(curve: SuiteCurve, limit: float | None) -> SuiteRow:
    """A curve's row; ``limit`` is the ceiling in its unit, None where none applies."""
    best = best_point(curve)
    return SuiteRow(
        where=f"{curve.source}:{curve.first_line}",
        benchmark=f"{curve.suite} {curve.version} {curve.benchmark}".replace("  ", " "),
        what=_what(curve),
        sizes=sizes(curve),
        figure=f"{value(curve, best)}{at(best)}" if best else "no figure",
        share=percent(best.estimate.value / limit) if best and limit else "",
        rule=curve.unit_rule,
        remark="; ".join((*_remarks(curve), *_above(best, limit))),
    )


def _what(curve: SuiteCurve) -> str:
    placement = curve.settings.get("placement", "")
    words = (curve.what, placement, STATISTICS[curve.statistic])
    return ", ".join(word for word in words if word)


def best_point(curve: SuiteCurve) -> SuitePoint | None:
    """The least time, or the most of anything else."""
    if curve.quantity in LESS_IS_BETTER:
        return min(curve.points, key=lambda one: one.estimate.value, default=None)
    return max(curve.points, key=lambda one: one.estimate.value, default=None)


def value(curve: SuiteCurve, one: SuitePoint) -> str:
    """A figure with its unit: ``116.96 MB/s``, ``49.81 µs``, ``1.234 M messages/s``."""
    if curve.quantity == "message_rate":
        return f"{digits(one.estimate.value / 1e6)} M messages/s"
    return of_unit(one.estimate.value, UNITS[curve.quantity])


def at(one: SuitePoint) -> str:
    return "" if one.message_bytes is None else f" at {size(one.message_bytes)}"


def sizes(curve: SuiteCurve) -> str:
    """``24 sizes, 0 B to 4 MiB``."""
    known = [one.message_bytes for one in curve.points if one.message_bytes is not None]
    if not known:
        return "no size" if curve.points else "none"
    if len(set(known)) == 1:
        return size(known[0])
    return f"{len(set(known))} sizes, {size(min(known))} to {size(max(known))}"


def ceiling_of(judged: Judged, one: Told) -> float | None:
    """What the stated network allows for a bandwidth curve, bytes/s; None where none is known.

    Bytes that move in ways that no rule knows are held against nothing.
    """
    network, curve = one.launch.network, one.curve
    ceiling = judged.ceilings.get(network) if network is not None else None
    if not isinstance(ceiling, Ceiling) or curve.quantity != "bandwidth":
        return None
    if curve.pattern is None and not curve.what.startswith(_PING_PONG):
        return None
    links = curve.most_links(one.launch.hosts_of(curve))
    return ceiling.payload_bytes_per_s * curve.directions * links


def _above(best: SuitePoint | None, limit: float | None) -> Iterator[str]:
    if best and limit and best.estimate.value > 1.01 * limit:
        yield "above the ceiling: see above-ceiling"


def _remarks(curve: SuiteCurve) -> Iterator[str]:
    if curve.pairs > 1:
        yield f"sum over {curve.pairs} pairs"
    if curve.directions > 1:
        yield "sum of both directions"
    if curve.failures:
        rows = "row" if len(curve.failures) == 1 else "rows"
        yield f"{len(curve.failures)} {rows} without a figure"
    if curve.cut_off:
        yield "cut off"
