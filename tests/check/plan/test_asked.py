"""Words that ask for patterns of a pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.cases import (
    ATOMICS,
    DEFAULT_THREADS,
    EPOCHS,
    MAX_THREADS,
    SAMPLES_PER_CASE,
    PatternRequest,
    parse_pattern,
    plan_cases,
)
from fabricgauge.check.plan.profiles import DEFAULT_SIZES
from fabricgauge.model.errors import UsageError
from fabricgauge.model.pattern import (
    LATENCY_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    THREADED_PATTERNS,
)

one_sided = st.sampled_from(sorted(ONE_SIDED_PATTERNS))
threaded = st.sampled_from(sorted(THREADED_PATTERNS))
GBE_BYTES_PER_S = 117.69e6


@pytest.mark.parametrize("pattern", PAIR_PATTERNS)
def test_every_pattern_is_asked_for_by_its_name(pattern: str) -> None:
    found = parse_pattern(pattern)
    assert (found.pattern, found.epoch) == (pattern, "flush")
    assert found.threads == (DEFAULT_THREADS if pattern in THREADED_PATTERNS else 1)


@given(one_sided, st.sampled_from(EPOCHS))
def test_an_epoch_stands_after_a_colon(pattern: str, epoch: str) -> None:
    assert parse_pattern(f"{pattern}:{epoch}").epoch == epoch


@given(threaded, st.integers(1, MAX_THREADS))
def test_a_number_of_threads_stands_after_a_colon(pattern: str, threads: int) -> None:
    assert parse_pattern(f"{pattern}:{threads}").threads == threads


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("latncy", "unknown pattern 'latncy'; available: latency,"),
        ("", "unknown pattern ''"),
        ("put_latency:lock", "unknown epoch 'lock'; available: flush, fence, pscw"),
        ("latency:fence", "latency does not"),
        ("threads_latency:0", "from 1 to 1024"),
        ("threads_latency:1025", "from 1 to 1024"),
        ("threads_latency:", "from 1 to 1024"),
        ("threads_latency:²", "from 1 to 1024"),
        ("threads_latency:fence", "from 1 to 1024"),
        ("allreduce", "unknown pattern 'allreduce'"),
    ],
)
def test_a_word_fails_when_it_asks_for_nothing_there_is(word: str, said: str) -> None:
    with pytest.raises(UsageError, match="available|only one-sided|from 1") as error:
        parse_pattern(word)
    assert said in str(error.value)


def test_variants_of_a_pattern_are_cases_of_different_names() -> None:
    words = ("put_latency", "put_latency:fence", "put_latency:pscw", "threads_latency:4")
    planned = plan_cases(words, (8,), 0.3, GBE_BYTES_PER_S)
    assert [case.name for case in planned] == [
        "put_latency/8/0>1", "put_latency/8/0>1/fence", "put_latency/8/0>1/pscw",
        "threads_latency/8/0>1/4threads",
    ]  # fmt: skip
    assert [case.epoch for case in planned] == ["flush", "fence", "pscw", "flush"]
    assert [case.threads for case in planned] == [1, 1, 1, 4]


def test_a_pattern_asked_for_twice_is_measured_once() -> None:
    words = ("put_latency", "put_latency:flush", "put_latency")
    assert len(plan_cases(words, (8,), 0.3, GBE_BYTES_PER_S)) == 1


@given(st.lists(st.integers(0, 1 << 22), min_size=1, max_size=10, unique=True).map(tuple))
def test_sizes_are_those_that_the_pattern_can_have(sizes: tuple[int, ...]) -> None:
    whole = tuple(size for size in (*sizes, 64) if size > 0 and size % 8 == 0)
    planned = plan_cases(("accumulate_latency", *ATOMICS), (*sizes, 64), 0.3, GBE_BYTES_PER_S)
    added = [case.message_bytes for case in planned if case.pattern == "accumulate_latency"]
    assert added == list(whole)
    assert [case.message_bytes for case in planned if case.pattern in ATOMICS] == [8, 8]


def test_accumulate_fails_when_no_size_is_a_multiple_of_8() -> None:
    with pytest.raises(UsageError, match="4, 12 B is a multiple"):
        plan_cases(("accumulate_latency",), (4, 12), 0.3, GBE_BYTES_PER_S)


@given(st.sampled_from(PAIR_PATTERNS), st.integers(1, 64))
def test_budgets_hold_what_all_threads_send(pattern: str, threads: int) -> None:
    word = f"{pattern}:{threads}" if pattern in THREADED_PATTERNS else pattern
    for case in plan_cases((word,), DEFAULT_SIZES, 0.3, GBE_BYTES_PER_S):
        sample_s = case.window * case.message_bytes * case.threads / GBE_BYTES_PER_S
        assert case.budget_s >= SAMPLES_PER_CASE * sample_s * (1 - 1e-9)
        assert case.window == 1 or pattern not in LATENCY_PATTERNS


def test_the_suffix_of_the_plain_pattern_is_empty() -> None:
    assert PatternRequest("put_latency").suffix == ""
