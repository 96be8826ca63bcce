"""What each layer adds to the one named before it, on figures whose answer is known."""

import numpy as np
import pytest

from fabricgauge.compare.layers import layers, median
from fabricgauge.compare.varying import from_figures
from fabricgauge.model.varied import Column, Design, Factor

BLOCKS = 9
COLUMNS = (Column("half round trip", "time", 8), Column("half round trip", "time", 1024))
LEVELS = ("sockets", "ofi", "mpi")


def design(name: str = "transport", levels: tuple[str, ...] = LEVELS) -> Design:
    arms = tuple((one,) for one in levels)
    order = (tuple(range(len(levels))),) * BLOCKS
    return Design((Factor(name, levels),), arms, (), order, 1)


def logs() -> np.ndarray:
    """Sockets 10 µs and drifting, ofi always 2 µs more, mpi 1 µs more than that."""
    drift = np.linspace(0.0, 4e-6, BLOCKS)[None, :, None]
    base = np.array([10e-6, 12e-6, 13e-6])[:, None, None]
    figures: np.ndarray = np.log(base + drift + np.array([0.0, 5e-6])[None, None, :])
    return figures


def test_each_layer_is_held_against_the_one_named_before_it_block_by_block() -> None:
    found = layers(design(), COLUMNS, logs())
    small = [one for one in found if one.message_bytes == 8]
    assert [one.level for one in small] == list(LEVELS)
    assert small[0].added is None
    assert small[0].figure.value == pytest.approx(12e-6)
    added = [one.added for one in small[1:]]
    assert [one.value for one in added if one] == pytest.approx([2e-6, 1e-6])
    # What drifts from block to block touches both alike.
    assert all(one.high - one.low < 1e-12 for one in added if one)


def test_a_layer_that_was_not_measured_says_nothing_of_the_next() -> None:
    some = logs()
    some[1, :, 0] = np.nan
    small = [one for one in layers(design(), COLUMNS, some) if one.message_bytes == 8]
    assert [(one.level, one.added) for one in small] == [("sockets", None), ("mpi", None)]


def test_other_factors_are_no_layers() -> None:
    assert layers(design("mpi"), COLUMNS, logs()) == ()
    assert from_figures(design(), COLUMNS, logs(), 0.0).layers
    assert from_figures(design("bind"), COLUMNS, logs(), 0.0).layers == ()


def test_the_interval_of_a_median_is_made_of_order_statistics() -> None:
    nine = median(np.arange(1.0, 10.0))
    assert nine is not None
    # The second of nine lies below the median with all but 2 %: 1 - 2 (1 + 9) / 512.
    assert (nine.value, nine.low, nine.high) == (5.0, 2.0, 8.0)
    assert nine.confidence == pytest.approx(1 - 20 / 512)
    many = median(np.arange(65.0))
    assert many is not None
    assert (many.value, many.low, many.high) == (32.0, 24.0, 40.0)
    three = median(np.array([1.0, 2.0, 3.0]))
    assert three is not None
    assert not three.supported
    assert median(np.array([np.nan])) is None
