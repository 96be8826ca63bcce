"""Families as stored and as compared."""

import msgspec
import numpy as np
import pytest

from fabricgauge.judge.stats.curves import merge_families
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.families import Table, family_of, find_damage, is_plain, with_figures
from fabricgauge.model.suite import SuiteCurve, TableFamily

OSU = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n65536 100.00\n4194304 200.00\n"


def table() -> Table:
    return tuple(curve for curve in read([OSU.encode()], "a.out") if isinstance(curve, SuiteCurve))


def family(rates: list[float]) -> TableFamily:
    figures = np.array([[rate, 2 * rate] for rate in rates])
    return family_of(table(), 1 + 4 * np.arange(len(rates)), figures)


def test_a_family_is_compared_by_its_median_with_all_its_tables() -> None:
    alone = with_figures(table(), 401, [5e8, 9e8])
    cut_off = msgspec.structs.replace(alone[0], first_line=801, cut_off="its end is missing")
    (curve,) = merge_families((*alone, cut_off), [family([1e8, 2e8]), family([3e8, 4e8])])
    estimates = [point.estimate for point in curve.points]
    assert [estimate.value for estimate in estimates] == [3e8, 6e8]
    assert [(estimate.low, estimate.high) for estimate in estimates] == [(1e8, 5e8), (2e8, 9e8)]
    assert {(estimate.launches, estimate.confidence) for estimate in estimates} == {(5, 1 - 2**-4)}


def test_curves_without_a_family_stay_as_they_are() -> None:
    assert merge_families(table(), []) == table()


@pytest.mark.parametrize(
    ("figure", "told"),
    [(1e-15, True), (1e18, True), (0.99e-15, False), (1.01e18, False), (1e-317, False)],
)
def test_figures_that_no_network_has_are_not_plain(figure: float, told: bool) -> None:
    (curve,) = with_figures(table(), 1, [1e8, figure])
    assert is_plain(curve) is told


@pytest.mark.parametrize(
    "change",
    [
        {"tables": 3}, {"first_lines": b"12345678"}, {"figures": b""}, {"curves": ()},
        {"figures": np.array([1.0, -1.0, 1.0, 1.0]).tobytes()},
        {"figures": np.array([1.0, np.nan, 1.0, 1.0]).tobytes()},
        {"figures": np.array([1.0, 1e-16, 1.0, 1.0]).tobytes()},
        {"figures": np.array([1.0, 1e19, 1.0, 1.0]).tobytes()},
    ],
)  # fmt: skip
def test_a_damaged_family_is_left_out(change: dict[str, object]) -> None:
    sound = family([1e8, 2e8])
    assert find_damage(sound) == ""
    assert find_damage(msgspec.structs.replace(sound, **change))
