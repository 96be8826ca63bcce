import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.localise.slowness import false_discovery, scale, tail


@pytest.mark.parametrize(
    ("freedom", "z", "p"),
    [(2, 2.919986, 0.05), (4, 2.131847, 0.05), (8, 2.896459, 0.01), (30, 2.749996, 0.005),
     (4, 7.173182, 0.001), (10, 4.143700, 0.001), (1000, 1.644854, 0.05)],
)  # fmt: skip
def test_tail_is_that_of_the_printed_tables(freedom: int, z: float, p: float) -> None:
    """Abramowitz and Stegun, table 26.10."""
    assert tail(np.array([z]), freedom)[0] == pytest.approx(p, rel=1e-4)


@given(freedom=st.integers(2, 80), z=st.floats(0, 1e6))
def test_tail_falls_and_is_symmetric(freedom: int, z: float) -> None:
    low, high, mirrored = tail(np.array([z, z + 0.5, -min(z, 3.0)]), freedom)
    assert 0 <= high <= low <= 0.5
    assert mirrored + tail(np.array([min(z, 3.0)]), freedom)[0] == pytest.approx(1.0)


def test_far_and_near_tails_join() -> None:
    near, far = tail(np.array([4.0 - 1e-9, 4.0 + 1e-9]), 6)
    assert near == pytest.approx(far, rel=1e-6)


def test_false_discovery_is_that_of_benjamini_and_hochberg() -> None:
    q = false_discovery(np.array([0.03, 0.001, 0.02]), 4)
    assert q == pytest.approx([0.04, 0.004, 0.04])


def test_unreported_tests_count() -> None:
    assert false_discovery(np.array([1e-4]), 1000)[0] == pytest.approx(0.1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_q_is_never_below_p_and_keeps_its_order(values: list[float]) -> None:
    p = np.array(values)
    q = false_discovery(p, p.size)
    assert (q >= p - 1e-12).all()
    assert (np.diff(q[np.argsort(p)]) >= 0).all()


def test_scale_bears_a_third_of_outliers() -> None:
    values = np.random.default_rng(1).normal(0.0, 1.0, 3000)
    values[:900] += 1e6
    assert scale(values) < 2.5
