"""Two measurements of the same thing must rarely differ; a real loss must be found."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from tests.compare.simulated import Noise, operand, run
from tests.compare.test_comparing import means

from fabricgauge.compare.comparing import compare
from fabricgauge.model.pattern import Pattern

ROUNDS = 40
TOLERANCE = 0.05
#: 5 % of 40 is 2; with a true rate of 5 % more than 6 come up in 1 of 300 series.
MOST_ALARMS = 6

Slower = Callable[[Pattern, int], float]


def outcomes(
    noise: Noise, launches: int, slower: Slower | None = None, tolerance: float = TOLERANCE
) -> Counter[str]:
    random = np.random.default_rng(20260101)
    found: Counter[str] = Counter()
    for _ in range(ROUNDS):
        a = run(random, noise, launches)
        b = run(random, noise, launches, slower) if slower else run(random, noise, launches)
        found[compare(operand("a"), a, operand("b"), b, tolerance).outcome] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize(
    "noise",
    [
        Noise(block=0.01),
        Noise(block=0.2),
        Noise(block=0.05, blocks=6),
        Noise(case=0.05),
        Noise(block=0.01, case=0.01, launch=0.01, hiccups=0.01),
        Noise(block=0.05, case=0.02, launch=0.01, hiccups=0.01, blocks=6),
    ],
)
def test_the_same_thing_twice_rarely_alarms(noise: Noise, launches: int) -> None:
    assert outcomes(noise, launches)["regression"] <= MOST_ALARMS


@pytest.mark.parametrize("launches", [1, 3])
def test_without_any_tolerance_noise_between_cases_rarely_alarms(launches: int) -> None:
    found = outcomes(Noise(block=0.01, case=0.02), launches, tolerance=0.0)
    assert found["regression"] <= MOST_ALARMS


@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize(
    "slower",
    [
        lambda pattern, size: 1.15,
        lambda pattern, size: 1.2 if pattern == "bandwidth" and size >= 32768 else 1.0,
        lambda pattern, size: 2.0 if pattern == "latency" and 1024 <= size <= 8192 else 1.0,
    ],
    ids=["everywhere", "large-messages-of-one-pattern", "four-sizes"],
)
def test_a_real_loss_is_found(slower: Slower, launches: int) -> None:
    found = outcomes(Noise(block=0.01, case=0.01), launches, slower)
    assert found["regression"] >= 0.9 * ROUNDS


def test_with_several_launches_a_loss_at_one_size_is_found() -> None:
    found = outcomes(Noise(), 3, lambda pattern, size: 1.5 if size == 4096 else 1.0)
    assert found["regression"] == ROUNDS


def test_with_one_launch_a_single_size_raises_no_alarm() -> None:
    found = outcomes(Noise(), 1, lambda pattern, size: 1.5 if size == 4096 else 1.0)
    assert found["regression"] == 0


def test_a_gain_is_no_regression() -> None:
    assert outcomes(Noise(), 3, lambda pattern, size: 0.8) == {"no regression": ROUNDS}


def test_noise_wider_than_the_tolerance_decides_nothing() -> None:
    assert outcomes(Noise(block=0.2), 3)["undecided"] == ROUNDS


def test_large_messages_that_are_all_worse_are_no_matter_of_the_median() -> None:
    sizes = [1 << power for power in range(23)]
    a = means(dict.fromkeys(sizes, 1.0), "bandwidth", quantity="bandwidth")
    b = means(
        {size: 0.1 if size >= 65536 else 1.0 for size in sizes}, "bandwidth", quantity="bandwidth"
    )
    assert compare(operand("a"), [a], operand("b"), [b], 0.05).pairs[0].regression
    assert not compare(operand("b"), [b], operand("a"), [a], 0.05).pairs[0].regression


def test_one_disturbed_mean_is_no_regression() -> None:
    a = means({1 << power: 10e-6 for power in range(20)})
    b = means({1 << power: 99e-6 if power in (5, 11) else 10e-6 for power in range(20)})
    assert not compare(operand("a"), [a], operand("b"), [b], 0.05).pairs[0].regression
