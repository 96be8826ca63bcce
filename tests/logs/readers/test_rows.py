"""Plain rows are taken many at a time; whatever else may be a row is left alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.rows import RowForm, Rows
from fabricgauge.logs.readers.suites import read
from fabricgauge.logs.readers.table import MOST_ROWS, ColumnUse
from fabricgauge.model.suite import SuiteCurve

TWO = RowForm([ColumnUse("size"), ColumnUse("figure")])


def taken(text: str, form: RowForm = TWO) -> Rows:
    rows = form.plain(1, text, 0)
    assert rows is not None
    return rows


def test_rows_are_taken_up_to_the_first_other_line() -> None:
    rows = taken("1 2.0\n  2\t3. \n\n4 5.0\n")
    assert (rows.count, rows.text) == (2, "1 2.0\n  2\t3. \n")
    assert (rows.words[::2], rows.columns) == (["1", "2"], [[1, 2], [2.0, 3.0]])


@pytest.mark.parametrize("between", [" ", "   ", "\t", "\t\t", "   \t\t   ", "  \t  ", "\t "])
def test_blanks_and_tabs_between_figures_are_as_suites_print_them(between: str) -> None:
    assert taken(f"1{between}2.0\n  2{between}3.0\n").columns == [[1, 2], [2.0, 3.0]]


def test_each_row_by_itself_has_its_line() -> None:
    both = TWO.plain(7, "x\n1 2.0\n 3 4\n", 2)
    assert both is not None
    told = [(row.number, row.text, row.words) for row in both.singles()]
    assert told == [(7, "1 2.0", ["1", "2.0"]), (8, " 3 4", ["3", "4"])]


@pytest.mark.parametrize("line", [
    "1", "1 2 3", "1 nan", "1 -2.0", "1 2e5", "1.5 2.0", "1 .5", "1 1_0", "1 2.0 x", "\u0661 2.0",
    "1\u00a02.0", "1 2.0\x0b", "1234567890123456 2.0", "",
])  # fmt: skip
def test_what_is_no_plain_row_is_left_alone(line: str) -> None:
    assert TWO.plain(1, f"{line}\n", 0) is None


def test_a_word_on_the_data_is_taken_only_if_they_were_right() -> None:
    checked = RowForm([*TWO.cells, ColumnUse("check")])
    assert taken("1 2.0 Pass\n", checked).words == ["1", "2.0", "Pass"]
    assert checked.plain(1, "1 2.0 Fail\n", 0) is None


@pytest.mark.parametrize(("line", "columns"), [
    ("1 nan", 2), (" 1 -2.0e5 ", 2), ("1", 1), ("1 2 3", 0), ("1.5 2.0", 0), ("1 x", 0), ("", 0),
])  # fmt: skip
def test_a_row_by_itself_may_be_odd_or_lack_its_end(line: str, columns: int) -> None:
    rows = TWO.odd(LogLine(1, line))
    assert (len(rows.columns) if rows else 0) == columns


@given(
    st.lists(
        st.tuples(st.integers(0, 10**15 - 1), st.decimals(0, 10**9, places=2)),
        min_size=1,
        max_size=200,
    )
)
def test_any_plain_rows_are_taken_whole(rows: list[tuple[int, object]]) -> None:
    text = "".join(f"{size:12} {figure}\n" for size, figure in rows)
    found = taken(text)
    assert found.text == text
    assert [int(word) for word in found.words[::2]] == [size for size, _ in rows]


def test_rows_with_several_tabs_between_are_read_as_others_are() -> None:
    def curves(between: bytes) -> list[object]:
        rows = [b"%s%d%s%d.25\n" % (between[1:], 1 << n, between, n + 1) for n in range(23)]
        return [one.points for one in read([HEAD + b"".join(rows)]) if isinstance(one, SuiteCurve)]

    assert curves(b"\t\t") == curves(b" ") == curves(b"\t")


HEAD = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n"


@pytest.mark.parametrize("break_at", [1, 20, 40])
def test_rows_in_one_block_and_in_two_are_the_same_table(break_at: int) -> None:
    text = HEAD + b"".join(b"%d  %d.25\n" % (1 << n, n + 1) for n in range(23))
    lines = text.splitlines(keepends=True)
    blocks = [b"".join(lines[:break_at]), b"".join(lines[break_at:])]
    assert list(read([text])) == list(read(filter(None, blocks))) == list(read(lines))


@pytest.mark.parametrize("line", [
    b"1 " * 20, b"1" + b" " * 40 + b"x", b"1 1." + b"0" * 40, b"1 0.00", b"1 1.00",
])  # fmt: skip
def test_rows_that_are_nearly_plain_take_time_in_proportion(line: bytes) -> None:
    def seconds(lines: int) -> float:
        text = HEAD + b"".join(b"%d 1.00\n" % n + line + b"\n" for n in range(lines))
        began = time.process_time()
        list(read([text]))
        return time.process_time() - began

    assert min(seconds(1600) for _ in range(3)) < 24 * min(seconds(200) for _ in range(3)) + 0.05


PERFTEST = b"Send BW Test\n#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
IMB = b"# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n"
GROUPS = b"# Benchmarking PingPong\nGroup #bytes #repetitions t[usec] Mbytes/sec\n"


@pytest.mark.parametrize(("head", "row"), [
    (PERFTEST, b"%d 5 2.00 2.00 1.0\n"), (HEAD, b"%d 2.00\n"), (HEAD, b"%d inf\n"),
    (IMB, b"%d 5 2.00 2.00\n"), (IMB, b"%d time-out.\n"), (GROUPS, b"0 %d 5 2.00 2.00\n"),
])  # fmt: skip
def test_rows_beyond_the_limit_make_a_table_incomplete(head: bytes, row: bytes) -> None:
    rows = b"".join(row % size for size in range(1, MOST_ROWS + 8))
    found = read((head + rows + b"-" * 87).splitlines(keepends=True))
    curve = next(one for one in found if isinstance(one, SuiteCurve))
    assert len(curve.points) + len(curve.failures) == MOST_ROWS
    assert curve.cut_off.startswith("7 rows beyond the first 10,000")
