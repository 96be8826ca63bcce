"""The names of the patterns, and their families."""

import re
from pathlib import Path

from fabricgauge.check.plan.cases import EPOCHS, parse_pattern
from fabricgauge.model.estimate import Curve
from fabricgauge.model.pattern import (
    ALL,
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
    words_of,
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


def engine_rows() -> dict[str, list[str]]:
    """Return family, sides, sample and ability of each pattern in the engine's catalogue."""
    header = Path(__file__).parents[2] / "engine" / "include" / "fabricgauge" / "pattern.hpp"
    rows = re.findall(r"^    ROW\((\w+), ([\w, ]+)\)", header.read_text("utf-8"), re.MULTILINE)
    return {name: values.split(", ") for name, values in rows}


def test_the_engine_has_the_same_patterns_in_the_same_order() -> None:
    families = [
        *((name, "pair") for name in PAIR_PATTERNS),
        *((name, "concurrent_pairs") for name in CROWD_PATTERNS),
        *((name, "collective") for name in COLLECTIVE_PATTERNS),
        *((name, "round_robin") for name in ROUND_ROBIN_PATTERNS),
    ]
    assert [(name, row[0]) for name, row in engine_rows().items()] == families
    assert {words.pattern for words in CATALOGUE} == {*PAIR_PATTERNS, *CROWD_PATTERNS}


def test_the_engine_has_the_same_kinds_of_operation() -> None:
    transports = {"mpi": (), "messages": ALL, "one_sided": ALL[1:], "atomics": ALL[1:]}
    for name, (_, sides, _, ability) in engine_rows().items():
        words = words_of(name)
        assert (sides == "one_sided") == words.one_sided, name
        assert transports[ability] == words.transports, name
