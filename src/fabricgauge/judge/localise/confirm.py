"""Decide, from a second measurement of single pairs, about what the matrices name or suspect.

Among the thousands of pairs of a matrix, chance makes some look slow. The second measurement is
independent of that choice. It measures few pairs, one at a time, so plain statistics apply: a
suspect's pairs against control pairs of the same launch. It clears some named parts, names some
suspects, and drops those that only chance made look slow.

A latency is compared by its fastest messages: a slow path delays these as well, while a busy host
delays most messages but not all. Latencies are corrected to the usual length of path.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.judge.localise import limits
from fabricgauge.judge.localise.naming import AGAIN, AGAIN_MANY, AGAIN_PAIR, MANY
from fabricgauge.judge.localise.slowness import F64, INTERVAL, may_reach, tail
from fabricgauge.judge.stats.series import Series
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    ENDS,
    WAYS,
    Claim,
    Ends,
    PairAnalysis,
    PairFinding,
    Part,
    Quantity,
    Rechecked,
    Suspect,
)

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_SOME = "slow when measured again alone, but with some partners only: the links between them"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def confirm(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> tuple[PairAnalysis, ...]:
    """Return one network's analyses after the recheck, whose single pairs are ``series``.

    Each finding then holds its recheck. Without series the analyses stay as they are.
    """
    if not series:
        return tuple(analyses)
    promoted = [
        _promote_suspects(_clear_findings(rechecked))
        for rechecked in _rechecked_analyses(analyses, series)
    ]
    return tuple(_with_evidence(rechecked) for rechecked in _rechecked_analyses(promoted, series))


class PairRecheck(msgspec.Struct, frozen=True):
    """The second measurement of one pair, in the quantity's unit, at one message size.

    A latency is the fastest message's, corrected to the usual length of path. ``varied`` is
    its relative variance between launches, in which ranks get other processors; NaN with a single
    launch.
    """

    ends: Ends
    message_bytes: int
    figure: float
    varied: float = float("nan")


class ControlComparison(msgspec.Struct, frozen=True, eq=False):
    """A claim's ``claimed`` pairs compared with ``good`` ones, the control pairs.

    ``effect`` is the claimed pairs' median relative to the good ones', ``slower`` that as a loss,
    ``error`` the standard error of either, ``chance`` how often the good pairs' own scatter does as
    much. ``apart`` is true if each claimed pair is slower than each good one. ``limit`` is the
    least effect of a fault; good pairs that differ by less are ``uniform``. ``against`` are pairs
    that acquit: those of a claimed node that are as fast as good ones, with any partner, or those
    inside a claimed group that are as slow as others.
    """

    claimed: list[PairRecheck]
    good: list[PairRecheck]
    limit: float
    effect: float = 0.0
    slower: float = 0.0
    error: float = 0.0
    chance: float = 1.0
    apart: bool = False
    uniform: bool = False
    against: tuple[Ends, ...] = ()

    @property
    def enough(self) -> bool:
        return bool(self.claimed) and len(self.good) >= limits.FEWEST_GOOD

    @property
    def reaches(self) -> bool:
        """True if the effect may be as large as a fault's."""
        return bool(may_reach(np.array([self.slower]), np.array([self.error]), self.limit)[0])

    def shows(self, tests: int) -> bool:
        """Check whether a fault is beyond doubt (Bonferroni over ``tests``)."""
        sure = self.chance * tests <= limits.CHANCE
        return self.enough and self.apart and sure and self.reaches and not self.against


def compare_pairs(
    claimed: list[PairRecheck],
    good: list[PairRecheck],
    quantity: Quantity,
    node_pairs: Sequence[PairRecheck] = (),
) -> ControlComparison:
    """Compare pairs. ``node_pairs`` are all of a claimed node, also with doubtful partners."""
    limit, sign = limits.FAULT[quantity], 1 if quantity == "latency" else -1
    if not claimed or not good:
        return ControlComparison(claimed, good, limit)
    claimed_figures, good_figures = (
        np.array([pair.figure for pair in side]) for side in (claimed, good)
    )
    usual = float(np.median(good_figures))
    effect = float(np.median(claimed_figures)) / usual - 1.0
    variances = [pair.varied for pair in (*claimed, *good) if np.isfinite(pair.varied)]
    between_launches = float(np.sqrt(np.mean(variances))) if variances else 0.0
    spread = _deviation(good_figures / usual, max(limits.FLOOR, between_launches))
    own_spread = _deviation(claimed_figures / usual, spread)
    error = float(np.sqrt(spread**2 / good_figures.size + own_spread**2 / claimed_figures.size))
    chance = float(tail(np.array([abs(effect) / error]), good_figures.size - 1)[0])
    worst_good = (sign * good_figures).max()
    apart = bool((sign * claimed_figures).min() > worst_good)
    uniform = bool(good_figures.max() - good_figures.min() < limit * usual)
    half_as_slow = usual * (1.0 + limits.SHOWN * effect)
    against = tuple(
        pair.ends
        for pair in node_pairs
        if sign * pair.figure <= min(worst_good, sign * half_as_slow)
    )
    return ControlComparison(
        claimed, good, limit, effect, sign * effect, error, chance, apart, uniform, against
    )


def _deviation(values: F64, least: float) -> float:
    return max(least, float(values.std(ddof=1)) if values.size > 1 else 0.0)


class Doubts(msgspec.Struct, frozen=True):
    """Parts that may be at fault: ``nodes`` themselves, and ``pairs`` of which only the link."""

    nodes: frozenset[str]
    pairs: frozenset[frozenset[str]]


class RecheckedAnalysis(msgspec.Struct, frozen=True, eq=False):
    """An analysis with the second measurement of what it names, suspects or doubts.

    ``doubts`` are all parts in doubt, then without those below the threshold for a suspect, then
    the named ones, then none: a small fabric has too few nodes without any doubt.
    """

    analysis: PairAnalysis
    pairs: list[PairRecheck]
    doubts: tuple[Doubts, ...]

    def compare(self, claim: Claim) -> ControlComparison:
        """Compare the pairs that show the claim with good ones.

        Good pairs of a slow pair include other pairs of its two nodes. Pairs with other nodes in
        doubt are left out. If too few are left, they count as good if they are uniform, or if the
        claim is slower than all of them. A single good pair is enough to see a fault again.
        """
        strict, *lenient = (self._compare(claim, doubts) for doubts in self.doubts)
        seen_again = isinstance(claim, PairFinding) and bool(strict.claimed and strict.good)
        if strict.enough or seen_again:
            return strict
        usable = (
            comparison
            for comparison in lenient
            if comparison.enough
            and (comparison.uniform or (comparison.apart and comparison.reaches))
        )
        return next(usable, strict)

    def _compare(self, claim: Claim, doubts: Doubts) -> ControlComparison:
        part, quantity = claim.part, self.analysis.matrix.quantity
        doubted_nodes, doubted_pairs = doubts.nodes, doubts.pairs
        if part in WAYS:
            doubted_pairs |= {frozenset(claim.names)}
        else:
            doubted_nodes |= {*self.analysis.nodes_of(claim)}
        claimed = [pair for pair in self.pairs if self.shows(pair.ends, claim, doubts)]
        good = [
            pair
            for pair in self.pairs
            if not doubted_nodes & {*pair.ends} and frozenset(pair.ends) not in doubted_pairs
        ]
        # A latency may be low because the path is short, so that it acquits no node.
        if part in ENDS and quantity == "bandwidth":
            node_pairs = [pair for pair in self.pairs if self.shows(pair.ends, claim, _NO_DOUBTS)]
            return compare_pairs(claimed, good, quantity, node_pairs)
        if part == "group":
            return self._compare_group({*self.analysis.nodes_of(claim)}, claimed, good)
        return compare_pairs(claimed, good, quantity)

    def _compare_group(
        self, nodes: set[str], claimed: list[PairRecheck], good: list[PairRecheck]
    ) -> ControlComparison:
        """Compare a group's pairs outwards, inwards, or both if these are about as slow.

        Nodes that are named or suspected themselves show nothing of their group.
        """
        quantity = self.analysis.matrix.quantity
        suspects = {claim.names[0] for claim in self.analysis.claims if claim.part in ENDS}
        claimed = [pair for pair in claimed if not suspects & {*pair.ends}] or claimed
        comparison = compare_pairs(claimed, good, quantity)
        directions = [
            compare_pairs([pair for pair in claimed if pair.ends[side] in nodes], good, quantity)
            for side in (0, 1)
        ]
        least, worst = sorted(directions, key=lambda direction: direction.slower)
        if quantity == "bandwidth" and least.claimed and least.slower < limits.SHOWN * worst.slower:
            comparison = worst
        mates = [pair for pair in self.pairs if nodes - suspects >= {*pair.ends}]
        inside = compare_pairs(mates, good, quantity)
        if inside.claimed and inside.slower >= limits.SHOWN * comparison.slower:
            against = tuple(pair.ends for pair in inside.claimed)
            return msgspec.structs.replace(comparison, against=against)
        return comparison

    def shows(self, ends: Ends, claim: Claim, doubts: Doubts) -> bool:
        """Check whether a pair shows the claimed part, with a partner that is not in doubt."""
        part, directed = claim.part, self.analysis.matrix.quantity == "bandwidth"
        if part in WAYS:
            exactly = part == "direction" and directed
            return ends == claim.names if exactly else set(ends) == set(claim.names)
        inside = [end in self.analysis.nodes_of(claim) for end in ends]
        if sum(inside) != 1 or ends[inside.index(False)] in doubts.nodes:
            return False
        if directed and part in ("sender", "receiver") and not inside[part == "receiver"]:
            return False
        return frozenset(ends) not in doubts.pairs


_NO_DOUBTS = Doubts(frozenset(), frozenset())


def _rechecked_analyses(
    analyses: Sequence[PairAnalysis], series: Sequence[Series]
) -> list[RecheckedAnalysis]:
    return [
        RecheckedAnalysis(
            analysis,
            list(_pair_rechecks(analysis, series)),
            _doubts(analyses, analysis.matrix.quantity),
        )
        for analysis in analyses
    ]


def _pair_rechecks(analysis: PairAnalysis, series: Sequence[Series]) -> Iterator[PairRecheck]:
    """Yield the pairs in the analysis' quantity, at the size nearest to its matrix's.

    From a latency the extra length of the path between its two groups is subtracted, as the matrix
    shows it. A bandwidth needs no correction: a pair alone has the crossing links to itself.
    """
    matrix, groups = analysis.matrix, analysis.groups
    group_of = {node: place for place, group in enumerate(groups) for node in group.nodes}
    for stream in series:
        if stream.pattern != matrix.quantity or not stream.points:
            continue
        ends = (stream.origin, stream.target)
        nearest = min(
            stream.points, key=lambda point: abs(point.message_bytes - matrix.message_bytes)
        )
        if matrix.quantity == "bandwidth":
            yield PairRecheck(ends, nearest.message_bytes, nearest.bandwidth.value)
            continue
        fastest = [case.times.minimum_s for case in nearest.measurements if case.times is not None]
        origin, target = (group_of.get(end, len(groups)) for end in ends)
        longer_s = float(np.nan_to_num(analysis.expected[origin, target] - analysis.typical))
        varied = np.var(fastest, ddof=1) / np.mean(fastest) ** 2 if len(fastest) > 1 else np.nan
        figure_s = min(fastest, default=nearest.time.value) - longer_s
        yield PairRecheck(ends, nearest.message_bytes, figure_s, float(varied))


def _doubts(analyses: Sequence[PairAnalysis], quantity: str) -> tuple[Doubts, ...]:
    """Return the parts that these analyses name, suspect or doubt in this quantity.

    A node whose latency is in doubt, as on busy hosts, may still show a good bandwidth.
    """
    of_quantity = [analysis for analysis in analyses if analysis.matrix.quantity == quantity]
    named = [(analysis, claim) for analysis in analyses for claim in analysis.faults]
    suspected = [(analysis, claim) for analysis in of_quantity for claim in analysis.suspects]
    doubtful = [(analysis, claim) for analysis in of_quantity for claim in analysis.doubtful]
    return (
        _claimed_parts([*named, *suspected, *doubtful]),
        _claimed_parts([*named, *suspected]),
        _claimed_parts(named),
        _claimed_parts(()),
    )


def _claimed_parts(claims: Iterable[tuple[PairAnalysis, Claim]]) -> Doubts:
    nodes, pairs = set[str](), set[frozenset[str]]()
    for analysis, claim in claims:
        if claim.part in WAYS:
            pairs.add(frozenset(claim.names))
        else:
            nodes.update(analysis.nodes_of(claim))
    return Doubts(frozenset(nodes), frozenset(pairs))


def _with_evidence(rechecked: RecheckedAnalysis) -> PairAnalysis:
    """Return the analysis, each finding with its recheck beside all pairs that proved good."""
    findings = tuple(
        finding
        if isinstance(finding.rechecked, Rechecked)
        else msgspec.structs.replace(finding, rechecked=_recheck(rechecked, finding))
        for finding in rechecked.analysis.findings
    )
    return msgspec.structs.replace(rechecked.analysis, findings=findings)


def _recheck(rechecked: RecheckedAnalysis, finding: PairFinding) -> Rechecked | Skipped:
    """Return what the pairs that were measured again show of a finding."""
    comparison = rechecked.compare(finding)
    if not comparison.claimed:
        return Skipped("it was not measured again")
    if not comparison.good:
        return Skipped("no two good nodes were measured beside it")
    shown = comparison.effect / finding.effect >= limits.SHOWN if finding.effect else False
    figures = recheck_figures(comparison, rechecked.analysis.nodes_of(finding))
    return msgspec.structs.replace(figures, confirmed=shown and not comparison.against)


def recheck_figures(comparison: ControlComparison, claimed: Collection[str]) -> Rechecked:
    """Return the figures of both sides, as a confirmation."""
    return Rechecked(
        effect=comparison.effect,
        own=float(np.median([pair.figure for pair in comparison.claimed])),
        good=float(np.median([pair.figure for pair in comparison.good])),
        partners=tuple(
            sorted({end for pair in comparison.claimed for end in pair.ends}.difference(claimed))
        ),
        confirmed=True,
        own_pairs=tuple(pair.ends for pair in comparison.claimed),
        good_pairs=tuple(pair.ends for pair in comparison.good),
    )


def _clear_findings(rechecked: RecheckedAnalysis) -> RecheckedAnalysis:
    """Make a suspect of each part that was slow among many, but is not when measured alone.

    It is dropped instead if its latency was measured in one pass only.
    """
    analysis = rechecked.analysis
    findings, suspects = [], list(analysis.suspects)
    for finding in analysis.findings:
        again = _recheck(rechecked, finding)
        if finding.explanation != "fault" or isinstance(again, Skipped) or again.confirmed:
            findings.append(finding)
        elif finding.quantity == "bandwidth" or len(analysis.matrix.repeats) > 1:
            partly = again.effect / finding.effect >= limits.SHOWN
            reason = _SOME if partly else _ALONE
            suspects.append(
                Suspect(
                    finding.part, finding.names, finding.quantity, finding.effect, reason, _QUIET
                )
            )
    reconciled = msgspec.structs.replace(
        analysis, findings=tuple(findings), suspects=tuple(suspects)
    )
    return msgspec.structs.replace(rechecked, analysis=reconciled)


def _promote_suspects(rechecked: RecheckedAnalysis) -> PairAnalysis:
    """Name each suspect, or part below the threshold for one, that proves slow when alone.

    Drop it if the second measurement shows that only chance made it look slow. A part that a slow
    group or a slow node explains is neither named nor suspected beside it.
    """
    analysis = rechecked.analysis
    candidates = [
        suspect
        for suspect in (*analysis.suspects, *analysis.doubtful)
        if not any(
            fault.names == suspect.names and fault.part in (suspect.part, "node")
            for fault in analysis.faults
        )
    ]
    claims: tuple[Claim, ...] = (*candidates, *analysis.faults)
    pair_claims = [claim for claim in claims if claim.part in WAYS]
    pair_ends = [*_ends_of_pairs(rechecked, pair_claims)]
    nodes = [*(suspect for suspect in candidates if suspect.part in ENDS), *pair_ends]
    groups = [suspect for suspect in candidates if suspect.part == "group"]
    tests, tests_with_ends = len(candidates), len(candidates) + len(pair_ends)
    group_faults = [
        fault for suspect in groups for fault in _proved_fault(rechecked, suspect, tests)
    ]
    group_faults += [
        fault for suspect in nodes for fault in _proved_uplink(rechecked, suspect, tests_with_ends)
    ]
    uplinks = [fault for fault in (*analysis.faults, *group_faults) if fault.part == "group"]
    node_faults = [
        fault
        for suspect in nodes
        if not is_explained(analysis, uplinks, suspect)
        for fault in _proved_fault(
            rechecked, suspect, tests_with_ends if suspect in pair_ends else tests
        )
    ]
    named = [*analysis.findings, *group_faults, *node_faults]
    # If an end of a suspect pair is itself in doubt, that node may be the cause.
    doubted_nodes = {claim.names[0] for claim in claims if claim.part in ENDS}
    tested = [
        suspect
        for suspect in candidates
        if suspect.part in WAYS and not doubted_nodes & {*suspect.names}
    ]
    pair_faults = [
        (suspect.reason, fault)
        for suspect in tested
        if not is_explained(analysis, named, suspect)
        for fault in _proved_fault(rechecked, suspect, tests)
    ]
    scattered = [fault for reason, fault in pair_faults if reason == MANY]
    many = len(scattered) > limits.FEW_PAIRS or any(_may_cross(fault, named) for fault in scattered)
    named += [fault for reason, fault in pair_faults if reason != MANY or not many]
    suspects = tuple(
        suspect
        for suspect in analysis.suspects
        if not any({*fault.names} <= {*suspect.names} for fault in named)
        and not is_explained(analysis, named, suspect)
        and not _is_cleared(rechecked, suspect)
        and (suspect.next_test != AGAIN_MANY or many or not tested)
    )
    remaining = [
        fault
        for fault in named
        if fault.part not in WAYS or not is_explained(analysis, named, fault)
    ]
    return msgspec.structs.replace(
        analysis, findings=_join_directions(remaining), suspects=suspects
    )


def _may_cross(pair: PairFinding, faults: Iterable[PairFinding]) -> bool:
    """Check whether a pair is as slow as a slow node: on a torus it may lead through that node."""
    return any(
        abs(pair.effect - fault.effect) <= limits.AS_SLOW
        for fault in faults
        if fault.part in ENDS and fault.quantity == pair.quantity
    )


def _ends_of_pairs(rechecked: RecheckedAnalysis, pairs: Iterable[Claim]) -> Iterator[Suspect]:
    """Yield the ends of slow pairs with two other partners or more: each may be slow with all."""
    parts: tuple[Part, ...] = ("sender", "receiver")
    if rechecked.analysis.matrix.quantity == "latency":
        parts = ("node",)
    pair_of = {(part, end): pair for pair in pairs for end in pair.names for part in parts}
    for (part, end), pair in pair_of.items():
        (partner,) = (name for name in pair.names if name != end)
        suspect = Suspect(part, (end,), pair.quantity, pair.effect, f"slow with {partner}", AGAIN)
        partners = {name for recheck in rechecked.compare(suspect).claimed for name in recheck.ends}
        if len(partners - {*pair.names}) >= limits.FEWEST_PARTNERS:
            yield suspect


def is_explained(analysis: PairAnalysis, faults: Iterable[PairFinding], claim: Claim) -> bool:
    """Check whether a slow group or node accounts for a node's, or a pair's, slowness."""
    for fault in faults:
        nodes = analysis.nodes_of(fault)
        inside = [name in nodes for name in claim.names]
        if fault.explanation != "fault" or fault.part in WAYS or not any(inside):
            continue
        if fault.part == "group" and (claim.part in ENDS or not all(inside)):
            return True
        as_slow = abs(fault.effect) >= limits.SHOWN * abs(claim.effect)
        if claim.part in WAYS and fault.part in ENDS and as_slow:
            sends = claim.part == "pair" or inside[0]
            receives = claim.part == "pair" or inside[1]
            if fault.part == "node" or (sends if fault.part == "sender" else receives):
                return True
    return False


def _proved_uplink(rechecked: RecheckedAnalysis, suspect: Suspect, tests: int) -> list[PairFinding]:
    """Return the node's group as a fault if the node is slow beyond its group only.

    The partners have to be of two groups or more: between two groups, either uplink may be slow.
    """
    comparison, groups = rechecked.compare(suspect), rechecked.analysis.groups
    if suspect.quantity == "latency":  # paths between groups differ in length
        return []
    group = next((group for group in groups if suspect.names[0] in group.nodes), None)
    if (
        group is None
        or not comparison.against
        or not all({*group.nodes} >= {*ends} for ends in comparison.against)
    ):
        return []
    doubts = Doubts(rechecked.doubts[0].nodes, frozenset())  # a slow pair may show the uplink
    outside = [
        pair
        for pair in rechecked.pairs
        if rechecked.shows(pair.ends, suspect, doubts) and not {*group.nodes} >= {*pair.ends}
    ]
    partners = {end for pair in outside for end in pair.ends}.difference(group.nodes)
    if sum(1 for peer in groups if partners & {*peer.nodes}) < limits.FEWEST_GROUPS - 1:
        return []
    good = [pair for pair in comparison.good if not {*group.nodes} & {*pair.ends}]
    beyond = compare_pairs(outside, good, rechecked.analysis.matrix.quantity)
    node = suspect.names[0]
    claim = msgspec.structs.replace(
        suspect, part="group", names=(group.name,),
        reason=f"{node} is slow with other groups, and as fast as others within its own",
    )  # fmt: skip
    if not beyond.shows(tests):
        return []
    figures = recheck_figures(beyond, group.nodes)
    finding = finding_of(claim, "group", beyond, tests)
    return [msgspec.structs.replace(finding, rechecked=figures)]


def _proved_fault(rechecked: RecheckedAnalysis, suspect: Suspect, tests: int) -> list[PairFinding]:
    """Return the suspect as a fault; none if the recheck does not show one."""
    comparison, part = rechecked.compare(suspect), suspect.part
    if not comparison.shows(tests):
        return []
    if part == "direction":
        back = rechecked.compare(msgspec.structs.replace(suspect, names=suspect.names[::-1]))
        both = back.shows(tests) and back.effect / comparison.effect >= limits.SHOWN
        part = "pair" if both else part
    return [finding_of(suspect, part, comparison, tests)]


def finding_of(
    suspect: Suspect, part: Part, comparison: ControlComparison, tests: int
) -> PairFinding:
    """Return the finding, at the message size that was measured again."""
    pairs = len(comparison.claimed)
    subject = f"each of its {pairs} pairs was" if pairs > 1 else "it was"
    evidence = (
        f"among all pairs: {suspect.reason}; measured again, {subject} slower than each of"
        f" {len(comparison.good)} good ones",
    )
    low, high = (comparison.effect + side * INTERVAL * comparison.error for side in (-1, 1))
    return PairFinding(
        part, suspect.names, suspect.quantity, comparison.claimed[0].message_bytes,
        comparison.effect, low, high, min(1.0, comparison.chance * tests),
        2 if part == "pair" else pairs, "fault", evidence,
    )  # fmt: skip


def _is_cleared(rechecked: RecheckedAnalysis, suspect: Suspect) -> bool:
    """Check whether the test that would decide was made, and cleared the suspect.

    One good measurement does not clear a fault that comes and goes.
    """
    if suspect.next_test not in (AGAIN, AGAIN_PAIR):
        return False
    comparison = rechecked.compare(suspect)
    return comparison.enough and not comparison.reaches


def _join_directions(findings: Sequence[PairFinding]) -> tuple[PairFinding, ...]:
    """Return each node once: both directions of one node are that node."""
    joined = []
    for name in dict.fromkeys(finding.names for finding in findings):
        same = [finding for finding in findings if finding.names == name]
        worst = max(same, key=lambda finding: abs(finding.effect))
        both = len({finding.part for finding in same} & {*ENDS}) > 1
        joined.append(msgspec.structs.replace(worst, part="node") if both else worst)
    return tuple(joined)
