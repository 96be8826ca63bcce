"""What a second measurement of single pairs says of those whom the matrices name or suspect.

The matrices find somebody among thousands of pairs, where chance makes some look slow. The second
measurement is independent of that choice and asks of few, one pair at a time, so that plain
statistics apply: a suspect's pairs against good pairs of the same launch. It clears some who were
named, names some who were suspected, and drops those whom chance made conspicuous.

Of a latency the fastest messages count: what lies on the way delays those as well, while a busy
host delays most but not all. Latencies are compared as if all ways were as long as the usual one.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.localise.detect import AGAIN, AGAIN_PAIR
from fabricgauge.localise.limits import LEAST, REACH, Limits
from fabricgauge.localise.noise import FLOOR, INTERVAL, tail
from fabricgauge.model.absence import Skipped
from fabricgauge.model.pairs import ENDS, WAYS, Finding, PairAnalysis, Part, Quantity, Suspect
from fabricgauge.stats.series import Point, Series


class Distances(msgspec.Struct, frozen=True, eq=False):
    """Seconds beyond the typical latency from group to group, (G + 1, G + 1).

    All zero for a bandwidth: a pair that measures alone has the crossing links to itself.
    """

    group_of: dict[str, int]
    beyond: NDArray[np.float64]

    def beyond_usual(self, one: Series) -> float:
        """What the way from the origin to the target adds to the usual one."""
        last = len(self.beyond) - 1
        ends = (self.group_of.get(end, last) for end in (one.origin, one.target))
        return float(self.beyond[tuple(ends)])


def distances(analysis: PairAnalysis) -> Distances:
    """Those that the matrix of all pairs shows."""
    group_of = {node: at for at, group in enumerate(analysis.groups) for node in group.nodes}
    adds_up = analysis.matrix.quantity == "latency"
    beyond = analysis.expected - analysis.typical if adds_up else np.zeros_like(analysis.expected)
    return Distances(group_of, np.nan_to_num(beyond))


class Doubted(msgspec.Struct, frozen=True):
    """Nodes that are named or suspected themselves, and pairs of which only the way is."""

    nodes: frozenset[str]
    ways: frozenset[frozenset[str]]

    def spares(self, one: Series) -> bool:
        """Whether a series shows what good pairs do."""
        ends = frozenset((one.origin, one.target))
        return not ends & self.nodes and ends not in self.ways


def doubted(analyses: Iterable[PairAnalysis]) -> Doubted:
    """Everybody whom these analyses name, suspect, or want to be measured again."""
    nodes: set[str] = set()
    ways: set[frozenset[str]] = set()
    for analysis in analyses:
        named = [one for one in analysis.findings if one.explanation == "fault"]
        everybody: list[Finding | Suspect] = [*named, *analysis.suspects, *analysis.doubtful]
        for one in everybody:
            if one.part in WAYS:
                ways.add(frozenset(one.names))
            else:
                nodes.update(nodes_of(analysis, one))
    return Doubted(frozenset(nodes), frozenset(ways))


def nodes_of(analysis: PairAnalysis, one: Finding | Suspect) -> tuple[str, ...]:
    """The nodes that are named, those of a group one by one."""
    if one.part != "group":
        return one.names[:1] if one.part == "rail" else one.names
    groups = (group.nodes for group in analysis.groups if group.name == one.names[0])
    return next(groups, ())


#: As much of the effect must be there again for the suspicion to be confirmed.
CONFIRMED = 0.5


class Again(msgspec.Struct, frozen=True):
    """What a suspect did alone. ``effect`` is as in :class:`Finding`, relative to ``controls``
    good pairs; ``partners`` are those whom it met, ``good`` and ``own`` the medians over pairs in
    the quantity's unit, of a latency those of the fastest messages, at the usual distance.
    """

    effect: float
    own: float
    good: float
    partners: tuple[str, ...]
    controls: int
    confirmed: bool


def again(
    analysis: PairAnalysis, finding: Finding, series: Sequence[Series], others: Doubted
) -> Again | Skipped:
    """What the pairs that were measured again say of a finding of that analysis.

    What ``others`` take part in shows nothing of it.
    """
    sides = sides_of(analysis, finding, series, others)
    if not sides.own:
        return Skipped("it was not measured again")
    if not sides.good:
        return Skipped("no two good nodes were measured beside it")
    here, usual = float(np.median(sides.own)), float(np.median(sides.good))
    effect = here / usual - 1.0
    confirmed = effect * finding.effect > 0 and abs(effect) >= CONFIRMED * abs(finding.effect)
    return Again(effect, here, usual, sides.partners, len(sides.good), confirmed)


class Sides(msgspec.Struct, frozen=True):
    """What the accused pairs, and the good ones beside them, did; in the quantity's unit.

    ``partners`` are those whom the accused met.
    """

    own: tuple[float, ...]
    good: tuple[float, ...]
    partners: tuple[str, ...]


def sides_of(
    analysis: PairAnalysis, claim: Finding, series: Sequence[Series], others: Doubted
) -> Sides:
    """The pairs that show the claim, and good ones; beside a way, those of its ends are good."""
    ways = distances(analysis)
    own, good = series_of_sides(analysis, claim, series, others)
    met = {end for one in own for end in (one.origin, one.target)}
    return Sides(
        tuple(_values(claim, own, ways)),
        tuple(_values(claim, good, ways)),
        tuple(sorted(met.difference(nodes_of(analysis, claim)))),
    )


def series_of_sides(
    analysis: PairAnalysis, claim: Finding, series: Sequence[Series], others: Doubted
) -> tuple[list[Series], list[Series]]:
    """Those that show the claim, and those of good pairs."""
    fitting = [one for one in series if one.pattern == claim.quantity]
    accused = nodes_of(analysis, claim)
    own = [one for one in fitting if _concerns(claim, one, accused, others)]
    return own, [one for one in fitting if others.spares(one)]


def _concerns(claim: Finding, one: Series, accused: Collection[str], others: Doubted) -> bool:
    """Whether a pair shows the accused part with somebody who is not doubted."""
    ends = (one.origin, one.target)
    if claim.part in WAYS:
        directed = claim.part == "direction" and claim.quantity == "bandwidth"
        return ends == claim.names if directed else set(ends) == set(claim.names)
    inside = [end in accused for end in ends]
    if sum(inside) != 1 or ends[inside.index(False)] in others.nodes:
        return False
    return frozenset(ends) not in others.ways and _ROLES.get(claim.part, _either)(claim, inside)


def _either(claim: Finding, inside: Sequence[bool]) -> bool:
    return True


def _first(claim: Finding, inside: Sequence[bool]) -> bool:
    return inside[0] or claim.quantity == "latency"


def _second(claim: Finding, inside: Sequence[bool]) -> bool:
    return inside[1] or claim.quantity == "latency"


_ROLES: dict[str, Callable[[Finding, Sequence[bool]], bool]] = {
    "sender": _first,
    "receiver": _second,
}


def _values(claim: Finding, series: Sequence[Series], ways: Distances) -> list[float]:
    """Each pair's bandwidth, or fastest message, at the size nearest to the claim's."""
    values = []
    for one in series:
        nearest = min(
            one.points,
            key=lambda point: abs(point.message_bytes - claim.message_bytes),
            default=None,
        )
        if nearest is not None:
            latency = claim.quantity == "latency"
            value = _fastest_s(nearest) if latency else nearest.bandwidth.value
            values.append(value - ways.beyond_usual(one))
    return values


def _fastest_s(point: Point) -> float:
    times = [one.times for one in point.measurements if one.times is not None]
    return min((one.minimum_s for one in times), default=point.time.value)


#: That somebody good is named, of all who are looked at again in a matrix together (Bonferroni).
CHANCE = 0.002
#: Fewer good pairs do not show how far good ones differ.
_FEWEST_GOOD = 3

_LIMITS = Limits()


class Shown(msgspec.Struct, frozen=True):
    """What the suspect's pairs were beside good ones: effect as in :class:`Finding`.

    ``apart`` says that each of them was slower than each good one, ``chance`` how often noise
    does as much.
    """

    effect: float
    error: float
    chance: float
    apart: bool
    pairs: int
    good: int

    def reaches(self, limit: float, suspected: float) -> bool:
        """Whether it may be as large as a fault is."""
        slower = self.effect if suspected > 0 else -self.effect
        return slower + REACH * self.error >= limit and slower >= LEAST * limit


class SecondLook(msgspec.Struct, frozen=True):
    """A second measurement of what an analysis doubts, and how many are looked at."""

    analysis: PairAnalysis
    series: Sequence[Series]
    others: Doubted
    tests: int

    @property
    def _message_bytes(self) -> int:
        return self.analysis.matrix.message_bytes

    def confirmed(self, one: Suspect) -> Finding | None:
        """The suspect as a fault, None where it was not shown to be one."""
        shown = self._shown(one.part, one.names, one)
        if shown is None:
            return None
        part: Part = one.part
        back = one.names[::-1]
        if part == "direction" and (other := self._shown(part, back, one)):
            alike = other.effect / shown.effect
            part = "pair" if alike >= CONFIRMED else part
        evidence = (
            f"among all pairs: {one.reason}; measured again, {_pairs(shown.pairs)} slower than each"
            f" of {shown.good} good ones",
        )
        low, high = (shown.effect + side * INTERVAL * shown.error for side in (-1, 1))
        return Finding(
            part, one.names, one.quantity, self._message_bytes, shown.effect, low, high,
            min(1.0, shown.chance * self.tests), 2 if part == "pair" else shown.pairs, "fault",
            evidence,
        )  # fmt: skip

    def is_cleared(self, one: Suspect) -> bool:
        """Whether it was measured, and is no fault."""
        shown = self._compared(one.part, one.names, one)
        return shown is not None and not shown.reaches(_least(one.quantity), one.effect)

    def _shown(self, part: Part, names: tuple[str, ...], one: Suspect) -> Shown | None:
        shown = self._compared(part, names, one)
        if shown is None or not shown.apart or shown.chance * self.tests > CHANCE:
            return None
        return shown if shown.reaches(_least(one.quantity), one.effect) else None

    def _compared(self, part: Part, names: tuple[str, ...], one: Suspect) -> Shown | None:
        claim = Finding(
            part, names, one.quantity, self._message_bytes, one.effect, one.effect, one.effect,
            1.0, 0, "fault", (),
        )  # fmt: skip
        return _compared(sides_of(self.analysis, claim, self.series, self.others), one.effect)


def _compared(given: Sides, suspected: float) -> Shown | None:
    own, good = np.array(given.own), np.array(given.good)
    if not own.size or good.size < _FEWEST_GOOD:
        return None
    usual = float(np.median(good))
    effects, differences = own / usual - 1.0, good / usual - 1.0
    spread = max(FLOOR, float(differences.std(ddof=1)))
    own_spread = max(spread, float(effects.std(ddof=1)) if own.size > 1 else 0.0)
    error = float(np.sqrt(spread**2 / good.size + own_spread**2 / own.size))
    effect = float(np.median(effects))
    chance = float(tail(np.array([abs(effect) / error]), good.size - 1)[0])
    apart = bool(own.min() > good.max() if suspected > 0 else own.max() < good.min())
    return Shown(effect, error, chance, apart, own.size, good.size)


def _least(quantity: Quantity) -> float:
    return _LIMITS.latency if quantity == "latency" else _LIMITS.bandwidth


def _pairs(count: int) -> str:
    return f"each of its {count} pairs was" if count > 1 else "it was"


_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def settled_all(
    analyses: Sequence[PairAnalysis], series: Sequence[Series]
) -> tuple[PairAnalysis, ...]:
    """The analyses of one network as ``series``, single pairs measured again, leave them.

    They are as they were without any.
    """
    if not series:
        return tuple(analyses)
    others = doubted(analyses)
    return tuple(_promoted(_cleared(one, series, others), series, others) for one in analyses)


def _cleared(analysis: PairAnalysis, series: Sequence[Series], others: Doubted) -> PairAnalysis:
    findings, suspects = [], list(analysis.suspects)
    for one in analysis.findings:
        seen = again(analysis, one, series, others)
        cleared = isinstance(seen, Again) and not seen.confirmed
        if cleared and one.explanation == "fault":
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, _ALONE, _QUIET))
        else:
            findings.append(one)
    if len(findings) == len(analysis.findings):
        return analysis
    return msgspec.structs.replace(analysis, findings=tuple(findings), suspects=tuple(suspects))


def _promoted(analysis: PairAnalysis, series: Sequence[Series], others: Doubted) -> PairAnalysis:
    analysis = _without_members(analysis)
    ends = [one for one in analysis.suspects if one.part in ENDS]
    ways = [one for one in (*analysis.suspects, *analysis.doubtful) if one.part in WAYS]
    look = SecondLook(analysis, series, others, tests=len(ends) + len(ways))
    # What is slow about the way of a node in doubt may be that node.
    undoubted = [one for one in ways if not others.nodes & {*one.names}]
    found = _confirmed(look, (*ends, *undoubted))
    names = {one.names for one in found}
    suspects = tuple(
        one for one in analysis.suspects if not (_explained(one, names) or _answered(look, one))
    )
    if not found and len(suspects) == len(analysis.suspects):
        return analysis
    return msgspec.structs.replace(
        analysis,
        findings=(*analysis.findings, *_by_group(analysis, _joined(found))),
        suspects=suspects,
    )


def _without_members(analysis: PairAnalysis) -> PairAnalysis:
    """A named group's nodes are slow with others for its sake, and suspected for nothing else."""
    named = [one for one in analysis.findings if (one.part, one.explanation) == ("group", "fault")]
    members = {node for one in named for node in nodes_of(analysis, one)}
    kept = tuple(
        one for one in analysis.suspects if one.part not in ENDS or one.names[0] not in members
    )
    if len(kept) == len(analysis.suspects):
        return analysis
    return msgspec.structs.replace(analysis, suspects=kept)


def _answered(look: SecondLook, one: Suspect) -> bool:
    """Whether the test that would decide was made, and cleared it.

    What comes and goes is not cleared by a moment in which it was not there.
    """
    return one.next_test in (AGAIN, AGAIN_PAIR) and look.is_cleared(one)


def _confirmed(look: SecondLook, suspects: Iterable[Suspect]) -> tuple[Finding, ...]:
    seen = (look.confirmed(one) for one in suspects)
    return tuple(one for one in seen if one is not None)


def _joined(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Both directions of one node are that node."""
    joined = []
    for name in dict.fromkeys(one.names for one in found):
        same = [one for one in found if one.names == name]
        worst = max(same, key=lambda one: abs(one.effect))
        both = {one.part for one in same} >= {"sender", "receiver"}
        joined.append(msgspec.structs.replace(worst, part="node") if both else worst)
    return tuple(joined)


def _by_group(analysis: PairAnalysis, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Where half of a group's nodes or more are slow with others, it is the group's way out."""
    left = list(found)
    for group in analysis.groups:
        members = [one for one in left if one.part in ENDS and one.names[0] in group.nodes]
        if len(members) < max(2, len(group.nodes) / 2):
            continue
        effects = sorted(one.effect for one in members)
        whole = msgspec.structs.replace(
            members[0],
            part="group",
            names=(group.name,),
            effect=float(np.median(effects)),
            low=effects[0],
            high=effects[-1],
            affected=sum(one.affected for one in members),
            evidence=(
                f"{len(members)} of its {len(group.nodes)} nodes are slow with nodes of other"
                " groups, and were so again when measured alone",
            ),
        )
        left = [one for one in left if one not in members] + [whole]
    return tuple(left)


def _explained(one: Suspect, named: set[tuple[str, ...]]) -> bool:
    """A suspect that is named now, or a pair with one of them."""
    return any(set(names) <= set(one.names) for names in named)
