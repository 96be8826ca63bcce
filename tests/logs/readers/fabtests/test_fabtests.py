from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.fabtests import DIALECT, size_of
from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "fabtests"


def raw(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text()


def found(text: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.encode().splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


@pytest.mark.parametrize(
    ("name", "time_s", "bandwidth"),
    [
        ("1.17--pingpong-rdm-client", 14904.20e-6, 4.40e6),
        ("1.17--pingpong-msg-server", 2827.50e-6, 23.18e6),
    ],
)
def test_a_ping_pong_gives_half_round_trip_and_bandwidth(
    name: str, time_s: float, bandwidth: float
) -> None:
    curves, strange = found(raw(name))
    assert strange == []
    assert [(one.quantity, one.pattern) for one in curves] == [
        ("time", "latency"), ("bandwidth", None),
    ]  # fmt: skip
    assert [one.points[0].estimate.value for one in curves] == pytest.approx([time_s, bandwidth])
    assert curves[0].points[0].message_bytes == 65536
    assert curves[0].points[0].estimate.samples == 10
    assert (curves[0].benchmark, curves[0].cut_off) == ("fi_pingpong", "")


def test_messages_that_were_not_acknowledged_make_a_failure() -> None:
    curves, strange = found(raw("1.17--default-sizes"))
    assert strange == []
    sizes = [point.message_bytes for point in curves[0].points]
    assert sizes == [64, 256, 1024, 4096, 1048576]
    assert [failure.message_bytes for failure in curves[0].failures] == [65536]
    assert (curves[0].transport, curves[0].cut_off) == ("tcp", "")


def test_the_default_sizes_left_unfinished_are_told_of() -> None:
    lines = raw("1.17--default-sizes").splitlines()
    curve = found("\n".join(lines[:5]))[0][0]
    assert "ends at 1024 bytes" in curve.cut_off


def test_a_row_cut_in_its_midst_is_a_failure() -> None:
    text = raw("1.17--default-sizes")
    curve = found(text[: text.index("  12.00")])[0][0]
    assert [(f.message_bytes, f.trouble) for f in curve.failures] == [(1024, "cut off")]


def test_yaml_rows_are_named_by_their_command() -> None:
    curves, strange = found(raw("1.17--yaml-bw"))
    assert strange == []
    stream = [one for one in curves if one.benchmark == "fi_rdm_tagged_bw"]
    assert [one.quantity for one in stream] == ["time", "bandwidth", "message_rate"]
    assert [one.pattern for one in stream] == [None, "bandwidth", None]
    assert stream[1].points[0].estimate.value == pytest.approx(11702.857143e6)
    assert stream[1].transport == "rdma"
    (latency,) = (one for one in curves if one.pattern == "latency")
    assert latency.benchmark == "fi_msg_pingpong"
    assert latency.points[0].estimate.value == pytest.approx(1.2e-6)


def test_an_unnamed_table_is_told_for_a_ping_pong_by_its_counts() -> None:
    curves, strange = found(raw("1.17--unnamed-text"))
    assert strange == []
    assert curves[0].pattern == "latency"
    assert [point.message_bytes for point in curves[0].points] == [64, 1536]


def test_an_unnamed_table_of_single_transfers_has_no_pattern() -> None:
    text = raw("1.17--unnamed-text").replace("1.2m", "625k").replace("29m ", "14m ")
    curves = found(text)[0]
    assert [one.quantity for one in curves] == ["time", "bandwidth", "message_rate"]
    assert {one.pattern for one in curves} == {None}


def test_a_rounded_bandwidth_of_zero_is_no_failure() -> None:
    text = raw("1.17--pingpong-rdm-client").replace("4.40", "0.00")
    curves = found(text)[0]
    assert [(one.quantity, one.failures) for one in curves] == [("time", ())]


def test_a_heading_without_rows_is_told_of() -> None:
    heading = raw("1.17--pingpong-rdm-client").splitlines()[0]
    curves, strange = found(heading)
    assert curves == []
    assert "rows under this heading" in strange[0].reason


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("64", 64), ("1k", 1024), ("1.5k", 1536), ("64k", 65536), ("1m", 2**20), ("4g", 2**32)],
)
def test_sizes_are_powers_of_two(printed: str, expected: int) -> None:
    assert size_of(printed) == expected


EVERY_LINE = sorted(
    {line for path in FIXTURES.glob("*.out") for line in path.read_text().splitlines()}
)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(EVERY_LINE),
            st.text(alphabet="0123456789.,-+={}[] kmgsinfaMB/", max_size=80),
        ),
        max_size=25,
    )
)
def test_the_reader_survives_any_lines(lines: list[str]) -> None:
    reader = DIALECT.reader(lambda *_: None)
    curves = [one for n, text in enumerate(lines, 1) for one in reader.line(LogLine(n, text))]
    curves += reader.end()
    for one in curves:
        assert 1 <= one.first_line <= one.last_line <= len(lines)
        assert all(point.estimate.value > 0 for point in one.points)
