import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.parse.beginnings import dialect_begun
from fabricgauge.parse.dialects import DIALECTS
from fabricgauge.parse.expressions import alternatives, required, starts


@pytest.mark.parametrize(("expression", "parts"), [
    ("a|b", ["a", "b"]), (r"a(b|c)d|e", ["a(b|c)d", "e"]), (r"[|]|\|", ["[|]", r"\|"]),
    (r"[)(]|((a)|b)", ["[)(]", "((a)|b)"]), ("", [""]), (r"a{1,2}|[^]|]", ["a{1,2}", "[^]|]"]),
])  # fmt: skip
def test_bars_in_groups_and_sets_part_nothing(expression: str, parts: list[str]) -> None:
    assert list(alternatives(expression)) == parts


@pytest.mark.parametrize(("expression", "literal"), [
    ("abc", "abc"), (r"a(?:bcd|e)fg", "fg"), (r"abc?", "ab"), (r"abc+d", "abc"), (r"abc*", "ab"),
    (r"ab{0,2}cde", "cde"), (r"a\.b\sc", "a.b"), (r"(?<![\w-])(?:x|y)_perf(?![a-z])", "_perf"),
    (r"(?i)abc", ""), (r"[abc]", ""), (r"^a$", "a"), (r"ab.cd.efg", "efg"),
])  # fmt: skip
def test_what_each_match_contains(expression: str, literal: str) -> None:
    assert required(expression) == literal


@given(st.sampled_from([
    part for dialect in DIALECTS for part in alternatives(dialect.begins)
]), st.data())  # fmt: skip
def test_a_match_of_any_dialects_expression_contains_what_is_required(
    part: str, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(part)))
    assert required(part) in text


@given(st.sampled_from(range(len(DIALECTS))), st.data())
def test_asking_all_at_once_finds_what_one_dialect_alone_finds(
    place: int, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(DIALECTS[place].begins)))
    if "\n" not in text:
        assert dialect_begun(text) >= 0


@given(st.text(max_size=60))
def test_what_no_dialect_alone_finds_is_not_found(text: str) -> None:
    alone = any(re.search(dialect.begins, text) for dialect in DIALECTS)
    assert (dialect_begun(text) >= 0) == alone


@pytest.mark.parametrize(("expression", "first"), [
    ("^abc", "a"), (r"^\s*#x", "#"), (r"^ {0,7}\d{1,10} ", "0123456789"), (r"^\[ *x", "["),
    ("^(?:ab|cd)e", "ac"), ("^(?:ab|cd)?e", "ace"), ("^(?:ab|cd)?", ""), ("^(?:ab|cd)*e", ""),
    (r"^(?:ab|\w)e", ""), ("^a?b", ""), ("^a*b", ""),
    ("^a{0,3}b", ""), ("^a+b", "a"), (r"^\S+", ""), ("^[ab]", ""), ("^.a", ""), ("^", ""),
    (r"^ \(a", ""), (r"^\s*(?:\s*Sent|RDMA)", "SR"), ("^(a)", ""), (r"^\d*x", ""),
])  # fmt: skip
def test_what_a_match_starts_with(expression: str, first: str) -> None:
    assert starts(expression) == first


@given(st.sampled_from([
    part for dialect in DIALECTS for part in alternatives(dialect.begins) if part.startswith("^")
]), st.data())  # fmt: skip
def test_a_match_of_any_dialects_expression_starts_as_is_said(
    part: str, data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(re.compile(part)))
    known = starts(part)
    assert not known or text.lstrip()[:1] in known or "\n" in text or text.lstrip()[:1].isdecimal()
