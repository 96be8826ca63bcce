"""A broken data file is told of with file and entry."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs.references.checking import wrongs

from fabricgauge.logs.references.interface import ReferenceFile, content, read, stems
from fabricgauge.model.errors import FabricgaugeError

DOCUMENT = '[document]\ntitle = "T"\nauthors = "A"\n'
ENTRY = """[[reference]]
name = "some-thing"
title = "Thing"
where = "page 1"
caveat = "None."
suite = "osu"
benchmark = "osu_bw"
columns = [{ quantity = "bandwidth", unit = "MB/s", unit_rule = "MB = 10^6 bytes (OSU)", what = "one-way stream" }]
points = [[1, 2.5], [2, 5]]
"""  # noqa: E501
GOOD = DOCUMENT + ENTRY


def _changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def _said(text: str) -> str:
    """What is said of a file: that it cannot be read, or what is wrong with its entries."""
    try:
        return "\n".join(wrongs("some", read("some", text)))
    except FabricgaugeError as error:
        assert "references/data/some.toml" in str(error)
        return str(error)


def test_read_fails_when_a_sound_file_is_refused() -> None:
    assert list(read("some", GOOD).entries) == ["some-thing"]
    assert _said(GOOD) == ""


@pytest.mark.parametrize("stem", stems())
def test_a_shipped_file_fails_when_an_entry_has_a_fault(stem: str) -> None:
    assert wrongs(stem, content(stem)) == []


@pytest.mark.parametrize("stem", stems())
def test_name_of_a_file_fails_when_it_is_the_beginning_of_another(stem: str) -> None:
    assert not [other for other in stems() if other.startswith(f"{stem}-")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[document", "at the end of a table declaration"),
        (ENTRY, "missing required field `document`"),
        (DOCUMENT + "surprise = 1\n", r"surprise.*\$.document"),
        ("surprise = 1\n" + GOOD, "unknown field `surprise`"),
        (DOCUMENT + "[reference]\nname = 'some-x'\n", r"\$.reference"),
        (GOOD + ENTRY, "some-thing: the name is used twice"),
        (
            _changed('name = "some-thing"', 'name = "thing"'),
            "thing: the name must begin with some-",
        ),
        (_changed('title = "Thing"\n', ""), r"missing required field `title`.*\$.reference\[0\]"),
        (_changed('title = "Thing"', 'titel = "Thing"'), "title|titel"),
        (_changed('caveat = "None."', 'caveat = " "'), "some-thing: caveat is empty"),
        (_changed('suite = "osu"\n', ""), "points need suite and benchmark"),
        (_changed("points = [[1, 2.5], [2, 5]]\n", ""), "neither points nor a table"),
        (_changed('what = "one-way stream"', 'what = ""'), "column 1: what is empty"),
        (_changed('unit = "MB/s"', 'unit = "MBs"'), "unit 'MBs' is not known"),
        (_changed("MB = 10^6 bytes (OSU)", "OSU"), "needs a unit_rule that begins 'MB = 10"),
        (_changed('quantity = "bandwidth"', 'quantity = "time"'), "is one of bandwidth, not of"),
        (_changed('quantity = "bandwidth"', 'quantity = "speed"'), r"columns\[0\].quantity"),
        (_changed('quantity = "bandwidth",', ""), "must be one of quantity, besides and samples"),
        (_changed("what =", "samples = true, what ="), "must be one of quantity, besides"),
        (_changed("what =", 'pattern = "latency", what ='), "latency is a time"),
        (
            _changed("what =", 'pattern = "bidirectional_bandwidth", what ='),
            "moves bytes in 2 directions",
        ),
        (_changed("[2, 5]", "[2, 5, 6]"), "row 2 has 3 cells"),
        (_changed("[2, 5]", "[1, 5]"), "row 2: sizes are whole bytes in growing order"),
        (_changed("[2, 5]", "[2.5, 5]"), "row 2: sizes are whole bytes"),
        (_changed("[2, 5]", '["peak", 5]'), "row 2: sizes are whole bytes"),
        (_changed("[2, 5]", "[2, nan]"), "row 2: nan is no figure"),
        (_changed("[2, 5]", "[2, -5]"), "row 2: -5 is no figure"),
        (_changed("[2, 5]", '[2, "5"]'), "row 2: '5' is no figure"),
        (
            GOOD + '[reference.table]\ncolumns = ["a"]\nrows = [["x", 1]]\n',
            "row 1 of the table has 2 cells, not 1",
        ),
        (
            GOOD + '[reference.expected]\nreason = "x"\noutcome = "GOOD"\n',
            r"\$.reference\[0\].expected.outcome",
        ),
    ],
)
def test_read_fails_when_a_fault_is_not_told_with_its_place(text: str, what: str) -> None:
    assert re.search(what, _said(text))


def test_read_fails_when_two_columns_have_a_latency_pattern() -> None:
    column = '{ quantity = "time", unit = "us", what = "half round trip", pattern = "latency" }'
    start, _, rest = GOOD.partition("columns = ")
    text = f"{start}columns = [{column}, {column}]\npoints = [[1, 2, 3]]\n"
    assert rest
    assert "two columns have a latency pattern" in _said(text)


@given(cut=st.integers(0, len(GOOD)), put=st.text(max_size=5))
def test_read_fails_when_a_damaged_file_raises_anything_else(cut: int, put: str) -> None:
    try:
        assert isinstance(read("some", GOOD[:cut] + put + GOOD[cut:]), ReferenceFile)
    except FabricgaugeError as error:
        assert "references/data/some.toml" in str(error)
