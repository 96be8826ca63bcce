"""The page on references has them all, and nothing that is not there."""

import re
from pathlib import Path

from fabricgauge.logs.references.interface import PLAIN, RULED, names, reference

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference/references.md").read_text(encoding="utf-8")
FORMAT = (DOCS / "development/references-format.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def _section(title: str) -> list[tuple[str, str]]:
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return _ROW.findall(text)


def test_page_fails_when_a_reference_is_missing_or_gone() -> None:
    assert tuple(name for name, _ in _section("Names")) == names()


def test_page_fails_when_title_or_network_is_another() -> None:
    for name, rest in _section("Names"):
        one = reference(name)
        assert rest.startswith(one.title)
        assert rest.endswith(f"`{one.network}`" if one.network else "| ")


def test_page_fails_when_an_invalid_claim_is_not_shown() -> None:
    for name in names():
        audit = reference(name).audit
        if audit.startswith("INVALID: "):
            assert f"| `{name}` | `INVALID` | {audit.removeprefix('INVALID: ')} |" in PAGE


def test_page_fails_when_a_unit_is_missing() -> None:
    shown = {name for name, _ in _ROW.findall(FORMAT)}
    assert {*PLAIN, *RULED} <= shown
