"""Every rule has its page, and every threshold is explained on one."""

import re
from pathlib import Path

import pytest

from fabricgauge.judge.rules import DECIDING, RULES, load_rule
from fabricgauge.judge.thresholds import BUILT_IN

PAGES = Path(__file__).parents[2] / "docs" / "development" / "rules"
PARTS = (
    "What it asks", "Figure", "Threshold and its origin", "Outcomes", "Evidence", "Likely causes",
    "Remedy", "How it was tested",
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rule_has_a_page_with_every_part(rule: str) -> None:
    text = (PAGES / f"{rule}.md").read_text(encoding="utf-8")
    assert rule == load_rule(rule).ID
    assert re.match(rf"# {rule}\n\n[A-Z].*\.\n", text)
    assert [part for part in PARTS if f"**{part}.**" not in text] == []


def test_every_threshold_is_explained_on_the_page_of_its_rule() -> None:
    for name in BUILT_IN:
        page = PAGES / f"{name.partition('.')[0]}.md"
        assert f"`{name}`" in page.read_text(encoding="utf-8"), name


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(RULES)


def test_rule_ids_are_unique_and_the_deciding_ones_exist() -> None:
    assert len(set(RULES)) == len(RULES)
    assert set(DECIDING) <= set(RULES)
