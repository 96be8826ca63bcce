"""Match curves of A with curves of B.

Curves of one kind have the same pattern (or, without one, the same figure of the same benchmark),
quantity, number of directions and of pairs. Several of a kind are distinguished by network,
direction between nodes, benchmark and settings, in this order, if both sides state them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import msgspec

from fabricgauge.model.comparison import Side, Unmatched
from fabricgauge.model.errors import UsageError
from fabricgauge.model.groups import group_by
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.suite import RESULTS, SuiteCurve, SuitePoint
from fabricgauge.model.words.sentences import counted, listed

_REDUNDANT = "the same figures as its table's time, which is compared"


def as_times(side: Side, curves: Sequence[SuiteCurve]) -> tuple[list[SuiteCurve], list[Unmatched]]:
    """Convert each ping-pong bandwidth to half round trips.

    A curve whose table has a column of times as well is left out.
    """
    timed = {_table_of(c) for c in curves if c.pattern == "latency" and c.quantity == "time"}
    result, unmatched = [], []
    for curve in curves:
        if curve.derived_from_ping_pong and _table_of(curve) in timed:
            unmatched.append(Unmatched(side, curve, _REDUNDANT))
        elif curve.derived_from_ping_pong and curve.quantity == "bandwidth":
            result.append(msgspec.structs.replace(
                curve, what="half round trip (size ÷ ping-pong bandwidth)", quantity="time",
                pattern="latency", points=tuple(_times(curve)),
            ))  # fmt: skip
        else:
            result.append(curve)
    return result, unmatched


def _table_of(curve: SuiteCurve) -> tuple[str, str, int]:
    return curve.source, curve.benchmark, curve.first_line


def _times(curve: SuiteCurve) -> Iterator[SuitePoint]:
    for point in curve.points:
        size, rate = point.message_bytes, point.estimate
        if size and rate.low > 0:
            ends = {"value": size / rate.value, "low": size / rate.high, "high": size / rate.low}
            yield SuitePoint(size, msgspec.structs.replace(rate, **ends), point.line)


Matched = list[tuple[SuiteCurve, SuiteCurve]]
Trait = Callable[[SuiteCurve], str]
Kind = tuple[str, str, int, int]


class Unlike(NamedTuple):
    """Two names of curves, patterns or benchmarks, that the user compares with each other."""

    a: str
    b: str


def is_named(curve: SuiteCurve, name: str) -> bool:
    return name.casefold() in ((curve.pattern or "").casefold(), curve.benchmark.casefold())


def match(
    a: Sequence[SuiteCurve], b: Sequence[SuiteCurve], unlike: Sequence[Unlike] = ()
) -> tuple[Matched, list[Unmatched]]:
    """Return pairs in A's order, and the curves without a counterpart, with the reason.

    Curves of ``unlike`` names are compared first, if they have one quantity and as many directions
    and pairs.

    Raises:
        UsageError: two ``unlike`` names have no curves to compare.
    """
    matched: Matched = []
    unmatched: list[Unmatched] = []
    remaining_a, remaining_b = list(a), list(b)
    for names in unlike:
        named_a = [curve for curve in remaining_a if is_named(curve, names.a)]
        named_b = [curve for curve in remaining_b if is_named(curve, names.b)]
        a_by_measure, b_by_measure = group_by(named_a, _measure), group_by(named_b, _measure)
        common_measures = [value for value in a_by_measure if value in b_by_measure]
        # B has no figure of that name: A's curves count as lost.
        if not common_measures and any(is_named(curve, names.b) for curve in b):
            raise UsageError(_describe_empty_pair(names, a, b))
        for measure in common_measures:
            of_a, of_b = a_by_measure[measure], b_by_measure[measure]
            remaining_a, remaining_b = _remove(remaining_a, of_a), _remove(remaining_b, of_b)
            _split_by_traits(of_a, of_b, _TRAITS_OF_UNLIKE, matched, unmatched)
    for group_key in (kind, kind_by_benchmark):
        a_groups, b_groups = group_by(remaining_a, group_key), group_by(remaining_b, group_key)
        for value, a_group in a_groups.items():
            b_group = b_groups.get(value, ())
            if b_group and (group_key is kind or len(a_group) == len(b_group) == 1):
                remaining_a = _remove(remaining_a, a_group)
                remaining_b = _remove(remaining_b, b_group)
                _split_by_traits(a_group, b_group, TRAITS, matched, unmatched)
    unmatched += [Unmatched("A", curve, _missing_reason(curve, b, "B")) for curve in remaining_a]
    unmatched += [Unmatched("B", curve, _missing_reason(curve, a, "A")) for curve in remaining_b]
    return matched, unmatched


def _measure(curve: SuiteCurve) -> tuple[str, int, int]:
    return curve.quantity, curve.directions, curve.pairs


def _describe_empty_pair(names: Unlike, a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> str:
    """Return why two names that the user compares have no curves to compare."""
    option = f"--pair {names.a}={names.b}"
    a_measures = dict.fromkeys(_measure(curve) for curve in a if is_named(curve, names.a))
    b_measures = dict.fromkeys(_measure(curve) for curve in b if is_named(curve, names.b))
    if not a_measures:
        return f"{option}: A has no usable figure of {names.a!r}"
    if a_measures.keys() & b_measures.keys():
        return f"{option}: an earlier --pair compares these curves; compare each curve once"
    a_words, b_words = (
        listed([_describe_measure(*measure) for measure in measures])
        for measures in (a_measures, b_measures)
    )
    quantities = f"{names.a} of A has {a_words}, {names.b} of B {b_words}"
    return f"{option} joins different quantities: {quantities}; name curves of one quantity"


def _describe_measure(quantity: str, directions: int, pairs: int) -> str:
    words = quantity.replace("_", " ")
    if directions == pairs == 1:
        return words
    return f"{words} of {counted(pairs, 'pair')} in {counted(directions, 'direction')}"


def kind(curve: SuiteCurve) -> Kind:
    """Return the values that comparable curves have in common."""
    figure = curve.pattern or f"what: {curve.what.strip().casefold()}"
    return figure, curve.quantity, curve.directions, curve.pairs


def kind_by_benchmark(curve: SuiteCurve) -> Kind:
    """Return the kind for a second attempt: outputs name one benchmark's figure differently."""
    benchmark = f"benchmark: {curve.benchmark.casefold()}"
    return curve.pattern or benchmark, curve.quantity, curve.directions, curve.pairs


def _remove(curves: list[SuiteCurve], matched: Sequence[SuiteCurve]) -> list[SuiteCurve]:
    matched_ids = set(map(id, matched))
    return [curve for curve in curves if id(curve) not in matched_ids]


def _ranks_of(curve: SuiteCurve) -> str:
    """Return how many ranks a table had, by itself or by its command; empty if unknown."""
    known = (curve.ranks, len(curve.evidence.rank_hosts), len(curve.evidence.rank_nodes))
    return next((f"{ranks} ranks" for ranks in known if ranks), "")


def _setting_trait(a: Sequence[SuiteCurve], b: Sequence[SuiteCurve]) -> Trait:
    """Return a trait of the settings by which curves of one side differ.

    Results among them are no settings.
    """
    keys = {key for curve in (*a, *b) for key in curve.settings} - RESULTS - {"network"}
    sides = [[curve.settings for curve in side] for side in (a, b)]
    differing = sorted(k for k in keys if any(len({s.get(k) for s in side}) > 1 for side in sides))
    return lambda curve: ", ".join(
        f"{key} {curve.settings[key]}" for key in differing if key in curve.settings
    )


TRAITS: tuple[tuple[str, Trait | None], ...] = (
    ("network", lambda curve: curve.settings.get("network", "")),
    ("direction", lambda curve: " → ".join(curve.hosts) if len(curve.hosts) > 1 else ""),
    ("benchmark", lambda curve: curve.benchmark),
    ("number of ranks", _ranks_of),
    ("settings", None),
)
#: Unlike curves differ in benchmark and settings by intent.
_TRAITS_OF_UNLIKE = tuple(trait for trait in TRAITS if trait[0] not in ("benchmark", "settings"))


def _split_by_traits(
    a: Sequence[SuiteCurve],
    b: Sequence[SuiteCurve],
    traits: Sequence[tuple[str, Trait | None]],
    matched: Matched,
    unmatched: list[Unmatched],
) -> None:
    if not traits:
        _match_in_order(a, b, matched, unmatched)
        return
    (name, fixed_trait), *later_traits = traits
    trait = fixed_trait or _setting_trait(a, b)
    a_groups, b_groups = group_by(a, trait), group_by(b, trait)
    # One side has a single value that the other lacks: it is compared with each. But two
    # benchmarks of one suite measure different things, unless both are of one of our patterns.
    has_common = bool(a_groups.keys() & b_groups.keys())
    is_single_value = min(len(a_groups), len(b_groups)) == 1 and not has_common
    is_single_suite = len({curve.suite for curve in (*a, *b)}) == 1 and (*a, *b)[0].pattern is None
    # A collective of more ranks does more. Two ranks of many are a pair like any other.
    is_collective = (*a, *b)[0].pattern not in PAIR_PATTERNS
    is_unlike = (name == "benchmark" and is_single_suite) or (
        name == "number of ranks" and is_collective and "" not in (*a_groups, *b_groups)
    )
    if is_single_value and not is_unlike:
        for a_group, b_group in product(a_groups.values(), b_groups.values()):
            _split_by_traits(a_group, b_group, later_traits, matched, unmatched)
        return
    for value in dict.fromkeys((*a_groups, *b_groups)):
        if value in a_groups and value in b_groups:
            _split_by_traits(a_groups[value], b_groups[value], later_traits, matched, unmatched)
            continue
        trait_words = f"has none with the same {name} ({value or 'not stated'})"
        unmatched += [Unmatched("A", c, f"B {trait_words}") for c in a_groups.get(value, ())]
        unmatched += [Unmatched("B", c, f"A {trait_words}") for c in b_groups.get(value, ())]


def _match_in_order(
    a: Sequence[SuiteCurve], b: Sequence[SuiteCurve], matched: Matched, unmatched: list[Unmatched]
) -> None:
    """Match curves without a difference in the files' order; a single curve with each."""
    if 1 in (len(a), len(b)):
        matched += [(a_curve, b_curve) for a_curve in a for b_curve in b]
        return
    matched += zip(a, b, strict=False)
    fewer = "has fewer curves of this kind"
    unmatched += [Unmatched("A", curve, f"B {fewer}") for curve in a[len(b) :]]
    unmatched += [Unmatched("B", curve, f"A {fewer}") for curve in b[len(a) :]]


def _missing_reason(curve: SuiteCurve, other_curves: Sequence[SuiteCurve], other_side: Side) -> str:
    """Return the reason by the smallest difference to a curve of the other side."""
    same_kind = [candidate for candidate in other_curves if kind(candidate)[0] == kind(curve)[0]]
    if not same_kind:
        return f"{other_side} has no such curve"
    same_quantity = [candidate for candidate in same_kind if candidate.quantity == curve.quantity]
    if not same_quantity:
        quantities = sorted({candidate.quantity.replace("_", " ") for candidate in same_kind})
        missing = curve.quantity.replace("_", " ")
        return f"{other_side} has {', '.join(quantities)} of it, no {missing}"
    other_counts, own_counts = (
        f"{counted(side.pairs, 'pair')} and {counted(side.directions, 'direction')}"
        for side in (same_quantity[0], curve)
    )
    return f"{other_side}'s sums up {other_counts}, this one {own_counts}"
