"""All measurements of one pattern in one direction, by message size."""

from collections.abc import Sequence

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import LATENCY_PATTERNS, Pattern
from fabricgauge.model.run import Launch
from fabricgauge.stats.launches import Observed, bandwidth_estimate, time_estimate, usable_of


class Point(msgspec.Struct, frozen=True):
    """One message size: seconds per sample, and payload bytes/s per direction."""

    message_bytes: int
    time: Estimate
    bandwidth: Estimate
    observed: tuple[Observed, ...]


class Series(msgspec.Struct, frozen=True):
    """One pattern from one node to another, points in ascending message size."""

    pattern: Pattern
    origin: str
    target: str
    points: tuple[Point, ...]

    @property
    def is_latency(self) -> bool:
        return self.pattern in LATENCY_PATTERNS

    def at_least(self, message_bytes: float) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.message_bytes >= message_bytes)

    def best(self, from_bytes: float) -> Point | None:
        """The best assured bandwidth among messages of at least ``from_bytes``.

        That is the point whose interval begins highest: the highest median alone would
        pick the luckiest of the noisy ones.
        """
        return max(self.at_least(from_bytes), key=_assured, default=None)


def _assured(point: Point) -> tuple[bool, float]:
    return point.bandwidth.supported, point.bandwidth.low


def point(message_bytes: int, observed: Sequence[Observed]) -> Point:
    """The point that all usable measurements of one size make together."""
    ordered = tuple(sorted(observed, key=lambda one: (one.launch, one.times.median_s)))
    return Point(message_bytes, time_estimate(ordered), bandwidth_estimate(ordered), ordered)


def series_of(launches: Sequence[Launch]) -> tuple[Series, ...]:
    """Every pattern and direction that the launches measured, in a fixed order.

    Ranks are named by the node that the launch put them on; a measurement without
    usable times is left out.
    """
    found: dict[tuple[Pattern, str, str], dict[int, list[Observed]]] = {}
    for launch in launches:
        for one in usable_of(launch.number, launch.measurements):
            key = (
                one.measurement.pattern,
                node_of(launch, one.measurement.origin),
                node_of(launch, one.measurement.target),
            )
            sizes = found.setdefault(key, {})
            sizes.setdefault(one.measurement.message_bytes, []).append(one)
    return tuple(
        Series(*key, tuple(point(size, found[key][size]) for size in sorted(found[key])))
        for key in sorted(found)
    )


def node_of(launch: Launch, rank: int) -> str:
    """The node that a rank was meant to run on."""
    return launch.nodes[rank] if 0 <= rank < len(launch.nodes) else f"rank {rank}"
