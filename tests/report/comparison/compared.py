"""Comparisons to report: one with intervals, crossover and unmatched curves; one of means."""

import msgspec

from fabricgauge.compare.comparing import compare
from fabricgauge.model.comparison import Comparison, Operand
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Quantity, SuiteCurve, SuitePoint

SIZES = (0, 8, 1024, 65536, 1 << 20)


def latency(factors: tuple[float, ...], half: float, **said: object) -> SuiteCurve:
    return msgspec.structs.replace(
        _curve("latency", "time", "half round trip"),
        points=tuple(
            SuitePoint(size, _estimate((1e-5 + size * 8e-9) * factor, half), 7)
            for size, factor in zip(SIZES, factors, strict=True)
        ),
        **said,
    )


def bandwidth(factor: float, half: float, **said: object) -> SuiteCurve:
    return msgspec.structs.replace(
        _curve("bandwidth", "bandwidth", "one-way stream"),
        points=tuple(SuitePoint(n, _estimate(117e6 * factor, half), 7) for n in SIZES[1:]),
        **said,
    )


def _curve(pattern: Pattern, quantity: Quantity, what: str) -> SuiteCurve:
    return SuiteCurve(
        suite="fabricgauge", version="0.1.0", benchmark=pattern, title="", what=what,
        quantity=quantity, statistic="median", unit_rule="s", first_line=0, last_line=0,
        points=(), pattern=pattern, hosts=("c1", "c2"), settings={"network": "net1"},
        source="run-1",
    )  # fmt: skip


def _estimate(value: float, half: float) -> Estimate:
    confidence, samples = (0.95, 900) if half else (0.0, 0)
    return Estimate(value, value * (1 - half), value * (1 + half), confidence, 3, samples)


def sure(name: str = "run-1") -> Comparison:
    """B is better at small messages and a regression at large ones, and has one curve more."""
    a = [latency((1, 1, 1, 1, 1), 0.01), bandwidth(1, 0.002)]
    b = [latency((0.8, 0.8, 1.01, 1.4, 1.5), 0.01), bandwidth(1.002, 0.002),
         bandwidth(1, 0.01, pairs=4)]  # fmt: skip
    facts = {"started": "2026-11-21T20:17:44Z"}
    one, other = Operand(name, "run", name, facts), Operand("latest", "run", "run-2", facts)
    return compare(one, a, other, b, 0.05)


def bare(name: str = "osu.out") -> Comparison:
    """Two logs without intervals; B is slower by a tenth and lacks the largest size."""
    said = {"suite": "osu", "version": "7.4", "benchmark": "osu_latency", "statistic": "mean",
            "hosts": (), "settings": {}}  # fmt: skip
    a = latency((1, 1, 1, 1, 1), 0, **said, source=name, first_line=1, last_line=30)
    b = latency((1.1, 1.1, 1.1, 1.1, 1.1), 0, **said, source="b.out", cut_off="ends at 65536 bytes")
    b = msgspec.structs.replace(b, points=b.points[:-1])
    one, other = (
        Operand(name, "file", name),
        Operand("b.out", "file", "b.out", {}, ("3 odd lines",)),
    )
    return compare(one, [a], other, [b], 0.05)


def nothing() -> Comparison:
    return compare(
        Operand("a", "file", "a"), [latency((1,) * 5, 0)],
        Operand("b", "file", "b"), [bandwidth(1, 0)], 0.05,
    )  # fmt: skip
