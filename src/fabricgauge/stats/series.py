"""All measurements of one pattern in one direction, by message size, over all launches.

Launches differ by more than the samples within one do, and a run has too few of
them for an interval of their own. An estimate is therefore the median of the
launches' medians, and its interval is the hull of the launches' intervals: it is
wider than it need be, never narrower.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import GET_PATTERNS, LATENCY_PATTERNS, PAIR_PATTERNS, Pattern
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.words import subjects

#: A headline "12,171 MB/s" without a size stands for a stream so long that size plays no part.
PEAK_BYTES = 1 << 30


class Observed(msgspec.Struct, frozen=True):
    """One usable measurement of one launch: seconds per sample, and what a sample carries.

    ``median_s`` is the mean where another suite says nothing else; then ``confidence`` is
    0 and the interval has no width. It is 0 as well where waits for a processor made the median.
    ``p99_s`` is None where it is not known.
    ``measurement`` is None for another suite's figure.
    """

    launch: int
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    samples: int
    payload_bytes: float
    p99_s: float | None
    measurement: Measurement | None


def usable_of(launch: int, measurements: Iterable[Measurement]) -> Iterator[Observed]:
    """Those that ended well, with times that are positive, finite and in order."""
    for one in measurements:
        times = one.times
        if one.status != "ok" or times is None or one.samples < 1:
            continue
        numbers = (times.low_s, times.median_s, times.high_s)
        fine = all(math.isfinite(number) and number > 0 for number in numbers)
        if fine and times.low_s <= times.high_s:
            yield Observed(
                launch, times.median_s, times.low_s, times.high_s,
                0.0 if one.waiting else times.confidence, one.samples, one.sample_payload_bytes,
                times.p99_s, one,
            )  # fmt: skip


def time_estimate(observed: Sequence[Observed]) -> Estimate:
    """Seconds per sample over at least one usable measurement of the same case."""
    return Estimate(
        value=float(np.median([one.median_s for one in observed])),
        low=min(min(one.low_s, one.median_s) for one in observed),
        high=max(max(one.high_s, one.median_s) for one in observed),
        confidence=min(one.confidence for one in observed),
        launches=len({one.launch for one in observed}),
        samples=sum(one.samples for one in observed),
    )


def bandwidth_estimate(observed: Sequence[Observed]) -> Estimate:
    """Payload bytes/s per direction; a time's upper end gives the lower end here."""
    time = time_estimate(observed)
    payload = [one.payload_bytes for one in observed]
    return msgspec.structs.replace(
        time,
        value=float(np.median([one.payload_bytes / one.median_s for one in observed])),
        low=min(payload) / time.high,
        high=max(payload) / time.low,
    )


class Point(msgspec.Struct, frozen=True):
    """One message size: seconds per sample, and payload bytes/s per direction.

    ``sized`` is false for a headline that does not say at which size it was reached.
    ``message_bytes`` is then so large that size plays no part, or 0 for a latency.
    """

    message_bytes: int
    time: Estimate
    bandwidth: Estimate
    observed: tuple[Observed, ...]
    sized: bool = True

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The engine's own records behind this point; another suite's figure has none."""
        return tuple(one.measurement for one in self.observed if one.measurement is not None)

    @property
    def launch_medians(self) -> tuple[float, ...]:
        """Median seconds per sample of each launch, in the launches' order."""
        by_launch: dict[int, list[float]] = {}
        for one in self.observed:
            by_launch.setdefault(one.launch, []).append(one.median_s)
        return tuple(float(np.median(by_launch[launch])) for launch in sorted(by_launch))

    @property
    def spread(self) -> float:
        """Slowest launch's median over the fastest's, less 1; 0 for a single launch."""
        return max(self.launch_medians) / min(self.launch_medians) - 1.0

    @property
    def tail_ratio(self) -> float:
        """The worst launch's 99th percentile as a multiple of its median; 1 where none is known."""
        known = [one.p99_s / one.median_s for one in self.observed if one.p99_s is not None]
        return max(known, default=1.0)


class Series(msgspec.Struct, frozen=True):
    """One pattern from one node to another, points in ascending message size.

    ``source`` names the file and the table of an imported curve. ``program`` is what measured a
    curve of another suite that we started. ``foreign`` is the first of the curves behind a series
    of another suite. ``variant`` tells it from others of its pattern: ``fence``, ``4 threads``.
    ``of_pairs`` counts the pairs of nodes behind each point's median; 0 for a series of one pair.
    ``hosts`` are those of an imported curve's ranks, empty where nobody says them.
    """

    pattern: Pattern
    origin: str
    target: str
    points: tuple[Point, ...]
    source: str = ""
    program: str = ""
    foreign: SuiteCurve | None = None
    of_pairs: int = 0
    variant: str = ""
    hosts: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[str, str]:
        return self.origin, self.target

    @property
    def way(self) -> tuple[str, str]:
        """The ends from where to where the bytes of a stream of one direction go."""
        return self.ends[::-1] if self.pattern in GET_PATTERNS else self.ends

    @property
    def apart(self) -> bool | None:
        """Whether its ends are said to be on different hosts; None where nobody says it."""
        if self.foreign is None:
            return None
        if self.foreign.inside_node:
            return False
        if not self.hosts:
            return None
        ends = self.foreign.origin, self.foreign.target
        named = self.foreign.pairs == 1 and max(ends) < len(self.hosts)
        return len({self.hosts[one] for one in ends} if named else set(self.hosts)) > 1

    @property
    def links_known(self) -> bool:
        """Whether it is known over how many links a figure of several pairs is a sum."""
        pairs = self.foreign.pairs if self.foreign else 1
        hosts = len(set(self.hosts))
        if self.foreign and self.foreign.of_unknown_part(self.hosts):
            return False
        return pairs == 1 or hosts == 2 or hosts >= 2 * pairs

    @property
    def is_latency(self) -> bool:
        return self.pattern in LATENCY_PATTERNS

    @property
    def about(self) -> VerdictSubject:
        """The series as the subject of a verdict, of no network yet."""
        return VerdictSubject(
            "stream", "", self.ends, self.pattern, self.variant, self.program,
            self.source, self.of_pairs,
        )  # fmt: skip

    @property
    def name(self) -> str:
        return subjects.stream(self.about)

    def at_least(self, message_bytes: float) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.message_bytes >= message_bytes)

    def best(self, from_bytes: float) -> Point | None:
        """The best assured bandwidth among messages of at least ``from_bytes``.

        That is the point whose interval begins highest: the highest median alone would
        pick the luckiest of the noisy ones.
        """
        points = self.at_least(from_bytes)
        return max(
            points, key=lambda one: (one.bandwidth.supported, one.bandwidth.low), default=None
        )


#: Pattern, origin, target, source, program, variant: what is measured alike is one series.
_Key = tuple[Pattern, str, str, str, str, str]
_Sizes = dict[tuple[int, bool], list[Observed]]


def point(message_bytes: int, observed: Sequence[Observed], sized: bool = True) -> Point:
    """The point that all usable measurements of one size make together."""
    ordered = tuple(sorted(observed, key=lambda one: (one.launch, one.median_s)))
    return Point(message_bytes, time_estimate(ordered), bandwidth_estimate(ordered), ordered, sized)


def series_of(launches: Sequence[Launch]) -> tuple[Series, ...]:
    """Every pattern and direction that the launches measured, in a fixed order.

    Ranks are named by the node that the launch put them on; a measurement without
    usable times is left out.
    """
    found: dict[_Key, _Sizes] = {}
    foreign: dict[_Key, tuple[SuiteCurve, tuple[str, ...]]] = {}
    for launch in launches:
        rows = (*_measured(launch), *_read(launch), *_met(launch))
        for key, message_bytes, sized, one, curve in rows:
            sizes = found.setdefault(key, {})
            sizes.setdefault((message_bytes, sized), []).append(one)
            if curve is not None:
                foreign.setdefault(key, (curve, launch.hosts_of(curve)))
    made = []
    for key in sorted(found):
        curve, hosts = foreign.get(key, (None, ()))
        points = tuple(point(size[0], found[key][size], size[1]) for size in sorted(found[key]))
        ends, (source, program, variant) = key[:3], key[3:]
        made.append(Series(*ends, points, source, program, curve, 0, variant, hosts))
    return tuple(made)


_Row = tuple[_Key, int, bool, Observed, SuiteCurve | None]


def _measured(launch: Launch) -> Iterator[_Row]:
    """What the engine measured."""
    for one in usable_of(launch.number, launch.measurements):
        case = one.measurement
        if case is not None and case.pattern in PAIR_PATTERNS:
            ends = node_of(launch, case.origin), node_of(launch, case.target)
            key = (case.pattern, *ends, "", "", case.variant)
            yield key, case.message_bytes, True, one, None


def _met(launch: Launch) -> Iterator[_Row]:
    """Streams of a pair that another suite measured again: rounds, as those of all pairs are."""
    for one in launch.rounds if launch.purpose == "again" else ():
        ways = zip(one.origins, one.targets, one.median_ps, one.samples, strict=True)
        for origin, target, time_ps, samples in ways:
            met = node_of(launch, origin), node_of(launch, target)
            key: _Key = ("bandwidth", *met, "", "", "")
            ends = (time_ps * 1e-12,) * 3
            payload = one.message_bytes * one.window
            seen = Observed(launch.number, *ends, 0.0, samples, payload, None, None)
            yield key, one.message_bytes, True, seen, None


def _read(launch: Launch) -> Iterator[_Row]:
    """What another suite's output says in patterns that are ours as well.

    A ping-pong may have a bandwidth only; an empty message has none.
    """
    for curve in launch.curves:
        timed = curve.quantity == "time"
        is_ours = curve.quantity == "bandwidth" or (timed and curve.pattern in LATENCY_PATTERNS)
        if curve.pattern is None or not is_ours:
            continue
        ends = node_of(launch, curve.origin), node_of(launch, curve.target)
        source = f"{curve.source}:{curve.first_line} {curve.benchmark}" if launch.imported else ""
        key = (curve.pattern, *ends, source, launch.program, "")
        links = curve.most_links(launch.hosts_of(curve))
        for one in curve.points:
            if one.estimate.low > 0 and (timed or one.message_bytes != 0):
                yield key, *_observed(launch.number, curve, one, links), curve


def _observed(
    launch: int, curve: SuiteCurve, one: SuitePoint, links: int
) -> tuple[int, bool, Observed]:
    """Message size, whether the log tells it, and the figure.

    Bandwidth becomes the time that one message takes, per direction and link; ``links`` is over
    how many of them the figure is a sum.
    """
    is_time = curve.quantity == "time"
    sized = one.message_bytes is not None
    unsized_bytes = 0 if is_time else PEAK_BYTES
    message_bytes = one.message_bytes if one.message_bytes is not None else unsized_bytes
    found = one.estimate
    ends = (found.value, found.low, found.high)
    if not is_time:
        value, low, high = (curve.directions * links * message_bytes / rate for rate in ends)
        ends = (value, high, low)
    tail_s = one.besides.get("p99") if is_time else None
    return (
        message_bytes,
        sized,
        Observed(launch, *ends, found.confidence, found.samples, message_bytes, tail_s, None),
    )


def node_of(launch: Launch, rank: int) -> str:
    """The node that a rank was meant to run on."""
    return launch.nodes[rank] if 0 <= rank < len(launch.nodes) else f"rank {rank}"
