from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.suites import read
from fabricgauge.logs.readers.ucx import DIALECT
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "ucx_perftest"
MIB = 2**20


def raw(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text()


def found(text: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(text.encode().splitlines(keepends=True), "log"))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def value(one: SuiteCurve) -> float:
    return one.points[0].estimate.value


def test_a_clients_final_line_gives_three_curves() -> None:
    curves, strange = found(raw("1.13--client"))
    assert strange == []
    assert [one.quantity for one in curves] == ["time", "bandwidth", "message_rate"]
    assert [value(one) for one in curves] == pytest.approx([456.572e-6, 0.02 * MIB, 2190])
    assert curves[0].points[0].besides == {"p50": pytest.approx(136e-6)}
    assert curves[0].points[0].estimate.samples == 50
    assert {one.cut_off for one in curves} == {""}


def test_a_client_that_names_no_test_has_no_pattern_and_no_size() -> None:
    curves = found(raw("1.13--client"))[0]
    assert {(one.benchmark, one.pattern) for one in curves} == {("ucx_perftest", None)}
    assert curves[0].points[0].message_bytes is None


def test_a_server_without_figures_is_told_of() -> None:
    curves, strange = found(raw("1.13--server"))
    assert curves == []
    assert "server" in strange[0].reason


def test_both_ends_in_one_file_name_test_and_size() -> None:
    curves, strange = found(raw("1.20--both-ends-tag-bw"))
    assert strange == []
    time, bandwidth, rate = curves
    assert {one.benchmark for one in curves} == {"tag_bw"}
    assert (bandwidth.pattern, time.pattern, rate.pattern) == ("bandwidth", None, None)
    assert value(bandwidth) == pytest.approx(10989.01 * MIB)
    assert bandwidth.points[0].message_bytes == 1048576
    assert bandwidth.settings["window size"] == "32"


def test_an_old_table_ends_with_its_last_progress() -> None:
    curves, strange = found(raw("1.4--tag-lat"))
    assert strange == []
    time = curves[0]
    assert (time.benchmark, time.pattern) == ("tag_lat", "latency")
    assert value(time) == pytest.approx(1.3e-6)
    assert time.points[0].estimate.samples == 1000000
    assert time.points[0].besides == {"typical": pytest.approx(1.269e-6)}
    assert time.points[0].message_bytes == 8


def test_csv_is_read() -> None:
    curves, strange = found(raw("1.13--csv"))
    assert strange == []
    bandwidth = curves[1]
    assert (bandwidth.benchmark, bandwidth.pattern) == ("put_bw", "put_bandwidth")
    assert bandwidth.transport == "rdma"
    assert value(bandwidth) == pytest.approx(11420 * MIB)


def test_a_table_cut_off_before_its_figures_is_told_of() -> None:
    curves, strange = found(raw("1.13--client-cut-off"))
    assert [(one.points, one.benchmark) for one in curves] == [((), "am_lat")]
    assert "before its first figures" in curves[0].cut_off
    assert strange[-1].line == 36


def test_progress_without_a_final_line_is_cut_off() -> None:
    text = raw("1.20--both-ends-tag-bw")
    time = found(text[: text.index("Final:")])[0][0]
    assert value(time) == pytest.approx(91.1e-6)
    assert "no final line" in time.cut_off


def test_a_heading_of_overheads_is_a_stream_even_unnamed() -> None:
    text = raw("1.13--client").replace(" latency (usec)", "overhead (usec)")
    assert found(text)[0][0].what == "sender's time per message"


def test_tests_of_a_batch_file_are_told_apart() -> None:
    lines = raw("1.13--client").splitlines()
    final = lines.pop()
    for name in ("tag_lat", "put_bw"):
        lines += [f"+{name}{'-' * 60}+", final]
    curves, strange = found("\n".join(lines))
    assert strange == []
    assert [one.benchmark for one in curves] == ["tag_lat"] * 3 + ["put_bw"] * 3


def test_a_final_line_of_nan_is_a_failure() -> None:
    text = raw("1.13--client").replace("456.572", "nan")
    time = found(text)[0][0]
    assert time.failures[0].trouble == "not a number"


EVERY_LINE = sorted(
    {line for path in FIXTURES.glob("*.out") for line in path.read_text().splitlines()}
)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(EVERY_LINE),
            st.text(alphabet="0123456789.,-+|[]%: infaMB/Final", max_size=80),
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
