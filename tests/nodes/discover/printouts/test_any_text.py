"""What holds of every parser and every text: no exception, no figure that is none, no long wait."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.printouts import wrong
from tests.nodes.discover.printouts.reading import FIXTURES, FOLDERS, parse

from fabricgauge.model.inventory import Route

#: 5 MB of one piece, of which a parser that is not linear makes hours; less of the others.
LONG, LESS = 5_000_000, 200_000
SECONDS = 20.0
LONGEST = ("a", " ", ":", "[", '{"a":')
PIECES = (
    "\t", ",", "0", "/", "{", '"', "\\", "=", "(", "\x1b[4m", "\n",
    "\x1b[", "* - ", "a=b ", "Port ", "GPU0 ", "1,2 ", "00:00.0 ", "En: ", "fe80:", "Link 0: ", "١",
    " : ", "Speed 8GT/s ", "dev e ", "9",
)  # fmt: skip


def some_lines(folder: str) -> list[str]:
    paths = sorted((FIXTURES / folder).glob("*.out"))
    found = {line for path in paths for line in path.read_text().splitlines()[:400]}
    return sorted(found) or [""]


@pytest.mark.parametrize("folder", FOLDERS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_lines_give_parts_that_can_be_stored(folder: str, data: st.DataObject) -> None:
    line = st.sampled_from(some_lines(folder)) | st.text(max_size=40)
    text = "\n".join(data.draw(st.lists(line, max_size=30)))
    assert list(wrong(parse(folder, text, data.draw(st.text(max_size=12))))) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_line_of_5_mb_takes_no_long_time(folder: str) -> None:
    head = "\n".join(some_lines(folder)[:60])
    for piece in (*LONGEST, *PIECES):
        times = (LONG if piece in LONGEST else LESS) // len(piece)
        began = time.process_time()
        parse(folder, f"{head}\n{piece * times}\n{head}")
        parse(folder, piece * times)
        assert time.process_time() - began < SECONDS, piece


def test_a_thing_that_is_wrong_is_complained_of() -> None:
    parts = parse("ip_route", "10.0.0.0/8 dev e0 metric 5\n")
    broken = type(parts)(routes=(Route("x", "y", "", "", -1),), facts={"a": "\ud800"})
    assert list(wrong(parts)) == []
    assert len(list(wrong(broken))) == 2
