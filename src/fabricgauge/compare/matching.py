"""Which curve of A is held against which of B.

Curves are of one kind when they say the same: the same pattern (or, without one, the same
figure of the same benchmark), quantity, number of directions and of pairs. Several of a
kind are told apart by network, direction between nodes, benchmark and settings, in this
order, as far as both sides say them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from fabricgauge.model.comparison import Side, Unmatched
from fabricgauge.model.groups import grouped
from fabricgauge.model.suite import RESULTS, SuiteCurve, SuitePoint
from fabricgauge.words.sentences import counted

_TOLD = "the same figures as the time beside it, which is compared"


def as_times(side: Side, curves: Iterable[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    """The curves with each ping-pong bandwidth turned into half round trips.

    One whose table has a column of times as well is left out.
    """
    given = list(curves)
    timed = {_table(one) for one in given if one.pattern == "latency" and one.quantity == "time"}
    kept, left = [], []
    for curve in given:
        if curve.of_ping_pong and _table(curve) in timed:
            left.append(Unmatched(side, curve, _TOLD))
        else:
            derived = curve.of_ping_pong and curve.quantity == "bandwidth"
            kept.append(_as_time(curve) if derived else curve)
    return kept, left


def _table(curve: SuiteCurve) -> tuple[str, str, int]:
    return curve.source, curve.benchmark, curve.first_line


def _as_time(curve: SuiteCurve) -> SuiteCurve:
    what = "half round trip (size ÷ ping-pong bandwidth)"
    return msgspec.structs.replace(
        curve, what=what, quantity="time", pattern="latency", points=tuple(_times(curve))
    )


def _times(curve: SuiteCurve) -> Iterator[SuitePoint]:
    for point in curve.points:
        size, rate = point.message_bytes, point.estimate
        if size and rate.low > 0:
            ends = {"value": size / rate.value, "low": size / rate.high, "high": size / rate.low}
            yield SuitePoint(size, msgspec.structs.replace(rate, **ends), point.line)


Matched = list[tuple[SuiteCurve, SuiteCurve]]
Trait = Callable[[SuiteCurve], str]
Kind = tuple[str, str, int, int]


def match(a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> tuple[Matched, list[Unmatched]]:
    """Pairs in A's order, and the curves that have no counterpart, with the reason."""
    matched: Matched = []
    alone: list[Unmatched] = []
    rest_a, rest_b = list(a), list(b)
    for sort in (kind, _named):
        of_a, of_b = grouped(rest_a, sort), grouped(rest_b, sort)
        for ours, others in [(of_a[one], of_b[one]) for one in of_a if one in of_b]:
            if sort is kind or len(ours) == len(others) == 1:
                rest_a, rest_b = _without(rest_a, ours), _without(rest_b, others)
                _tell_apart(ours, others, TRAITS, matched, alone)
    alone += [Unmatched("A", curve, _missing(curve, b, "B")) for curve in rest_a]
    alone += [Unmatched("B", curve, _missing(curve, a, "A")) for curve in rest_b]
    return matched, alone


def kind(curve: SuiteCurve) -> Kind:
    """What must agree for two curves to be comparable."""
    figure = curve.pattern or f"what: {curve.what.strip().casefold()}"
    return figure, curve.quantity, curve.directions, curve.pairs


def _named(curve: SuiteCurve) -> Kind:
    """The second attempt: the same benchmark, whose figure two outputs call differently."""
    benchmark = f"benchmark: {curve.benchmark.casefold()}"
    return curve.pattern or benchmark, curve.quantity, curve.directions, curve.pairs


def _without(curves: list[SuiteCurve], taken: Sequence[SuiteCurve]) -> list[SuiteCurve]:
    known = set(map(id, taken))
    return [curve for curve in curves if id(curve) not in known]


def _settings(a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> Trait:
    """The settings by which curves of one side differ: what a side has in common tells nothing.

    What was measured is no setting.
    """
    keys = {key for one in (*a, *b) for key in one.settings} - RESULTS - {"network"}
    telling = sorted(
        key
        for key in keys
        if any(len({one.settings.get(key) for one in side}) > 1 for side in (a, b))
    )
    return lambda curve: ", ".join(
        f"{key} {curve.settings[key]}" for key in telling if key in curve.settings
    )


TRAITS: tuple[tuple[str, Trait | None], ...] = (
    ("network", lambda curve: curve.settings.get("network", "")),
    ("direction", lambda curve: " → ".join(curve.hosts) if len(curve.hosts) > 1 else ""),
    ("benchmark", lambda curve: curve.benchmark),
    ("number of ranks", lambda curve: "" if curve.ranks is None else f"{curve.ranks} ranks"),
    ("settings", None),
)


def _tell_apart(
    a: Sequence[SuiteCurve],
    b: Sequence[SuiteCurve],
    traits: Sequence[tuple[str, Trait | None]],
    matched: Matched,
    alone: list[Unmatched],
) -> None:
    """Split both sides by each trait in turn while it tells curves of both apart."""
    if not traits:
        _in_order(a, b, matched, alone)
        return
    (name, given), *rest = traits
    trait = given or _settings(a, b)
    of_a, of_b = grouped(a, trait), grouped(b, trait)
    # One side has a single value that the other does not have: it is held against each. But two
    # benchmarks of one suite are two things, unless both are of one pattern of ours.
    one_for_all = min(len(of_a), len(of_b)) == 1 and not of_a.keys() & of_b.keys()
    one_suite = len({one.suite for one in (*a, *b)}) == 1 and (*a, *b)[0].pattern is None
    if one_for_all and not (name == "benchmark" and one_suite):
        for ours in of_a.values():
            for others in of_b.values():
                _tell_apart(ours, others, rest, matched, alone)
        return
    for value in dict.fromkeys((*of_a, *of_b)):
        if value in of_a and value in of_b:
            _tell_apart(of_a[value], of_b[value], rest, matched, alone)
        else:
            alone += [_other_trait("A", one, name, value) for one in of_a.get(value, ())]
            alone += [_other_trait("B", one, name, value) for one in of_b.get(value, ())]


def _in_order(
    a: Sequence[SuiteCurve], b: Sequence[SuiteCurve], matched: Matched, alone: list[Unmatched]
) -> None:
    """What nothing tells apart goes in the order of the files; a single one with each."""
    if 1 in (len(a), len(b)):
        matched += [(one, other) for one in a for other in b]
        return
    matched += zip(a, b, strict=False)
    alone += [Unmatched("A", one, "B has fewer curves of this kind") for one in a[len(b) :]]
    alone += [Unmatched("B", one, "A has fewer curves of this kind") for one in b[len(a) :]]


def _other_trait(side: Side, curve: SuiteCurve, name: str, value: str) -> Unmatched:
    other = "B" if side == "A" else "A"
    return Unmatched(side, curve, f"{other} has none with the same {name} ({value or 'not said'})")


def _missing(curve: SuiteCurve, others: Sequence[SuiteCurve], other: Side) -> str:
    """The reason in the words of what differs least."""
    same = [one for one in others if kind(one)[0] == kind(curve)[0]]
    if not same:
        return f"{other} has no such curve"
    same_quantity = [one for one in same if one.quantity == curve.quantity]
    if not same_quantity:
        there = ", ".join(sorted({one.quantity.replace("_", " ") for one in same}))
        return f"{other} has {there} of it, no {curve.quantity.replace('_', ' ')}"
    theirs, ours = (
        f"{counted(one.pairs, 'pair')} and {counted(one.directions, 'direction')}"
        for one in (same_quantity[0], curve)
    )
    return f"{other}'s sums up {theirs}, this one {ours}"
