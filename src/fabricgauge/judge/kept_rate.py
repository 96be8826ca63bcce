"""Check whether losses follow from a rate limit on the way.

A shaper, a policer or a slower port drops what is above its rate: a stream fills the queue before
it and loses segments, and its figure stays at that rate. Small messages fill no queue and lose
nothing. A bad cable loses frames of every size, and TCP then keeps to no rate.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.evidence.connections import count_segments, lost_segments
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.stats.series import node_of
from fabricgauge.judge.streams import AGREEING, NEAREST_RATE
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.words import figures

#: Cause and remedy of losses that follow from a rate limit.
KEPT_RATE = (
    "a rate limit between the nodes (a shaper, a policer, a port at a lower rate) drops the excess:"
    " large messages stay at one rate, and small messages lose nothing",
    "compare the negotiated rates (ethtool) of both ends and of the switch ports; look for rate"
    " limits on both nodes (tc qdisc show) and on the switch's ports (policer, shaper)",
)

#: Cause and remedy of losses in large messages alone, without one rate that these keep to.
OVERFLOW = (
    "a queue between the nodes overflows: large messages lose segments, and smaller ones lose none"
    " of their full segments, as a damaged cable would make them. The rate changes, or many"
    " streams share a slower port",
    "compare the negotiated rates (ethtool) of both ends and of the switch ports, twice; look for"
    " rate limits on nodes and switch (tc qdisc show), for discards at the switch's ports, and in"
    " the kernel's log for links that change",
)

#: A single message of this size fills a network.
FULL_BYTES = 1 << 20

#: Fewer segments of small messages show nothing. Then no sample may be slower than the fastest by
#: more than this factor.
TELLING_SMALL, REGULAR = 200, 1.1

#: Messages of this size, one TCP segment over Ethernet, have full segments: bit errors hit these as
#: often as those of large messages. At least this many would be lost, by our reckoning.
FULL_SEGMENT, LEAST_EXPECTED = 1024, 20


class KeptRate(msgspec.Struct, frozen=True):
    """The rate of large messages, and the losses of large and of small messages.

    ``share`` is of the ceiling, per direction; ``spread`` is between the quartiles of ``cases``, as
    a share of their median. ``lost`` are shares of the TCP segments of large and small messages.
    """

    share: float
    spread: float
    cases: int
    lost: tuple[float, float]

    @property
    def sentence(self) -> str:
        large, small = map(figures.percent, self.lost)
        return (
            f"{self.cases:,} streams of large messages stay at {figures.percent(self.share)} of the"
            f" ceiling within {figures.percent(self.spread)} (quartiles); large messages lost"
            f" {large} of their segments, small messages {small}"
        )


def kept_rate(subject: Subject, directions: Collection[Ends]) -> KeptRate | None:
    """Return the rate that streams on these ways keep to; None if they scatter.

    None also if small messages are lost, or if the rate is just below the ceiling: then the
    losses explain what is missing.
    """
    if isinstance(subject.ceiling, Skipped):
        return None
    least_bytes, ceiling = subject.limit("fraction.from"), subject.ceiling.payload_bytes_per_s
    pair_cases = list(_cases(subject))
    cases = [case for ends, case in pair_cases if ends in directions]
    rates = [rate for case in cases for rate in _rates(case, least_bytes)]
    if len(rates) < AGREEING:
        # A short run has one case of each direction.
        cases = [
            case for ends, case in pair_cases if ends in directions or ends[::-1] in directions
        ]
        rates = [rate for case in cases for rate in _rates(case, least_bytes)]
    if len(rates) < AGREEING:
        return None
    large = [case for case in cases if case.message_bytes >= least_bytes]
    shares = [rate / ceiling for rate in rates]
    low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75)).tolist()
    small = [case for case in cases if case.message_bytes < least_bytes]
    lost = _share_lost(large), _share_lost(small)
    rate = KeptRate(middle, (high - low) / middle, len(shares), lost)
    is_steady = rate.spread <= subject.limit("lossy.kept_rate") and middle < NEAREST_RATE
    # After losses a sample is much slower than the fastest.
    stream_times = [case.times for case in large if case.pattern == "bandwidth" and case.times]
    regular = all(times.p90_s <= REGULAR * times.minimum_s for times in stream_times)
    is_shown = regular or sum(lost_segments(case)[1] for case in small) >= TELLING_SMALL
    return rate if is_steady and is_shown and lost[1] <= _calm(subject, lost[0]) else None


def spares_small(subject: Subject, directions: Collection[Ends]) -> bool:
    """Check whether only large messages lose segments on these ways, as where a rate changes."""
    least_bytes = subject.limit("fraction.from")
    cases = [
        case for ends, case in _cases(subject) if ends in directions or ends[::-1] in directions
    ]
    small = [case for case in cases if case.message_bytes < least_bytes]
    large_lost = _share_lost([case for case in cases if case.message_bytes >= least_bytes])
    is_shown = sum(lost_segments(case)[1] for case in small) >= TELLING_SMALL
    return is_shown and _share_lost(small) <= _calm(subject, large_lost)


def spares_full_segments(subject: Subject, directions: Collection[Ends]) -> bool:
    """Check whether full segments are lost in large messages only, as no damaged cable does it."""
    least_bytes = subject.limit("fraction.from")
    cases = [case for ends, case in _cases(subject) if ends in directions]
    large_lost = _share_lost([case for case in cases if case.message_bytes >= least_bytes])
    medium = list(_count_medium(subject, directions, least_bytes))
    lost, sent = (sum(counts) for counts in zip(*medium, strict=True)) if medium else (0, 0.0)
    limit = subject.limit("lossy.small_part") * large_lost
    return large_lost * sent >= LEAST_EXPECTED and lost <= limit * sent


def _count_medium(
    subject: Subject, directions: Collection[Ends], least_bytes: float
) -> Iterator[tuple[int, float]]:
    """Yield lost and sent segments of medium messages on these ways, replies included."""
    for launch, case in subject.cases(*PAIR_PATTERNS):
        if not FULL_SEGMENT <= case.message_bytes < least_bytes:
            continue
        replies = case.pattern in ("latency", "bidirectional_bandwidth")
        for rank in (case.origin, case.target) if replies else (case.sender,):
            peer = case.target if rank == case.origin else case.origin
            if (node_of(launch, rank), node_of(launch, peer)) in directions:
                yield count_segments(case, rank)


def _calm(subject: Subject, large_lost: float) -> float:
    """Return the share of segments that small messages may lose."""
    return max(subject.limit("errors.share"), subject.limit("lossy.small_part") * large_lost)


def _rates(case: Measurement, least_bytes: float) -> Iterator[float]:
    """Yield bytes/s of a stream of large messages, and the ends of its interval."""
    times, payload = case.times, case.sample_payload_bytes
    if times is None or min(times.low_s, times.median_s, times.high_s) <= 0:
        return
    if case.pattern == "bandwidth" and case.message_bytes >= least_bytes:
        yield payload / times.median_s
        if case.samples >= AGREEING:
            yield payload / times.low_s
            yield payload / times.high_s
    # A ping-pong of messages that fill the network has that rate too, if it lost nothing.
    fills_network = case.pattern == "latency" and case.message_bytes >= FULL_BYTES
    if fills_network and lost_segments(case)[0] <= 0:
        yield payload / times.median_s


def _cases(subject: Subject) -> Iterator[tuple[Ends, Measurement]]:
    """Yield completed cases of single pairs, each with its sending and receiving node."""
    for launch, case in subject.cases(*PAIR_PATTERNS):
        receiver = case.target if case.sender == case.origin else case.origin
        yield (node_of(launch, case.sender), node_of(launch, receiver)), case


def _share_lost(cases: Sequence[Measurement]) -> float:
    counted = [lost_segments(case) for case in cases]
    segments = sum(sent for _, sent in counted)
    return max(0.0, sum(lost for lost, _ in counted) / segments) if segments > 0 else 0.0
