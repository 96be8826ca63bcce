"""What a second measurement of single pairs says of the parts that matrices name or suspect.

Among the thousands of pairs of a matrix, chance makes some look slow. The second measurement is
independent of that choice. It measures few pairs, one at a time, so plain statistics apply: a
suspect's pairs against good pairs of the same launch. It clears some named parts, names some
suspects, and drops those that only chance made look slow.

Of a latency the fastest messages count: a slow way delays these as well, while a busy host delays
most messages but not all. Latencies are corrected to the usual length of way.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from fabricgauge.localise import limits
from fabricgauge.localise.naming import AGAIN, AGAIN_PAIR
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
    Quantity,
    Rechecked,
    Suspect,
)
from fabricgauge.stats.series import Series

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def confirm(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> tuple[PairAnalysis, ...]:
    """The analyses of one network as ``series``, single pairs measured again, leave them.

    Each finding then holds what was seen of it. Without series the analyses stay as they are.
    """
    if not series:
        return tuple(analyses)
    confirmed = [_promoted(_cleared(one)) for one in _looks(analyses, series)]
    return tuple(_with_evidence(one) for one in _looks(confirmed, series))


class Seen(msgspec.Struct, frozen=True):
    """What one pair that was measured again has, in the quantity's unit.

    Of a latency it is the fastest message's, corrected to the usual length of way. ``varied`` is
    its relative variance between launches, in which ranks get other processors; NaN with a single
    launch.
    """

    ends: Ends
    figure: float
    varied: float = float("nan")


class Beside(msgspec.Struct, frozen=True, eq=False):
    """A claim's own pairs beside good ones.

    ``effect`` is the own pairs' median relative to the good ones', ``slower`` that as a loss,
    ``error`` the standard error of either, ``chance`` how often the good pairs' own scatter does as
    much. ``apart`` is whether each own pair is slower than each good one. ``limit`` is the least
    effect of a fault.
    """

    own: list[Seen]
    good: list[Seen]
    limit: float
    effect: float = 0.0
    slower: float = 0.0
    error: float = 0.0
    chance: float = 1.0
    apart: bool = False

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
        return self.enough and self.apart and sure and self.reaches


def _beside(own: list[Seen], good: list[Seen], quantity: Quantity) -> Beside:
    limit, sign = limits.FAULT[quantity], 1 if quantity == "latency" else -1
    if not own or not good:
        return Beside(own, good, limit)
    here, there = (np.array([one.figure for one in side]) for side in (own, good))
    usual = float(np.median(there))
    effect = float(np.median(here)) / usual - 1.0
    varied = [one.varied for one in (*own, *good) if np.isfinite(one.varied)]
    wobble = float(np.sqrt(np.mean(varied))) if varied else 0.0
    spread = _deviation(there / usual, max(limits.FLOOR, wobble))
    own_spread = _deviation(here / usual, spread)
    error = float(np.sqrt(spread**2 / there.size + own_spread**2 / here.size))
    chance = float(tail(np.array([abs(effect) / error]), there.size - 1)[0])
    apart = bool((sign * here).min() > (sign * there).max())
    return Beside(own, good, limit, effect, sign * effect, error, chance, apart)


def _deviation(values: F64, least: float) -> float:
    return max(least, float(values.std(ddof=1)) if values.size > 1 else 0.0)


class Look(msgspec.Struct, frozen=True, eq=False):
    """A second measurement of what one analysis names, suspects or doubts.

    ``nodes`` are in doubt themselves; of the pairs ``ways`` only the way is.
    """

    analysis: PairAnalysis
    pairs: list[Seen]
    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]

    def beside(self, claim: Claim) -> Beside:
        """The pairs that show the claim, and good ones: for a way, also other pairs of its ends.

        Pairs with other nodes in doubt are left out.
        """
        own = [one for one in self.pairs if self._shows(one.ends, claim)]
        good = [
            one
            for one in self.pairs
            if not self.nodes & {*one.ends} and frozenset(one.ends) not in self.ways
        ]
        return _beside(own, good, self.analysis.matrix.quantity)

    def _shows(self, ends: Ends, claim: Claim) -> bool:
        """Whether a pair shows that part, with an end that is not in doubt."""
        part, directed = claim.part, self.analysis.matrix.quantity == "bandwidth"
        if part in WAYS:
            exactly = part == "direction" and directed
            return ends == claim.names if exactly else set(ends) == set(claim.names)
        inside = [end in self.analysis.nodes_of(claim) for end in ends]
        if sum(inside) != 1 or ends[inside.index(False)] in self.nodes:
            return False
        if directed and part in ("sender", "receiver") and not inside[part == "receiver"]:
            return False
        return frozenset(ends) not in self.ways


def _looks(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> list[Look]:
    return [
        Look(one, list(_seen(one, series)), *_in_doubt(analyses, one.matrix.quantity))
        for one in analyses
    ]


def _seen(analysis: PairAnalysis, series: Sequence[Series]) -> Iterator[Seen]:
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
            yield Seen(ends, point.bandwidth.value)
            continue
        fastest = [each.times.minimum_s for each in point.measurements if each.times is not None]
        origin, target = (at.get(end, len(groups)) for end in ends)
        longer_s = float(np.nan_to_num(analysis.expected[origin, target] - analysis.typical))
        varied = np.var(fastest, ddof=1) / np.mean(fastest) ** 2 if len(fastest) > 1 else np.nan
        yield Seen(ends, min(fastest, default=point.time.value) - longer_s, float(varied))


def _in_doubt(
    analyses: Iterable[PairAnalysis], quantity: str
) -> tuple[frozenset[str], frozenset[frozenset[str]]]:
    """Nodes and ways that these analyses name, or suspect or doubt in this quantity.

    A node whose latency is in doubt, as on busy hosts, may still show what bandwidth is good.
    """
    claims = [
        (each, one)
        for each in analyses
        for one in (
            (*each.claims, *each.doubtful) if each.matrix.quantity == quantity else each.faults
        )
    ]
    ways = frozenset(frozenset(one.names) for _, one in claims if one.part in WAYS)
    ends = (each.nodes_of(one) for each, one in claims if one.part not in WAYS)
    return frozenset(node for some in ends for node in some), ways


def _with_evidence(look: Look) -> PairAnalysis:
    """Each finding with what was seen of it, beside all who are good in the end."""
    findings = tuple(
        msgspec.structs.replace(one, rechecked=_rechecked(look, one))
        for one in look.analysis.findings
    )
    return msgspec.structs.replace(look.analysis, findings=findings)


def _rechecked(look: Look, finding: PairFinding) -> Rechecked | Skipped:
    """What the pairs that were measured again say of a finding."""
    seen = look.beside(finding)
    if not seen.own:
        return Skipped("it was not measured again")
    if not seen.good:
        return Skipped("no two good nodes were measured beside it")
    claimed = look.analysis.nodes_of(finding)
    shown = seen.effect / finding.effect >= limits.SHOWN if finding.effect else False
    return Rechecked(
        effect=seen.effect,
        own=float(np.median([one.figure for one in seen.own])),
        good=float(np.median([one.figure for one in seen.good])),
        partners=tuple(sorted({end for one in seen.own for end in one.ends}.difference(claimed))),
        confirmed=shown,
        own_pairs=tuple(one.ends for one in seen.own),
        good_pairs=tuple(one.ends for one in seen.good),
    )


def _cleared(look: Look) -> Look:
    """A part that was slow among many, but is not when measured alone, becomes a suspect.

    It is dropped instead if its latency was measured in one pass only. A suspect node of a named
    group is dropped as well: it is slow with others because its group is.
    """
    analysis = look.analysis
    findings, suspects = [], list(analysis.suspects)
    for one in analysis.findings:
        seen = _rechecked(look, one)
        if one.explanation != "fault" or isinstance(seen, Skipped) or seen.confirmed:
            findings.append(one)
        elif one.quantity == "bandwidth" or len(analysis.matrix.repeats) > 1:
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, _ALONE, _QUIET))
    groups = [one for one in findings if one.part == "group" and one.explanation == "fault"]
    members = {node for one in groups for node in analysis.nodes_of(one)}
    kept = [one for one in suspects if one.part not in ENDS or one.names[0] not in members]
    reconciled = msgspec.structs.replace(analysis, findings=tuple(findings), suspects=tuple(kept))
    return msgspec.structs.replace(look, analysis=reconciled)


def _promoted(look: Look) -> PairAnalysis:
    """Name each suspect, or part below the threshold for one, that proves slow when alone.

    Drop it where the second measurement shows that only chance made it look slow.
    """
    analysis = look.analysis
    asked = [
        one
        for one in (*analysis.suspects, *analysis.doubtful)
        if one.part in ENDS | WAYS and not any(_covers(fault, one) for fault in analysis.faults)
    ]
    # If an end of a suspect way is itself in doubt, that node may be the cause.
    tested = [one for one in asked if one.part in ENDS or not look.nodes & {*one.names}]
    tested.sort(key=lambda one: one.part in WAYS)
    found = [fault for one in tested for fault in _shown_fault(look, one, len(asked))]
    suspects = tuple(
        one
        for one in analysis.suspects
        if not any(_covers(fault, one) for fault in analysis.faults)
        and not any({*fault.names} <= {*one.names} for fault in found)
        and not _answered(look, one)
    )
    findings = _joined((*analysis.findings, *found))
    return msgspec.structs.replace(analysis, findings=findings, suspects=suspects)


def _shown_fault(look: Look, one: Suspect, tests: int) -> list[PairFinding]:
    """The suspect as a fault; none where it was not shown to be one."""
    seen, part = look.beside(one), one.part
    if not seen.shows(tests):
        return []
    if part == "direction":
        back = look.beside(msgspec.structs.replace(one, names=one.names[::-1]))
        both = back.shows(tests) and back.effect / seen.effect >= limits.SHOWN
        part = "pair" if both else part
    pairs = len(seen.own)
    was = f"each of its {pairs} pairs was" if pairs > 1 else "it was"
    evidence = (
        f"among all pairs: {one.reason}; measured again, {was} slower than each of"
        f" {len(seen.good)} good ones",
    )
    low, high = (seen.effect + side * INTERVAL * seen.error for side in (-1, 1))
    return [PairFinding(
        part, one.names, one.quantity, look.analysis.matrix.message_bytes, seen.effect, low, high,
        min(1.0, seen.chance * tests), 2 if part == "pair" else pairs, "fault", evidence,
    )]  # fmt: skip


def _answered(look: Look, one: Suspect) -> bool:
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
