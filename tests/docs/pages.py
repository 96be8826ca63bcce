"""The pages of the documentation, and what the tests read out of Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")), key=lambda page: str(page))
)

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->\s*\Z", re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


class Fence(NamedTuple):
    """A fenced block: its line, language and text, and the comment just before it."""

    line: int
    language: str
    text: str
    comment: str


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def fences(text: str) -> Iterator[Fence]:
    end = 0
    for found in _FENCE.finditer(text):
        comment = _COMMENT.search(text[end : found.start()])
        line = text.count("\n", 0, found.start()) + 1
        yield Fence(line, found[1], found[2], comment[1] if comment else "")
        end = found.end()


def without_code(text: str) -> str:
    return _SPAN.sub("code", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    return _LINK.findall(without_code(text))


def anchors(text: str) -> set[str]:
    """Heading anchors as GitHub makes them: lower case, signs dropped, blanks to hyphens."""
    headings = _HEADING.findall(_FENCE.sub("", text))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}
