"""Find and read the pages that name rules, checks, thresholds and words."""

from pathlib import Path

from fabricgauge.features.explain.entries import Entry, read_entries
from fabricgauge.model.errors import CannotRun

#: The pages in an installed package, and in a checkout.
INSTALLED = Path(__file__).resolve().parents[2] / "_manual"
CHECKOUT = Path(__file__).resolve().parents[4] / "docs" / "reference"

#: Pages, in the order in which a name is looked up.
PAGES = ("rules", "checks", "configuration", "glossary")


def all_entries() -> tuple[Entry, ...]:
    """Return the entries of all pages.

    Raises:
        CannotRun: the package lacks its pages.
    """
    for folder in (INSTALLED, CHECKOUT):
        files = {page: folder / f"{page}.md" for page in PAGES}
        if all(file.is_file() for file in files.values()):
            texts = {page: file.read_text("utf-8") for page, file in files.items()}
            return tuple(read_entries(texts))
    raise CannotRun(f"the pages are in neither {INSTALLED} nor {CHECKOUT}; install it again")
