"""The names of the patterns, and their families."""

from pathlib import Path

from fabricgauge.check.plan.asked import EPOCHS, parse_pattern
from fabricgauge.model.curve import Curve
from fabricgauge.model.pattern import (
    CATALOGUE,
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


def test_families_have_no_pattern_in_common() -> None:
    patterns = (*PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS, *ROUND_ROBIN_PATTERNS)
    assert len(patterns) == len(set(patterns))


def test_groups_of_pair_patterns_name_pair_patterns() -> None:
    for group in (ONE_SIDED_PATTERNS, THREADED_PATTERNS, ROUND_TRIP_PATTERNS):
        assert group <= set(PAIR_PATTERNS)
    assert ROUND_TRIP_PATTERNS <= LATENCY_PATTERNS


def test_the_plain_form_of_a_pattern_has_no_variant() -> None:
    plain_patterns = set(PAIR_PATTERNS) - THREADED_PATTERNS
    assert {variant(pattern, "flush", 1) for pattern in plain_patterns} == {""}


def test_a_curve_s_word_requests_its_pattern() -> None:
    words = {
        *(f"{name}:{epoch}" for name in ONE_SIDED_PATTERNS for epoch in EPOCHS if epoch != "flush"),
        *(f"{name}:{threads}" for name in THREADED_PATTERNS for threads in (1, 4)),
        *set(PAIR_PATTERNS) - THREADED_PATTERNS,
    }
    for word in words:
        request = parse_pattern(word)
        curve_variant = variant(request.pattern, request.epoch, request.threads)
        assert Curve(None, request.pattern, "c1", "c2", (), curve_variant).word == word


def test_the_engine_has_the_same_patterns_in_the_same_order() -> None:
    header = Path(__file__).parents[2] / "engine" / "include" / "fabricgauge" / "pattern.hpp"
    _, _, rest = header.read_text(encoding="utf-8").partition("enum class Pattern {")
    names = [line.strip(" ,") for line in rest.partition("}")[0].split("\n") if line.strip()]
    assert names == [
        *PAIR_PATTERNS, *CROWD_PATTERNS, *COLLECTIVE_PATTERNS, *ROUND_ROBIN_PATTERNS
    ]  # fmt: skip
    assert {words.pattern for words in CATALOGUE} == {*PAIR_PATTERNS, *CROWD_PATTERNS}
