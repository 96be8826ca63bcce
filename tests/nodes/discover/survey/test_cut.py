"""The answer's sections, however much of it arrived."""

from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.nodes.discover.printouts.parsing import parse_pairs
from fabricgauge.nodes.discover.sections import list_values, split_survey

RAW = """== fabricgauge-probe 1
== hostname
c1
== end
== fabricgauge-survey 1
== limits
Max open files  1 1 files
== memory
MemTotal: 1 kB
== survey end
"""


def test_the_quick_answers_sections_are_not_among_them() -> None:
    found = split_survey(RAW)
    assert list(found.sections) == ["limits", "memory"]
    assert (found.is_complete, found.troubles) == (True, ())


def test_the_section_that_was_cut_off_is_left_out_and_named() -> None:
    found = split_survey(RAW[: RAW.index(" 1 kB")])
    assert list(found.sections) == ["limits"]
    assert not found.is_complete
    assert "cut off in section 'memory'" in found.troubles[0]


def test_standard_error_is_no_part_of_a_section() -> None:
    broken = RAW.replace("== survey end\n", "== late\n== standard error\nssh: closed\n")
    assert split_survey(broken).sections["memory"] == "MemTotal: 1 kB"


def test_the_first_of_two_equal_sections_counts_and_the_second_is_told() -> None:
    twice = RAW.replace("== survey end", "== limits\nforged\n== survey end")
    found = split_survey(twice)
    assert "forged" not in found.sections["limits"]
    assert "comes twice" in found.troubles[0]


def test_an_old_probes_answer_is_the_quick_one_alone() -> None:
    found = split_survey(RAW[: RAW.index("== fabricgauge-survey")])
    assert (found.sections, found.is_complete) == ({}, False)


def test_pairs_leave_out_lines_without_a_separator() -> None:
    assert parse_pairs("a: 1\nnonsense\na: 2\nb: x: y") == {"a": "1", "b": "x: y"}
    assert list_values("net: a\nnet: b\nnet: a\nnets: c", "net") == ("a", "b")


@given(st.integers(0, len(RAW)), st.text(max_size=30))
def test_no_answer_is_a_crash(length: int, rest: str) -> None:
    found = split_survey(RAW[:length] + rest)
    assert found.is_complete or found.troubles
