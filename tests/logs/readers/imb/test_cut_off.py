"""A table that did not come to its end is told of, wherever its file was cut."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "imb"
WHOLE = (FIXTURES / "2021.11--mpi1-pingpong-pingping.out").read_bytes()
TITLE_END = WHOLE.index(b"# Date")
LAST_LINE = WHOLE.index(b"# All processes entering")
HEAD = [
    "# Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
    "# Maximum message length in bytes:   128",
    "# Benchmarking PingPong",
    "#bytes #repetitions      t[usec]   Mbytes/sec",
]
ROW = "           64         1000         0.40       160.00"


def of(raw: bytes) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read(raw.splitlines(keepends=True)))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


def of_lines(*lines: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    return of("\n".join(lines).encode())


@settings(max_examples=150)
@given(st.integers(min_value=TITLE_END, max_value=LAST_LINE))
def test_a_file_cut_anywhere_is_told_of(at: int) -> None:
    curves, strange = of(WHOLE[:at])
    assert strange or any(one.cut_off for one in curves)


@settings(max_examples=150)
@given(st.integers(min_value=TITLE_END, max_value=LAST_LINE))
def test_no_figure_of_a_cut_file_differs_from_the_whole_one_s(at: int) -> None:
    def points(raw: bytes) -> dict[tuple[int, str], float]:
        return {
            (point.line, curve.quantity): point.estimate.value
            for curve in of(raw)[0]
            for point in curve.points
        }

    assert points(WHOLE[:at]).items() <= points(WHOLE).items()


def test_the_announced_maximum_is_what_a_table_must_reach() -> None:
    curves, _ = of_lines(*HEAD, ROW)
    assert {one.cut_off for one in curves} == {
        "ends at 64 bytes, where the output's head announces 128"
    }


def test_without_a_head_the_default_maximum_leaves_it_open() -> None:
    curves, _ = of_lines(*HEAD[2:], ROW)
    assert {one.cut_off for one in curves} == {
        "ends at 64 bytes, where the suite's default goes on to 4194304: "
        "cut off, or run with a smaller maximum"
    }


@pytest.mark.parametrize("last", ["  128", "  128  1000  0.", "  128  1000  0.40  320.0"])
def test_a_row_that_ends_in_its_middle_is_no_point(last: str) -> None:
    curves, strange = of_lines(*HEAD, ROW, last)
    assert {one.cut_off for one in curves} == {"line 6 ends in the middle of its row"}
    assert {len(one.points) for one in curves} == {1}
    assert [one.trouble for one in curves[0].failures] == ["cut off"]
    assert strange == []


def test_a_last_row_that_has_its_end_is_whole() -> None:
    curves, strange = of(("\n".join([*HEAD, ROW, "  128  1000  0.40  320.0"]) + "\n").encode())
    assert [len(one.points) for one in curves] == [2, 2]
    assert {(one.cut_off, one.failures) for one in curves} == {("", ())}
    assert [one.reason for one in strange] == ["'# All processes entering MPI_Finalize'"]


def test_a_last_row_that_has_its_end_and_too_few_words_is_told_of() -> None:
    curves, strange = of(("\n".join([*HEAD, ROW, "  128  1000"]) + "\n").encode())
    assert [len(one.points) for one in curves] == [1, 1]
    assert (strange[0].line, strange[0].reason) == (6, "a row of an IMB table")


def test_a_message_rate_that_lacks_digits_is_no_point() -> None:
    columns = "#bytes #repetitions t[usec] Mbytes/sec Msg/sec"
    curves, _ = of_lines(*HEAD[:3], columns, "128 1000 0.40 320.00 25000")
    assert {one.cut_off for one in curves} == {"line 5 ends in the middle of its row"}


def test_a_headline_without_rows_is_told_of() -> None:
    curves, _ = of_lines(*HEAD)
    assert [(one.points, one.cut_off) for one in curves] == [((), "no row follows the headline")]


def test_benchmarks_that_were_listed_and_not_measured_are_named() -> None:
    listing = ["# List of Benchmarks to run:", "", "# PingPong", "# Sendrecv", "# (Multi-)Bcast"]
    _, strange = of_lines(HEAD[0], HEAD[1], *listing, "#-----------", *HEAD[2:], ROW)
    assert strange[-1].reason.endswith("before it a table of Sendrecv, Bcast")


def test_sizes_of_one_s_own_have_no_announced_end() -> None:
    own = [HEAD[0], "# Message lengths were user defined", *HEAD[2:], ROW]
    curves, _ = of_lines(*own)
    assert {one.cut_off for one in curves} == {"the output ends here, without IMB's last line"}
    curves, strange = of_lines(*own, "", "# All processes entering MPI_Finalize")
    assert {one.cut_off for one in curves} == {""}
    assert strange == []


def test_an_output_that_another_follows_without_its_last_line_is_told_of() -> None:
    curves, strange = of_lines(*HEAD, ROW, ROW.replace(" 64 ", "128 "), *HEAD, ROW)
    assert [one.cut_off for one in curves][::2] == [
        "", "ends at 64 bytes, where the output's head announces 128",
    ]  # fmt: skip
    assert strange[0].reason == "'# All processes entering MPI_Finalize'"
