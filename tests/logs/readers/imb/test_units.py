"""Whether MB is 10^6 or 2^20 bytes is found by version and by the rows, and said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.imb.benchmarks import meaning_of
from fabricgauge.logs.readers.imb.rows import layout_of
from fabricgauge.logs.readers.imb.units import BINARY, DECIMAL, evidence_in, megabyte_of
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

COLUMNS = "#bytes #repetitions t[usec] Mbytes/sec"
PING_PONG = ["# Benchmarking PingPong", "# #processes = 2", COLUMNS]


def read_lines(*lines: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read([line.encode() for line in lines]))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def bandwidth(lines: list[SuiteCurve]) -> SuiteCurve:
    return next(one for one in lines if one.quantity == "bandwidth")


def row(size: int, time_us: float, megabyte: float, counted: int = 1) -> str:
    return f"{size} 10 {time_us:.2f} {counted * size / time_us * 1e6 / megabyte:.2f}"


def test_1111_65_of_imb_3_2_is_9_33_gigabits() -> None:
    title = "#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part"
    curves, strange = read_lines(title, *PING_PONG, "4194304 10 3598.25 1111.65")
    last = bandwidth(curves).points[-1].estimate.value
    assert last == pytest.approx(1111.65 * 2**20)
    assert last * 8 / 1e9 == pytest.approx(9.325, abs=0.001)
    assert bandwidth(curves).unit_rule == "MB = 2^20 bytes (IMB 3.2, and the rows agree)"
    assert [one.reason for one in strange] == ["'# All processes entering MPI_Finalize'"]


@pytest.mark.parametrize(
    ("title", "megabyte"),
    [
        ("# PALLAS MPI Benchmark Suite V2.2, MPI-1 part", BINARY),
        ("# Intel (R) MPI Benchmark Suite V3.2.4, MPI-1 part", BINARY),
        ("# Intel (R) MPI Benchmark Suite V3.0v modified by Someone, MPI-1 part", BINARY),
        ("# Intel (R) MPI Benchmarks 4.1 Update 1, MPI-1 part", BINARY),
        ("# Intel (R) MPI Benchmarks 2017 Update 1, MPI-1 part", BINARY),
        ("# Intel (R) MPI Benchmarks 2018, MPI-1 part", DECIMAL),
        ("# Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part", DECIMAL),
        ("# Intel(R) MPI Benchmarks 2021.7, MPI-1 part (GPU)", DECIMAL),
    ],
)
def test_the_version_gives_the_unit_where_rows_cannot(title: str, megabyte: float) -> None:
    curves, _ = read_lines(title, *PING_PONG, "64 1000 0.40 0.01e4")
    assert bandwidth(curves).points[0].estimate.value == pytest.approx(100 * megabyte)


@pytest.mark.parametrize(("title", "rows_say"), [("2021.2", BINARY), ("4.0", DECIMAL)])
def test_rows_against_the_version_are_followed_and_the_contradiction_is_told(
    title: str, rows_say: float
) -> None:
    lines = [row(size, size / 100, rows_say) for size in (1 << 20, 1 << 21, 1 << 22)]
    curves, strange = read_lines(
        f"# Intel(R) MPI Benchmarks {title}, MPI-1 part", *PING_PONG, *lines
    )
    assert bandwidth(curves).points[-1].estimate.value == pytest.approx(100e6, rel=1e-4)
    assert "found from the rows, against" in bandwidth(curves).unit_rule
    told = next(one for one in strange if "the rows count" in one.reason)
    assert told.text == COLUMNS
    assert f"as IMB {title} counts" in told.reason


def test_without_version_and_telling_rows_the_unit_is_assumed_and_that_is_told() -> None:
    curves, strange = read_lines(*PING_PONG, "1 1000 40.00 0.02")
    assert "assumed" in bandwidth(curves).unit_rule
    assert any("a version of IMB" in one.reason for one in strange)


def test_a_single_row_that_contradicts_itself_is_told_of() -> None:
    good = [row(size, size / 100, DECIMAL) for size in (1 << 19, 1 << 20, 1 << 21)]
    _, strange = read_lines(*PING_PONG, *good, "4194304 10 41943.04 10.00")
    assert [(one.line, one.reason) for one in strange] == [
        (7, "Mbytes/sec that follow from the row's other figures")
    ]


def test_the_message_rate_tells_the_unit_of_a_stream() -> None:
    lines = ["# Benchmarking Uniband", "# #processes = 2", "#bytes #repetitions Mbytes/sec Msg/sec"]
    curves, _ = read_lines(*lines, "1048576 10 1000.00 1000", "4194304 10 1000.00 250")
    assert bandwidth(curves).points[-1].estimate.value == 1000 * 2**20
    assert "found from the rows" in bandwidth(curves).unit_rule


sizes = st.integers(min_value=1 << 12, max_value=1 << 24)
times = st.floats(min_value=10.0, max_value=1e6)


@given(st.lists(st.tuples(sizes, times), min_size=1), st.sampled_from([DECIMAL, BINARY]))
def test_the_unit_that_was_printed_is_found_whatever_the_figures(
    printed: list[tuple[int, float]], megabyte: float
) -> None:
    text = "".join(f"{row(size, time_us, megabyte)}\n" for size, time_us in printed)
    layout = layout_of(COLUMNS.split())
    rows = layout and layout.form.plain(1, text, 0)
    assert layout and rows
    benchmark = meaning_of("PingPong", "MPI-1", "")
    evidence = evidence_in(rows, layout.roles, benchmark, "MPI-1")
    assert all(one is None or megabyte in one for one in evidence)
    assert megabyte_of("", "", evidence).by_rows in (
        any(one is not None and len(one) < 2 for one in evidence),
        False,
    )
    found = megabyte_of("", "", evidence)
    assert not found.by_rows or found.bytes == megabyte
