"""Runs as the engine would tell them, from noise whose truth is known.

Each case is a median of block medians with its order-statistic interval, several
launches give the hull: what judge/stats/series.py makes of real samples.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.comparison import Operand
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.suite import Quantity, SuiteCurve, SuitePoint

SIZES = tuple(2**power for power in range(24))
PATTERNS: tuple[Pattern, ...] = (
    "latency", "bandwidth", "bidirectional_bandwidth", "put_latency", "put_bandwidth",
)  # fmt: skip

#: Of 20 independent values the median lies between the 6th and the 15th with 95.9 %
#: (binomial distribution), of 6 between the least and the largest with 96.9 %.
ENDS = {20: (5, 14, 0.959), 6: (0, 5, 0.969)}


Blocks = NDArray[np.float64]


class Noise(NamedTuple):
    """Standard deviations, as shares: of blocks, of cases between launches, of whole launches.

    ``hiccups`` is the chance that something disturbs a whole case of one launch: it then
    takes between one and two times as long.
    """

    block: float = 0.01
    case: float = 0.0
    launch: float = 0.0
    hiccups: float = 0.0
    blocks: int = 20


def operand(name: str = "run") -> Operand:
    return Operand(asked=name, kind="run", name=name)


def run(
    random: np.random.Generator,
    noise: Noise,
    launches: int,
    slower: Callable[[Pattern, int], float] = lambda pattern, size: 1.0,
) -> tuple[SuiteCurve, ...]:
    """A run's curves; ``slower`` multiplies the true time."""
    factors = _factors(random, noise, launches)
    return tuple(
        curve(pattern, [
            (size, _estimate(noise, (1e-5 + size / 1e8) * slower(pattern, size) * factor))
            for size, factor in zip(SIZES, of_pattern, strict=True)
        ])
        for pattern, of_pattern in zip(PATTERNS, factors, strict=True)
    )  # fmt: skip


def curve(pattern: Pattern | None, times: list[tuple[int, Estimate]], **said: object) -> SuiteCurve:
    """Times for latency patterns, and the bandwidth that goes with them for others."""
    time = pattern in ("latency", "put_latency")
    quantity: Quantity = "time" if time else "bandwidth"
    points = tuple(SuitePoint(size, one if time else inverse(size, one), 0) for size, one in times)
    given = {
        "suite": "fabricgauge", "version": "0", "benchmark": str(pattern), "title": "", "what": "x",
        "quantity": quantity, "statistic": "median", "unit_rule": "", "first_line": 0,
        "last_line": 0, "points": points, "pattern": pattern,
    }  # fmt: skip
    return SuiteCurve(**{**given, **said})  # type: ignore[arg-type]


def inverse(size: int, time: Estimate) -> Estimate:
    return Estimate(
        size / time.value, size / time.high, size / time.low,
        time.confidence, time.launches, time.samples,
    )  # fmt: skip


def bare(value: float) -> Estimate:
    """A mean as a suite prints it."""
    return Estimate(value, value, value, 0.0, 1, 0)


def _factors(random: np.random.Generator, noise: Noise, launches: int) -> Blocks:
    """Sorted block medians over the true time: by pattern, size, launch, block."""
    cases = (len(PATTERNS), len(SIZES), launches)
    whole = random.normal(0.0, noise.launch, (1, 1, launches))
    case = random.normal(0.0, noise.case, cases)
    hiccup = np.where(random.uniform(size=cases) < noise.hiccups, random.uniform(1, 2, cases), 1.0)
    middle = np.exp(whole + case) * hiccup
    blocks = np.exp(random.normal(0.0, noise.block, (*cases, noise.blocks)))
    return np.sort(middle[..., np.newaxis] * blocks, axis=-1)


def _estimate(noise: Noise, times_s: Blocks) -> Estimate:
    low, high, confidence = ENDS[noise.blocks]
    return Estimate(
        value=float(np.median(np.median(times_s, axis=-1))),
        low=float(times_s[:, low].min()),
        high=float(times_s[:, high].max()),
        confidence=confidence,
        launches=len(times_s),
        samples=1000,
    )
