import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fabricgauge.report.render.markdown import code, inert
from fabricgauge.report.visible import visible

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "<script>alert(1)</script>", "<!-- hidden", "&lt;b&gt;", "[text](http://evil.example)",
    "![x](y)", "http://evil.example", "www.evil.example", "someone@evil.example", "@everyone",
    "#12", "GH-12", "owner/repo#1", "deadbeef", "a | b", "a\\", "a\\|b", "`", "``` x", "*x*",
    "_x_", "~~x~~", "c2\x1b[2J\n# PASS", "# head", "- item", "1. item", "> quote", "---", "===",
    "\u202epass", ":tada:", "%12", "![", "<", "\\`", "[x]: http://evil.example",
]  # fmt: skip


def inline(page: str) -> list[Token]:
    found = [token for token in MARKDOWN.parse(page) if token.type == "inline"]
    return [child for token in found for child in token.children or []]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_becomes_nothing_but_text_and_code(text: str) -> None:
    assert {one.type for one in inline(f"| a |\n| --- |\n| {inert(text)} |")} <= {
        "text",
        "code_inline",
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_tracker_would_link_stands_in_a_code_span(text: str) -> None:
    prose = "".join(one.content for one in inline(f"- {inert(text)}") if one.type == "text")
    assert not any(sign in prose for sign in ("@", "#", "://", "www.", "GH-", "<", "&", "deadbeef"))


def test_plain_prose_stays_as_it_is() -> None:
    prose = "c1 → c2: 117.2 MB/s at 1 MiB, 99.6 % of the ceiling (built-in)"
    assert inert(prose) == prose


def test_names_with_signs_become_code() -> None:
    assert inert("set net.ipv4.tcp_rmem on c1") == "set `net.ipv4.tcp_rmem` on c1"


@given(st.text())
def test_any_text_is_one_cell_of_text_and_code(text: str) -> None:
    tokens = MARKDOWN.parse(f"| a | b |\n| --- | --- |\n| {inert(text)} | end |")
    cells = [one for one in tokens if one.type == "inline"]
    assert [one.content for one in cells][-1] == "end"
    assert len(cells) == 4
    kinds = {child.type for one in cells for child in one.children or []}
    assert kinds <= {"text", "code_inline"}


@given(st.text(alphabet=st.sampled_from("ab1-.`|\\*_[]()<>!#@:/w\n \t&~=+'\"")))
def test_any_text_is_one_paragraph_of_a_list(text: str) -> None:
    kinds = [one.type for one in MARKDOWN.parse(f"- x {inert(text)}")]
    assert kinds == [
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close",
        "list_item_close", "bullet_list_close",
    ]  # fmt: skip


@given(st.text(min_size=1))
def test_code_shows_all_of_the_text(text: str) -> None:
    shown = [one.content for one in inline(f"x {code(text)}") if one.type == "code_inline"]
    expected = visible(text).replace("`", "\\x60").replace("|", "\\x7c")
    # A code span drops one space at either end if there are two.
    assert not expected.strip() or [one.strip() for one in shown] == [expected.strip()]
