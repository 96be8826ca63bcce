"""By permutation: few find anything in nothing, over everything at once, whatever the noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fabricgauge.features.vary.permuted import FEWEST_BLOCKS, Effects, effects_of

CONFIDENCE = 0.98
NOISE = 0.01


def logs(
    rng: np.random.Generator, levels: int = 2, strata: int = 1, blocks: int = 10, figures: int = 20
) -> NDArray[np.float64]:
    """Launches differ, and so do figures of a launch; blocks drift, and no level matters."""
    of_launch = rng.standard_t(4, size=(levels, strata, blocks, 1))
    own = rng.standard_t(4, size=(levels, strata, blocks, figures))
    drift = rng.normal(size=(1, 1, blocks, figures))
    made: NDArray[np.float64] = NOISE * (of_launch + own) + drift
    return made


def clear(found: Effects) -> NDArray[np.bool_]:
    made: NDArray[np.bool_] = np.abs(found.effect) > found.half_width
    return made


@pytest.mark.parametrize(("levels", "strata", "runs", "most"), [(2, 1, 150, 9), (3, 1, 12, 2),
                                                               (2, 2, 12, 2)])  # fmt: skip
def test_of_many_comparisons_of_alike_few_find_anything(
    levels: int, strata: int, runs: int, most: int
) -> None:
    """2 % are expected to; of 150 more than 9 in one of 10,000 such tests."""
    rng = np.random.default_rng(7)
    false = [
        clear(effects_of(logs(rng, levels, strata, 8, 6), CONFIDENCE, seed)).any()
        for seed in range(runs)
    ]
    assert sum(false) <= most


def test_an_effect_on_one_figure_is_found_and_bounded_there_alone() -> None:
    rng = np.random.default_rng(3)
    made = logs(rng)
    made[1, :, :, 5] += 0.10
    found = effects_of(made, CONFIDENCE, 1)
    assert np.flatnonzero(clear(found)[0]).tolist() == [5]
    assert found.chance[0, 5] <= 1 - CONFIDENCE
    assert abs(found.effect[0, 5] - 0.10) < found.half_width[0, 5]


def test_a_factor_is_not_hidden_by_another_that_matters_more() -> None:
    rng = np.random.default_rng(5)
    made = logs(rng, strata=2)
    made[:, 1] += 1.0  # the other factor
    made[1] += 0.05
    assert clear(effects_of(made, CONFIDENCE, 1)).any()


def test_what_too_few_blocks_have_is_left_open() -> None:
    rng = np.random.default_rng(1)
    made = logs(rng)
    made[0, 0, : 10 - FEWEST_BLOCKS + 1, 2] = np.nan
    found = effects_of(made, CONFIDENCE, 1)
    assert np.isnan(found.chance[0, 2])
    assert np.isfinite(found.chance[0, 3])
    assert found.blocks[0, 2] == FEWEST_BLOCKS - 1


def test_nothing_at_all_is_no_error() -> None:
    found = effects_of(np.full((2, 1, 10, 3), np.nan), CONFIDENCE, 1)
    assert np.isnan(found.chance).all()


def test_figures_that_never_vary_show_no_effect() -> None:
    found = effects_of(np.ones((2, 1, 10, 3)), CONFIDENCE, 1)
    assert not clear(found).any()


@given(st.integers(0, 2**32), st.floats(-5, 5))
def test_a_drift_of_whole_blocks_changes_nothing(seed: int, drift: float) -> None:
    made = logs(np.random.default_rng(seed), blocks=7, figures=3)
    moved = made.copy()
    moved[:, :, ::2] += drift
    one, other = effects_of(made, CONFIDENCE, 1), effects_of(moved, CONFIDENCE, 1)
    assert np.allclose(one.effect, other.effect)
    assert np.allclose(one.half_width, other.half_width, rtol=1e-6)


def test_what_does_not_differ_stays_so_beside_much_that_does() -> None:
    rng = np.random.default_rng(11)
    false = 0
    for seed in range(40):
        made = logs(rng, blocks=10, figures=12)
        made[1, ..., :8] += rng.uniform(0.05, 0.5, 8)
        false += bool(clear(effects_of(made, CONFIDENCE, seed))[0, 8:].any())
    assert false <= 4


def test_a_level_that_could_not_be_measured_leaves_the_others_alone() -> None:
    made = logs(np.random.default_rng(2), levels=3)
    made[1] = np.nan
    made[2] += 0.2
    found = effects_of(made, CONFIDENCE, 1)
    assert np.isnan(found.half_width[0]).all()
    assert clear(found)[1].all()


def test_a_stratum_without_figures_leaves_the_others_alone() -> None:
    made = logs(np.random.default_rng(2), strata=2)
    made[1] += 0.2
    made[:, 1] = np.nan
    assert clear(effects_of(made, CONFIDENCE, 1)).all()


def test_many_levels_need_no_more_memory() -> None:
    made = logs(np.random.default_rng(2), levels=14, figures=2)
    assert effects_of(made, CONFIDENCE, 1).effect.shape == (13, 2)


def test_the_clearest_of_few_blocks_is_clear() -> None:
    """Rounding does not take away what one of 64 exchanges reaches."""
    missed = 0
    for seed in range(50):
        made = logs(np.random.default_rng(seed), blocks=7, figures=3)
        made[1, ..., 0] += 0.5
        found = effects_of(made, CONFIDENCE, seed)
        missed += bool(found.chance[0, 0] <= 1 - CONFIDENCE) and not clear(found)[0, 0]
    assert missed <= 2


def test_missing_blocks_make_nothing_clearer_than_chance() -> None:
    made = logs(np.random.default_rng(4), blocks=20, figures=3)
    made[:, :, 7:] = np.nan
    found = effects_of(made, CONFIDENCE, 1)
    assert (~clear(found) | (found.chance <= 1 - CONFIDENCE + 1e-9)).all()
