"""Does every pair of nodes reach the ceiling, and not only the median of all pairs?"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.evidence.placement import unseen_waits
from fabricgauge.judge import foreign
from fabricgauge.judge.bus import bus_rates, is_crowded
from fabricgauge.judge.host import (
    accounts_beside,
    excused,
    held_nodes,
    waited,
    waiting_everywhere,
    waiting_nodes,
    waits_of_nodes,
)
from fabricgauge.judge.interface import Said, Words, of_networks
from fabricgauge.judge.streams import NEAREST_RATE, alone, carry_the_same
from fabricgauge.judge.subject import Subject
from fabricgauge.localise.recheck import streams_alone
from fabricgauge.localise.typical import inside
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import Ends, PairAnalysis, Part, Recheck, Rechecked, name_part
from fabricgauge.model.verdict import Figure, Outcome, VerdictSubject
from fabricgauge.words import figures, sentences

ID = "pairs"

#: A slow pair is below this share of good pairs: the least effect of a fault, as in `outliers`.
APART = 0.9
#: The best pair of a slow node is at most this multiple of its median: a link has one rate.
LEVEL = 1.1
#: This many pairs show a level, however near the others it is.
FEWEST = 3
#: A slow node must be below this share of any low pair that no slow node explains.
FAR = 0.5
ONCE = "pairs.once"
#: In a round robin of three nodes one pair measures at a time, and of three pairs one is good.
THREE = 3
#: Pairs that the evidence lists; the others are counted.
MOST_LINES = 6

_CAUSE = "its link, adapter or port: all others carry the network's rate, with each other"
_REMEDY = (
    "compare its negotiated rate and its queues with the others' (ethtool NAME, tc qdisc show),"
    " then error counters of both ends; exchange cable and switch port one at a time"
)
_BUSY = "other work on the nodes, or a quota of processor time, accounts for it"
_QUIET = "end other work on the nodes, then measure again"
_WAY = "the way between two nodes, or other load while they measured"
_AGAIN = "measure these pairs again alone: fabricgauge check -w and their names"


class _Pairs(msgspec.Struct, frozen=True, eq=False):
    """The best that was seen of each directed pair, as a share of the ceiling, (N, N).

    NaN where a pair was not measured, or where it crosses a level that is oversubscribed.
    ``limit`` is the threshold from which a pair is fine: lower where one pass is all there is, and
    not every pair was measured again alone.
    ``low`` are the pairs below it, (N, N), never all of them. ``sharing`` streams of a round robin
    share a link, and a pair stands for all of them.
    """

    nodes: tuple[str, ...]
    shares: NDArray[np.float64]
    low: NDArray[np.bool_]
    limit: str
    message_bytes: int
    sharing: int

    @property
    def good(self) -> float:
        """Return what the pairs above the limit reach, the median."""
        return float(np.median(self.shares[np.isfinite(self.shares) & ~self.low]))

    def share(self, ends: Ends) -> float:
        return float(self.shares[self.nodes.index(ends[0]), self.nodes.index(ends[1])])

    def where(self, chosen: NDArray[np.bool_]) -> list[Ends]:
        """Return the pairs at these places."""
        return [(self.nodes[one], self.nodes[other]) for one, other in np.argwhere(chosen)]


class _Slow(msgspec.Struct, frozen=True):
    """A node, or one direction of it, whose pairs are all low, with the median of their shares."""

    part: Part
    node: str
    share: float
    pairs: tuple[Ends, ...]


@of_networks(ID)
def judge(subject: Subject) -> Words:
    if not subject.pairs or isinstance(subject.ceiling, Skipped):
        return ()
    pairs = _best(subject)
    if isinstance(pairs, Skipped):
        return pairs
    slow, ways = _explained(subject, pairs)
    said = [_said(subject, pairs, one) for one in slow]
    if ways or not (slow or pairs.low.any()):
        said.append(_of_all(subject, pairs, ways))
    return said or Skipped("what is below the ceiling is told by outliers")


def again(subject: Subject) -> Recheck | None:
    """With three nodes all pairs measure alone, if one pass leaves it open why a pair is low.

    Beside a suspect there are no two good nodes, so that nobody is measured again for its sake.
    """
    pairs = _best(subject) if subject.pairs else Skipped("no pairs")
    if subject.pairs and subject.beside_others:
        return _out_of_the_crowd(subject, pairs)
    if isinstance(pairs, Skipped) or len(pairs.nodes) > THREE or pairs.limit != ONCE:
        return None
    if np.nanmin(pairs.shares) >= subject.limit("fraction.warn"):
        return None
    return streams_alone(subject.pairs[0].matrix, combinations(pairs.nodes, 2))


def _out_of_the_crowd(subject: Subject, pairs: _Pairs | Skipped) -> Recheck | None:
    """Of a suite's pairs that were measured at once: some of each slow node, or, where the median
    is low, some of all.
    """
    matrix = subject.pairs[0].matrix
    if not isinstance(pairs, Skipped):
        slow, _ = _explained(subject, pairs)
        return streams_alone(matrix, [pair for one in slow for pair in one.pairs[: 2 * THREE]])
    rates = (one for one in bus_rates(subject) if not isinstance(one, Skipped))
    limit = subject.limit("fraction.bus_warn")
    if not any(one.share < limit and is_crowded(subject, one.curve) for one in rates):
        return None
    met = [(matrix.nodes[one], matrix.nodes[two]) for one, two in np.argwhere(matrix.values > 0)]
    return streams_alone(matrix, met[:: 1 + len(met) // THREE])


def slow_nodes(subject: Subject) -> tuple[str, ...]:
    """Nodes that this rule names, although they do not stand out among their peers."""
    pairs = _best(subject)
    if isinstance(pairs, Skipped):
        return ()
    return tuple(one.node for one in _explained(subject, pairs)[0])


def _explained(subject: Subject, pairs: _Pairs) -> tuple[list[_Slow], list[Ends]]:
    """Slow nodes that `outliers` does not name, and the low pairs that no slow node explains."""
    named = _told_by_outliers(subject, pairs)
    slow = [one for one in _slow_nodes(pairs) if one.node not in named]
    ways = [pair for pair in _left(pairs, slow) if not named & set(pair)]
    left = min((pairs.share(pair) for pair in ways), default=math.inf)
    if all(_is_level(subject, pairs, one) and one.share < FAR * left for one in slow):
        return slow, ways
    # Where pairs scatter, some nodes have only low ones by chance.
    return [], [pair for pair in _left(pairs, ()) if not named & set(pair)]


def _told_by_outliers(subject: Subject, pairs: _Pairs) -> set[str]:
    """Nodes that a second measurement decides about; of three nodes, those that it confirms."""
    return {
        name
        for analysis in subject.pairs
        for fault in analysis.faults
        if isinstance(fault.rechecked, Rechecked)
        and (len(pairs.nodes) > THREE or fault.rechecked.confirmed)
        for name in fault.names
    }


def _is_alone(subject: Subject, pairs: _Pairs, node: str) -> bool:
    """Whether the node's pairs were measured one at a time, as those of three nodes are anyway."""
    again = (series for series in subject.again if series.pattern == "bandwidth")
    few = len(pairs.nodes) <= THREE
    one_by_one = subject.by_suite and not subject.beside_others
    return few or one_by_one or any(node in one.ends for one in again)


def _best(subject: Subject) -> _Pairs | Skipped:
    """Load makes a pair slower and nothing makes it faster: its best figure is what it carries."""
    least = subject.limit("fraction.from")
    large = [
        analysis
        for analysis in subject.pairs
        if analysis.matrix.quantity == "bandwidth" and analysis.matrix.message_bytes >= least
    ]
    nothing = Skipped("no pairs were measured with large messages")
    if isinstance(subject.ceiling, Skipped) or not large or len(large[0].matrix.nodes) < THREE:
        return nothing
    nodes = large[0].matrix.nodes
    best = np.fmax.reduce([layer for one in large for layer in one.matrix.repeats])
    # A stream that others left to itself has no part of theirs.
    whole = np.minimum(subject.sharing * best, subject.ceiling.payload_bytes_per_s)
    best = np.maximum(best, whole)
    at = {node: place for place, node in enumerate(nodes)}
    by_itself = {
        (at[stream.series.origin], at[stream.series.target]): stream.best.bandwidth.value
        for stream in alone(subject, "bandwidth", least)
        if stream.series.origin in at and stream.series.target in at
    }
    usual = float(np.median([*by_itself.values()])) if by_itself else 0.0
    for place, rate in by_itself.items():
        # Streams that did not share the link all the time count too much. A pair that is slower
        # than others by itself carries less than they do.
        most = subject.ceiling.payload_bytes_per_s * rate / usual
        best[place] = np.fmax(min(best[place], most) if subject.sharing > 1 else best[place], rate)
    best[~_comparable(large)] = np.nan
    if not np.isfinite(best).any():
        return nothing
    size = max(one.matrix.message_bytes for one in large)
    again = {series.ends for series in subject.again if series.pattern == "bandwidth"}
    known = ((nodes[one], nodes[other]) for one, other in np.argwhere(np.isfinite(best)))
    once = any(len(one.matrix.repeats) == 1 for one in large)
    limit = ONCE if once and any(pair not in again for pair in known) else "fraction.warn"
    if subject.by_suite:
        if any(isinstance(one, Skipped) for one in bus_rates(subject)):
            return Skipped("the suite's figures cannot be held against this network's ceiling")
        limit = "fraction.bus_warn"
    shares = best / subject.ceiling.payload_bytes_per_s
    low = shares < subject.limit(limit)
    if low.sum() == np.isfinite(shares).sum():
        usable = figures.percent(subject.limit(limit))
        return Skipped(f"no pair reaches {usable} of the ceiling: see fraction")
    return _Pairs(nodes, shares, low, limit, size, subject.sharing)


def _comparable(analyses: Sequence[PairAnalysis]) -> NDArray[np.bool_]:
    """Which pairs have the ceiling to themselves: none that crosses an oversubscribed level."""
    allowed = ~np.eye(len(analyses[0].matrix.nodes), dtype=bool)
    for analysis in analyses:
        if any(finding.explanation != "fault" for finding in analysis.findings):
            allowed &= inside(analysis)
    return allowed


def _slow_nodes(pairs: _Pairs) -> Iterator[_Slow]:
    """Nodes whose every pair is low, while the others reach the ceiling with each other.

    A partner's fault is not a node's own: pairs with a node that is slow both ways show nothing of
    their other end. So such nodes are taken out first, those with the most low pairs before others.
    """
    known = np.isfinite(pairs.shares)
    left = pairs.low & (pairs.shares < APART * pairs.good)
    for both in (True, False):
        for place in np.argsort(-(left.sum(axis=0) + left.sum(axis=1)), kind="stable"):
            sends, receives = (
                bool(measured.sum() > 1 and low[measured].all())
                for low, measured in (
                    (left[place], known[place]),
                    (left[:, place], known[:, place]),
                )
            )
            if not (sends and receives if both else sends or receives):
                continue
            part: Part = "node" if sends and receives else "sender" if sends else "receiver"
            own = np.zeros_like(left)
            own[place], own[:, place] = sends, receives
            own &= left & known
            share = float(np.median(pairs.shares[own]))
            left[own], known[own] = False, False
            yield _Slow(part, pairs.nodes[place], share, tuple(pairs.where(own)))


def _is_level(subject: Subject, pairs: _Pairs, one: _Slow) -> bool:
    """Check whether a link may set the pace: its pairs reach the same, where other load lets them.

    Two pairs may be alike by chance, so they must be far below the others as well.
    """
    shares = [pairs.share(pair) for pair in one.pairs]
    passes = 2 if pairs.limit == ONCE else 1
    far = one.share < subject.limit(ONCE) ** passes * pairs.good
    alike = max(shares) <= LEVEL * float(np.median(shares))
    return alike and (far or len(shares) >= FEWEST)


def _left(pairs: _Pairs, slow: Sequence[_Slow]) -> list[Ends]:
    """Low pairs that no slow node explains, the slowest first."""
    explained = {pair for one in slow for pair in one.pairs}
    low = zip(pairs.shares[pairs.low].tolist(), pairs.where(pairs.low), strict=True)
    return [pair for _, pair in sorted(low) if pair not in explained]


def _said(subject: Subject, pairs: _Pairs, one: _Slow) -> Said:
    wire = carry_the_same(subject, [pairs.share(pair) for pair in one.pairs])
    shared = _foreign(subject, pairs, one)
    excuse = shared or _held(subject, pairs, one)
    excuse = excuse or ("" if wire else _excuse(subject, pairs, one))
    sure = _is_alone(subject, pairs, one.node)
    doubt = "" if sure else "; not measured again alone"
    return Said(
        excused(Outcome.FAIL if sure else Outcome.INCONCLUSIVE, bool(excuse)),
        f"{figures.percent(one.share)} of the ceiling with each of its partners (median of"
        f" {sentences.counted(len(one.pairs), 'pair')}); other pairs reach"
        f" {figures.percent(pairs.good)}{_by(shared, excuse) or doubt}",
        Figure(one.share, "share", "of the ceiling, per direction, median of its pairs"),
        subject.threshold(pairs.limit),
        (*_lines(pairs, one.pairs), *filter(None, (excuse,))),
        foreign.CAUSE if shared else _BUSY if excuse else _CAUSE,
        foreign.REMEDY if shared else _QUIET if excuse else _REMEDY if sure else _AGAIN,
        VerdictSubject(one.part, subject.name, (one.node,)),
    )


def _foreign(subject: Subject, pairs: _Pairs, one: _Slow) -> str:
    """Other traffic on its link that, with the median pair, fills it."""
    if subject.by_suite:
        return ""
    found = foreign.foreign_in(subject, "all_pairs_bandwidth").get(one.node)
    limit = subject.limit("foreign-traffic.share")
    if found is None or found.share < limit:
        return ""
    fills = one.share / pairs.good + found.share >= NEAREST_RATE
    return foreign.sentence(found, limit) if fills else ""


def _held(subject: Subject, pairs: _Pairs, one: _Slow) -> str:
    share, told = held_nodes(subject, "all_pairs_bandwidth").get(one.node, (0.0, ""))
    explained = accounts_beside(subject, share, 0.0, one.share / pairs.good)
    return f"the rank on {one.node} {told}" if explained else ""


def _by(shared: str, excuse: str) -> str:
    if shared:
        return "; other traffic takes the rest"
    return "; its host may account for it" if excuse else ""


def _excuse(subject: Subject, pairs: _Pairs, one: _Slow) -> str:
    """What shows that its host, and not its link, may be slow; or that this could not be seen."""
    medians = waits_of_nodes(subject, "all_pairs_bandwidth")
    if one.node not in medians:
        return unseen_waits(
            case
            for launch in subject.launches
            for case in launch.measurements
            if case.pattern == "all_pairs_bandwidth"
        )
    own = medians.pop(one.node)
    usual = float(np.median(list(medians.values()))) if medians else 0.0
    if not accounts_beside(subject, own, usual, one.share / pairs.good):
        return ""
    others = figures.percent(usual)
    return f"the rank on {one.node} {waited(own)}, those of the others for {others}"


def _of_all(subject: Subject, pairs: _Pairs, ways: Sequence[Ends]) -> Said:
    """Single low pairs are only a remark: `outliers` names what is slow with one partner only."""
    known = sentences.counted(int(np.isfinite(pairs.shares).sum()), "directed pair")
    share = pairs.share(ways[0]) if ways else float(np.nanmin(pairs.shares))
    figure = Figure(share, "share", "of the ceiling, per direction, of the slowest pair")
    threshold = subject.threshold(pairs.limit)
    if not ways:
        said = f"each of {known} reaches {figures.percent(share)} of the ceiling or more"
        at = figures.at(pairs.message_bytes)
        return Said(Outcome.PASS, f"{said} {at}", figure, threshold)
    busy, mend = _spoiled(subject, ways)
    called_ways = sentences.listed([name_part("direction", pair) for pair in ways], 3)
    return Said(
        Outcome.WARN,
        f"{len(ways)} of {known} below {figures.percent(threshold.value)} of the ceiling in every"
        f" pass: {busy or called_ways}",
        figure, threshold, _lines(pairs, ways), *(mend if busy else (_WAY, _AGAIN)),
    )  # fmt: skip


def _spoiled(subject: Subject, ways: Sequence[Ends]) -> tuple[str, tuple[str, str]]:
    """Other traffic at an end of each way, or hosts that wait everywhere; with what mends it."""
    if subject.by_suite:
        return "", ("", "")
    limit = subject.limit("foreign-traffic.share")
    loaded = {
        node: one
        for node, one in foreign.foreign_in(subject, "all_pairs_bandwidth").items()
        if one.share >= limit
    }
    if all(loaded.keys() & set(pair) for pair in ways):
        ends = dict.fromkeys(node for pair in ways for node in pair if node in loaded)
        told = [foreign.sentence(loaded[node], limit) for node in ends]
        return sentences.listed(told), (foreign.CAUSE, foreign.REMEDY)
    waiting = waiting_nodes(subject, "all_pairs_bandwidth")
    if all(waiting.keys() & set(pair) for pair in ways):
        ends = dict.fromkeys(node for pair in ways for node in pair if node in waiting)
        return sentences.listed([waiting[node] for node in ends]), (_BUSY, _QUIET)
    return waiting_everywhere(subject, "all_pairs_bandwidth"), (_BUSY, _QUIET)


def _lines(pairs: _Pairs, met: Sequence[Ends]) -> tuple[str, ...]:
    at = figures.at(pairs.message_bytes)
    told = [
        f"{ends[0]} → {ends[1]}: at best {figures.percent(pairs.share(ends))} of the ceiling {at}"
        for ends in met[:MOST_LINES]
    ]
    more = (f"and {len(met) - MOST_LINES:,} more pairs",) if len(met) > MOST_LINES else ()
    ranks = f"{pairs.sharing} ranks of a node measured at once: a pair stands for all of them"
    return (*told, *more, *((ranks,) if pairs.sharing > 1 else ()))
