"""Collect all measurements of one pattern in one direction, by message size, over all launches.

Launches differ by more than the samples within one do, and a run has too few of them for an
interval of their own. An estimate is therefore the median of the launches' medians, and its
interval is the hull of the launches' intervals: it is wider than it need be, never narrower.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from statistics import median

import msgspec
from msgspec.structs import replace

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.groups import group_by
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import (
    GET_PATTERNS,
    LATENCY_PATTERNS,
    PAIR_PATTERNS,
    Buffers,
    Pattern,
)
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import VerdictSubject
from fabricgauge.model.words import sentences

#: Message size of a figure such as "12,171 MB/s" without a size: so long that size plays no part.
PEAK_BYTES = 1 << 30


class Observation(msgspec.Struct, frozen=True):
    """Hold one usable measurement of one launch: seconds per sample and payload per sample.

    ``median_s`` is a mean if another suite prints nothing else; ``confidence`` is then 0 and the
    interval has no width. ``confidence`` is also 0 if waits for a processor made the median.
    ``p99_s`` is None if unknown. ``measurement`` is None for another suite's figure.
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


def find_usable(launch: int, measurements: Iterable[Measurement]) -> Iterator[Observation]:
    """Yield the measurements that ended well, with positive, finite times in order."""
    for measurement in measurements:
        times = measurement.times
        if measurement.status != "ok" or times is None or measurement.samples < 1:
            continue
        numbers = (times.low_s, times.median_s, times.high_s)
        fine = all(math.isfinite(number) and number > 0 for number in numbers)
        if fine and times.low_s <= times.high_s:
            yield Observation(
                launch, times.median_s, times.low_s, times.high_s,
                0.0 if measurement.waiting else times.confidence, measurement.samples,
                measurement.sample_payload_bytes,
                times.p99_s, measurement,
            )  # fmt: skip


def select_undisturbed(observed: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return observations whose medians no waits made, or all if there are none."""
    undisturbed = tuple(
        observation
        for observation in observed
        if observation.measurement is None or not observation.measurement.waiting
    )
    return undisturbed or tuple(observed)


def time_estimate(observed: Sequence[Observation]) -> Estimate:
    """Return the seconds per sample over at least one usable measurement of the same case."""
    if len(observed) == 1:  # nearly all points of others' logs
        (single,) = observed
        median_s = single.median_s
        low_s, high_s = min(single.low_s, median_s), max(single.high_s, median_s)
        return Estimate(median_s, low_s, high_s, single.confidence, 1, single.samples)
    return Estimate(
        value=median(observation.median_s for observation in observed),
        low=min(min(observation.low_s, observation.median_s) for observation in observed),
        high=max(max(observation.high_s, observation.median_s) for observation in observed),
        confidence=min(observation.confidence for observation in observed),
        launches=len({observation.launch for observation in observed}),
        samples=sum(observation.samples for observation in observed),
    )


def bandwidth_estimate(observed: Sequence[Observation]) -> Estimate:
    """Return payload bytes/s per direction; a time's upper end gives the lower end here."""
    return _convert_to_bandwidth(time_estimate(observed), observed)


def _convert_to_bandwidth(time: Estimate, observed: Sequence[Observation]) -> Estimate:
    """Return payload bytes/s; ``time`` is the estimate of the same measurements."""
    if len(observed) == 1:
        payload = observed[0].payload_bytes
        rates = payload / time.value, payload / time.high, payload / time.low
        return Estimate(*rates, time.confidence, time.launches, time.samples)
    payloads = [observation.payload_bytes for observation in observed]
    return replace(
        time,
        value=median(observation.payload_bytes / observation.median_s for observation in observed),
        low=min(payloads) / time.high,
        high=max(payloads) / time.low,
    )


class Point(msgspec.Struct, frozen=True):
    """Hold one message size: seconds per sample, and payload bytes/s per direction.

    ``sized`` is false for a headline that was printed without a message size. ``message_bytes`` is
    then so large that size plays no part, or 0 for a latency. ``pairs_differ_by`` is half of the
    distance between the first and the last decile of the pairs behind it, as a share of the median.
    """

    message_bytes: int
    time: Estimate
    bandwidth: Estimate
    observed: tuple[Observation, ...]
    sized: bool = True
    pairs_differ_by: float = 0.0

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Return the engine's own records behind this point; another suite's figure has none."""
        records = (observation.measurement for observation in self.observed)
        return tuple(record for record in records if record is not None)

    @property
    def launch_medians(self) -> tuple[float, ...]:
        """Return the median seconds per sample of each launch, in the launches' order."""
        by_launch = group_by(self.observed, attrgetter("launch"))
        return tuple(
            median(observation.median_s for observation in by_launch[launch])
            for launch in sorted(by_launch)
        )

    @property
    def spread(self) -> float:
        """Return the slowest launch's median over the fastest's, less 1; 0 for a single launch."""
        return max(self.launch_medians) / min(self.launch_medians) - 1.0

    @property
    def tail_ratio(self) -> float:
        """Return the worst launch's 99th percentile over its median; 1 if none is known."""
        ratios = [
            observation.p99_s / observation.median_s
            for observation in self.observed
            if observation.p99_s is not None
        ]
        return max(ratios, default=1.0)


class Series(msgspec.Struct, frozen=True):
    """Hold one pattern from one node to another, with points in ascending message size.

    ``source`` names the file and the table of an imported curve. ``program`` is the program that
    measured a curve of another suite that we started. ``foreign`` is the first of the curves behind
    a series of another suite. ``variant`` distinguishes series of one pattern: ``fence``, ``4
    threads``. ``of_pairs`` counts the pairs of nodes behind each point's median; 0 for a series of
    one pair. ``hosts`` are those of an imported curve's ranks, empty if unknown.
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
        """Return the ends in the direction in which a one-way stream's bytes go."""
        return self.ends[::-1] if self.pattern in GET_PATTERNS else self.ends

    @property
    def apart(self) -> bool | None:
        """Check whether its ends are on different hosts; None if unknown."""
        if self.foreign is None:
            return None
        if self.foreign.inside_node:
            return False
        if not self.hosts:
            return None
        ends = self.foreign.origin, self.foreign.target
        named = self.foreign.pairs == 1 and max(ends) < len(self.hosts)
        return len({self.hosts[rank] for rank in ends} if named else set(self.hosts)) > 1

    @property
    def links_known(self) -> bool:
        """Check whether it is known how many links a figure of several pairs sums up."""
        pairs = self.foreign.pairs if self.foreign else 1
        by_command = self.foreign.evidence.rank_nodes if self.foreign else ()
        hosts = len(set(self.hosts or by_command))
        if self.foreign and self.foreign.name_unplaced_ranks(self.hosts):
            return False
        return pairs == 1 or hosts == 2 or hosts >= 2 * pairs

    @property
    def is_latency(self) -> bool:
        return self.pattern in LATENCY_PATTERNS

    @property
    def about(self) -> VerdictSubject:
        """Return the series as the subject of a verdict, without a network."""
        return VerdictSubject(
            "stream", "", self.ends, self.pattern, self.variant, self.program,
            self.source, self.of_pairs,
        )  # fmt: skip

    @property
    def name(self) -> str:
        return sentences.name_stream(self.about)

    @property
    def buffers(self) -> Buffers:
        """Return the buffers of its messages, as its first case has them."""
        cases = (case for point in self.points for case in point.measurements)
        return next((case.buffers for case in cases), "fewest")

    def at_least(self, message_bytes: float) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.message_bytes >= message_bytes)

    def best(self, from_bytes: float) -> Point | None:
        """Return the best assured bandwidth among messages of at least ``from_bytes``.

        That is the point whose interval begins highest: the highest median alone would pick the
        luckiest of the noisy ones.
        """
        points = self.at_least(from_bytes)
        return max(
            points, key=lambda point: (point.bandwidth.supported, point.bandwidth.low), default=None
        )


#: Pattern, origin, target, source, program, variant: equal keys are one series.
_Key = tuple[Pattern, str, str, str, str, str]
_Sizes = dict[tuple[int, bool], list[Observation]]


def point(message_bytes: int, observed: Sequence[Observation], sized: bool = True) -> Point:
    """Return the point of one size from its usable measurements.

    Those that consist of waits for a processor count only if there are no others.
    """
    ordered = tuple(observed)
    if len(ordered) > 1:  # few points of others' logs
        ordered = tuple(
            sorted(
                select_undisturbed(observed),
                key=lambda observation: (observation.launch, observation.median_s),
            )
        )
    time = time_estimate(ordered)
    return Point(message_bytes, time, _convert_to_bandwidth(time, ordered), ordered, sized)


def series_of(launches: Sequence[Launch]) -> tuple[Series, ...]:
    """Return every pattern and direction that the launches measured, in a fixed order.

    Ranks are named by the node that the launch put them on; a measurement without usable times is
    left out.
    """
    observations: dict[_Key, _Sizes] = {}
    foreign: dict[_Key, tuple[SuiteCurve, tuple[str, ...]]] = {}
    for launch in launches:
        rows = (*_read_measurements(launch), *_read_curves(launch), *_read_rounds(launch))
        for key, message_bytes, sized, observation, curve in rows:
            sizes = observations.setdefault(key, {})
            sizes.setdefault((message_bytes, sized), []).append(observation)
            if curve is not None and key not in foreign:
                foreign[key] = curve, launch.hosts_of(curve)
    all_series = []
    for key, sizes in sorted(observations.items()):
        curve, hosts = foreign.get(key, (None, ()))
        points = tuple(
            point(message_bytes, observed, sized)
            for (message_bytes, sized), observed in sorted(sizes.items())
        )
        ends, (source, program, variant) = key[:3], key[3:]
        all_series.append(Series(*ends, points, source, program, curve, 0, variant, hosts))
    return tuple(all_series)


_Row = tuple[_Key, int, bool, Observation, SuiteCurve | None]


def _read_measurements(launch: Launch) -> Iterator[_Row]:
    for observation in find_usable(launch.number, launch.measurements):
        case = observation.measurement
        if case is not None and case.pattern in PAIR_PATTERNS:
            ends = node_of(launch, case.origin), node_of(launch, case.target)
            key = (case.pattern, *ends, "", "", case.variant)
            yield key, case.message_bytes, True, observation, None


def _read_rounds(launch: Launch) -> Iterator[_Row]:
    """Yield streams of a pair that another suite measured again, as rounds."""
    for pair_round in launch.rounds if launch.purpose == "again" else ():
        ranks = zip(pair_round.origins, pair_round.targets, strict=True)
        figures = zip(ranks, pair_round.median_ps, pair_round.samples, strict=True)
        for (origin, target), time_ps, samples in figures:
            ends = node_of(launch, origin), node_of(launch, target)
            key: _Key = ("bandwidth", *ends, "", "", "")
            interval = (time_ps * 1e-12,) * 3
            payload = pair_round.message_bytes * pair_round.window
            observation = Observation(launch.number, *interval, 0.0, samples, payload, None, None)
            yield key, pair_round.message_bytes, True, observation, None


def _read_curves(launch: Launch) -> Iterator[_Row]:
    """Yield another suite's figures in patterns that the engine has as well."""
    rated = {curve.place for curve in launch.curves if curve.quantity in ("bandwidth", "time")}
    for printed_curve in launch.curves:
        curve = printed_curve
        # A table that has message rates alone gives the bandwidths that follow from them.
        if curve.quantity == "message_rate" and curve.place not in rated:
            curve = _as_bandwidth(curve)
        timed = curve.quantity == "time"
        is_ours = curve.quantity == "bandwidth" or (timed and curve.pattern in LATENCY_PATTERNS)
        if curve.pattern is None or not is_ours:
            continue
        ends, source = (node_of(launch, curve.origin), node_of(launch, curve.target)), ""
        if launch.imported:
            source = curve.name
            # Columns of one table may be two stacks side by side.
            if printed_curve is not curve and (provider := curve.settings.get("provider", "")):
                source += f" {provider}"
        key = (curve.pattern, *ends, source, launch.program, "")
        links = curve.max_links(launch.hosts_of(curve))
        for suite_point in curve.points:
            if suite_point.estimate.low > 0 and (timed or suite_point.message_bytes != 0):
                yield key, *_read_point(launch.number, curve, suite_point, links), curve


def _as_bandwidth(curve: SuiteCurve) -> SuiteCurve:
    """Return the stream that messages per second of each size are; a ping-pong is none."""
    if curve.pattern in LATENCY_PATTERNS:
        return curve
    points = tuple(
        replace(point, besides={}, estimate=replace(
            point.estimate, value=point.estimate.value * point.message_bytes,
            low=point.estimate.low * point.message_bytes,
            high=point.estimate.high * point.message_bytes,
        ))
        for point in curve.points if point.message_bytes
    )  # fmt: skip
    return replace(curve, quantity="bandwidth", points=points)


def _read_point(
    launch: int, curve: SuiteCurve, suite_point: SuitePoint, links: int
) -> tuple[int, bool, Observation]:
    """Return message size, whether the log has it, and the figure.

    A bandwidth becomes the time of one message, per direction and link; ``links`` counts the links
    that the figure sums up.
    """
    is_time, message_bytes = curve.quantity == "time", suite_point.message_bytes
    sized = message_bytes is not None
    if message_bytes is None:
        message_bytes = 0 if is_time else PEAK_BYTES
    estimate = suite_point.estimate
    value, low, high = estimate.value, estimate.low, estimate.high
    if not is_time:
        carried_bytes = curve.directions * links * message_bytes
        value, low, high = carried_bytes / value, carried_bytes / high, carried_bytes / low
    tail_s = suite_point.besides.get("p99") if is_time else None
    count = estimate.confidence, estimate.samples
    figure = Observation(launch, value, low, high, *count, message_bytes, tail_s, None)
    return message_bytes, sized, figure


def node_of(launch: Launch, rank: int) -> str:
    """Return the node on which a rank should run."""
    return launch.nodes[rank] if 0 <= rank < len(launch.nodes) else f"rank {rank}"
