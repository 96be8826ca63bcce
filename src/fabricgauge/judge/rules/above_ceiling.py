"""Check that no figure is better than the network can be."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fabricgauge.judge.interface import NO_SERIES, STATE_NODES, UNPLACED, Subject, judge_networks
from fabricgauge.judge.rules import floor
from fabricgauge.judge.stats.series import Point, Series
from fabricgauge.judge.streams import count_unstated_ports, is_rdma_on_tcp
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.model.words import figures, patterns, sentences

ID = "above-ceiling"

#: Cause and remedy of a figure that is surely above the ceiling, and of one that may be.
_SURE = (
    "the bytes did not cross this network alone: shared memory, a second network, or a nominal"
    " rate that is too low",
    "look at placement and path; check the nominal rate on which the ceiling is based",
)
_UNSURE = (
    "few or unsteady samples, a burst that discovery did not find, or a nominal rate too low",
    "measure again with more samples: fabricgauge check --profile full; check the nominal rate on"
    " which the ceiling is based",
)
_UNSTATED = (
    "the ceiling assumes frames of 1500 bytes on a wire: larger frames, or a rate limit that does"
    " not count headers and gaps, allow this figure",
    'state the MTU, e.g. --network "10GbE mtu=9000"; compare a cloud\'s limit with its promise',
)

#: Collectives of OSU, on hosts or GPUs, and of IMB whose ranks need data of all others, or of one.
#: A non-blocking one has its whole time and that of the communication alone, and parts of these.
_COLLECTIVES = re.compile(
    r"(osu_(xccl_)?)?(?P<parts>i)?(all(reduce|gatherv?|toallv?)|(?P<root>bcast))(_persistent)?"
)
_WHOLE = ("alone", "with computation meanwhile")


#: A single pair this many times above the ceiling did not cross the network, by our reckoning.
FAR = 1.25
#: Pairs that are listed.
MOST_PAIRS = 6


class _Excess(NamedTuple):
    """The share by which a sample is quicker than the ceiling allows (negative: slower).

    ``surely`` uses the slow end of the fastest launch's own interval: one launch too fast is
    enough. ``by_median`` uses the median of all launches.
    """

    series: Series
    point: Point
    surely: float
    by_median: float


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    ceiling = subject.ceiling
    if subject.by_suite:
        from fabricgauge.judge import bus

        if (collective := bus.above(subject)) is not None:
            return collective
    if isinstance(ceiling, Skipped):
        return ceiling
    excesses, collectives = _excesses(subject, ceiling), [*_quick_collectives(subject, ceiling)]
    surely = sorted(
        (excess for excess in excesses if excess.surely > 0), key=lambda excess: -excess.surely
    )
    perhaps = sorted(
        (excess for excess in excesses if excess.by_median > 0),
        key=lambda excess: -excess.by_median,
    )
    if not (excesses or collectives):
        return Skipped(NO_SERIES)
    if unplaced := subject.shared_nodes:
        return Verdict(Outcome.INCONCLUSIVE, unplaced, cause=UNPLACED, remedy=STATE_NODES)
    if surely or perhaps:
        return _above(subject, ceiling, surely or perhaps, sure=bool(surely))
    collectives += _quick_pairs(subject, ceiling)
    if collectives:
        outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
        return Verdict(outcome, collectives[0], None, None, tuple(collectives[:6]), *_SURE)
    if any(count_unstated_ports(subject, series) for series in subject.series):
        return Skipped("perftest summed both ports of the adapter, and one rail is stated")
    limit = figures.rate(ceiling.payload_bytes_per_s)
    burst = " (bursts of the token bucket allowed for)" if ceiling.burst_bytes else ""
    return Verdict(Outcome.PASS, f"no figure is above the ceiling of {limit} per direction{burst}")


def exceeds(subject: Subject) -> bool:
    """Check whether a figure is surely more than the network can carry."""
    ceiling = subject.ceiling
    if isinstance(ceiling, Skipped):
        return False
    return any(excess.surely > 0 for excess in _excesses(subject, ceiling))


def _excesses(subject: Subject, ceiling: Ceiling) -> list[_Excess]:
    """Return by how much each sample is quicker than its least time, less the tolerances."""
    excesses = []
    tolerance = 1.0 + subject.limit("above-ceiling.tolerance")
    clock_s = subject.limit("above-ceiling.clock")
    for series in subject.series:
        ports = max(1, count_unstated_ports(subject, series) / subject.rails)
        for point in () if is_rdma_on_tcp(subject, series) else series.points:
            # A half round trip and a window of messages carry their payload in one direction.
            payload = min([observation.payload_bytes for observation in point.observed]) / ports
            floor_s = ceiling.transfer_floor_s(payload) / tolerance
            # In a mean over many messages the clock's reading does not matter.
            least_s = max(0.0, floor_s - (clock_s if point.measurements else 0.0))
            slow_ends_s = [
                max(observation.high_s, observation.median_s) for observation in point.observed
            ]
            shares = least_s / min(slow_ends_s) - 1.0, least_s / point.time.value - 1.0
            excesses.append(_Excess(series, point, *shares))
    return excesses


def _quick_pairs(subject: Subject, ceiling: Ceiling) -> Iterator[str]:
    """Yield pairs that carry far more than the network; a few samples after a stall may do more."""
    if subject.by_suite or subject.imported:
        return
    most = FAR * ceiling.payload_bytes_per_s
    for matrix in (analysis.matrix for analysis in subject.pairs):
        if matrix.quantity != "bandwidth" or not matrix.message_bytes:
            continue
        # The burst of a token bucket leaves at once.
        least_bytes = max(1, matrix.message_bytes - ceiling.burst_bytes) / matrix.message_bytes
        slow_ends = matrix.values * least_bytes * (1.0 - matrix.spread)
        for origin, target in np.argwhere(slow_ends > most)[:MOST_PAIRS]:
            rate = figures.rate(float(matrix.values[origin, target]))
            yield (
                f"{sentences.direction(matrix.nodes[origin], matrix.nodes[target])}: {rate}"
                f" {figures.at(matrix.message_bytes)} in the round robin, and the ceiling is"
                f" {figures.rate(ceiling.payload_bytes_per_s)}"
            )


def _quick_collectives(subject: Subject, ceiling: Ceiling) -> Iterator[str]:
    """Yield collectives of logs in which more bytes reach a node than the network carries."""
    # Each rank's result depends on the data of all others, so that at least one message's bytes
    # reach each node, also with reduction in the network (SHARP).
    tolerance = 1.0 + subject.limit("above-ceiling.tolerance")
    curves = [(launch, curve) for launch in subject.launches for curve in launch.curves]
    for launch, curve in curves:
        is_known = None if curve.ranks == 1 else _COLLECTIVES.fullmatch(curve.benchmark.lower())
        # Groups, and the first ranks of many, may share a node.
        is_part = curve.settings.get("groups") or "waiting processes" in curve.settings
        if not is_known or is_part or curve.quantity != "time":
            continue
        if is_known["parts"] and not curve.what.endswith(_WHOLE):
            continue
        hosts = curve.evidence.rank_nodes or launch.hosts_of(curve)
        for point in curve.points:
            share, time_s = (
                _lasting(curve, point, hosts) if is_known["root"] else (1.0, point.estimate.high)
            )
            size = share * (point.message_bytes or 0)
            rate = size / time_s if time_s > 0 else 0.0
            if time_s < ceiling.transfer_floor_s(size) / tolerance and rate > _possible(subject):
                at = figures.at(point.message_bytes or 0)
                yield (
                    f"{curve.name}: {figures.duration(time_s)} {at} are at least"
                    f" {figures.rate(rate)} into each node, more than the ceiling of"
                    f" {figures.rate(ceiling.payload_bytes_per_s)} allows"
                )


def _lasting(curve: SuiteCurve, point: SuitePoint, hosts: Sequence[str]) -> tuple[float, float]:
    """Return the share of a broadcast's bytes that a figure in seconds must have lasted.

    The slowest rank waits for all bytes; as IMB may let the root change from call to call
    (IMB_bcast.c of IMB 2021), for those of half the calls. The ranks on the root's node need not
    wait: in the mean over the ranks the others alone count. The share is 0 if it is unknown.
    """
    if maximum := point.besides.get("maximum", 0.0):
        return (0.5 if curve.suite == "imb" else 1.0), maximum
    ranks = curve.ranks or len(hosts)
    if ranks < 2:
        return 0.0, point.estimate.high
    # At least one rank is on another node.
    together = max(Counter(hosts).values()) if len(hosts) == ranks else ranks - 1
    return 1.0 - together / ranks, point.estimate.high


def _above(subject: Subject, ceiling: Ceiling, above: list[_Excess], *, sure: bool) -> Verdict:
    series, point = above[0].series, above[0].point
    limit = subject.threshold("above-ceiling.tolerance")
    unit, most = "bytes/s per direction", ceiling.payload_bytes_per_s
    at = figures.at(point.message_bytes, point.sized)
    fastest = max(
        observation.payload_bytes / max(observation.high_s, observation.median_s)
        for excess in above
        for observation in excess.point.observed
    )
    unstated = sure and fastest <= _possible(subject)
    nominal = ", but not more than the nominal rate" if unstated else ""
    below = "" if sure else ", but its interval reaches below it"
    return Verdict(
        Outcome.INVALID if sure and not unstated else Outcome.WARN,
        f"{_sentence(above[0])} is more than the ceiling of {figures.rate(most)} per direction"
        f" allows{nominal or below}",
        Figure(point.bandwidth.value, f"{unit} {at}", patterns.sentence(series.pattern)),
        Threshold(
            most * (1 + limit.value), unit, "at most",
            f"ceiling of {subject.name} with {limit.origin}",
        ),
        tuple(map(_sentence, above[:6])),
        *(_UNSTATED if unstated else _SURE if sure else _UNSURE),
    )  # fmt: skip


def _possible(subject: Subject) -> float:
    """Return the bytes/s that TCP may carry if assumed facts (MTU, framing) are wrong, or 0."""
    network = subject.network
    if isinstance(network, Skipped) or isinstance(network.rate_bit_s, Skipped):
        return 0.0
    unstated = subject.imported and {"mtu", "framing"} & set(network.assumed)
    # A latency that no network has shows memory, whose figures prove nothing.
    if not unstated or subject.medium != "tcp" or floor.has_impossible_latency(subject):
        return 0.0
    return network.rate_bit_s / 8 * network.rails


def _sentence(excess: _Excess) -> str:
    series, point = excess.series, excess.point
    return (
        f"{series.name}: {figures.rate(point.bandwidth.value)} per direction"
        f" {figures.at(point.message_bytes, point.sized)}"
        f" ({patterns.sentence(series.pattern)}; at least {figures.rate(point.bandwidth.low)})"
    )
