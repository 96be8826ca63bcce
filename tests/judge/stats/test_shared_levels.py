"""A level that several patterns share is found where a link's rate changes, and nowhere else."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.stats.levels import Levels, RatedCase, find_shared_level

#: Seconds of a sample at the full rate, as sizes from 16 KiB to 4 MiB have at 1 Gb/s.
KINDS = {
    "1M ping": 0.0091, "16K": 0.009, "64K": 0.018, "256K": 0.018, "1M": 0.018, "4M": 0.072,
    "64K back": 0.018, "256K back": 0.018, "1M back": 0.018, "64K both": 0.018, "1M both": 0.018,
    "1M put": 0.018,
}  # fmt: skip
BUDGET_S = 0.3


def measure(
    finish: Callable[[float, float], float], seed: int, noise: float = 0.005
) -> list[RatedCase]:
    """Each kind of case, until its budget is spent: ``finish`` is when a sample ends."""
    random = np.random.default_rng(seed)
    now, cases = float(random.uniform(0.0, 10.0)), list[RatedCase]()
    for kind, full_s in KINDS.items():
        begin, rates = now, list[float]()
        while len(rates) < 4 or now - begin < BUDGET_S:
            end = finish(now, full_s * (1.0 + noise * abs(float(random.standard_normal()))))
            rates.append(full_s / (end - now))
            now = end
        cases.append(RatedCase(kind, round(full_s * 117e3), tuple(rates)))
        now += 0.2
    return cases


def toggling(low: float, period_s: float) -> Callable[[float, float], float]:
    """A link that carries ``low`` of its rate in every second period."""

    def finish(begin: float, work_s: float) -> float:
        now = begin
        while True:
            number = int(now / period_s + 1e-9)
            rate = low if number % 2 else 1.0
            left_s = max(1e-9, (number + 1) * period_s - now)
            if work_s <= rate * left_s:
                return now + work_s / rate
            work_s -= rate * left_s
            now += left_s

    return finish


@given(st.floats(0.1, 0.7), st.sampled_from([0.2, 0.3, 0.5, 1.0]), st.integers(0, 1 << 30))
def test_levels_are_those_of_the_link(low: float, period_s: float, seed: int) -> None:
    found = find_shared_level(measure(toggling(low, period_s), seed))
    if found is not None:
        assert found.low == pytest.approx(low, rel=0.05)
        assert found.high == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(("period_s", "least"), [(0.3, 19), (1.0, 10), (2.0, 2)])
def test_a_link_that_toggles_is_found(period_s: float, least: int) -> None:
    """Of 20 runs; at 2 s a run has few cases in which the rate changes."""
    found = [find_shared_level(measure(toggling(0.3, period_s), seed)) for seed in range(20)]
    assert sum(levels is not None for levels in found) >= least


@given(st.floats(0.05, 1.0), st.integers(0, 1 << 30))
def test_a_constant_rate_has_no_levels(low: float, seed: int) -> None:
    assert find_shared_level(measure(lambda now, work_s: now + work_s / low, seed)) is None


def test_a_level_of_many_figures_is_found() -> None:
    """A level holds 1080 of 3600 blocks: the binomial is larger than the largest float."""
    cases = [
        RatedCase(kind, round(full_s * 117e3), (1.0,) * 50 + (0.3,) * 30 + (0.4, 0.5) * 10)
        for kind, full_s in KINDS.items()
        for _ in range(3)
    ]
    levels = find_shared_level(cases)
    assert levels is not None
    assert levels.low == pytest.approx(0.3, rel=0.05)
    assert levels.high == 1.0


def busy(seed: int, load: float) -> Levels | None:
    """A host that is away from its work for times of any length."""
    random = np.random.default_rng(seed)

    def finish(begin: float, work_s: float) -> float:
        away = random.random() < load
        return begin + work_s * (1.0 + (float(random.exponential(1.0)) if away else 0.0))

    return find_shared_level(measure(finish, seed))


def losing(seed: int, share: float) -> Levels | None:
    """A link that loses frames: TCP halves its window, or waits 40 or 200 ms and up to a jiffy."""
    random = np.random.default_rng(seed)

    def finish(begin: float, work_s: float) -> float:
        lost = random.poisson(share * work_s * 81_000)
        slower = sum(float(random.uniform(0.0, 0.5)) for _ in range(lost))
        timers = random.choice([0.0, 0.04, 0.2], size=lost, p=[0.85, 0.1, 0.05])
        waits = sum(float(timer + random.uniform(0.0, 0.004)) for timer in timers if timer)
        return begin + work_s * (1.0 + slower) + waits

    return find_shared_level(measure(finish, seed))


@pytest.mark.parametrize("load", [0.05, 0.2, 0.5, 0.8])
def test_a_busy_host_has_no_levels(load: float) -> None:
    assert [seed for seed in range(50) if busy(seed, load) is not None] == []


@pytest.mark.parametrize("share", [0.0005, 0.005, 0.02])
def test_random_losses_have_no_levels(share: float) -> None:
    assert [seed for seed in range(50) if losing(seed, share) is not None] == []


def test_a_protocol_that_keeps_one_rate_is_no_change() -> None:
    cases = [
        RatedCase(kind, round(full_s * 1e6), (0.5 if kind[1:] in ("M", "M put") else 1.0,) * 9)
        for kind, full_s in KINDS.items()
    ]
    assert find_shared_level(cases) is None
