"""Every pattern that moves bytes has a throughput, counted as the suites count it."""

import pytest

from fabricgauge.check.plan.cases import ALL_PATTERNS
from fabricgauge.model.words.patterns import throughput

WITHOUT = {"barrier", "ibarrier", "fetch_and_op_latency", "compare_and_swap_latency"}


@pytest.mark.parametrize("pattern", ALL_PATTERNS)
def test_a_pattern_with_messages_has_a_throughput_and_an_empty_one_has_none(pattern: str) -> None:
    rate = throughput(pattern, 4096, 1e-3)
    assert (rate is None) == (pattern in WITHOUT)
    assert throughput(pattern, 0, 1e-3) is None


@pytest.mark.parametrize(
    ("pattern", "window", "messages"),
    [
        ("latency", 1, 1), ("ping_ping", 1, 1), ("sendrecv", 1, 2), ("exchange", 1, 4),
        ("allreduce", 1, 1), ("bandwidth", 64, 64), ("bidirectional_bandwidth", 64, 128),
    ],
)  # fmt: skip
def test_messages_are_counted_as_the_suites_count_them(
    pattern: str, window: int, messages: int
) -> None:
    assert throughput(pattern, 1000, 1e-3, window) == pytest.approx(messages * 1e6)
