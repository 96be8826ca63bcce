"""Every link within the documentation leads somewhere."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, anchors, links, name


def broken(page: Path, text: str) -> list[str]:
    """Links of ``page`` that lead to no file, out of the tree, or to no heading."""
    found = []
    for link in links(text):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        inside = target.is_relative_to(ROOT) and target.exists()
        if not inside or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_and_anchor_resolves(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_link_is_broken_when_file_or_anchor_is_missing() -> None:
    page = ROOT / "docs" / "index.md"
    text = (
        "[a](none.md) [b](reference/lab.md#none) [c](reference/lab.md#state) [d](https://x.org/#y)"
        "\n[e](../../outside.md) `[f](none.md)`\n```text\n[g](none.md)\n```\n"
    )
    assert broken(page, text) == ["none.md", "reference/lab.md#none", "../../outside.md"]


def test_the_map_leads_to_every_page() -> None:
    maps = [ROOT / "docs" / "index.md", ROOT / "docs" / "development" / "index.md"]
    listed = {
        (index.parent / link.partition("#")[0]).resolve()
        for index in maps
        for link in links(index.read_text())
    }
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert pages - listed - set(maps) == set()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_of_the_tree_that_are_named_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:src|docs|engine|tests|scripts|benchmarks)/[\w./-]+)`", page.read_text("utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


#: What the guide for contributors calls by its path, up to the part that a contributor chooses.
PATHS = re.compile(r"`([a-z_]+/[a-z_/.-]*)")


def test_every_path_that_a_contributor_is_sent_to_is_there() -> None:
    named = set(PATHS.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert len(named) > 5
    roots = (ROOT, ROOT / "src" / "fabricgauge")
    missing = {path for path in named if not any((root / path).exists() for root in roots)}
    assert missing == set()
