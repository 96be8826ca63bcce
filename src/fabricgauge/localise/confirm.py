"""What a second measurement of single pairs says of the parts that matrices name or suspect.

Among the thousands of pairs of a matrix, chance makes some look slow. The second measurement is
independent of that choice. It measures few pairs, one at a time, so plain statistics apply: a
suspect's pairs against good pairs of the same launch. It clears some named parts, names some
suspects, and drops those that only chance made look slow.

Of a latency the fastest messages count: a slow way delays these as well, while a busy host delays
most messages but not all. Latencies are corrected to the usual length of way.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.localise import limits
from fabricgauge.localise.naming import AGAIN, AGAIN_MANY, AGAIN_PAIR, MANY
from fabricgauge.localise.noise import INTERVAL, may_reach, tail
from fabricgauge.localise.slowness import F64
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
from fabricgauge.stats.series import Series

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_SOME = "slow when measured again alone, but with some partners only: the ways between them"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def confirm(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> tuple[PairAnalysis, ...]:
    """The analyses of one network as ``series``, single pairs measured again, leave them.

    Each finding then holds what was seen of it. Without series the analyses stay as they are.
    """
    if not series:
        return tuple(analyses)
    confirmed = [_promoted(_cleared(one)) for one in _looks(analyses, series)]
    return tuple(_with_evidence(one) for one in _looks(confirmed, series))


class PairRecheck(msgspec.Struct, frozen=True):
    """What one pair that was measured again has, in the quantity's unit, at one message size.

    Of a latency it is the fastest message's, corrected to the usual length of way. ``varied`` is
    its relative variance between launches, in which ranks get other processors; NaN with a single
    launch.
    """

    ends: Ends
    message_bytes: int
    figure: float
    varied: float = float("nan")


class ControlComparison(msgspec.Struct, frozen=True, eq=False):
    """A claim's own pairs beside good ones.

    ``effect`` is the own pairs' median relative to the good ones', ``slower`` that as a loss,
    ``error`` the standard error of either, ``chance`` how often the good pairs' own scatter does as
    much. ``apart`` is whether each own pair is slower than each good one. ``limit`` is the least
    effect of a fault; good pairs that differ by less are ``alike``. ``against`` are pairs that
    acquit: those of a claimed node that are as fast as good ones, with whatever partner, or those
    inside a claimed group that are as slow as others.
    """

    own: list[PairRecheck]
    good: list[PairRecheck]
    limit: float
    effect: float = 0.0
    slower: float = 0.0
    error: float = 0.0
    chance: float = 1.0
    apart: bool = False
    alike: bool = False
    against: tuple[Ends, ...] = ()

    @property
    def enough(self) -> bool:
        return bool(self.own) and len(self.good) >= limits.FEWEST_GOOD

    @property
    def reaches(self) -> bool:
        """Whether it may be as large as a fault is."""
        return bool(may_reach(np.array([self.slower]), np.array([self.error]), self.limit)[0])

    def shows(self, tests: int) -> bool:
        """Whether a fault is beyond doubt (Bonferroni over ``tests``)."""
        sure = self.chance * tests <= limits.CHANCE
        return self.enough and self.apart and sure and self.reaches and not self.against


def compare_pairs(
    own: list[PairRecheck],
    good: list[PairRecheck],
    quantity: Quantity,
    every: Sequence[PairRecheck] = (),
) -> ControlComparison:
    """Compare pairs; ``every`` are all of the claimed node, also those with doubtful partners."""
    limit, sign = limits.FAULT[quantity], 1 if quantity == "latency" else -1
    if not own or not good:
        return ControlComparison(own, good, limit)
    here, there = (np.array([one.figure for one in side]) for side in (own, good))
    usual = float(np.median(there))
    effect = float(np.median(here)) / usual - 1.0
    varied = [one.varied for one in (*own, *good) if np.isfinite(one.varied)]
    wobble = float(np.sqrt(np.mean(varied))) if varied else 0.0
    spread = _deviation(there / usual, max(limits.FLOOR, wobble))
    own_spread = _deviation(here / usual, spread)
    error = float(np.sqrt(spread**2 / there.size + own_spread**2 / here.size))
    chance = float(tail(np.array([abs(effect) / error]), there.size - 1)[0])
    worst_good = (sign * there).max()
    apart = bool((sign * here).min() > worst_good)
    alike = bool(there.max() - there.min() < limit * usual)
    usually = usual * (1.0 + limits.SHOWN * effect)
    against = tuple(
        one.ends for one in every if sign * one.figure <= min(worst_good, sign * usually)
    )
    return ControlComparison(
        own, good, limit, effect, sign * effect, error, chance, apart, alike, against
    )


def _deviation(values: F64, least: float) -> float:
    return max(least, float(values.std(ddof=1)) if values.size > 1 else 0.0)


class Doubts(msgspec.Struct, frozen=True):
    """Who may be at fault: ``nodes`` themselves, and of the pairs ``ways`` only the way."""

    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]


class RecheckedAnalysis(msgspec.Struct, frozen=True, eq=False):
    """A second measurement of what one analysis names, suspects or doubts.

    ``doubts`` are everybody in doubt, then without those below the threshold for a suspect, then
    those that are named, then nobody: a small fabric has too few nodes that nobody doubts.
    """

    analysis: PairAnalysis
    pairs: list[PairRecheck]
    doubts: tuple[Doubts, ...]

    def beside(self, claim: Claim) -> ControlComparison:
        """The pairs that show the claim, and good ones: for a way, also other pairs of its ends.

        Pairs with other nodes in doubt are left out. Where too few are left, they count as good if
        they are alike, or if the claim is slower than all of them. To see a fault again a single
        good pair is enough.
        """
        strict, *found = (self._compared(claim, doubts) for doubts in self.doubts)
        again = isinstance(claim, PairFinding) and bool(strict.own and strict.good)
        if strict.enough or again:
            return strict
        return next(
            (one for one in found if one.enough and (one.alike or (one.apart and one.reaches))),
            strict,
        )

    def _compared(self, claim: Claim, doubts: Doubts) -> ControlComparison:
        part, quantity = claim.part, self.analysis.matrix.quantity
        nodes, ways = doubts.nodes, doubts.ways
        if part in WAYS:
            ways |= {frozenset(claim.names)}
        else:
            nodes |= {*self.analysis.nodes_of(claim)}
        own = [one for one in self.pairs if self.shows(one.ends, claim, doubts)]
        good = [
            one for one in self.pairs if not nodes & {*one.ends} and frozenset(one.ends) not in ways
        ]
        if part in ENDS and quantity == "bandwidth":  # a latency may be low as the way is short
            every = [one for one in self.pairs if self.shows(one.ends, claim, _NO_DOUBTS)]
            return compare_pairs(own, good, quantity, every)
        if part == "group":
            return self._slower_ways({*self.analysis.nodes_of(claim)}, own, good)
        return compare_pairs(own, good, quantity)

    def _slower_ways(
        self, nodes: set[str], own: list[PairRecheck], good: list[PairRecheck]
    ) -> ControlComparison:
        """Compare a group's way out, its way in, or both if one is not much slower than the other.

        Nodes that are named or suspected themselves show nothing of their group.
        """
        quantity = self.analysis.matrix.quantity
        suspects = {claim.names[0] for claim in self.analysis.claims if claim.part in ENDS}
        own = [pair for pair in own if not suspects & {*pair.ends}] or own
        found = compare_pairs(own, good, quantity)
        ways = [
            compare_pairs([one for one in own if one.ends[way] in nodes], good, quantity)
            for way in (0, 1)
        ]
        least, worst = sorted(ways, key=lambda one: one.slower)
        if quantity == "bandwidth" and least.own and least.slower < limits.SHOWN * worst.slower:
            found = worst
        mates = [pair for pair in self.pairs if nodes - suspects >= {*pair.ends}]
        inside = compare_pairs(mates, good, quantity)
        if inside.own and inside.slower >= limits.SHOWN * found.slower:
            against = tuple(one.ends for one in inside.own)
            return msgspec.structs.replace(found, against=against)
        return found

    def shows(self, ends: Ends, claim: Claim, doubts: Doubts) -> bool:
        """Whether a pair shows that part, with an end that is not in doubt."""
        part, directed = claim.part, self.analysis.matrix.quantity == "bandwidth"
        if part in WAYS:
            exactly = part == "direction" and directed
            return ends == claim.names if exactly else set(ends) == set(claim.names)
        inside = [end in self.analysis.nodes_of(claim) for end in ends]
        if sum(inside) != 1 or ends[inside.index(False)] in doubts.nodes:
            return False
        if directed and part in ("sender", "receiver") and not inside[part == "receiver"]:
            return False
        return frozenset(ends) not in doubts.ways


_NO_DOUBTS = Doubts(frozenset(), frozenset())


def _looks(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> list[RecheckedAnalysis]:
    return [
        RecheckedAnalysis(one, list(_seen(one, series)), _in_doubt(analyses, one.matrix.quantity))
        for one in analyses
    ]


def _seen(analysis: PairAnalysis, series: Sequence[Series]) -> Iterator[PairRecheck]:
    """The pairs in the analysis' quantity, at the size nearest to its matrix's.

    From a latency the extra length of the way between its two groups is subtracted, as the matrix
    shows it. A bandwidth needs no correction: a pair alone has the crossing links to itself.
    """
    matrix, groups = analysis.matrix, analysis.groups
    at = {node: place for place, group in enumerate(groups) for node in group.nodes}
    for one in series:
        if one.pattern != matrix.quantity or not one.points:
            continue
        ends = (one.origin, one.target)
        point = min(one.points, key=lambda each: abs(each.message_bytes - matrix.message_bytes))
        if matrix.quantity == "bandwidth":
            yield PairRecheck(ends, point.message_bytes, point.bandwidth.value)
            continue
        fastest = [each.times.minimum_s for each in point.measurements if each.times is not None]
        origin, target = (at.get(end, len(groups)) for end in ends)
        longer_s = float(np.nan_to_num(analysis.expected[origin, target] - analysis.typical))
        varied = np.var(fastest, ddof=1) / np.mean(fastest) ** 2 if len(fastest) > 1 else np.nan
        figure_s = min(fastest, default=point.time.value) - longer_s
        yield PairRecheck(ends, point.message_bytes, figure_s, float(varied))


def _in_doubt(analyses: Sequence[PairAnalysis], quantity: str) -> tuple[Doubts, ...]:
    """Nodes and ways that these analyses name, suspect or doubt in this quantity.

    A node whose latency is in doubt, as on busy hosts, may still show what bandwidth is good.
    """
    here = [each for each in analyses if each.matrix.quantity == quantity]
    named = [_doubts(each, each.faults) for each in analyses]
    suspected = [_doubts(each, each.suspects) for each in here]
    doubted = [_doubts(each, each.doubtful) for each in here]
    return tuple(
        Doubts(
            frozenset().union(*(one.nodes for one in doubts)),
            frozenset().union(*(one.ways for one in doubts)),
        )
        for doubts in ([*named, *suspected, *doubted], [*named, *suspected], named, [])
    )


def _doubts(analysis: PairAnalysis, claims: Iterable[Claim]) -> Doubts:
    nodes, ways = set[str](), set[frozenset[str]]()
    for one in claims:
        if one.part in WAYS:
            ways.add(frozenset(one.names))
        else:
            nodes.update(analysis.nodes_of(one))
    return Doubts(frozenset(nodes), frozenset(ways))


def _with_evidence(look: RecheckedAnalysis) -> PairAnalysis:
    """Each finding with what was seen of it, beside all who are good in the end."""
    findings = tuple(
        one
        if isinstance(one.rechecked, Rechecked)
        else msgspec.structs.replace(one, rechecked=_rechecked(look, one))
        for one in look.analysis.findings
    )
    return msgspec.structs.replace(look.analysis, findings=findings)


def _rechecked(look: RecheckedAnalysis, finding: PairFinding) -> Rechecked | Skipped:
    """What the pairs that were measured again say of a finding."""
    seen = look.beside(finding)
    if not seen.own:
        return Skipped("it was not measured again")
    if not seen.good:
        return Skipped("no two good nodes were measured beside it")
    shown = seen.effect / finding.effect >= limits.SHOWN if finding.effect else False
    found = _shown_by(seen, look.analysis.nodes_of(finding))
    return msgspec.structs.replace(found, confirmed=shown and not seen.against)


def _shown_by(seen: ControlComparison, claimed: Collection[str]) -> Rechecked:
    """The figures of both sides, as a confirmation."""
    return Rechecked(
        effect=seen.effect,
        own=float(np.median([one.figure for one in seen.own])),
        good=float(np.median([one.figure for one in seen.good])),
        partners=tuple(sorted({end for one in seen.own for end in one.ends}.difference(claimed))),
        confirmed=True,
        own_pairs=tuple(one.ends for one in seen.own),
        good_pairs=tuple(one.ends for one in seen.good),
    )


def _cleared(look: RecheckedAnalysis) -> RecheckedAnalysis:
    """A part that was slow among many, but is not when measured alone, becomes a suspect.

    It is dropped instead if its latency was measured in one pass only.
    """
    analysis = look.analysis
    findings, suspects = [], list(analysis.suspects)
    for one in analysis.findings:
        seen = _rechecked(look, one)
        if one.explanation != "fault" or isinstance(seen, Skipped) or seen.confirmed:
            findings.append(one)
        elif one.quantity == "bandwidth" or len(analysis.matrix.repeats) > 1:
            partly = seen.effect / one.effect >= limits.SHOWN
            why = _SOME if partly else _ALONE
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, why, _QUIET))
    reconciled = msgspec.structs.replace(
        analysis, findings=tuple(findings), suspects=tuple(suspects)
    )
    return msgspec.structs.replace(look, analysis=reconciled)


def _promoted(look: RecheckedAnalysis) -> PairAnalysis:
    """Name each suspect, or part below the threshold for one, that proves slow when alone.

    Drop it where the second measurement shows that only chance made it look slow. What a slow group
    or a slow node explains is neither named nor suspected beside it.
    """
    analysis = look.analysis
    asked = [
        one
        for one in (*analysis.suspects, *analysis.doubtful)
        if not any(_covers(fault, one) for fault in analysis.faults)
    ]
    claims: tuple[Claim, ...] = (*asked, *analysis.faults)
    ways = [one for one in claims if one.part in WAYS]
    others = [*_ends_of(look, ways)]
    ends = [*(one for one in asked if one.part in ENDS), *others]
    groups = [one for one in asked if one.part == "group"]
    tests, more_tests = len(asked), len(asked) + len(others)
    found = [fault for one in groups for fault in _shown_fault(look, one, tests)]
    found += [fault for one in ends for fault in _shown_uplink(look, one, more_tests)]
    uplinks = [one for one in (*analysis.faults, *found) if one.part == "group"]
    slow = [
        fault
        for one in ends
        if not is_explained(analysis, uplinks, one)
        for fault in _shown_fault(look, one, more_tests if one in others else tests)
    ]
    named = [*analysis.findings, *found, *slow]
    # If an end of a suspect way is itself in doubt, that node may be the cause.
    doubted = {one.names[0] for one in claims if one.part in ENDS}
    tested = [one for one in asked if one.part in WAYS and not doubted & {*one.names}]
    shown = [
        (one.reason, fault)
        for one in tested
        if not is_explained(analysis, named, one)
        for fault in _shown_fault(look, one, tests)
    ]
    scattered = [fault for reason, fault in shown if reason == MANY]
    many = len(scattered) > limits.FEW_PAIRS or any(_may_pass(one, named) for one in scattered)
    named += [fault for reason, fault in shown if reason != MANY or not many]
    suspects = tuple(
        one
        for one in analysis.suspects
        if not any({*fault.names} <= {*one.names} for fault in named)
        and not is_explained(analysis, named, one)
        and not _answered(look, one)
        and (one.next_test != AGAIN_MANY or many or not tested)
    )
    kept = [one for one in named if one.part not in WAYS or not is_explained(analysis, named, one)]
    return msgspec.structs.replace(analysis, findings=_joined(kept), suspects=suspects)


def _may_pass(way: PairFinding, faults: Iterable[PairFinding]) -> bool:
    """Whether a way is as slow as a slow node: on a torus it may lead through that node."""
    return any(
        abs(way.effect - one.effect) <= limits.AS_SLOW
        for one in faults
        if one.part in ENDS and one.quantity == way.quantity
    )


def _ends_of(look: RecheckedAnalysis, ways: Iterable[Claim]) -> Iterator[Suspect]:
    """The ends of slow ways that met two others or more: each may be slow with all of them."""
    parts: tuple[Part, ...] = ("sender", "receiver")
    if look.analysis.matrix.quantity == "latency":
        parts = ("node",)
    claims = {(part, end): one for one in ways for end in one.names for part in parts}
    for (part, end), one in claims.items():
        (other,) = (name for name in one.names if name != end)
        claim = Suspect(part, (end,), one.quantity, one.effect, f"slow with {other}", AGAIN)
        met = {name for seen in look.beside(claim).own for name in seen.ends}
        if len(met - {*one.names}) >= limits.FEWEST_PARTNERS:
            yield claim


def is_explained(analysis: PairAnalysis, faults: Iterable[PairFinding], one: Claim) -> bool:
    """Whether a slow group or node accounts for a node's, or a way's, slowness."""
    for fault in faults:
        nodes = analysis.nodes_of(fault)
        inside = [name in nodes for name in one.names]
        if fault.explanation != "fault" or fault.part in WAYS or not any(inside):
            continue
        if fault.part == "group" and (one.part in ENDS or not all(inside)):
            return True
        as_slow = abs(fault.effect) >= limits.SHOWN * abs(one.effect)
        if one.part in WAYS and fault.part in ENDS and as_slow:
            sends = one.part == "pair" or inside[0]
            receives = one.part == "pair" or inside[1]
            if fault.part == "node" or (sends if fault.part == "sender" else receives):
                return True
    return False


def _shown_uplink(look: RecheckedAnalysis, one: Suspect, tests: int) -> list[PairFinding]:
    """The way of the node's group as a fault, if the node is slow beyond its group only.

    The partners have to be of two groups or more: of two groups nobody can say whose way is slow.
    """
    seen, groups = look.beside(one), look.analysis.groups
    if one.quantity == "latency":  # ways between groups differ in length
        return []
    own = next((group for group in groups if one.names[0] in group.nodes), None)
    if own is None or not seen.against or not all({*own.nodes} >= {*ends} for ends in seen.against):
        return []
    doubts = Doubts(look.doubts[0].nodes, frozenset())  # a slow way may be the uplink's
    outside = [
        each
        for each in look.pairs
        if look.shows(each.ends, one, doubts) and not {*own.nodes} >= {*each.ends}
    ]
    partners = {end for each in outside for end in each.ends}.difference(own.nodes)
    if sum(1 for group in groups if partners & {*group.nodes}) < limits.FEWEST_GROUPS - 1:
        return []
    good = [each for each in seen.good if not {*own.nodes} & {*each.ends}]
    beyond = compare_pairs(outside, good, look.analysis.matrix.quantity)
    claim = msgspec.structs.replace(
        one, part="group", names=(own.name,),
        reason=f"{one.names[0]} is slow with other groups, and as fast as others within its own",
    )  # fmt: skip
    if not beyond.shows(tests):
        return []
    shown = _shown_by(beyond, own.nodes)
    return [
        msgspec.structs.replace(finding, rechecked=shown)
        for finding in finding_of(claim, "group", beyond, tests)
    ]


def _shown_fault(look: RecheckedAnalysis, one: Suspect, tests: int) -> list[PairFinding]:
    """The suspect as a fault; none where it was not shown to be one."""
    seen, part = look.beside(one), one.part
    if not seen.shows(tests):
        return []
    if part == "direction":
        back = look.beside(msgspec.structs.replace(one, names=one.names[::-1]))
        both = back.shows(tests) and back.effect / seen.effect >= limits.SHOWN
        part = "pair" if both else part
    return finding_of(one, part, seen, tests)


def finding_of(one: Suspect, part: Part, seen: ControlComparison, tests: int) -> list[PairFinding]:
    """The finding, at the message size that was measured again."""
    pairs = len(seen.own)
    was = f"each of its {pairs} pairs was" if pairs > 1 else "it was"
    evidence = (
        f"among all pairs: {one.reason}; measured again, {was} slower than each of"
        f" {len(seen.good)} good ones",
    )
    low, high = (seen.effect + side * INTERVAL * seen.error for side in (-1, 1))
    return [PairFinding(
        part, one.names, one.quantity, seen.own[0].message_bytes, seen.effect, low, high,
        min(1.0, seen.chance * tests), 2 if part == "pair" else pairs, "fault", evidence,
    )]  # fmt: skip


def _answered(look: RecheckedAnalysis, one: Suspect) -> bool:
    """Whether the test that would decide was made, and cleared it.

    One good measurement does not clear a fault that comes and goes.
    """
    if one.next_test not in (AGAIN, AGAIN_PAIR):
        return False
    seen = look.beside(one)
    return seen.enough and not seen.reaches


def _covers(fault: PairFinding, one: Suspect) -> bool:
    """Whether a fault already names the suspect, as the same part or as the whole node."""
    return fault.names == one.names and fault.part in (one.part, "node")


def _joined(found: Sequence[PairFinding]) -> tuple[PairFinding, ...]:
    """Each node once: both directions of one node are that node."""
    joined = []
    for name in dict.fromkeys(one.names for one in found):
        same = [one for one in found if one.names == name]
        worst = max(same, key=lambda one: abs(one.effect))
        both = len({one.part for one in same} & {*ENDS}) > 1
        joined.append(msgspec.structs.replace(worst, part="node") if both else worst)
    return tuple(joined)
