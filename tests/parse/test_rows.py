"""Plain rows are taken many at a time; whatever else may be a row is left alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.rows import RowFinder, Rows
from fabricgauge.parse.suites import read
from fabricgauge.parse.table import MOST_ROWS

TWO = RowFinder(("whole", "number"))


def taken(text: str, finder: RowFinder = TWO) -> Rows:
    rows = finder.at(1, text, 0)
    assert rows is not None
    return rows


def test_rows_are_taken_up_to_the_first_other_line() -> None:
    rows = taken("1 2.0\n  2\t3. \n\n4 5.0\n")
    assert (rows.count, rows.text) == (2, "1 2.0\n  2\t3. \n")
    assert (rows.column(0), rows.figures(1)) == (["1", "2"], [2.0, 3.0])


def test_each_row_by_itself_has_its_line() -> None:
    single = TWO.at(7, "x\n1 2.0\n 3 4\n", 2)
    assert single is not None
    told = [(line.number, line.text, words) for line, words in single.single()]
    assert told == [(7, "1 2.0", ["1", "2.0"]), (8, " 3 4", ["3", "4"])]


@pytest.mark.parametrize("line", [
    "1", "1 2 3", "1 nan", "1 -2.0", "1 2e5", "1.5 2.0", "1 .5", "1 1_0", "1 2.0 x", "\u0661 2.0",
    "1\u00a02.0", "1 2.0\x0b", "1234567890123456 2.0", "",
])  # fmt: skip
def test_what_is_no_plain_row_is_left_alone(line: str) -> None:
    assert TWO.at(1, f"{line}\n", 0) is None


def test_a_word_on_the_data_is_taken_only_if_they_were_right() -> None:
    checked = RowFinder(("whole", "number", "check"))
    assert taken("1 2.0 Pass\n", checked).words == ["1", "2.0", "Pass"]
    assert checked.at(1, "1 2.0 Fail\n", 0) is None


@given(st.lists(st.tuples(st.integers(0, 10**15 - 1), st.decimals(0, 10**9, places=2)), min_size=1))
def test_any_plain_rows_are_taken_whole(rows: list[tuple[int, object]]) -> None:
    text = "".join(f"{size:12} {figure}\n" for size, figure in rows)
    found = taken(text)
    assert found.text == text
    assert [int(word) for word in found.column(0)] == [size for size, _ in rows]


HEAD = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us)\n"


@pytest.mark.parametrize("break_at", [1, 20, 40])
def test_rows_in_one_block_and_in_two_are_the_same_table(break_at: int) -> None:
    text = HEAD + b"".join(b"%d  %d.25\n" % (1 << n, n + 1) for n in range(23))
    lines = text.splitlines(keepends=True)
    blocks = [b"".join(lines[:break_at]), b"".join(lines[break_at:])]
    assert list(read([text])) == list(read(filter(None, blocks))) == list(read(lines))


@pytest.mark.parametrize("line", [b"1 " * 20, b"1" + b" " * 40 + b"x", b"1 1." + b"0" * 40])
def test_rows_that_are_nearly_plain_take_time_in_proportion(line: bytes) -> None:
    def seconds(lines: int) -> float:
        text = HEAD + b"".join(b"%d 1.00\n" % n + line + b"\n" for n in range(lines))
        began = time.process_time()
        list(read([text]))
        return time.process_time() - began

    assert min(seconds(1600) for _ in range(3)) < 24 * min(seconds(200) for _ in range(3)) + 0.05


def test_rows_beyond_the_limit_make_a_table_incomplete() -> None:
    rows = b"".join(b"%d 5 2.00 2.00 1.0\n" % size for size in range(1, MOST_ROWS + 8))
    head = b"Send BW Test\n#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
    found = read((head + rows + b"-" * 87).splitlines(keepends=True))
    curve = next(one for one in found if isinstance(one, SuiteCurve))
    assert len(curve.points) == MOST_ROWS
    assert curve.cut_off.startswith("7 rows beyond the first 10,000")
