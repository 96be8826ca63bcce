import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report import fabric_sample

from fabricgauge.model.pairs import PairAnalysis, Quantity
from fabricgauge.report.content.pairs import (
    CODES,
    MOST_CELLS,
    _note,
    cells_of,
    heat_map,
)
from fabricgauge.report.picture import HeatMap, Histogram
from fabricgauge.report.render.plots import CALM, HEAT, UNMEASURED, heat_data, spectrum_data

NODES = fabric_sample.names(8)


def drawn(analysis: PairAnalysis) -> HeatMap:
    heat = heat_map(analysis)
    assert heat is not None
    return heat


def of_values(values: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", quantity: Quantity,
              typical: float) -> HeatMap:  # fmt: skip
    count = len(values)
    base = fabric_sample.analysis(fabric_sample.names(count), quantity, None)
    matrix = msgspec.structs.replace(base.matrix, values=values)
    return drawn(msgspec.structs.replace(base, matrix=matrix, typical=typical))


@pytest.mark.parametrize("quantity", ["latency", "bandwidth"])
def test_a_cell_gives_its_value_back_to_a_ten_thousandth(quantity: Quantity) -> None:
    analysis = fabric_sample.analysis(NODES, quantity, None)
    heat = drawn(analysis)
    factor = 1e6 if quantity == "latency" else 1e-6
    given = heat.best + (heat.cells.astype(float) - 1) * heat.step
    apart = ~np.eye(8, dtype=bool)
    assert given[apart] == pytest.approx(analysis.matrix.values[apart] * factor, rel=1e-4)
    assert not heat.cells[~apart].any()


@pytest.mark.parametrize("quantity", ["latency", "bandwidth"])
def test_the_worst_pair_has_the_largest_code(quantity: Quantity) -> None:
    analysis = fabric_sample.analysis(NODES, quantity, 2)
    values = np.nan_to_num(analysis.matrix.values, nan=float(np.nanmean(analysis.matrix.values)))
    worst = values.argmax() if quantity == "latency" else values.argmin()
    assert drawn(analysis).cells.argmax() == worst


def test_nodes_stand_in_the_order_of_their_groups() -> None:
    analysis = fabric_sample.analysis(NODES, "latency", None)
    turned = msgspec.structs.replace(analysis, order=tuple(reversed(range(8))))
    heat = drawn(turned)
    assert heat.labels == tuple(reversed(NODES))
    assert [one.name for one in heat.groups] == ["leaf-2", "leaf-1"]
    assert (heat.cells == drawn(analysis).cells[::-1, ::-1]).all()


def test_what_a_finding_names_is_marked() -> None:
    assert drawn(fabric_sample.analysis(NODES, "bandwidth", 2)).named == (2,)
    assert drawn(fabric_sample.analysis(NODES, "bandwidth", None)).named == ()


@given(st.integers(1, 40), st.integers(1, 7), st.integers(0, 1 << 30))
def test_a_block_shows_its_worst_pair(side: int, block: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, CODES, (side, side)).astype(float)
    values[rng.random((side, side)) < 0.2] = np.nan
    order = rng.permutation(side)
    joined = cells_of(values, order, 1.0, 0.0, 1.0, block)
    codes = np.nan_to_num(values + 1.0)[np.ix_(order, order)]
    assert len(joined) == -(-side // block)
    for row in range(len(joined)):
        for column in range(len(joined)):
            rows = slice(row * block, (row + 1) * block)
            assert joined[row, column] == codes[rows, column * block : (column + 1) * block].max()


def test_one_bad_pair_among_very_many_is_still_seen() -> None:
    count = MOST_CELLS + 76
    values = np.full((count, count), 1e-6)
    values[700, 3] = 5e-6
    heat = of_values(values, "latency", 1e-6)
    assert heat.block == 2
    assert len(heat.cells) <= MOST_CELLS
    assert heat.cells.max() == heat.cells[350, 1]
    assert heat.labels[350] == "n701 to n702"


def test_a_matrix_of_one_value_or_of_none_is_no_error() -> None:
    heat = of_values(np.full((4, 4), 1e-6), "latency", 1e-6)
    assert set(heat.cells.flat) == {1}
    empty = fabric_sample.analysis(NODES, "latency", None)
    nothing = msgspec.structs.replace(empty.matrix, values=empty.matrix.values * np.nan)
    assert heat_map(msgspec.structs.replace(empty, matrix=nothing)) is None


def test_a_single_wild_value_does_not_take_all_colours() -> None:
    values = np.full((8, 8), 1e-6)
    values[0, 1] = 1e-3
    heat = of_values(values, "latency", 1e-6)
    assert heat.bad == pytest.approx(2.0)


@pytest.mark.parametrize("quantity", ["latency", "bandwidth"])
def test_a_matrix_within_the_noise_is_not_one_flat_colour(quantity: Quantity) -> None:
    values = 1e-6 * (1 + np.linspace(-0.01, 0.01, 64).reshape(8, 8))
    if quantity == "bandwidth":
        values *= 1e16
    heat = of_values(values, quantity, float(np.median(values)))
    assert heat.is_calm
    assert max(heat.good, heat.bad) / heat.typical - 1 == pytest.approx(0.01, rel=1e-6)
    assert min(heat.good, heat.bad) / heat.typical - 1 == pytest.approx(-0.01, rel=1e-6)
    colours = heat_data(heat)["colours"]
    assert (colours["low"], round(colours["high"])) == (1, int(heat.cells.max()))
    assert "−1.0 % to +1.0 % of the typical" in _note(heat)


def test_a_slow_pair_keeps_the_colours_of_every_report() -> None:
    values = np.full((8, 8), 1e-6)
    values[0, 1] = 1.1e-6
    heat = of_values(values, "latency", 1e-6)
    assert not heat.is_calm
    assert heat.bad == pytest.approx(2.0)
    assert "Blues" not in _note(heat)


@pytest.mark.parametrize("tick", [0.0, 0.0005])
def test_pairs_that_differ_by_a_tick_of_the_clock_have_no_span_of_their_own(tick: float) -> None:
    values = np.full((8, 8), 1e-6)
    values[::2] *= 1 + tick
    assert not of_values(values, "latency", 1e-6).is_calm


@pytest.mark.parametrize("ramp", [HEAT, CALM])
def test_the_colours_get_darker_all_the_way_and_mean_the_same_on_dark_pages(
    ramp: tuple[str, ...],
) -> None:
    light = [sum(w * int(c[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))
             for c in ramp]  # fmt: skip
    assert light == sorted(light, reverse=True)
    assert len(set(ramp)) == len(ramp)
    assert UNMEASURED not in ramp


@pytest.mark.parametrize(("most", "ticks"), [(1, [1]), (3, [1, 2]), (56, [1, 2, 5, 10, 20, 50])])
def test_counts_along_an_axis_are_whole_and_appear_once(most: int, ticks: list[int]) -> None:
    plot = spectrum_data(Histogram("pairs", "µs", (0.0, 1.0), (most,), (), ("0 to 1 µs",)))
    assert plot["ticks"] == ticks
