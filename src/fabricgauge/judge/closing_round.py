"""Check whether pairs carry as much at the end of a run as at its beginning.

A run repeats the first round of the largest streams at its end. Pairs that fell are measured again
alone, and each of their nodes with a node that did not fall.
"""

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from fabricgauge.judge import foreign
from fabricgauge.judge.host import signs
from fabricgauge.judge.interface import Subject
from fabricgauge.judge.localise.recheck import streams_alone
from fabricgauge.judge.stats.series import node_of
from fabricgauge.judge.streams import Stream, rechecked_streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    Ends,
    PairMatrix,
    PairPass,
    Part,
    Recheck,
    SampledRound,
    name_part,
)
from fabricgauge.model.passes import passes_of
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures

LIMIT = "stability.fall"

#: At most this many pairs, the worst, are measured again: more are not the fault of one link.
MOST_PAIRS = 3
#: Pairs that the evidence lists.
MOST_LINES = 6

CAUSE = (
    "the network changed during the measurement: a link fell back to a lower rate, a rail or path"
    " failed, a rate limit was set, or a node was throttled"
)
REMEDY = (
    "check the negotiated rates now (ethtool), the kernel's log and carrier_changes of both ends,"
    " and the switch port's log; look for rate limits (tc qdisc); then measure again"
)
_BUSY = (
    "other work on the nodes, or a quota of processor time, explains the fall",
    "end other work on the nodes, then measure again",
)


class Kept(msgspec.Struct, frozen=True):
    """First and last rate of a pair of nodes, in bytes/s, in its worse direction.

    ``spread`` is the interquartile range of the last samples over their median.
    """

    ends: Ends
    first: float
    last: float
    spread: float = 0.0

    @property
    def share(self) -> float:
        return self.last / self.first

    @property
    def is_sure(self) -> bool:
        """Check whether it fell by more than its samples scatter."""
        return self.first - self.last > self.spread * (self.first + self.last)


def again(subject: Subject) -> Recheck | None:
    """Return the pairs that fell, and each of their nodes with one that did not fall."""
    pairs, fallen = _kept(subject)
    if not fallen or not subject.pairs:
        return None
    good = max(pairs, key=lambda pair: pair.share)
    partners = good.ends[:1] if good not in fallen else ()
    recheck_pairs: list[Ends] = []
    for pair in fallen[:MOST_PAIRS]:
        recheck_pairs.append(pair.ends)
        recheck_pairs += [(node, partner) for node in pair.ends for partner in partners]
    return streams_alone(_matrix(subject), recheck_pairs)


def falls(subject: Subject) -> Iterator[Verdict]:
    """Yield each pair, or the node of it, that carries less at the end of the run."""
    pairs, fallen = _kept(subject)
    about, prefix = None, ""
    streams_by_ends = {
        stream.series.ends: stream for stream in rechecked_streams(subject, "bandwidth", 0.0)
    }
    # What scatters as much as it fell, and has no second figure, is no fall.
    fallen = [
        pair for pair in fallen
        if pair.is_sure or not streams_by_ends.keys().isdisjoint((pair.ends, pair.ends[::-1]))
    ]  # fmt: skip
    if len(fallen) == len(pairs) > 1:
        fallen, about = fallen[:1], subject.about
        prefix = f"each of {len(pairs)} pairs carries less at the end of the run"
    lines = [
        f"{name_part('pair', pair.ends)}: {figures.percent(pair.share)} of the first figure"
        for pair in pairs[:MOST_LINES]
    ]
    for pair in fallen:
        both_ways = streams_by_ends.get(pair.ends), streams_by_ends.get(pair.ends[::-1])
        slowest = min(filter(None, both_ways), key=lambda stream: stream.fraction, default=None)
        excuses: tuple[str, ...] = ("not measured again alone",)
        cause_and_remedy = CAUSE, REMEDY
        rate = (
            f"{figures.rate(pair.last)} at the end of the run, {figures.rate(pair.first)} at its"
            " beginning"
        )
        if slowest is not None:
            rate_alone = slowest.best.bandwidth.value
            if rate_alone > (1.0 - subject.limit(LIMIT)) * pair.first:
                continue
            alone = signs(slowest)
            excuses = alone.against
            if alone.foreign:
                cause_and_remedy = foreign.CAUSE, foreign.REMEDY
            elif excuses:
                cause_and_remedy = _BUSY
            rate += f", {figures.rate(rate_alone)} when measured again alone"
        yield Verdict(
            Outcome.WARN if excuses else Outcome.FAIL,
            f"{prefix or name_part('pair', pair.ends)}: {rate}",
            Figure(1.0 - pair.share, "share", "less at the end of the run, per direction"),
            subject.threshold(LIMIT, "at most"),
            (*lines, *excuses),
            *cause_and_remedy,
            about or _part(subject, pair, streams_by_ends),
        )


def _part(subject: Subject, pair: Kept, streams_by_ends: dict[Ends, Stream]) -> VerdictSubject:
    """Return the node that is slow with another partner too, or the pair if both or none are."""
    matrix = _matrix(subject)
    slow = [
        node
        for node, partner in (pair.ends, pair.ends[::-1])
        if any(
            stream.best.bandwidth.value <= (1.0 - subject.limit(LIMIT)) * _usual(matrix, ends)
            for ends, stream in streams_by_ends.items()
            if node in ends and partner not in ends
        )
    ]
    part: Part = "node" if len(slow) == 1 else "pair"
    return VerdictSubject(part, subject.name, tuple(slow) if part == "node" else pair.ends)


def _usual(matrix: PairMatrix, ends: Ends) -> float:
    """Return the rate of a pair in the round robin, or the median of all if it did not meet."""
    row, column = (matrix.nodes.index(node) for node in ends)
    value = float(matrix.values[row, column])
    return value if np.isfinite(value) else float(np.nanmedian(matrix.values))


def _matrix(subject: Subject) -> PairMatrix:
    streams = [
        analysis.matrix for analysis in subject.pairs if analysis.matrix.quantity == "bandwidth"
    ]
    return max(streams, key=lambda matrix: matrix.message_bytes)


def _kept(subject: Subject) -> tuple[list[Kept], list[Kept]]:
    """Return the pairs of the closing and the first round, and the fallen ones, worst first."""
    pairs: dict[Ends, Kept] = {}
    # A figure above the ceiling is no rate that could be kept.
    ceiling = subject.ceiling
    most = math.inf if isinstance(ceiling, Skipped) else ceiling.payload_bytes_per_s
    for launch in subject.launches:
        passes = passes_of(launch)
        first = {
            (pair_pass.case, turn.number): turn
            for pair_pass in reversed(passes)
            for turn in pair_pass.sampled
        }
        for pair_pass in passes:
            if not pair_pass.case.endswith(CLOSING):
                continue
            spreads = _spreads(launch, pair_pass)
            for last in pair_pass.sampled:
                before = first.get((pair_pass.case.removesuffix(CLOSING), last.number))
                if before is None:
                    continue
                earlier, later = _rates(launch, before), _rates(launch, last)
                for ends in earlier.keys() & later.keys():
                    pair = Kept(
                        (min(ends), max(ends)), min(most, earlier[ends]), later[ends],
                        spreads.get(ends, 0.0),
                    )  # fmt: skip
                    worst = pairs.setdefault(pair.ends, pair)
                    pairs[pair.ends] = min(worst, pair, key=lambda kept: kept.share)
    kept, least = [pairs[ends] for ends in sorted(pairs)], 1.0 - subject.limit(LIMIT)
    fallen = [pair for pair in kept if pair.share <= least]
    return kept, sorted(fallen, key=lambda pair: pair.share)


def _spreads(launch: Launch, pair_pass: PairPass) -> dict[Ends, float]:
    """Return the largest relative spread of a pass by sending and receiving node."""
    spreads: dict[Ends, float] = {}
    origins, targets, _, spread = pair_pass.entries()
    for origin, target, value in zip(*map(list, (origins, targets, spread)), strict=True):
        ends = node_of(launch, int(origin)), node_of(launch, int(target))
        spreads[ends] = max(float(value), spreads.get(ends, 0.0))
    return spreads


def _rates(launch: Launch, turn: SampledRound) -> dict[Ends, float]:
    """Return bytes/s by sending and receiving node; of several ranks the best."""
    rates: dict[Ends, float] = {}
    columns = (turn.origins.tolist(), turn.targets.tolist(), turn.values.tolist())
    for origin, target, rate in zip(*columns, strict=True):
        ends = node_of(launch, origin), node_of(launch, target)
        if ends[0] != ends[1]:
            rates[ends] = max(rate, rates.get(ends, 0.0))
    return rates
