"""Tables of the reference that list what the program has: each row is there, and no other."""

import re

from tests.docs.pages import PAGES, ROOT, name, without_code

from fabricgauge.cli import import_
from fabricgauge.logs.readers.dialects import DIALECTS, JSON_DIALECTS
from fabricgauge.report.formats import FORMATS

SUITES = {one.suite for one in DIALECTS} | {one.suite for one in JSON_DIALECTS}


def rows(page: str, heading: str) -> list[str]:
    """The first cells of the table under a heading, as printed."""
    text = (ROOT / "docs/reference" / page).read_text(encoding="utf-8")
    below = text.partition(f"\n{heading}")[2].partition("\n|---")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([^|]+) \|", below, re.MULTILINE)


def test_every_format_of_reports_has_its_row_with_the_suffix_of_its_file() -> None:
    listed = rows("report.md", "| format | file |")
    assert sorted(listed) == sorted(f"`{one}`" for one in FORMATS)
    text = (ROOT / "docs/reference/report.md").read_text(encoding="utf-8")
    assert all(f"| `{one.name}` | `{one.suffix}` |" in text for one in FORMATS.values())


def test_every_suite_that_is_read_has_its_row() -> None:
    listed = {re.findall(r"`([^`]+)`", cell)[0] for cell in rows("import.md", "| suite | versions")}
    assert listed == SUITES


def test_every_suite_is_named_in_the_help_of_import() -> None:
    help_text = str(import_.import_.help).lower()
    assert {one for one in SUITES if one.rstrip("23") not in help_text} == set()


def test_a_row_stands_in_a_table() -> None:
    """A blank line in a table ends it; the rows below it are shown as they are written."""
    for page in PAGES:
        text = without_code(page.read_text(encoding="utf-8"))
        heads = re.findall(r"(?:^|\n)\n(\|[^\n]*)\n(?!\|[-:| ]+\|)", text)
        assert heads == [], name(page)
