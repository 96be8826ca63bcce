"""ucc_perftest: times in µs over the ranks, bus bandwidths in 10^9 bytes."""

import pytest
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw, values

SUITE = "ucc_perftest"
FILES = sorted(path.stem for path in (FIXTURES / SUITE).glob("*.out"))


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_understood(name: str) -> None:
    for curve in curves_of(SUITE, name):
        assert (curve.suite, curve.cut_off, curve.failures, curve.pattern) == (SUITE, "", (), None)
        assert curve.points


def test_times_are_means_over_ranks() -> None:
    (time,) = curves_of(SUITE, "1.3--allreduce")
    assert (time.benchmark, time.quantity, time.statistic) == ("allreduce", "time", "mean")
    assert values(time)[-1] == (4194304, pytest.approx(402.11e-6))
    assert time.points[-1].besides["maximum"] == pytest.approx(410.06e-6)
    assert time.settings["datatype"] == "float32"
    assert time.settings["iterations, large messages"] == "200"


def test_a_bandwidth_is_the_buses_and_0_00_is_none() -> None:
    _, bus = curves_of(SUITE, "1.5--allreduce-bus")
    assert bus.quantity == "bus_bandwidth"
    assert values(bus) == [(4194304, pytest.approx(18.25e9))]
    # Eight ranks: 2 (8 - 1) / 8 of size / time.
    assert pytest.approx(18.25e9, rel=1e-3) == 4194304 / 402.11e-6 * 2 * 7 / 8


def test_the_bandwidth_at_the_shortest_time_is_the_largest_whatever_it_is_called() -> None:
    _, bus = curves_of(SUITE, "1.1--alltoall-full")
    spread = bus.points[0].besides
    assert (spread["minimum"], spread["maximum"]) == pytest.approx((22.30e9, 25.27e9))


def test_a_barrier_has_no_size() -> None:
    (time,) = curves_of(SUITE, "1.3--barrier")
    assert values(time) == [(None, pytest.approx(3.20e-6))]


def test_a_table_without_rows_is_cut_off() -> None:
    (curve,) = found(raw(SUITE, "1.3--allreduce").partition(b"           1 ")[0])[0]
    assert (curve.points, curve.cut_off) == ((), "no row follows the heading")
