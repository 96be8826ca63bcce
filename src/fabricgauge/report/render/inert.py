"""Text from outside made inert for Markdown: it can become no markup, HTML, link or mention.

GitHub's dialect links bare addresses and names after ``@`` even where everything is escaped;
only code spans are left alone. So each word that is more than letters, digits and harmless
punctuation is put into a code span, where nothing acts but the backtick, and in tables ``|``.

Source: GitHub Flavored Markdown 0.29, sections 4.10 (tables), 6.3 (code spans), 6.9
(autolinks).
"""

import re

from fabricgauge.report.visible import COMMAND, visible

_HARMLESS = re.compile(r"[(±≥≤×→←↔·–\"']*(?:\w|[%,.;:()/→←↔×±≥≤·–µ'\"=-])*")
#: Addresses, emphasis, and what trackers take for an issue, a milestone or a commit.
_LINK = re.compile(
    r"www\.|:\S|//|_|%\w|\bGH-\d|(?<!\w)(?=\d*[a-f])[\da-f]{7,40}(?!\w)", re.IGNORECASE
)
#: What would begin a list, a rule or a heading at the start of a line.
_BEGINS_BLOCK = re.compile(r"[-+=]+|\d+[.)]")
_SPELLED = {ord("`"): "\\x60", ord("|"): "\\x7c"}


def inert(text: str) -> str:
    """The text in one line, to be put anywhere in a page but at the start of a line."""
    parts = []
    for place, part in enumerate(COMMAND.split(visible(text))):
        words = part.split(" ")
        plain = (_word(one, first=not place and not at) for at, one in enumerate(words))
        parts.append(code(part) if place % 2 else " ".join(plain))
    return "".join(parts)


def code(text: str) -> str:
    """The text as one code span; empty text stays empty."""
    spelled = visible(text).translate(_SPELLED)
    return f"`{spelled}`" if spelled.strip() else ""


def _word(word: str, first: bool) -> str:
    harmless = _HARMLESS.fullmatch(word) and not _LINK.search(word)
    if harmless and not (first and _BEGINS_BLOCK.fullmatch(word)):
        return word
    return code(word)
