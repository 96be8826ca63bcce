"""A document as a page of Markdown that reads well in an issue tracker; all text is inert."""

from collections.abc import Iterable, Iterator

from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting
from fabricgauge.report.render.inert import code, inert

#: Words that a reader must not miss.
_ALARMING = ("fail", "invalid")


def render(document: doc.Report, _setting: Setting) -> str:
    """The word as the title, then headline, sections and places."""
    return "\n\n".join(_page(doc.shown_on(document, doc.TRACKER))) + "\n"


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
        lead = f"**{inert(block.lead)}**: " if block.lead else ""
        text = inert(block.text)
        yield lead + (f"**{text}**" if block.kind == "strong" else text)
    elif isinstance(block, doc.Items):
        lines = ("".join(map(_said, doc.parts_of(item))) for item in block.items)
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
        yield from _finding(block)


def _finding(finding: doc.Judgement) -> Iterator[str]:
    said = (inert(one) for one in (finding.mark, finding.subject, finding.summary) if one)
    yield f"**{inert(finding.word)}** {': '.join(said)}"
    for entry in finding.entries:
        only = entry.blocks[0]
        if len(entry.blocks) == 1 and isinstance(only, doc.Paragraph):
            yield f"{inert(entry.label)}: {inert(only.text)}"
        else:
            yield f"{inert(entry.label)}:"
            yield from _blocks(entry.blocks)


def _table(table: doc.Table) -> str:
    heads = [inert(one.head.replace("\n", ": ")) for one in table.columns]
    rules = ["--:" if one.right else "---" for one in table.columns]
    rows = ([_said(cell) for cell in row] for row in table.rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def _said(said: doc.Said) -> str:
    if not isinstance(said, doc.Cell):
        return inert(said)
    text = inert(said.text)
    strong = said.strong or said.tone in _ALARMING
    return f"**{text}**" if strong and text else text
