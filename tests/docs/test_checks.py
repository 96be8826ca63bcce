"""The page of checks says what the table of checks says."""

import re

from tests.docs.pages import ROOT

from fabricgauge.doctor.checks import CHECKS, load_checks

PAGE = (ROOT / "docs/reference/checks.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_every_check_has_its_section_in_the_order_of_the_table() -> None:
    assert list(SECTIONS) == list(CHECKS)


def test_every_section_begins_with_title_and_reason_and_says_what_it_finds() -> None:
    for check in load_checks():
        text = SECTIONS[check.id]
        assert text.startswith(f"{check.title}.\n\n**Why it matters.** {check.why}\n"), check.id
        assert "\n**Findings.** " in text, check.id
        assert "\n**Looks at.** " in text, check.id
        assert any(word in text for word in ("FAIL", "WARN", "NOTE")), check.id
