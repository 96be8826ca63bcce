"""Write a document as a page of Markdown that reads well in an issue tracker.

Text from outside is inert: it can become no markup, HTML, link or mention. GitHub's dialect links
bare addresses and names after ``@`` even if everything is escaped; only code spans are left alone.
So each word that is more than letters, digits and harmless punctuation is put into a code span,
where nothing acts but the backtick, and in tables ``|``.

Source: GitHub Flavored Markdown 0.29, sections 4.10 (tables), 6.3 (code spans), 6.9 (autolinks).
"""

import re
from collections.abc import Iterable, Iterator

from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting
from fabricgauge.report.visible import COMMAND, visible

_HARMLESS = re.compile(r"[(±≥≤×÷→←↔·–−+\"']*(?:\w|[%,.;:()/→←↔×÷±≥≤·–−µ'\"=+-])*")
#: Addresses, emphasis, and text that trackers take for an issue, a milestone or a commit.
_LINK = re.compile(
    r"www\.|:\S|//|_|%\w|\bGH-\d|(?<!\w)(?=\d*[a-f])[\da-f]{7,40}(?!\w)", re.IGNORECASE
)
#: Text that begins a list, a rule or a heading at the start of a line.
_BEGINS_BLOCK = re.compile(r"[-+=]+|\d+[.)]")
_SPELLED = {ord("`"): "\\x60", ord("|"): "\\x7c"}
#: Words that a reader must not miss.
_ALARMING = ("fail", "invalid")


def render(document: doc.Report, _setting: Setting) -> str:
    """Return the word as the title, then headline, sections and places."""
    return "\n\n".join(_page(doc.cut_to_medium(document, doc.TRACKER))) + "\n"


def _page(document: doc.Report) -> Iterator[str]:
    yield f"# {inert(document.word)}"
    yield f"**{inert(document.headline)}**"
    for proviso in document.provisos:
        yield f"**{inert(proviso)}**"
    yield from _blocks(document.under)
    for section in document.sections:
        if section.title:
            yield f"## {inert(section.title)}"
        yield from _blocks(section.blocks)
    yield from _blocks(document.places)


def _blocks(blocks: Iterable[doc.Block]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _block(block: doc.Block) -> Iterator[str]:
    if isinstance(block, doc.Paragraph):
        text = inert(block.text)
        yield f"**{text}**" if block.kind == "strong" else text
    elif isinstance(block, doc.Items):
        lines = ("".join(map(_inline, doc.item_parts(item))) for item in block.items)
        yield "\n".join(
            f"{f'{number}.' if block.ordered else '-'} {line}"
            for number, line in enumerate(lines, 1)
        )
    elif isinstance(block, doc.FactList):
        yield "\n".join(f"- {inert(label)}: {inert(text)}" for label, text in block.rows)
    elif isinstance(block, doc.Lines):
        yield "\n".join(f"- {code(line)}" for line in block.lines if line.strip())
    elif isinstance(block, doc.Table):
        yield _table(block)
    elif isinstance(block, doc.Heading):
        yield f"{'#' * (block.level + 2)} {inert(block.text)}"
    elif isinstance(block, doc.Fold):
        note = f": {inert(block.note)}" if block.note else ""
        yield f"**{inert(block.title)}**{note}"
        yield from _blocks(block.blocks)
    elif isinstance(block, doc.Judgement):
        yield from _judgement(block)


def _judgement(finding: doc.Judgement) -> Iterator[str]:
    parts = (inert(part) for part in (finding.mark, finding.subject, finding.summary) if part)
    yield f"**{inert(finding.word)}** {': '.join(parts)}"
    for entry in finding.entries:
        only = entry.blocks[0]
        if len(entry.blocks) == 1 and isinstance(only, doc.Paragraph):
            yield f"{inert(entry.label)}: {inert(only.text)}"
        else:
            yield f"{inert(entry.label)}:"
            yield from _blocks(entry.blocks)


def _table(table: doc.Table) -> str:
    heads = [inert(column.head.replace("\n", ": ")) for column in table.columns]
    rules = ["--:" if column.right else "---" for column in table.columns]
    rows = ([_inline(cell) for cell in row] for row in table.rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def _inline(content: doc.Inline) -> str:
    if not isinstance(content, doc.Cell):
        return inert(content)
    text = inert(content.text)
    strong = content.strong or content.tone in _ALARMING
    return f"**{text}**" if strong and text else text


def inert(text: str) -> str:
    """Return the text in one line, safe anywhere in a page but at the start of a line."""
    parts = []
    for place, part in enumerate(COMMAND.split(visible(text))):
        words = part.split(" ")
        plain = (_word(word, first=not place and not index) for index, word in enumerate(words))
        parts.append(code(part) if place % 2 else " ".join(plain))
    return "".join(parts)


def code(text: str) -> str:
    """Return the text as one code span; empty text stays empty."""
    spelled = visible(text).translate(_SPELLED)
    return f"`{spelled}`" if spelled.strip() else ""


def _word(word: str, first: bool) -> str:
    harmless = _HARMLESS.fullmatch(word) and not _LINK.search(word)
    if harmless and not (first and _BEGINS_BLOCK.fullmatch(word)):
        return word
    return code(word)
