"""From runs of arms to effects: blocks that suffice, and runs without any curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.compare.varying import Column, from_figures, least_blocks
from fabricgauge.model.varied import Factor
from fabricgauge.plan.design import design

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
    made = design(swept, blocks, seed=1)
    rng = np.random.default_rng(1)
    logs = 1e-6 * rng.standard_normal((arms, blocks, len(COLUMNS)))
    slowest = np.array([[arm[0] == swept[0].levels[-1]] for arm in made.arms])
    logs += 0.5 * slowest[:, :, None]
    found = from_figures(made, COLUMNS, logs, tolerance=0.0)
    assert any(each.clear for one in found.effects for each in (one.whole, *one.sizes))


def test_more_levels_need_more_blocks() -> None:
    assert [least_blocks(factors(count)) for count in (2, 3, 5, 9)] == [7, 8, 9, 10]


def test_eight_blocks_cannot_tell_five_levels_apart() -> None:
    made = design(factors(5), 8, seed=1)
    logs = np.zeros((5, 8, 2)) + np.arange(5)[:, None, None]
    logs += 1e-9 * np.random.default_rng(1).standard_normal(logs.shape)
    assert from_figures(made, COLUMNS, logs, tolerance=0.0).finding == "undecided"


@pytest.mark.parametrize("blocks", [1, 8])
def test_nothing_measured_is_undecided(blocks: int) -> None:
    made = design(factors(2), blocks, seed=1)
    found = from_figures(made, (), np.zeros((2, blocks, 0)), tolerance=0.0)
    assert (found.finding, found.effects) == ("undecided", ())
