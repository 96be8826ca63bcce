"""Do losses follow from a rate that something keeps a way to?

A shaper, a policer or a slower port drops what is above its rate: a stream fills the queue before
it and loses segments, and its figure stays that rate. Small messages fill no queue and lose
nothing. A bad cable loses frames of every size, and TCP then keeps to no rate.
"""

from collections.abc import Collection, Iterator

import msgspec
import numpy as np

from fabricgauge.evidence.connections import lost_segments
from fabricgauge.judge.streams import AGREEING, NEAREST_RATE
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pairs import Ends
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.stats.series import node_of
from fabricgauge.words import figures

#: Cause and remedy of losses that a rate makes.
KEPT_RATE = (
    "a rate limit on the way (a shaper, a policer, a port at a lower rate) drops what is above it:"
    " large messages keep to one rate, and small ones lose nothing",
    "compare the negotiated rates (ethtool) of both ends and of the switch ports; look for rate"
    " limits on both nodes (tc qdisc show) and on the switch's ports (policer, shaper)",
)

#: Small messages may lose this part of what large ones lose, by our reckoning.
SMALL_PART = 0.1


class KeptRate(msgspec.Struct, frozen=True):
    """The rate that large messages keep to, and what was lost of large and of small ones.

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
            f"{self.cases:,} streams of large messages keep to {figures.percent(self.share)} of the"
            f" ceiling within {figures.percent(self.spread)} (quartiles); large messages lost"
            f" {large} of their segments, small ones {small}"
        )


def kept_rate(subject: Subject, ways: Collection[Ends]) -> KeptRate | None:
    """Return the rate that streams on these ways keep to; None if they scatter.

    None as well if small messages are lost too, or the rate is just below the ceiling: then
    the losses explain what is missing.
    """
    if isinstance(subject.ceiling, Skipped):
        return None
    least, ceiling = subject.limit("fraction.from"), subject.ceiling.payload_bytes_per_s
    cases = [one for way, one in _cases(subject) if way in ways]
    large = [one for one in cases if one.message_bytes >= least]
    shares = [
        one.sample_payload_bytes / one.times.median_s / ceiling
        for one in large
        if one.pattern == "bandwidth" and one.times is not None and one.times.median_s > 0
    ]
    if len(shares) < AGREEING:
        return None
    low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75)).tolist()
    lost = _share_lost(large), _share_lost(one for one in cases if one.message_bytes < least)
    rate = KeptRate(middle, (high - low) / middle, len(shares), lost)
    steady = rate.spread <= subject.limit("lossy.kept_rate") and middle < NEAREST_RATE
    calm = max(subject.limit("errors.share"), SMALL_PART * lost[0])
    return rate if steady and lost[1] <= calm else None


def _cases(subject: Subject) -> Iterator[tuple[Ends, Measurement]]:
    """Completed cases of single pairs, each with the way that its sender's bytes went."""
    for launch in subject.launches:
        for one in launch.completed:
            if one.pattern in PAIR_PATTERNS:
                other = one.target if one.sender == one.origin else one.origin
                yield (node_of(launch, one.sender), node_of(launch, other)), one


def _share_lost(cases: Iterator[Measurement] | list[Measurement]) -> float:
    counted = [lost_segments(one) for one in cases]
    segments = sum(sent for _, sent in counted)
    return max(0.0, sum(lost for lost, _ in counted) / segments) if segments > 0 else 0.0
