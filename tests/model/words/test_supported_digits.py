"""A figure has no more digits than its interval supports."""

import pytest

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.words.figures import digits, share_of, supported_digits


def estimate(value: float, half: float) -> Estimate:
    return Estimate(value, value * (1 - half), value * (1 + half), 0.95, 3, 1000)


@pytest.mark.parametrize(
    ("half", "text"), [(0.001, "12.35"), (0.05, "12.3"), (0.99, "12"), (0.5, "12")]
)
def test_digits_follow_the_interval(half: float, text: str) -> None:
    value = estimate(12.347, half)
    assert digits(value.value, supported_digits(value)) == text


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (100.4, 0.01, "100 %"), (101.5, 0.001, "101.5 %"), (99.96, 0.01, "99.96 %"),
        (83.4, 0.05, "83 %"), (99.8, 0.05, "99.8 %"), (0.2, 0.5, "0.2 %"),
    ],
)  # fmt: skip
def test_a_share_above_the_limit_is_told_only_where_the_interval_is_above(
    value: float, half: float, text: str
) -> None:
    assert share_of(estimate(value, half), 100.0) == text
