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

from fabricgauge.localise.limits import (
    CHANCE,
    CONFIRMED,
    FEWEST_GOOD,
    FLOOR,
    LEAST,
    REACH,
    USUAL_LIMITS,
)
from fabricgauge.localise.naming import AGAIN, AGAIN_PAIR
from fabricgauge.localise.noise import INTERVAL, tail
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import (
    ENDS,
    WAYS,
    PairAnalysis,
    PairFinding,
    Part,
    Quantity,
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
    first = _looks(analyses, series)
    settled = [_promoted(look, _cleared(look)) for look in first]
    return tuple(_with_evidence(look) for look in _looks(settled, series))


class Doubted(msgspec.Struct, frozen=True):
    """Nodes that are named or suspected themselves, and pairs of which only the way is."""

    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]

    def spares(self, one: Series) -> bool:
        """Whether a series shows what good pairs do."""
        ends = frozenset((one.origin, one.target))
        return not ends & self.nodes and ends not in self.ways


def _doubted(analyses: Iterable[PairAnalysis], quantity: Quantity) -> Doubted:
    """Everybody whom these analyses name, or suspect or doubt in this quantity.

    Whose latencies are doubtful, as all are on busy hosts, may well show what bandwidth is good.
    """
    nodes: set[str] = set()
    ways: set[frozenset[str]] = set()
    for analysis in analyses:
        same = analysis.matrix.quantity == quantity
        for one in (*analysis.claims, *analysis.doubtful) if same else analysis.faults:
            if one.part in WAYS:
                ways.add(frozenset(one.names))
            else:
                nodes.update(analysis.nodes_of(one.part, one.names))
    return Doubted(frozenset(nodes), frozenset(ways))


class Beside(msgspec.Struct, frozen=True, eq=False):
    """A claim's own pairs beside good ones: each one's figure, in the quantity's unit.

    ``effect`` is relative to the good pairs' median, ``error`` its standard error. ``wobble`` is
    the relative standard deviation of one pair from launch to launch, 0 for a single launch.
    """

    own: tuple[float, ...]
    good: tuple[float, ...]
    own_pairs: tuple[tuple[str, str], ...]
    good_pairs: tuple[tuple[str, str], ...]
    wobble: float

    @property
    def effect(self) -> float:
        return float(np.median(self.own)) / float(np.median(self.good)) - 1.0

    @property
    def error(self) -> float:
        own, good = (np.array(side) / np.median(self.good) for side in (self.own, self.good))
        spread = max(FLOOR, self.wobble, float(good.std(ddof=1)) if good.size > 1 else 0.0)
        own_spread = max(spread, float(own.std(ddof=1)) if own.size > 1 else 0.0)
        return float(np.sqrt(spread**2 / good.size + own_spread**2 / own.size))

    @property
    def chance(self) -> float:
        """How often the good pairs' own scatter does as much."""
        return float(tail(np.array([abs(self.effect) / self.error]), len(self.good) - 1)[0])

    def apart(self, suspected: float) -> bool:
        """Whether each own pair is slower than each good one."""
        if suspected > 0:
            return min(self.own) > max(self.good)
        return max(self.own) < min(self.good)

    def reaches(self, limit: float, suspected: float) -> bool:
        """Whether it may be as large as a fault is."""
        slower = self.effect if suspected > 0 else -self.effect
        return slower + REACH * self.error >= limit and slower >= LEAST * limit


class Look(msgspec.Struct, frozen=True, eq=False):
    """A second measurement of what one analysis names, suspects or doubts."""

    analysis: PairAnalysis
    series: Sequence[Series]
    others: Doubted

    @property
    def limit(self) -> float:
        """The least effect of a fault, a share."""
        latency = self.analysis.matrix.quantity == "latency"
        return USUAL_LIMITS.latency if latency else USUAL_LIMITS.bandwidth

    def beside(self, part: Part, names: tuple[str, ...]) -> Beside:
        """The pairs that show the claim, and good ones; beside a way, those of its ends are good.

        What others in doubt take part in shows nothing of it.
        """
        claimed = self.analysis.nodes_of(part, names)
        own = [one for one in self.series if self._shows(one, part, names, claimed)]
        good = [one for one in self.series if self.others.spares(one)]
        return Beside(
            tuple(map(self._figure, own)),
            tuple(map(self._figure, good)),
            tuple((one.origin, one.target) for one in own),
            tuple((one.origin, one.target) for one in good),
            self._wobble([*own, *good]),
        )

    def _shows(
        self, one: Series, part: Part, names: tuple[str, ...], claimed: Collection[str]
    ) -> bool:
        """Whether a pair shows that part, with somebody who is not in doubt."""
        ends = (one.origin, one.target)
        one_way = self.analysis.matrix.quantity == "bandwidth"
        if part in WAYS:
            return ends == names if part == "direction" and one_way else set(ends) == set(names)
        inside = [end in claimed for end in ends]
        if sum(inside) != 1 or ends[inside.index(False)] in self.others.nodes:
            return False
        if one_way and part in ("sender", "receiver") and not inside[part == "receiver"]:
            return False
        return frozenset(ends) not in self.others.ways

    def _figure(self, one: Series) -> float:
        """The pair's bandwidth, or fastest message, at the size nearest to the matrix's."""
        point = self._point(one)
        if self.analysis.matrix.quantity == "bandwidth":
            return point.bandwidth.value
        fastest = _fastest_of_launches_s(point)
        return min(fastest, default=point.time.value) - self._beyond_usual_s(one)

    def _wobble(self, series: Sequence[Series]) -> float:
        """Of a latency, since where ranks fall on processors differs between launches."""
        if self.analysis.matrix.quantity == "bandwidth":
            return 0.0
        apart = [
            np.var(fastest, ddof=1) / np.mean(fastest) ** 2
            for one in series
            if len(fastest := _fastest_of_launches_s(self._point(one))) > 1
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


def _fastest_of_launches_s(point: Point) -> list[float]:
    return [one.times.minimum_s for one in point.measurements if one.times is not None]


def _looks(analyses: Sequence[PairAnalysis], series: Sequence[Series]) -> list[Look]:
    others = {of: _doubted(analyses, of) for of in {one.matrix.quantity for one in analyses}}
    return [
        Look(
            one,
            [each for each in series if each.pattern == quantity and each.points],
            others[quantity],
        )
        for one in analyses
        for quantity in (one.matrix.quantity,)
    ]


def _rechecked(look: Look, finding: PairFinding) -> Rechecked | Skipped:
    """What the pairs that were measured again say of a finding."""
    seen = look.beside(finding.part, finding.names)
    if not seen.own:
        return Skipped("it was not measured again")
    if not seen.good:
        return Skipped("no two good nodes were measured beside it")
    claimed = look.analysis.nodes_of(finding.part, finding.names)
    met = {end for pair in seen.own_pairs for end in pair}
    return Rechecked(
        effect=seen.effect,
        own=float(np.median(seen.own)),
        good=float(np.median(seen.good)),
        partners=tuple(sorted(met.difference(claimed))),
        confirmed=seen.effect * finding.effect > 0
        and abs(seen.effect) >= CONFIRMED * abs(finding.effect),
        own_pairs=seen.own_pairs,
        good_pairs=seen.good_pairs,
    )


def _with_evidence(look: Look) -> PairAnalysis:
    """Each finding with what was seen of it, beside all who are good in the end."""
    findings = tuple(
        msgspec.structs.replace(one, rechecked=_rechecked(look, one))
        for one in look.analysis.findings
    )
    return msgspec.structs.replace(look.analysis, findings=findings)


def _cleared(look: Look) -> PairAnalysis:
    """Who was slow among many and is not when measured alone becomes a suspect.

    A latency in one pass suspects nobody: it is forgotten.
    """
    findings, suspects = [], list(look.analysis.suspects)
    for one in look.analysis.findings:
        seen = _rechecked(look, one)
        if one.explanation != "fault" or isinstance(seen, Skipped) or seen.confirmed:
            findings.append(one)
        elif one.quantity == "bandwidth" or len(look.analysis.matrix.repeats) > 1:
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, _ALONE, _QUIET))
    return msgspec.structs.replace(
        look.analysis, findings=tuple(findings), suspects=tuple(suspects)
    )


def _promoted(first: Look, cleared: PairAnalysis) -> PairAnalysis:
    """A suspect, or a pair too little conspicuous for one, is named where it is shown to be slow.

    It is forgotten where the second measurement shows that chance made it conspicuous.
    """
    analysis = _without_members(cleared)
    look = msgspec.structs.replace(first, analysis=analysis)
    asked = [
        one
        for one in (*analysis.suspects, *analysis.doubtful)
        if not any(_covers(fault, one) for fault in analysis.faults)
    ]
    ends = [one for one in asked if one.part in ENDS]
    ways = [one for one in asked if one.part in WAYS]
    tests = len(ends) + len(ways)
    # What is slow about the way of a node in doubt may be that node.
    undoubted = [one for one in ways if not look.others.nodes & {*one.names}]
    shown = (_shown_fault(look, one, tests) for one in (*ends, *undoubted))
    found = [one for one in shown if one is not None]
    named = [set(one.names) for one in found]
    suspects = tuple(
        one
        for one in analysis.suspects
        if one in asked
        and not any(names <= set(one.names) for names in named)
        and not _answered(look, one)
    )
    findings = _joined((*analysis.findings, *found))
    return msgspec.structs.replace(analysis, findings=findings, suspects=suspects)


def _without_members(analysis: PairAnalysis) -> PairAnalysis:
    """A named group's nodes are slow with others for its sake, and suspected for nothing else."""
    groups = [one for one in analysis.faults if one.part == "group"]
    members = {node for one in groups for node in analysis.nodes_of(one.part, one.names)}
    kept = tuple(
        one for one in analysis.suspects if one.part not in ENDS or one.names[0] not in members
    )
    return msgspec.structs.replace(analysis, suspects=kept)


def _shown(
    look: Look, part: Part, names: tuple[str, ...], one: Suspect, tests: int
) -> Beside | None:
    """The comparison where it is beyond doubt (Bonferroni over ``tests``), else None."""
    seen = look.beside(part, names)
    if not seen.own or len(seen.good) < FEWEST_GOOD or not seen.apart(one.effect):
        return None
    sure = seen.chance * tests <= CHANCE and seen.reaches(look.limit, one.effect)
    return seen if sure else None


def _shown_fault(look: Look, one: Suspect, tests: int) -> PairFinding | None:
    """The suspect as a fault, None where it was not shown to be one."""
    seen = _shown(look, one.part, one.names, one, tests)
    if seen is None:
        return None
    part: Part = one.part
    if part == "direction" and (back := _shown(look, part, one.names[::-1], one, tests)):
        part = "pair" if back.effect / seen.effect >= CONFIRMED else part
    pairs = len(seen.own)
    was = f"each of its {pairs} pairs was" if pairs > 1 else "it was"
    evidence = (
        f"among all pairs: {one.reason}; measured again, {was} slower than each of"
        f" {len(seen.good)} good ones",
    )
    low, high = (seen.effect + side * INTERVAL * seen.error for side in (-1, 1))
    return PairFinding(
        part, one.names, one.quantity, look.analysis.matrix.message_bytes, seen.effect, low, high,
        min(1.0, seen.chance * tests), 2 if part == "pair" else pairs, "fault", evidence,
    )  # fmt: skip


def _answered(look: Look, one: Suspect) -> bool:
    """Whether the test that would decide was made, and cleared it.

    What comes and goes is not cleared by a moment in which it was not there.
    """
    if one.next_test not in (AGAIN, AGAIN_PAIR):
        return False
    seen = look.beside(one.part, one.names)
    enough = bool(seen.own) and len(seen.good) >= FEWEST_GOOD
    return enough and not seen.reaches(look.limit, one.effect)


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
