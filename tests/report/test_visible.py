import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.report.visible import visible


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert not any(unicodedata.category(character) in hidden for character in visible(text))


@given(st.text())
def test_visible_text_stays_as_it_is_when_shown_again(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("c1", "c1"),
        ("Zürich µs →", "Zürich µs →"),
        ("\x1b[2Jc1", "\\x1b[2Jc1"),
        ("a\nb", "a\\x0ab"),
        ("\u202egnp", "\\u202egnp"),
        ("\udc80", "\\udc80"),
    ],
)
def test_control_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown
