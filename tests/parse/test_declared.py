"""An invented suite that is nothing but a declaration: what the one reader makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.declared import SuiteDeclaration, SuiteLayout, dialect_of
from fabricgauge.parse.interface import LogLine, RowReader
from fabricgauge.parse.rows import Cell
from fabricgauge.parse.table import SuiteColumn

TIME = SuiteColumn("time", "half round trip", "mean", "µs", 1e-6, "latency")
DIALECT = dialect_of(
    SuiteDeclaration(
        suite="tick",
        begins={"tick ": r"^tick \d"},
        title=r"tick (?P<version>\S+), (?P<benchmark>\w+)",
        facts=(r"window: (?P<window_size>\d+)",),
        headline=r"bytes\s+usec",
        layout=SuiteLayout((Cell("size"), Cell("figure")), (TIME,)),
        last="done",
        prose="-+",
    )
)
OUTPUT = ["tick 1.2, ping", "window: 64", "-----", "bytes  usec", "0  1.5", "8  3.0", "done"]


def read(lines: list[str]) -> tuple[list[SuiteCurve], list[tuple[int, str]]]:
    told: list[tuple[int, str]] = []
    reader = DIALECT.reader(lambda line, why: told.append((line.number, why)))
    curves = [
        curve
        for number, text in enumerate(lines, 1)
        for curve in reader.line(LogLine(number, text))
    ]
    return [*curves, *reader.end()], told


def test_a_declared_table_becomes_a_curve_with_its_settings() -> None:
    (curve,), told = read(OUTPUT)
    assert told == []
    assert (curve.suite, curve.version, curve.benchmark) == ("tick", "1.2", "ping")
    assert (curve.title, curve.first_line, curve.last_line) == ("tick 1.2, ping", 1, 6)
    assert (curve.settings, curve.cut_off) == ({"window size": "64"}, "")
    assert [(one.message_bytes, one.estimate.value, one.line) for one in curve.points] == [
        (0, 1.5e-6, 5), (8, 3.0e-6, 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "sign"),
    [
        (OUTPUT[:1], "no table follows the title"),
        (OUTPUT[:4], "ends without its last line"),
        (OUTPUT[:6], "ends without its last line"),
        ([*OUTPUT[:4], "done"], "no row follows the headline"),
    ],
)
def test_every_cut_is_told_of(lines: list[str], sign: str) -> None:
    (curve,), told = read(lines)
    assert (curve.cut_off, told) == (sign, [])


def test_a_broken_row_is_a_failure_and_another_line_is_told_of() -> None:
    (curve,), told = read([*OUTPUT[:5], "8 nan", "16", "16 2.0 3.0", "what?", "done"])
    assert [(one.message_bytes, one.trouble) for one in curve.failures] == [
        (8, "not a number"), (16, "cut off"),
    ]  # fmt: skip
    assert told == [(8, "a line of tick"), (9, "a line of tick")]


def test_many_rows_at_once_are_the_same_as_one_by_one() -> None:
    reader = DIALECT.reader(lambda line, why: None)
    assert isinstance(reader, RowReader)
    for number, text in enumerate(OUTPUT[:4], 1):
        assert not list(reader.line(LogLine(number, text)))
    rows = "0  1.5\n8  3.0\n"
    assert reader.rows(5, f"{rows}done\n", 0) == len(rows)
    assert list(reader.line(LogLine(7, "done"))) == read(OUTPUT)[0]


@given(st.lists(st.one_of(st.sampled_from(OUTPUT), st.text(max_size=40)), max_size=30))
def test_any_mix_of_lines_is_read_without_raising(lines: list[str]) -> None:
    curves, told = read(lines)
    assert all(isinstance(one, SuiteCurve) for one in curves)
    assert {number for number, _ in told} <= set(range(1, len(lines) + 1))
