"""Check whether every pair of nodes, and not only the median of all pairs, reaches the ceiling."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.judge import foreign, host
from fabricgauge.judge.bus import bus_rates, is_crowded
from fabricgauge.judge.evidence.placement import unseen_waits
from fabricgauge.judge.interface import Subject, Verdicts, doubt_faults, judge_networks
from fabricgauge.judge.localise.recheck import streams_alone
from fabricgauge.judge.localise.typical import inside
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.streams import NEAREST_RATE, carry_the_same, rechecked_streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import ForeignTraffic
from fabricgauge.model.pairs import Ends, Part, Recheck, Rechecked, name_part
from fabricgauge.model.verdict import OF_CEILING, Figure, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words import figures, sentences

ID = "pairs"

#: A slow pair is below this share of good pairs: the least effect of a fault, as in `outliers`.
APART = 0.9
#: The best pair of a slow node is at most this multiple of its median: a link has one rate.
LEVEL = 1.1
#: This many pairs show a level, even near the others.
FEWEST = 3
#: A slow node must be below this share of any low pair that no slow node explains.
FAR = 0.5
ONCE = "pairs.once"
#: In a round robin of three nodes one pair measures at a time, and of three pairs one is good.
THREE = 3
#: Pairs that the evidence lists; the others are counted.
MOST_LINES = 6
#: Pairs that a summary names.
MOST_NAMES = 3
#: Low pairs that are sorted by name among equals; of more only the slowest matter.
MOST_SORTED = 10_000

_CAUSE = "its link, adapter or port: the other nodes carry the network's rate to each other"
_REMEDY = (
    "compare its negotiated rate and its queues with those of the other nodes (ethtool NAME, tc"
    " qdisc show), then the error counters of both ends; exchange cable and switch port one at a"
    " time"
)
_BUSY = (
    "other work on the nodes, or a quota of processor time, explains it",
    "end other work on the nodes, then measure again",
)
_PATH = "the path between two nodes, or other load during their measurement"
_AGAIN = "measure these pairs again alone: fabricgauge check -w and their names"

#: Directed pairs by their place in a matrix, row by row: a large fabric has millions of low ones.
_Cells = NDArray[np.int64]


class _Pairs(msgspec.Struct, frozen=True, eq=False):
    """The best rate of each directed pair as a share of the ceiling, (N, N).

    NaN if a pair was not measured, or if it crosses an oversubscribed level.
    ``limit`` is the threshold from which a pair is fine. It is lower after a single pass, unless
    every pair was measured again alone.
    ``low`` are the pairs below it, (N, N), never all of them; ``good`` is the median of the
    others. ``alone`` are pairs that were low among all: each one's share then, and its share alone.
    """

    nodes: tuple[str, ...]
    shares: NDArray[np.floating]
    low: NDArray[np.bool_]
    good: float
    limit: str
    message_bytes: int
    alone: tuple[tuple[float, float], ...]

    def select(self, cells: _Cells) -> NDArray[np.floating]:
        return self.shares.ravel()[cells]

    def places(self, cells: _Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the sending and of the receiving nodes."""
        return np.divmod(cells, len(self.nodes))

    def ends(self, cells: _Cells) -> list[Ends]:
        places = np.stack(self.places(cells), axis=1).tolist()
        return [(self.nodes[row], self.nodes[column]) for row, column in places]

    def touch(self, cells: _Cells, names: Collection[str]) -> NDArray[np.bool_]:
        """Return true for the pairs with a node of these names."""
        named = np.array([node in names for node in self.nodes], dtype=np.bool_)
        rows, columns = self.places(cells)
        touching: NDArray[np.bool_] = named[rows] | named[columns]
        return touching


class _Slow(msgspec.Struct, frozen=True, eq=False):
    """A node, or one direction of it, whose pairs are all low, with the median of their shares."""

    part: Part
    node: str
    share: float
    cells: _Cells


@judge_networks(ID)
def judge(subject: Subject) -> Verdicts:
    if not subject.pairs or isinstance(subject.ceiling, Skipped):
        return ()
    pairs = _best_pairs(subject)
    if isinstance(pairs, Skipped):
        return pairs
    slow, unexplained = _find_slow(subject, pairs)
    verdicts = [_judge_node(subject, pairs, node) for node in slow]
    if len(unexplained) or not (slow or pairs.low.any()):
        verdicts.append(_judge_pairs(subject, pairs, unexplained))
    verdicts = [*doubt_faults(subject, verdicts)]
    return verdicts or Skipped("outliers judges the pairs below the ceiling")


def again(subject: Subject) -> Recheck | None:
    """Return all pairs of three nodes if one pass does not show why a pair is low.

    Three nodes hold no two good ones beside a suspect, so `outliers` has no pairs to measure again.
    """
    pairs = _best_pairs(subject) if subject.pairs else Skipped("no pairs")
    if subject.pairs and subject.beside_others:
        return _recheck_concurrent(subject, pairs)
    if isinstance(pairs, Skipped) or len(pairs.nodes) > THREE or pairs.limit != ONCE:
        return None
    if np.nanmin(pairs.shares) >= subject.limit("fraction.warn"):
        return None
    return streams_alone(subject.pairs[0].matrix, combinations(pairs.nodes, 2))


def _recheck_concurrent(subject: Subject, pairs: _Pairs | Skipped) -> Recheck | None:
    """Return some pairs of each slow node of a suite that measured at once, or of all nodes."""
    matrix = subject.pairs[0].matrix
    if not isinstance(pairs, Skipped):
        slow, _ = _find_slow(subject, pairs)
        return streams_alone(
            matrix, [pair for node in slow for pair in pairs.ends(node.cells[: 2 * THREE])]
        )
    rates = (rate for rate in bus_rates(subject) if not isinstance(rate, Skipped))
    limit = subject.limit("fraction.bus_warn")
    if not any(rate.share < limit and is_crowded(subject, rate.curve) for rate in rates):
        return None
    measured = np.argwhere(matrix.values > 0)
    cells = measured[:: 1 + len(measured) // THREE].tolist()
    return streams_alone(matrix, [(matrix.nodes[row], matrix.nodes[to]) for row, to in cells])


def slow_nodes(subject: Subject) -> tuple[str, ...]:
    """Return the nodes that this rule names, although they are not slower than their peers."""
    pairs = _best_pairs(subject)
    slow = [] if isinstance(pairs, Skipped) else _find_slow(subject, pairs)[0]
    return tuple(node.node for node in slow)


def _find_slow(subject: Subject, pairs: _Pairs) -> tuple[list[_Slow], _Cells]:
    """Return slow nodes that `outliers` does not name, and low pairs that no slow node explains."""
    # It names nodes with a second measurement; of three nodes, those that it confirms.
    named = {
        name
        for analysis in subject.pairs
        for fault in analysis.faults
        if isinstance(fault.rechecked, Rechecked)
        and (len(pairs.nodes) > THREE or fault.rechecked.confirmed)
        for name in fault.names
    }
    slow = [node for node in _slow_nodes(pairs) if node.node not in named]
    unexplained = _unexplained(pairs, slow, named)
    lowest = float(pairs.select(unexplained[:1])[0]) if len(unexplained) else math.inf
    if all(_is_level(subject, pairs, node) and node.share < FAR * lowest for node in slow):
        return slow, unexplained
    # If pairs scatter, some nodes have only low ones by chance.
    return [], _unexplained(pairs, (), named)


def _best_pairs(subject: Subject) -> _Pairs | Skipped:
    """Return what each pair can carry: load makes it slower, and nothing makes it faster."""
    least = subject.limit("fraction.from")
    large = [
        analysis
        for analysis in subject.pairs
        if analysis.matrix.quantity == "bandwidth" and analysis.matrix.message_bytes >= least
    ]
    no_pairs = Skipped("no pairs were measured with large messages")
    if isinstance(subject.ceiling, Skipped) or not large or len(large[0].matrix.nodes) < THREE:
        return no_pairs
    nodes = large[0].matrix.nodes
    layers = [layer for analysis in large for layer in analysis.matrix.repeats]
    best = layers[0].copy()
    for layer in layers[1:]:
        np.fmax(best, layer, out=best)
    if subject.sharing > 1:
        # A stream that had the link to itself must not count for the others as well.
        whole = np.minimum(subject.sharing * best, subject.ceiling.payload_bytes_per_s)
        best = np.maximum(best, whole)
    index = {node: position for position, node in enumerate(nodes)}
    rechecked_rates = {
        (index[stream.series.origin], index[stream.series.target]): stream.best.bandwidth.value
        for stream in rechecked_streams(subject, "bandwidth", least)
        if index.keys() >= {*stream.series.ends}
    }
    usual = median_or_zero(rechecked_rates.values())
    among_all = {cell: float(best[cell]) for cell in rechecked_rates}
    for cell, rate in rechecked_rates.items():
        # Streams that did not share the link all the time count too much. A pair that is slower
        # than others by itself carries less than they do.
        most = subject.ceiling.payload_bytes_per_s * rate / usual
        best[cell] = np.fmax(min(best[cell], most) if subject.sharing > 1 else best[cell], rate)
    np.fill_diagonal(best, np.nan)
    for analysis in large:
        if any(finding.explanation != "fault" for finding in analysis.findings):
            best[~inside(analysis)] = np.nan
    measured = np.isfinite(best)
    count = int(measured.sum())
    if not count:
        return no_pairs
    size = max(analysis.matrix.message_bytes for analysis in large)
    again_ends = {series.ends for series in subject.again if series.pattern == "bandwidth"}
    rechecked = sum(
        bool(measured[index[origin], index[target]])
        for origin, target in again_ends
        if origin in index and target in index
    )
    single_pass = any(len(analysis.matrix.repeats) == 1 for analysis in large)
    is_uncertain = single_pass and rechecked < count
    limit = ONCE if is_uncertain else "fraction.warn"
    if subject.by_collectives:
        if any(isinstance(rate, Skipped) for rate in bus_rates(subject)):
            return Skipped("the suite's figures cannot be compared with this network's ceiling")
        limit = "fraction.bus_warn"
    most, ceiling = subject.limit(limit), subject.ceiling.payload_bytes_per_s
    shares = np.divide(best, ceiling, out=best)
    low = shares < most
    if low.sum() == count:
        return Skipped(f"no pair reaches {figures.percent(most)} of the ceiling: see fraction")
    good = float(np.median(shares[measured & ~low], overwrite_input=True))
    alone = tuple(
        (rate / ceiling, float(shares[cell]))
        for cell, rate in among_all.items()
        if measured[cell] and rate / ceiling < most
    )
    return _Pairs(nodes, shares, low, good, limit, size, alone)


def _slow_nodes(pairs: _Pairs) -> Iterator[_Slow]:
    """Yield nodes whose every pair is low, while the other nodes reach the ceiling together.

    A pair with a node that is slow both ways shows nothing of its other end. So such nodes are
    removed first, those with the most low pairs before others.
    """
    known = np.isfinite(pairs.shares)
    unexplained = pairs.low & (pairs.shares < APART * pairs.good)
    # For each node sending, and receiving: how many pairs it has, and how many of them are low.
    counts = np.stack([known.sum(axis=1), known.sum(axis=0)])
    low_counts = np.stack([unexplained.sum(axis=1), unexplained.sum(axis=0)])
    for both in (True, False):
        for index in np.argsort(-low_counts.sum(axis=0), kind="stable").tolist():
            all_low = (counts[:, index] > 1) & (low_counts[:, index] == counts[:, index])
            if not (all_low.all() if both else all_low.any()):
                continue
            sends, receives = all_low.tolist()
            part: Part = "node" if sends and receives else "sender" if sends else "receiver"
            columns = np.flatnonzero(unexplained[index]) if sends else np.zeros(0, np.int64)
            rows = np.flatnonzero(unexplained[:, index]) if receives else np.zeros(0, np.int64)
            both_ways = (index * len(pairs.nodes) + columns, rows * len(pairs.nodes) + index)
            cells = np.unique(np.concatenate(both_ways))
            places = pairs.places(cells)
            for table, sums in ((known, counts), (unexplained, low_counts)):
                table[places] = False
                np.subtract.at(sums[0], places[0], 1)
                np.subtract.at(sums[1], places[1], 1)
            yield _Slow(part, pairs.nodes[index], float(np.median(pairs.select(cells))), cells)


def _is_level(subject: Subject, pairs: _Pairs, slow: _Slow) -> bool:
    """Check whether a link may set the pace: no pair of the node is much above its median."""
    passes = 2 if pairs.limit == ONCE else 1
    far = slow.share < subject.limit(ONCE) ** passes * pairs.good
    level = pairs.select(slow.cells).max() <= LEVEL * slow.share
    # Two pairs may agree by chance, so they must be far below the others as well.
    return bool(level and (far or len(slow.cells) >= FEWEST))


def _unexplained(pairs: _Pairs, slow: Sequence[_Slow], named: Collection[str]) -> _Cells:
    """Return low pairs that no slow node explains, the slowest first, without ``named`` nodes."""
    low = pairs.low.ravel().copy()
    for node in slow:
        low[node.cells] = False
    cells = np.flatnonzero(low)
    cells = cells[~pairs.touch(cells, named)]
    ends = pairs.ends(cells) if len(cells) <= MOST_SORTED else ()
    names = np.array(ends) if len(ends) else np.zeros((len(cells), 2))
    return cells[np.lexsort((names[:, 1], names[:, 0], pairs.select(cells)))]


def _judge_node(subject: Subject, pairs: _Pairs, slow: _Slow) -> Verdict:
    shared = _explain_by_traffic(subject, pairs, slow)
    excuse = shared or _explain_by_host(subject, pairs, slow)
    # The pairs of three nodes are measured one at a time.
    rechecked = (series for series in subject.again if series.pattern == "bandwidth")
    few = len(pairs.nodes) <= THREE
    in_turn = subject.by_suite and not subject.beside_others
    sure = few or in_turn or any(slow.node in series.ends for series in rechecked)
    remark, cause, remedy = "", _CAUSE, _REMEDY
    if shared:
        remark, cause, remedy = "; other traffic takes the rest", foreign.CAUSE, foreign.REMEDY
    elif excuse:
        remark, (cause, remedy) = "; its host may explain it", _BUSY
    elif not sure:
        remark, remedy = "; not measured again alone", _AGAIN
    return Verdict(
        host.excuse_outcome(Outcome.FAIL if sure else Outcome.INCONCLUSIVE, bool(excuse)),
        f"{figures.percent(slow.share)} of the ceiling with each of its partners (median of"
        f" {sentences.counted(len(slow.cells), 'pair')}); other pairs reach"
        f" {figures.percent(pairs.good)}{remark}",
        Figure(slow.share, "share", f"{OF_CEILING}, per direction, median of its pairs"),
        subject.threshold(pairs.limit),
        (*_lines(subject, pairs, slow.cells), *filter(None, (excuse,))),
        cause,
        remedy,
        VerdictSubject(slow.part, subject.name, (slow.node,)),
    )


def _explain_by_traffic(subject: Subject, pairs: _Pairs, slow: _Slow) -> str:
    """Return a sentence on other traffic that, with the median pair, fills the node's link."""
    if subject.by_suite:
        return ""
    traffic = _find_busy_links(subject).get(slow.node)
    if traffic is None or slow.share / pairs.good + traffic.share < NEAREST_RATE:
        return ""
    return foreign.sentence(traffic, subject.limit("foreign-traffic.share"))


def _find_busy_links(subject: Subject) -> dict[str, ForeignTraffic]:
    """Return the other traffic beside the round robin by node, if it is much."""
    traffic_by_node = foreign.foreign_in(subject, "all_pairs_bandwidth")
    limit = subject.limit("foreign-traffic.share")
    return {node: traffic for node, traffic in traffic_by_node.items() if traffic.share >= limit}


def _explain_by_host(subject: Subject, pairs: _Pairs, slow: _Slow) -> str:
    """Return a sentence if the node's host may be slow, or if nothing shows its waiting."""
    rank, speed_share = f"the rank on {slow.node}", slow.share / pairs.good
    share, sentence = host.quotas_by_node(subject, "all_pairs_bandwidth").get(slow.node, (0.0, ""))
    if host.explains_speed(subject, share, 0.0, speed_share):
        return f"{rank} {sentence}"
    # Pairs that carry the same, as only one wire makes them, waited for no processor.
    if carry_the_same(subject, pairs.select(slow.cells).tolist()):
        return ""
    medians = host.waits_of_nodes(subject, "all_pairs_bandwidth")
    if slow.node not in medians:
        cases = (case for launch in subject.launches for case in launch.measurements)
        return unseen_waits(case for case in cases if case.pattern == "all_pairs_bandwidth")
    delay = medians.pop(slow.node)
    usual = median_or_zero(medians.values())
    if not host.explains_speed(subject, delay, usual, speed_share):
        return ""
    return f"{rank} {host.describe_wait(delay)}; the other ranks for {figures.percent(usual)}"


def _judge_pairs(subject: Subject, pairs: _Pairs, low_pairs: _Cells) -> Verdict:
    """Return a warning of single low pairs, or a pass."""
    directed_pairs = sentences.counted(int(np.isfinite(pairs.shares).sum()), "directed pair")
    share = float(np.nanmin(pairs.select(low_pairs) if len(low_pairs) else pairs.shares))
    figure = Figure(share, "share", f"{OF_CEILING}, per direction, of the slowest pair")
    threshold = subject.threshold(pairs.limit)
    if not len(low_pairs):
        summary = (
            f"each of {directed_pairs} reaches {figures.percent(share)} of the ceiling or more"
            f" {figures.at(pairs.message_bytes)}"
        )
        return Verdict(Outcome.PASS, summary, figure, threshold)
    if _share_links(subject, pairs, share):
        reached = min(rate for _, rate in pairs.alone)
        summary = (
            f"{len(low_pairs)} of {directed_pairs} carry less than"
            f" {figures.percent(threshold.value)} of the ceiling while all pairs measure: they"
            f" share links; {len(pairs.alone)} of them measured again alone reach"
            f" {figures.percent(reached)} or more"
        )
        return Verdict(Outcome.PASS, summary, figure, threshold, _lines(subject, pairs, low_pairs))
    excuse, cause_and_remedy = _explain_low_pairs(subject, pairs, low_pairs)
    names = sentences.listed(
        [name_part("direction", pair) for pair in pairs.ends(low_pairs[:MOST_NAMES])], MOST_NAMES,
        of=len(low_pairs),
    )  # fmt: skip
    verb = "carries" if len(low_pairs) == 1 else "carry"
    return Verdict(
        Outcome.WARN,
        f"{len(low_pairs)} of {directed_pairs} {verb} less than"
        f" {figures.percent(threshold.value)} of the ceiling in every pass: {excuse or names}",
        figure, threshold, _lines(subject, pairs, low_pairs),
        *(cause_and_remedy if excuse else (_PATH, _AGAIN)),
    )  # fmt: skip


def _share_links(subject: Subject, pairs: _Pairs, lowest: float) -> bool:
    """Check whether low pairs only share links, as within a group of a dragonfly."""
    if subject.by_suite or subject.sharing > 1 or len(pairs.alone) < FEWEST:
        return False
    # All that were measured again alone are fine, and no other is much lower than they were.
    least = min(share for share, _ in pairs.alone)
    fine = all(alone >= subject.limit(pairs.limit) for _, alone in pairs.alone)
    return fine and lowest >= APART * least


def _explain_low_pairs(
    subject: Subject, pairs: _Pairs, low_pairs: _Cells
) -> tuple[str, tuple[str, str]]:
    """Return a sentence on traffic or waiting that explains all low pairs, its cause and remedy."""
    if subject.by_suite:
        return "", ("", "")
    loaded, limit = _find_busy_links(subject), subject.limit("foreign-traffic.share")
    if pairs.touch(low_pairs, loaded).all():
        ends = _ends_among(pairs, low_pairs, loaded)
        traffic_lines = [foreign.sentence(loaded[node], limit) for node in ends]
        return sentences.listed(traffic_lines), (foreign.CAUSE, foreign.REMEDY)
    waiting = host.waiting_nodes(subject, "all_pairs_bandwidth")
    if pairs.touch(low_pairs, waiting).all():
        ends = _ends_among(pairs, low_pairs, waiting)
        return sentences.listed([waiting[node] for node in ends]), _BUSY
    return host.describe_common_waiting(subject, "all_pairs_bandwidth"), _BUSY


def _ends_among(pairs: _Pairs, low_pairs: _Cells, names: Collection[str]) -> dict[str, None]:
    """Return those of the names that end a pair, in the order of the pairs."""
    both = np.stack(pairs.places(low_pairs), axis=1).ravel()
    places, first = np.unique(both, return_index=True)
    ordered = places[np.argsort(first)].tolist()
    ends = (pairs.nodes[place] for place in ordered)
    return dict.fromkeys(node for node in ends if node in names)


def _lines(subject: Subject, pairs: _Pairs, listed_pairs: _Cells) -> tuple[str, ...]:
    at = figures.at(pairs.message_bytes)
    first_pairs = listed_pairs[:MOST_LINES]
    first = zip(pairs.ends(first_pairs), pairs.select(first_pairs), strict=True)
    lines = [
        f"{ends[0]} → {ends[1]}: at best {figures.percent(float(share))} of the ceiling {at}"
        for ends, share in first
    ]
    excess = len(listed_pairs) - MOST_LINES
    more = (f"and {excess:,} more pairs",) if excess > 0 else ()
    ranks = f"{subject.sharing} ranks of a node measured at once: a pair stands for all of them"
    return (*lines, *more, *((ranks,) if subject.sharing > 1 else ()))
