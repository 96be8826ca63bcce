"""What besides the two sides differs between two curves, or makes a figure doubtful."""

from collections.abc import Iterator

from fabricgauge.compare.differences import Compared
from fabricgauge.model.comparison import Side
from fabricgauge.model.suite import SuiteCurve

_ONE_LAUNCH = (
    "one launch on at least one side: what differs from launch to launch is in no interval"
    " here; measure with several (--profile standard)"
)
#: As the rule `floor` has it for the quickest of networks.
NO_NETWORK_S = 0.5e-6
_MEANS = "means only: no interval possible"


def cautions(pair: Compared) -> tuple[str, ...]:
    """Sentences for a person, the weightiest first."""
    return tuple(one for one in _cautions(pair) if one)


def _cautions(pair: Compared) -> Iterator[str]:
    yield _of_basis(pair)
    a, b = pair.a, pair.b
    if a.statistic != b.statistic:
        yield (
            f"A's figures are of kind {a.statistic}, B's {b.statistic}: where times are skewed"
            " these differ by themselves"
        )
    if a.what.casefold() != b.what.casefold():
        yield f"A measured: {a.what}; B: {b.what}"
    if a.transport and b.transport and a.transport != b.transport:
        yield f"A went over {a.transport}, B over {b.transport}"
    yield from _settings(a, b)
    for side, curve in (("A", a), ("B", b)):
        yield from _of_side(side, curve)  # type: ignore[arg-type]


def _of_basis(pair: Compared) -> str:
    if pair.basis == "launches":
        return ""
    if pair.basis == "intervals":
        return _ONE_LAUNCH
    if not pair.a.statistic == pair.b.statistic == "median":
        return _MEANS
    bare = sum(one.low is None for one in pair.differences)
    return (
        f"too few samples or repetitions for an interval at {bare} of {len(pair.differences)}"
        " sizes: the bare figures decide"
    )


def _settings(a: SuiteCurve, b: SuiteCurve) -> Iterator[str]:
    for key in sorted(a.settings.keys() & b.settings.keys()):
        if a.settings[key] != b.settings[key]:
            yield f"{key} is {a.settings[key]} in A, {b.settings[key]} in B"
    if a.ranks is not None and b.ranks is not None and a.ranks != b.ranks:
        yield f"A ran on {a.ranks} ranks, B on {b.ranks}"


def _of_side(side: Side, curve: SuiteCurve) -> Iterator[str]:
    quickest = min((one.estimate.value for one in curve.points), default=NO_NETWORK_S)
    if curve.pattern == "latency" and curve.quantity == "time" and quickest < NO_NETWORK_S:
        yield (
            f"{side} reaches {quickest * 1e6:.2f} µs, which no network does (at least"
            f" {NO_NETWORK_S * 1e6:g} µs): memory that both ranks share was measured"
        )
    if curve.cut_off:
        yield f"{side} is cut off: {curve.cut_off}"
    for failure in curve.failures:
        where = "" if failure.message_bytes is None else f" at {failure.message_bytes} bytes"
        yield f"{side} has no figure{where} (line {failure.line}): {failure.trouble}"
