"""From runs of arms to effects: blocks that suffice, and runs without any curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.design import make_design
from fabricgauge.features.vary import varying
from fabricgauge.features.vary.permuted import FEWEST_BLOCKS
from fabricgauge.features.vary.varying import Column, from_figures, least_blocks
from fabricgauge.model.varied import Factor

COLUMNS = (Column("latency", "time", 8), Column("latency", "time", 1024))


def factors(*levels: int) -> tuple[Factor, ...]:
    return tuple(
        Factor(f"env:F{place}", tuple(f"v{n}" for n in range(count)))
        for place, count in enumerate(levels)
    )


@given(st.lists(st.integers(2, 6), min_size=1, max_size=3))
def test_the_least_blocks_find_what_is_as_clear_as_can_be(
    levels: list[int],
) -> None:
    swept = factors(*levels)
    arms = int(np.prod(levels))
    if arms > 24:
        return
    blocks = least_blocks(swept)
    made = make_design(swept, blocks, seed=1)
    rng = np.random.default_rng(1)
    logs = 1e-6 * rng.standard_normal((arms, blocks, len(COLUMNS)))
    slowest = np.array([[arm[0] == swept[0].levels[-1]] for arm in made.arms])
    logs += 0.5 * slowest[:, :, None]
    found = from_figures(made, COLUMNS, logs, tolerance=0.0)
    assert any(each.clear for one in found.effects for each in (one.whole, *one.sizes))


def test_more_levels_need_more_blocks() -> None:
    assert [least_blocks(factors(count)) for count in (2, 3, 5, 9)] == [7, 8, 9, 10]


def test_eight_blocks_cannot_tell_five_levels_apart() -> None:
    made = make_design(factors(5), 8, seed=1)
    logs = np.zeros((5, 8, 2)) + np.arange(5)[:, None, None]
    logs += 1e-9 * np.random.default_rng(1).standard_normal(logs.shape)
    assert from_figures(made, COLUMNS, logs, tolerance=0.0).finding == "undecided"


def of_two(change: float, noise: float, blocks: int = 10) -> np.ndarray:
    """Logarithms of two arms of which the second is longer by ``change``."""
    logs = noise * np.random.default_rng(1).standard_normal((2, blocks, 2))
    logs[1] += np.log1p(change)
    return logs


@pytest.mark.parametrize(
    ("change", "noise", "tolerance", "finding"),
    [
        (0.0, 0.001, 0.0, "no difference"),
        (0.0, 0.02, 0.0, "no difference"),
        (0.06, 0.06, 0.0, "undecided"),  # -0.4 to +15 %: not clear, and not little
        (0.0, 0.02, 0.01, "undecided"),  # little, and perhaps more than was allowed
    ],
)
def test_no_difference_is_said_of_what_surely_differs_by_little(
    change: float, noise: float, tolerance: float, finding: str
) -> None:
    made = make_design(factors(2), 10, seed=1)
    assert from_figures(made, COLUMNS, of_two(change, noise), tolerance).finding == finding


def test_a_size_that_one_arm_never_has_leaves_it_undecided() -> None:
    made, logs = make_design(factors(2), 10, seed=1), of_two(0.0, 0.001)
    logs[1, :, 1] = np.nan
    assert from_figures(made, COLUMNS, logs, 0.0).finding == "undecided"


@pytest.mark.parametrize(
    ("change", "finding", "unbelieved"),
    [
        (0.0, "no difference", "undecided"),
        (-0.5, "different", "undecided"),
        (0.5, "worse", "worse"),
    ],
)
def test_arms_that_are_not_believed_decide_nothing_but_worse(
    change: float, finding: str, unbelieved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = of_two(change, 0.001)
    monkeypatch.setattr(varying, "figures", lambda *_: (COLUMNS, logs, np.ones_like(logs)))
    made = make_design(factors(2), 10, seed=1)
    assert varying.compare_arms(made, (), 0.0).finding == finding
    assert varying.compare_arms(made, (), 0.0, believed=False).finding == unbelieved


@pytest.mark.parametrize("blocks", [1, 8])
def test_nothing_measured_is_undecided(blocks: int) -> None:
    made = make_design(factors(2), blocks, seed=1)
    found = from_figures(made, (), np.zeros((2, blocks, 0)), tolerance=0.0)
    assert (found.finding, found.effects) == ("undecided", ())


@pytest.mark.parametrize("blocks", [0, 2, FEWEST_BLOCKS - 1])
def test_a_size_of_too_few_blocks_is_undecided_and_named(blocks: int) -> None:
    """All blocks are equal at 8 B; few were measured at 1 KiB, and take five times as long."""
    made, logs = make_design(factors(2), 10, seed=1), of_two(0.0, 0.001)
    logs[1, :, 1] += np.log(5.0)
    logs[1, blocks:, 1] = np.nan
    found = from_figures(made, COLUMNS, logs, 0.0, ("a caution",))
    assert found.finding == "undecided"
    caution, named = found.notes
    assert caution == "a caution"
    assert f"1 KiB in {blocks} of 10 blocks" in named
    assert "8 B" not in named


def test_enough_blocks_settle_a_size_and_too_few_for_all_name_none() -> None:
    made, logs = make_design(factors(2), 10, seed=1), of_two(0.0, 0.001)
    logs[1, FEWEST_BLOCKS:, 1] = np.nan
    found = from_figures(made, COLUMNS, logs, 0.0)
    assert (found.finding, found.notes) == ("no difference", ())
    made, logs = make_design(factors(2), 3, seed=1), of_two(0.0, 0.001, blocks=3)
    found = from_figures(made, COLUMNS, logs, 0.0)
    assert (found.finding, found.notes) == ("undecided", ())
