import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.reading import FIXTURES, curves_of, found, raw

from fabricgauge.model.suite import SuiteCurve

FILES = sorted(path.stem for path in (FIXTURES / "gpcnet").glob("*.out"))
LOAD = "1.3--network-load-test"


def named(curves: list[SuiteCurve], benchmark: str) -> list[SuiteCurve]:
    return [one for one in curves if one.benchmark == benchmark]


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_understood_and_nothing_is_cut_off(name: str) -> None:
    curves = curves_of("gpcnet", name)
    assert {one.cut_off for one in curves} == {""}
    assert len(curves) == (6 if name == LOAD else 8)


def test_times_are_microseconds_and_rates_binary_per_rank() -> None:
    curves = curves_of("gpcnet", "1.3--network-test")
    (latency,), (rate,) = named(curves, "RR Two-sided Lat"), named(curves, "RR Two-sided BW")
    assert latency.points[0].estimate.value == pytest.approx(2.0e-6)
    assert latency.points[0].besides == {"p99": pytest.approx(0.8e-6)}
    assert (latency.points[0].message_bytes, latency.quantity) == (8, "time")
    assert rate.points[0].estimate.value == pytest.approx(3561.0 * 2**20)
    assert rate.points[0].message_bytes == 131072
    assert "2^20" in rate.unit_rule
    assert (rate.version, rate.ranks, rate.pattern) == ("1.3", 2, None)
    assert rate.settings["nodes"] == "2"


def test_a_verbose_box_tells_more() -> None:
    (latency,) = named(curves_of("gpcnet", "1.3--network-test-verbose"), "RR Two-sided Lat")
    assert latency.points[0].estimate.value == pytest.approx(1.2e-6)
    assert latency.points[0].besides == {
        "minimum": pytest.approx(0.4e-6),
        "maximum": pytest.approx(139.7e-6),
        "p99": pytest.approx(0.7e-6),
        "p99.9": pytest.approx(6.0e-6),
    }


def test_the_impact_factor_stays_with_the_congested_test() -> None:
    isolated, congested = named(curves_of("gpcnet", LOAD), "Multiple Allreduce")
    assert isolated.settings["test"] == "isolated"
    assert "congestion impact factor" not in isolated.settings
    assert congested.settings["test"] == "congested"
    assert congested.settings["congestion impact factor"] == "19.0X in the mean, 1.4X at 99 %"
    assert congested.what == "Allreduce, many at once, with congestors running"
    assert congested.points[0].estimate.value == pytest.approx(18066.8e-6)


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        (LOAD, 14, "ends after 0 of the impact factors"),
        (LOAD, 30, "ends after 0 of 3 impact factors"),
        (LOAD, 43, "ends after 1 of 3 impact factors"),
        ("1.3--network-test", 20, "ends after 3 of 8 tests"),
        ("1.3--network-test", 3, "ends after 0 of 8 tests"),
    ],
)
def test_every_cut_is_told_of(name: str, lines: int, told: str) -> None:
    text = b"".join(raw("gpcnet", name).splitlines(keepends=True)[:lines])
    assert found(text)[0][-1].cut_off == told


def test_a_row_without_a_figure_is_a_failure() -> None:
    text = raw("gpcnet", "1.3--network-test").replace(b"         2.0 |", b"        -nan |")
    latency = found(text)[0][0]
    assert [one.trouble for one in latency.failures] == ["not a number"]


def test_a_foreign_line_within_a_box_is_told_and_ends_nothing() -> None:
    lines = raw("gpcnet", "1.3--network-test").splitlines(keepends=True)
    curves, strange = found(b"".join([*lines[:16], b"srun: warning: slow\n", *lines[16:]]))
    assert len(curves) == 8
    assert [one.line for one in strange] == [17]


@given(st.lists(st.sampled_from(raw("gpcnet", LOAD).splitlines(True))))
def test_lines_in_any_order_never_raise(lines: list[bytes]) -> None:
    for curve in found(b"".join(lines))[0]:
        assert all(point.estimate.value > 0 for point in curve.points)
