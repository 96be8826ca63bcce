import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.interface import LogLine
from fabricgauge.logs.readers.json_text import MOST_ALIENS, Collector


def collected(text: str) -> tuple[list[str], str]:
    """The state after each line, and the object's text."""
    lines = [LogLine(i, line) for i, line in enumerate(text.split("\n"), 1)]
    collector = Collector.begun_by(lines[0])
    assert collector is not None
    return [collector.add(line) for line in lines], collector.text


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), NESTED, min_size=1), st.sampled_from([None, 0, 2]))
def test_an_object_ends_where_it_ends(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    states, whole = collected(text)
    assert states == ["open"] * (len(states) - 1) + ["whole"]
    assert whole == text


def test_brackets_in_strings_are_text() -> None:
    states, _ = collected('{"a": "}", "b": "\\"}",\n"c": "\\\\"}')
    assert states == ["open", "whole"]


def test_a_line_that_is_no_json_is_alien_until_there_are_too_many() -> None:
    states, whole = collected('{\n*** alien ***\n"a": 1}')
    assert states == ["open", "alien", "whole"]
    assert whole == '{\n\n"a": 1}'
    assert collected("{\n" + "*\n" * (MOST_ALIENS + 1))[0][-2:] == ["broken", "open"]


@pytest.mark.parametrize("alien", [
    "slurmstepd: error: out of memory", "2026-11-22 10:00:00 c1 kernel: link is down",
    "[Sat Nov 21 22:46:07 2026] link is down", "[c1:4711] mca: unable to open", "*** done ***",
])  # fmt: skip
def test_what_launchers_and_kernels_write_is_alien(alien: str) -> None:
    assert collected('{\n"a": 1,\n' + alien + '\n"b": [\n1, 2.5e-3,\n-7\n]}')[0] == [
        "open", "open", "alien", "open", "open", "open", "whole",
    ]  # fmt: skip


def test_a_key_without_quotes_fits_where_no_key_has_any() -> None:
    assert collected("{\ntest_info: {\ntest: Send_BW_Test,\n}\n}")[0][-1] == "whole"


def test_a_long_row_of_escaped_quotes_takes_no_time() -> None:
    collected('{"' + '\\"' * 200_000)


def test_a_row_or_a_label_begins_no_object() -> None:
    assert Collector.begun_by(LogLine(1, "[ ID] Interval")) is None
    assert Collector.begun_by(LogLine(1, "[1,0]<stdout>: x")) is None
