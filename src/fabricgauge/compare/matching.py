"""Which curve of A is held against which of B.

Curves are of one kind when they say the same: the same pattern (or, without one, the same
figure of the same benchmark), quantity, number of directions and of pairs. Several of a
kind are told apart by network, direction between nodes, benchmark and settings, in this
order, as far as both sides say them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import msgspec

from fabricgauge.model.comparison import Side, Unmatched
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import RESULTS, SuiteCurve, SuitePoint
from fabricgauge.words.sentences import counted

#: How ``what`` begins for a column that is worked out of the half round trip, and for that of
#: them which is message size over half round trip.
DERIVED = "ping-pong "
WHAT = "ping-pong bandwidth"
_TOLD = "the same figures as the time beside it, which is compared"


def as_times(side: Side, curves: Iterable[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    """The curves with each ping-pong bandwidth turned into half round trips.

    One whose table has a column of times as well is left out.
    """
    given = list(curves)
    timed = {_table(one) for one in given if one.pattern == "latency" and one.quantity == "time"}
    kept, left = [], []
    for curve in given:
        derived = curve.pattern is None and curve.what.startswith(DERIVED)
        if derived and _table(curve) in timed:
            left.append(Unmatched(side, curve, _TOLD))
        elif derived and curve.quantity == "bandwidth" and curve.what.startswith(WHAT):
            kept.append(_as_time(curve))
        else:
            kept.append(curve)
    return kept, left


def _table(curve: SuiteCurve) -> tuple[str, str, int]:
    return curve.source, curve.benchmark, curve.first_line


def _as_time(curve: SuiteCurve) -> SuiteCurve:
    return msgspec.structs.replace(
        curve,
        what=f"half round trip (size ÷ {WHAT})",
        quantity="time",
        pattern="latency",
        points=tuple(_points(curve.points)),
    )


def _points(points: Sequence[SuitePoint]) -> Iterable[SuitePoint]:
    for point in points:
        rate = point.estimate
        if point.message_bytes and rate.low > 0:
            time = Estimate(
                value=point.message_bytes / rate.value,
                low=point.message_bytes / rate.high,
                high=point.message_bytes / rate.low,
                confidence=rate.confidence,
                launches=rate.launches,
                samples=rate.samples,
            )
            yield SuitePoint(point.message_bytes, time, point.line)


Matched = list[tuple[SuiteCurve, SuiteCurve]]
Trait = Callable[[SuiteCurve], str]
Kind = tuple[str, str, int, int]


def match(a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> tuple[Matched, list[Unmatched]]:
    """Pairs in A's order, and the curves that have no counterpart, with the reason."""
    matched: Matched = []
    alone: list[Unmatched] = []
    rest_a, rest_b = list(a), list(b)
    for sort in (kind, _named):
        for ours, others in _in_both(rest_a, rest_b, sort):
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


def _without(curves: list[SuiteCurve], taken: list[SuiteCurve]) -> list[SuiteCurve]:
    known = set(map(id, taken))
    return [curve for curve in curves if id(curve) not in known]


def _in_both(
    a: list[SuiteCurve], b: list[SuiteCurve], sort: Callable[[SuiteCurve], Kind]
) -> list[tuple[list[SuiteCurve], list[SuiteCurve]]]:
    found = []
    for one in dict.fromkeys(map(sort, a)):
        ours = [curve for curve in a if sort(curve) == one]
        others = [curve for curve in b if sort(curve) == one]
        if others:
            found.append((ours, others))
    return found


def _settings(a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> Trait:
    """The settings by which curves of one side differ: what a side has in common tells nothing.

    What was measured is no setting.
    """
    keys = {key for one in (*a, *b) for key in one.settings} - RESULTS - {"network"}
    telling = sorted(key for key in keys if max(_values(a, key), _values(b, key)) > 1)

    def told(curve: SuiteCurve) -> str:
        return ", ".join(f"{key} {curve.settings[key]}" for key in telling if key in curve.settings)

    return told


def _values(curves: Sequence[SuiteCurve], key: str) -> int:
    return len({one.settings.get(key) for one in curves})


TRAITS: tuple[tuple[str, Trait | None], ...] = (
    ("network", lambda curve: curve.settings.get("network", "")),
    ("direction", lambda curve: " → ".join(curve.hosts) if len(curve.hosts) > 1 else ""),
    ("benchmark", lambda curve: curve.benchmark),
    ("number of ranks", lambda curve: "" if curve.ranks is None else f"{curve.ranks} ranks"),
    ("settings", None),
)


def _tell_apart(
    a: list[SuiteCurve],
    b: list[SuiteCurve],
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
    of_a, of_b = _split(a, trait), _split(b, trait)
    if _one_stands_for_all(of_a, of_b) and not (name == "benchmark" and _may_not_mix(a, b)):
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


def _split(curves: list[SuiteCurve], trait: Trait) -> dict[str, list[SuiteCurve]]:
    found: dict[str, list[SuiteCurve]] = {}
    for curve in curves:
        found.setdefault(trait(curve), []).append(curve)
    return found


def _one_stands_for_all(a: dict[str, list[SuiteCurve]], b: dict[str, list[SuiteCurve]]) -> bool:
    """One side has a single value that the other does not have: it is held against each."""
    return min(len(a), len(b)) == 1 and not (a.keys() & b.keys())


def _may_not_mix(a: list[SuiteCurve], b: list[SuiteCurve]) -> bool:
    """Two benchmarks of one suite are two things, unless both are of one pattern of ours."""
    curves = (*a, *b)
    return len({one.suite for one in curves}) == 1 and curves[0].pattern is None


def _in_order(
    a: list[SuiteCurve], b: list[SuiteCurve], matched: Matched, alone: list[Unmatched]
) -> None:
    """What nothing tells apart goes in the order of the files; a single one with each."""
    if 1 in (len(a), len(b)):
        matched += [(one, other) for one in a for other in b]
        return
    for one, other in zip_longest(a, b):
        if one is not None and other is not None:
            matched.append((one, other))
        elif one is not None:
            alone.append(Unmatched("A", one, "B has fewer curves of this kind"))
        elif other is not None:
            alone.append(Unmatched("B", other, "A has fewer curves of this kind"))


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
    theirs, ours = map(_sum, (same_quantity[0], curve))
    return f"{other}'s sums up {theirs}, this one {ours}"


def _sum(curve: SuiteCurve) -> str:
    return f"{counted(curve.pairs, 'pair')} and {counted(curve.directions, 'direction')}"
