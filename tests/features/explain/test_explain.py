"""Every rule, check, threshold and word is explained, in the words of its page."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.typed import typed

from fabricgauge.doctor.checks import CHECKS
from fabricgauge.features.explain.verb import (
    Explanation,
    all_entries,
    document,
    find_entries,
    read_entries,
)
from fabricgauge.judge.rules import RULES
from fabricgauge.judge.thresholds import BUILT_IN
from fabricgauge.model.errors import UsageError
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.interface import Setting
from fabricgauge.report.render import terminal

PAGES = Path(__file__).parents[3] / "docs" / "reference"
ENTRIES = all_entries()


def names(kind: str) -> set[str]:
    return {entry.name for entry in ENTRIES if entry.kind == kind}


def test_every_rule_check_and_threshold_has_its_entry() -> None:
    assert set(RULES) <= names("rule")
    assert names("check") == set(CHECKS)
    assert names("threshold") == set(BUILT_IN)
    assert {outcome.value for outcome in Outcome} <= names("word")


def test_every_row_of_the_glossary_is_found_by_each_of_its_names() -> None:
    rows = re.findall(r"^\| (?!word|---)(.+?) \|", (PAGES / "glossary.md").read_text(), re.M)
    assert len(rows) > 50
    for row in rows:
        for name in row.replace("`", "").split(", "):
            assert find_entries(ENTRIES, name.upper()), name


@pytest.mark.parametrize("name", ["fraction", "mtu", "fraction.pass", "half round trip", "WARN"])
def test_the_text_is_the_pages(name: str) -> None:
    (entry, *_) = find_entries(ENTRIES, name)
    pages = " ".join(" ".join(page.read_text().split()) for page in PAGES.glob("*.md"))
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", pages)
    beginning = " ".join(entry.text.split())[:60]
    assert beginning in words or entry.kind == "threshold"
    shown = typed("explain", *name.split())
    assert shown.status == 0
    assert entry.name in shown.output


@pytest.mark.parametrize(("name", "offered"), [("fractoin", "fraction"), ("pingpong", "ping-pong")])
def test_an_unknown_name_is_answered_with_similar_ones(name: str, offered: str) -> None:
    answer = typed("explain", name)
    assert answer.status == 2
    assert repr(offered) in answer.message


def test_without_a_name_all_are_listed() -> None:
    answer = typed("explain")
    assert answer.status == 0
    for name in ("fraction", "mtu", "half round trip", "fraction.pass"):
        assert name in answer.output


def test_no_markup_of_the_pages_is_left() -> None:
    shown = terminal.render(document(Explanation(ENTRIES), Setting()), Setting())
    assert len(shown) > 10_000
    assert "](" not in shown and "**" not in shown


def test_json_has_every_entry() -> None:
    document = json.loads(typed("explain", "--format", "json").output)
    assert len(document["entries"]) == len(ENTRIES)


@given(st.text())
def test_any_name_is_found_or_refused(name: str) -> None:
    try:
        assert find_entries(ENTRIES, name)
    except UsageError as error:
        assert "fabricgauge explain" in str(error)


@given(st.text(alphabet="#|[]()`*-\n ab", max_size=200))
def test_any_page_can_be_read(text: str) -> None:
    pages = dict.fromkeys(("rules", "checks", "configuration", "glossary"), text)
    for entry in read_entries(pages):
        assert entry.name
