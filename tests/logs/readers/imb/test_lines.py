"""Single lines: rows that failed, lines of others in mid-table, and whatever may come."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import SuiteCurve, UnparsedLine

FIXTURES = Path(__file__).parents[3] / "fixtures" / "imb"
OUTPUTS = [path.read_bytes().splitlines(keepends=True) for path in sorted(FIXTURES.glob("*.out"))]
HEAD = ["# Benchmarking PingPong", "# #processes = 2", "#bytes #repetitions t[usec] Mbytes/sec"]
CHECKED = [*HEAD[:2], "#bytes #repetitions t[usec] Mbytes/sec defects"]
LAST = "4194304 10 41943.04 100.00"


def of_lines(*lines: str) -> tuple[list[SuiteCurve], list[UnparsedLine]]:
    everything = list(read([line.encode() for line in lines]))
    curves = [one for one in everything if isinstance(one, SuiteCurve)]
    return curves, [one for one in everything if isinstance(one, UnparsedLine)]


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("8388608 out-of-mem.; needed X=   0.017 GB; use flag", "memory"),
        ("8388608 time-out.; Time limit (secs_per_sample *", "timeout"),
        ("8388608 int-overflow; The production rank*size caused", "other"),
        ("8388608 int-overflow.; The production rank*size caused", "other"),
        ("8388608 MPI_ERR_OTHER", "other"),
        ("8388608 10 nan -nan", "not a number"),
        ("8388608 10 inf 0.00", "not a number"),
        ("8388608 10 0.00 0.00", "not a number"),
    ],
)
def test_a_row_without_a_figure_is_a_failure(text: str, trouble: str) -> None:
    curves, strange = of_lines(*HEAD, LAST, text)
    assert [(one.message_bytes, one.trouble) for one in curves[0].failures] == [(8388608, trouble)]
    assert [len(one.points) for one in curves] == [1, 1]
    assert strange == []


def test_a_row_with_defects_is_corrupt() -> None:
    curves, strange = of_lines(*CHECKED, "0 10 0.40 0.00 0.00", f"{LAST} 1.00")
    (failure,) = curves[0].failures
    assert (failure.message_bytes, failure.trouble, failure.line) == (4194304, "corrupt", 5)
    assert [one.message_bytes for one in curves[0].points] == [0]
    assert strange == []


def test_what_the_suite_says_of_wrong_data_is_told() -> None:
    _, strange = of_lines(*CHECKED, "Error MPI_Recv,size = 64,sample #3", f"{LAST} 0.00")
    assert [one.reason for one in strange] == ["data without errors"]


def test_lines_of_others_do_not_end_a_table() -> None:
    noise = ["WARNING: no preset parameters were found", "[node1:42] 3 more processes", "7"]
    curves, strange = of_lines(*HEAD, "64 10 0.40 160.00", *noise, LAST)
    assert [len(one.points) for one in curves] == [2, 2]
    assert sum(one.count for one in strange) == 3


def test_a_table_is_left_at_the_end_of_its_block_in_a_document() -> None:
    curves, strange = of_lines("```", *HEAD, LAST, "```", "64 10 0.40 160.00")
    assert [len(one.points) for one in curves] == [1, 1]
    assert strange[-1].line == 7


def test_a_headline_alone_says_what_its_columns_are() -> None:
    curves, _ = of_lines(HEAD[2], LAST)
    assert [(one.quantity, one.benchmark, one.pattern) for one in curves] == [
        ("time", "unnamed", None), ("bandwidth", "unnamed", None),
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["12", "1,2", "[1", "x"])
def test_an_unknown_column_is_told_of_and_the_others_are_read(word: str) -> None:
    curves, strange = of_lines(*HEAD[:2], f"{HEAD[2]} Joule", f"{LAST} {word}")
    assert curves[1].points[0].estimate.value == pytest.approx(100e6)
    assert [one.reason for one in strange] == ["columns of IMB, other than Joule"]


def test_launchers_labels_do_not_matter() -> None:
    lines = [f"[1,0]<stdout>:{line}" for line in (*HEAD, LAST)]
    assert [len(one.points) for one in of_lines(*lines)[0]] == [1, 1]


line = st.one_of(
    st.sampled_from([one for output in OUTPUTS for one in output]),
    st.binary(max_size=80),
    st.tuples(st.sampled_from(OUTPUTS[0]), st.integers(0, 60)).map(lambda cut: cut[0][: cut[1]]),
)


@settings(max_examples=150)
@given(st.lists(line, max_size=60))
def test_any_mix_of_lines_is_read_without_raising_and_no_line_is_lost(lines: list[bytes]) -> None:
    for one in read(lines):
        if isinstance(one, SuiteCurve):
            assert 1 <= one.first_line <= one.last_line <= len(lines)
            assert one.points or one.failures or one.cut_off
