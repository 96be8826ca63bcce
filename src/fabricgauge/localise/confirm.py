"""What a second measurement of single pairs says of those whom the matrices name or suspect.

The matrices find somebody among thousands of pairs, where chance makes some look slow. The second
measurement is independent of that choice and asks of few, one pair at a time, so that plain
statistics apply: a suspect's pairs against good pairs of the same launch. It clears some who were
named, names some who were suspected, and drops those whom chance made conspicuous.

Of a latency the fastest messages count: what lies on the way delays those as well, while a busy
host delays most but not all. Latencies are compared as if all ways were as long as the usual one.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.localise.limits import CHANCE, CONFIRMED, FEWEST_GOOD, FLOOR, USUAL_LIMITS
from fabricgauge.localise.naming import AGAIN, AGAIN_PAIR
from fabricgauge.localise.noise import INTERVAL, may_reach, tail
from fabricgauge.localise.slowness import F64
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    ENDS,
    WAYS,
    Ends,
    PairAnalysis,
    PairFinding,
    Part,
    Rechecked,
    Suspect,
)
from fabricgauge.stats.series import Point, Series

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def confirm(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> tuple[PairAnalysis, ...]:
    """The analyses of one network as ``series``, single pairs measured again, leave them.

    Each finding then holds what was seen of it. Without series the analyses stay as they are.
    """
    if not series:
        return tuple(analyses)
    settled = [_promoted(_cleared(one)) for one in _looks(analyses, series)]
    return tuple(_with_evidence(one) for one in _looks(settled, series))


class Beside(msgspec.Struct, frozen=True, eq=False):
    """A claim's own pairs beside good ones: each one's figure, in the quantity's unit.

    ``effect`` is the own pairs' median relative to the good ones', ``slower`` that as a loss,
    ``error`` the standard error of either, ``chance`` how often the good pairs' own scatter does as
    much. ``apart`` is whether each own pair is slower than each good one.
    """

    own: dict[Ends, float]
    good: dict[Ends, float]
    effect: float = 0.0
    slower: float = 0.0
    error: float = 0.0
    chance: float = 1.0
    apart: bool = False

    @property
    def enough(self) -> bool:
        return bool(self.own) and len(self.good) >= FEWEST_GOOD

    def reaches(self, limit: float) -> bool:
        """Whether it may be as large as a fault is."""
        return bool(may_reach(np.array([self.slower]), np.array([self.error]), limit)[0])


def _beside(own: dict[Ends, float], good: dict[Ends, float], wobble: float, sign: int) -> Beside:
    """``wobble`` is the relative standard deviation of a pair from launch to launch."""
    if not own or not good:
        return Beside(own, good)
    here, there = np.array([*own.values()]), np.array([*good.values()])
    usual = float(np.median(there))
    effect = float(np.median(here)) / usual - 1.0
    spread = _deviation(there / usual, max(FLOOR, wobble))
    own_spread = _deviation(here / usual, spread)
    error = float(np.sqrt(spread**2 / there.size + own_spread**2 / here.size))
    chance = float(tail(np.array([abs(effect) / error]), there.size - 1)[0])
    apart = bool((sign * here).min() > (sign * there).max())
    return Beside(own, good, effect, sign * effect, error, chance, apart)


def _deviation(values: F64, least: float) -> float:
    return max(least, float(values.std(ddof=1)) if values.size > 1 else 0.0)


class Look(msgspec.Struct, frozen=True, eq=False):
    """A second measurement of what one analysis names, suspects or doubts.

    ``nodes`` are in doubt themselves; of the pairs ``ways`` only the way is.
    """

    analysis: PairAnalysis
    series: Sequence[Series]
    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]

    @property
    def latency(self) -> bool:
        return self.analysis.matrix.quantity == "latency"

    @property
    def limit(self) -> float:
        """The least effect of a fault, a share."""
        return USUAL_LIMITS.latency if self.latency else USUAL_LIMITS.bandwidth

    def beside(self, part: Part, names: tuple[str, ...]) -> Beside:
        """The pairs that show the claim, and good ones; beside a way, those of its ends are good.

        What others in doubt take part in shows nothing of it.
        """
        claimed = self.analysis.nodes_of(part, names)
        own = [one for one in self.series if self._shows(one, part, names, claimed)]
        good = [
            one
            for one in self.series
            if not _ends(one) & self.nodes and _ends(one) not in self.ways
        ]
        figures = (
            {(one.origin, one.target): self._figure(one) for one in side} for side in (own, good)
        )
        return _beside(*figures, self._wobble([*own, *good]), 1 if self.latency else -1)

    def _shows(
        self, one: Series, part: Part, names: tuple[str, ...], claimed: Collection[str]
    ) -> bool:
        """Whether a pair shows that part, with somebody who is not in doubt."""
        ends = (one.origin, one.target)
        if part in WAYS:
            exactly = part == "direction" and not self.latency
            return ends == names if exactly else set(ends) == set(names)
        inside = [end in claimed for end in ends]
        if sum(inside) != 1 or ends[inside.index(False)] in self.nodes:
            return False
        if not self.latency and part in ("sender", "receiver") and not inside[part == "receiver"]:
            return False
        return _ends(one) not in self.ways

    def _figure(self, one: Series) -> float:
        """The pair's bandwidth, or fastest message, at the size nearest to the matrix's."""
        point = self._point(one)
        if not self.latency:
            return point.bandwidth.value
        fastest = _fastest_of_launches_s(point)
        return min(fastest, default=point.time.value) - self._beyond_usual_s(one)

    def _wobble(self, series: Sequence[Series]) -> float:
        """Of a latency, since where ranks fall on processors differs between launches."""
        apart = [
            np.var(fastest, ddof=1) / np.mean(fastest) ** 2
            for one in series
            if self.latency and len(fastest := _fastest_of_launches_s(self._point(one))) > 1
        ]
        return float(np.sqrt(np.mean(apart))) if apart else 0.0

    def _point(self, one: Series) -> Point:
        """The size nearest to the matrix's."""
        size = self.analysis.matrix.message_bytes
        return min(one.points, key=lambda at: abs(at.message_bytes - size))

    def _beyond_usual_s(self, one: Series) -> float:
        """How much longer than the usual way the matrix shows the way between two groups.

        A bandwidth has none of it: a pair that measures alone has the crossing links to itself.
        """
        analysis = self.analysis
        at = {node: place for place, group in enumerate(analysis.groups) for node in group.nodes}
        origin, target = (at.get(end, len(analysis.groups)) for end in (one.origin, one.target))
        return float(np.nan_to_num(analysis.expected[origin, target] - analysis.typical))


def _ends(one: Series) -> frozenset[str]:
    return frozenset((one.origin, one.target))


def _fastest_of_launches_s(point: Point) -> list[float]:
    return [one.times.minimum_s for one in point.measurements if one.times is not None]


def _looks(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> list[Look]:
    return [
        Look(
            one,
            [each for each in series if each.pattern == one.matrix.quantity and each.points],
            *_doubted(analyses, one.matrix.quantity),
        )
        for one in analyses
    ]


def _doubted(
    analyses: Iterable[PairAnalysis], quantity: str
) -> tuple[frozenset[str], frozenset[frozenset[str]]]:
    """Nodes and ways that these analyses name, or suspect or doubt in this quantity.

    Whose latencies are doubtful, as all are on busy hosts, may well show what bandwidth is good.
    """
    claims = [
        (each, one)
        for each in analyses
        for one in (
            (*each.claims, *each.doubtful) if each.matrix.quantity == quantity else each.faults
        )
    ]
    nodes = (each.nodes_of(one.part, one.names) for each, one in claims if one.part not in WAYS)
    ways = (frozenset(one.names) for _, one in claims if one.part in WAYS)
    return frozenset(node for some in nodes for node in some), frozenset(ways)


def _with_evidence(look: Look) -> PairAnalysis:
    """Each finding with what was seen of it, beside all who are good in the end."""
    findings = tuple(
        msgspec.structs.replace(one, rechecked=_rechecked(look, one))
        for one in look.analysis.findings
    )
    return msgspec.structs.replace(look.analysis, findings=findings)


def _rechecked(look: Look, finding: PairFinding) -> Rechecked | Skipped:
    """What the pairs that were measured again say of a finding."""
    seen = look.beside(finding.part, finding.names)
    if not seen.own:
        return Skipped("it was not measured again")
    if not seen.good:
        return Skipped("no two good nodes were measured beside it")
    claimed = look.analysis.nodes_of(finding.part, finding.names)
    shown = seen.effect / finding.effect >= CONFIRMED if finding.effect else False
    return Rechecked(
        effect=seen.effect,
        own=float(np.median([*seen.own.values()])),
        good=float(np.median([*seen.good.values()])),
        partners=tuple(sorted({end for pair in seen.own for end in pair}.difference(claimed))),
        confirmed=shown,
        own_pairs=tuple(seen.own),
        good_pairs=tuple(seen.good),
    )


def _cleared(look: Look) -> Look:
    """Who was slow among many and is not when measured alone becomes a suspect.

    A latency in one pass suspects nobody: it is forgotten. So is a suspect node of a named group,
    which is slow with others for the group's sake.
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
    members = {node for one in groups for node in analysis.nodes_of(one.part, one.names)}
    kept = [one for one in suspects if one.part not in ENDS or one.names[0] not in members]
    settled = msgspec.structs.replace(analysis, findings=tuple(findings), suspects=tuple(kept))
    return msgspec.structs.replace(look, analysis=settled)


def _promoted(look: Look) -> PairAnalysis:
    """A suspect, or a pair too little conspicuous for one, is named where it is shown to be slow.

    It is forgotten where the second measurement shows that chance made it conspicuous.
    """
    analysis = look.analysis
    asked = [
        one
        for one in (*analysis.suspects, *analysis.doubtful)
        if one.part in ENDS | WAYS and not any(_covers(fault, one) for fault in analysis.faults)
    ]
    # What is slow about the way of a node in doubt may be that node.
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


def _shown(look: Look, part: Part, names: tuple[str, ...], tests: int) -> Beside | None:
    """The comparison where it is beyond doubt (Bonferroni over ``tests``), else None."""
    seen = look.beside(part, names)
    if not seen.enough or not seen.apart or seen.chance * tests > CHANCE:
        return None
    return seen if seen.reaches(look.limit) else None


def _shown_fault(look: Look, one: Suspect, tests: int) -> list[PairFinding]:
    """The suspect as a fault; none where it was not shown to be one."""
    seen = _shown(look, one.part, one.names, tests)
    if seen is None:
        return []
    part: Part = one.part
    if part == "direction" and (back := _shown(look, part, one.names[::-1], tests)):
        part = "pair" if back.effect / seen.effect >= CONFIRMED else part
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

    What comes and goes is not cleared by a moment in which it was not there.
    """
    if one.next_test not in (AGAIN, AGAIN_PAIR):
        return False
    seen = look.beside(one.part, one.names)
    return seen.enough and not seen.reaches(look.limit)


def _covers(fault: PairFinding, one: Suspect) -> bool:
    """Whether a suspect is named already, for the same or for more."""
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
