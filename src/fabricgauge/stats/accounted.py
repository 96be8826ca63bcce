"""How much payload a suite's output accounts for: the least that must have crossed."""

from collections.abc import Sequence

from fabricgauge.model.measurement import LATENCY_PATTERNS
from fabricgauge.model.suite import SuiteCurve


def accounted_bytes(curves: Sequence[SuiteCurve]) -> tuple[int, int]:
    """Bytes that ranks 0 and 1 sent at the least, by what the curves say.

    A table with two quantities tells of the same messages twice: per table the one that
    accounts for most counts. Windows and warm-up are left out, for no log tells them all.
    """
    most: dict[tuple[str, int], tuple[int, int]] = {}
    for curve in curves:
        key = (curve.source, curve.first_line)
        sent, before = _sent(curve), most.get(key, (0, 0))
        most[key] = (max(sent[0], before[0]), max(sent[1], before[1]))
    return sum(one[0] for one in most.values()), sum(one[1] for one in most.values())


def _sent(curve: SuiteCurve) -> tuple[int, int]:
    one_way = _streamed(curve) or sum(
        one.message_bytes * max(1, one.estimate.samples)
        for one in curve.points
        if one.message_bytes is not None
    )
    both = curve.directions == 2 or curve.pattern in LATENCY_PATTERNS - {"put_latency"}
    if both:
        return one_way, one_way
    return (one_way, 0) if curve.origin == 0 else (0, one_way)


def _streamed(curve: SuiteCurve) -> int:
    """What a stream of a set time carried: its mean rate by its seconds."""
    try:
        seconds = float(curve.settings.get("duration", "0 s").removesuffix(" s"))
    except ValueError:
        return 0
    if curve.quantity != "bandwidth" or not 0 < seconds < 1e6:
        return 0
    return int(sum(one.estimate.value for one in curve.points) * seconds)
