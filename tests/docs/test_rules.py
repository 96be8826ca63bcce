"""The page of rules has each rule in the order of a report, in few words, with its proof."""

import re

from tests.docs.pages import ROOT

from fabricgauge.judge.rules import RULES

_HEAD, *SECTIONS = re.split(
    r"^## ", (ROOT / "docs/reference/rules.md").read_text("utf-8"), flags=re.MULTILINE
)


def test_each_rule_has_a_section_in_the_order_of_a_report() -> None:
    assert [section.split()[0] for section in SECTIONS] == list(RULES)


def test_a_section_is_short_and_leads_to_its_proof() -> None:
    for section in SECTIONS:
        rule = section.split()[0]
        assert len(section.split()) <= 120, rule
        assert f"(../development/rules/{rule}.md)" in section


def test_the_users_tree_is_small() -> None:
    pages = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not page.is_relative_to(ROOT / "docs/development")
    ]
    assert len(pages) <= 45
