import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.judge.localise.slowness import levels, quantile, spans


@given(st.integers(1, 5000), st.integers(1, 1 << 23))
def test_spans_cover_everything_once(count: int, width: int) -> None:
    assert [i for first, last in spans(count, width) for i in range(first, last)] == list(
        range(count)
    )


def test_the_best_of_three_counts_for_a_quarter() -> None:
    found, partners = quantile(np.array([[3.0, np.nan, 1.0, 2.0]], dtype=np.float32), 0.25)
    assert (found[0], partners[0]) == (1.0, 3)


def test_a_median_of_two_lies_between_them() -> None:
    found, _ = quantile(np.array([[3.0, np.nan, 1.0]], dtype=np.float32), 0.5)
    assert found[0] == pytest.approx(2.0)


def test_nothing_measured_has_no_level() -> None:
    rows = np.full((2, 2), np.nan, dtype=np.float32)
    found = levels(lambda some, columns: rows[some, columns], 2, 0.25)
    assert np.isnan(found.values).all()
    assert found.partners.tolist() == [0, 0]
