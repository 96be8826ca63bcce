"""The patterns' names and the families that they belong to."""

from fabricgauge.model.curve import Curve
from fabricgauge.model.pattern import (
    COLLECTIVE_PATTERNS,
    CROWD_PATTERNS,
    LATENCY_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    ROUND_ROBIN_PATTERNS,
    ROUND_TRIP_PATTERNS,
    THREADED_PATTERNS,
    variant,
)
from fabricgauge.plan.asked import EPOCHS, parse_pattern


def test_families_have_no_pattern_in_common() -> None:
    every = (*PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS, *ROUND_ROBIN_PATTERNS)
    assert len(every) == len(set(every))


def test_groups_of_pair_patterns_name_pair_patterns() -> None:
    for group in (ONE_SIDED_PATTERNS, THREADED_PATTERNS, ROUND_TRIP_PATTERNS):
        assert group <= set(PAIR_PATTERNS)
    assert ROUND_TRIP_PATTERNS <= LATENCY_PATTERNS


def test_the_plain_form_of_a_pattern_has_no_variant() -> None:
    assert {variant(one, "flush", 1) for one in set(PAIR_PATTERNS) - THREADED_PATTERNS} == {""}


def test_a_curve_is_asked_for_by_its_word() -> None:
    words = {
        *(f"{one}:{epoch}" for one in ONE_SIDED_PATTERNS for epoch in EPOCHS if epoch != "flush"),
        *(f"{one}:{number}" for one in THREADED_PATTERNS for number in (1, 4)),
        *set(PAIR_PATTERNS) - THREADED_PATTERNS,
    }
    for word in words:
        one = parse_pattern(word)
        told = variant(one.pattern, one.epoch, one.threads)
        assert Curve(None, one.pattern, "c1", "c2", (), told).word == word
