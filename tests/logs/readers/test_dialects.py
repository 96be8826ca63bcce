import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.logs.readers.dialects import DIALECTS, begins_at_start, dialect_begun

BEGINS = [pair for dialect in DIALECTS for pair in dialect.begins.items()]


@given(st.sampled_from(BEGINS), st.data())
def test_a_match_of_any_dialects_expression_contains_its_text(
    begins: tuple[str, str], data: st.DataObject
) -> None:
    literal, expression = begins
    text = data.draw(st.from_regex(re.compile(expression)))
    assert literal in text


@given(st.sampled_from(BEGINS), st.data())
def test_asking_all_at_once_finds_what_one_dialect_alone_finds(
    begins: tuple[str, str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(begins[1])))
    if "\n" not in text:
        assert dialect_begun(text) >= 0


@given(st.text(max_size=60) | st.sampled_from([literal for literal, _ in BEGINS]))
def test_what_no_dialect_alone_finds_is_not_found(text: str) -> None:
    alone = any(re.search(expression, text) for _, expression in BEGINS)
    assert (dialect_begun(text) >= 0) == alone


@pytest.mark.parametrize("begins", BEGINS, ids=[literal for literal, _ in BEGINS])
def test_an_expression_is_anchored_in_each_of_its_parts_or_in_none(
    begins: tuple[str, str],
) -> None:
    """One that begins with ``^`` is asked at the line's start alone."""
    parts = re.sub(r"\(.*\)|\\.", "", begins[1]).split("|")
    assert len({part.startswith("^") for part in parts}) == 1


def test_a_long_line_is_not_remembered() -> None:
    line = "x" * 300 + " nvbandwidth Version: v0.8"
    assert dialect_begun(line) == dialect_begun(line[-30:]) >= 0
    assert not begins_at_start(line)
