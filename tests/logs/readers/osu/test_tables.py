"""Tables that are broken, cut off, odd or in foreign surroundings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.readers.osu.reading import FIXTURES, curves_and_strange, fixture, values

LATENCY = b"# OSU MPI Latency Test v5.7\n# Size          Latency (us)\n"
ROWS = b"0                       1.10\n1                       1.20\n2                       1.30\n"


@pytest.mark.parametrize(
    "end", [b"4                       1.", b"4                       1.4", b"4  "]
)
def test_a_row_cut_off_in_mid_number_is_no_figure(end: bytes) -> None:
    (curve,), _ = curves_and_strange(LATENCY + ROWS + end)
    assert list(values(curve)) == [0, 1, 2]
    assert [each.trouble for each in curve.failures] == ["cut off"]
    assert curve.cut_off == "line 6 ends in the middle of its row"


@pytest.mark.parametrize(("end", "last"), [("4  1.4", 1.4e-6), ("4  1", 1e-6)])
def test_a_last_row_that_has_its_end_is_whole(end: str, last: float) -> None:
    (curve,), strange = curves_and_strange(LATENCY + ROWS + f"{end}\n".encode())
    assert values(curve)[4] == pytest.approx(last)
    assert (curve.failures, strange) == ((), [])
    assert "in the middle" not in curve.cut_off


def test_the_whole_figures_of_a_row_that_is_cut_off_are_kept() -> None:
    text = b"# OSU MPI Latency Test v7.4\n# Size Avg Latency(us) P50 Tail Lat(us)\n1 2.00 1.00\n"
    (curve,), _ = curves_and_strange(text + b"2 3.00 1.")
    assert values(curve) == {1: pytest.approx(2e-6), 2: pytest.approx(3e-6)}
    assert [(one.message_bytes, one.trouble) for one in curve.failures] == [(2, "cut off")]
    assert curve.cut_off == "line 4 ends in the middle of its row"


def test_a_window_matrix_cut_off_in_mid_row_keeps_the_whole_values() -> None:
    text = fixture("7.4--mbw-mr-window-matrix")
    cut = text[: text.index(b"3168.28") + 5]
    curves, _ = curves_and_strange(cut)
    assert [1024 in values(each) for each in curves] == [True] * 3 + [False] * 5
    assert curves[3].failures[0].trouble == "cut off"
    assert "middle of its row" in curves[0].cut_off


def test_rates_that_end_before_the_bandwidths_are_cut_off() -> None:
    lines = fixture("7.4--mbw-mr-window-matrix").splitlines(keepends=True)
    curves, _ = curves_and_strange(b"".join(lines[:-1]))
    assert [each.cut_off for each in curves[:8]] == [""] * 8
    assert curves[8].cut_off == "ends at 512 bytes, where the table before it goes on to 1024"


@pytest.mark.parametrize("value", [b"inf", b"nan", b"-nan", b"0.00", b"-1.00"])
def test_what_is_no_measurement_is_a_failure(value: bytes) -> None:
    (curve,), _ = curves_and_strange(LATENCY + b"1   " + value + b"\n2   1.30\n")
    assert list(values(curve)) == [2]
    assert [(each.message_bytes, each.trouble) for each in curve.failures] == [(1, "not a number")]


def test_an_empty_message_has_no_bandwidth() -> None:
    text = b"# OSU MPI Bandwidth Test v5.7\n# Size      Bandwidth (MB/s)\n0     0.00\n1     2.00\n"
    (curve,), _ = curves_and_strange(text)
    assert (list(values(curve)), curve.failures) == ([1], ())


def test_a_heading_without_rows_is_told_of() -> None:
    (curve,), _ = curves_and_strange(LATENCY)
    assert curve.cut_off == "no row follows the heading"


def test_a_size_that_does_not_grow_begins_another_table() -> None:
    """The rows of a second run, appended without its heading."""
    text = LATENCY + ROWS + b"1                       9.00\n2                       9.50\n"
    (curve, appended), strange = curves_and_strange(text)
    assert values(curve)[1] == pytest.approx(1.2e-6)
    assert values(appended) == {1: pytest.approx(9e-6), 2: pytest.approx(9.5e-6)}
    assert (appended.first_line, appended.benchmark, strange) == (6, curve.benchmark, [])


def test_a_row_with_too_many_words_is_reported() -> None:
    (curve,), strange = curves_and_strange(LATENCY + ROWS + b"4 1.21 5.43 4\n")
    assert 4 not in values(curve)
    assert [each.text for each in strange] == ["4 1.21 5.43 4"]


def test_columns_that_are_announced_but_not_printed_are_done_without() -> None:
    text = b"# OSU MPI Multi Latency Test v7.4\n# Size  Avg Latency(us)  P50 Tail Lat(us)\n"
    (curve,), strange = curves_and_strange(text + b"1  2.00\n2  3.00\n")
    assert (list(values(curve)), curve.failures, strange) == ([1, 2], (), [])


def test_a_column_that_is_not_known_is_reported_and_the_others_are_read() -> None:
    heading = b"# OSU MPI Latency Test v9.0\n# Size  Latency (us)  P25 Tail Lat(us)  Joules\n"
    (curve,), strange = curves_and_strange(heading + b"1 2.00 1.50 7\n")
    assert values(curve) == {1: pytest.approx(2e-6)}
    assert "P25 Tail Lat(us), Joules" in strange[0].reason


def test_a_new_title_ends_the_table_before_it() -> None:
    curves, _ = curves_and_strange(LATENCY + ROWS + LATENCY + ROWS)
    assert [(each.first_line, each.last_line) for each in curves] == [(1, 5), (6, 10)]


def test_a_code_fence_ends_a_table_in_a_document() -> None:
    text = b"Some prose\n\n```\n" + LATENCY + ROWS + b"```\n\n8\t1.30\nMore prose\n"
    (curve,), strange = curves_and_strange(text)
    assert list(values(curve)) == [0, 1, 2]
    assert [(each.line, each.count) for each in strange] == [(1, 1), (11, 2)]
    assert {each.reason for each in strange} == {"no output of a known suite"}


WHOLE = {path.stem: path.read_bytes() for path in sorted(FIXTURES.glob("*.out"))}


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_fixture_cut_anywhere_gives_no_value_that_it_has_not(
    name: str, data: st.DataObject
) -> None:
    text = WHOLE[name]
    cut = data.draw(st.integers(0, len(text)))
    known = {
        (curve.benchmark, curve.what, curve.quantity, *sorted(curve.settings.items()), *point)
        for curve in curves_and_strange(text)[0]
        for point in values(curve).items()
    }
    curves, _ = curves_and_strange(text[:cut])
    for curve in curves:
        whole_rows = values(curve)
        if len(whole_rows) < 2:
            continue  # one row alone does not tell how many digits it should have
        for point in whole_rows.items():
            row = (curve.benchmark, curve.what, curve.quantity, *sorted(curve.settings.items()))
            assert (*row, *point) in known or curve.cut_off


@given(st.lists(st.sampled_from(
    [line for text in WHOLE.values() for line in text.splitlines(keepends=True)]
), max_size=40))  # fmt: skip
def test_lines_in_any_order_raise_nothing(lines: list[bytes]) -> None:
    curves, _ = curves_and_strange(b"".join(lines))
    for curve in curves:
        assert all(point.estimate.value >= 0 for point in curve.points)


@given(st.text(max_size=80), st.sampled_from(sorted(WHOLE)), st.integers(0, 30))
def test_a_line_of_anything_in_mid_table_is_read_or_reported(
    text: str, name: str, place: int
) -> None:
    lines = WHOLE[name].splitlines(keepends=True)
    lines.insert(min(place, len(lines)), text.encode("utf-8", "replace") + b"\n")
    curves_and_strange(b"".join(lines))


@pytest.mark.parametrize("word", [b"-inf", b"inf", b"-nan"])
def test_what_stands_beside_a_figure_is_left_out_if_it_is_no_number(word: bytes) -> None:
    heading = (
        b"# OSU MPI Latency Test v7.4\n# Size  Latency (us)  P50 Tail Lat(us)  P90 Tail Lat(us)\n"
    )
    (curve,), _ = curves_and_strange(heading + b"1  0.45  0.40  " + word + b"\n")
    assert curve.points[0].besides == {"p50": pytest.approx(0.4e-6)}


def test_a_row_that_the_files_end_cuts_begins_no_other_table() -> None:
    head = b"# OSU MPI Bandwidth Test v7.4\n# Size Bandwidth (MB/s)\n65536 116.06\n"
    curves, _ = curves_and_strange(head + b"65536 11")
    assert [values(curve) for curve in curves] == [{65536: pytest.approx(116.06e6)}]
    again, _ = curves_and_strange(head + b"65536 20.00\n")
    assert [values(curve)[65536] for curve in again] == pytest.approx([116.06e6, 20e6])
