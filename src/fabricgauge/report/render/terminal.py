"""Write a document as a page of text for a terminal of a given width."""

import io
import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from fabricgauge.report import document as doc
from fabricgauge.report.interface import Setting
from fabricgauge.report.visible import visible

STYLES: dict[doc.Tone, str] = {
    "": "",
    "invalid": "bold white on magenta",
    "fail": "bold white on red",
    "inconclusive": "bold black on cyan",
    "warn": "bold black on yellow",
    "pass": "green",
    "skipped": "dim",
}
_KINDS = {"strong": "bold", "soft": "dim"}
#: No line is broken between a figure and its unit or bound: ``_HELD`` replaces the blank until all
#: lines are broken.
_UNIT = re.compile(r"(?<=\d) (?=%|[numµ]?s\b|[kMGT]?i?B\b|[kMGT]?b/s)|(?<=[<>±]) (?=\d)")
_HELD = "\ue000"
#: Columns of indentation per level below a title.
STEP = 2


def render(document: doc.Report, setting: Setting) -> str:
    """Return plain text unless the setting asks for colour; no line ends in blanks."""
    page = io.StringIO()
    console = Console(
        file=page, width=max(40, setting.width), force_terminal=setting.colour,
        no_color=not setting.colour, color_system="standard" if setting.colour else None,
        markup=False, highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    screen = doc.cut_to_medium(document, doc.SCREEN)
    for part in _parts(_add_page(screen, document) if setting.whole_page else screen):
        console.print(part, crop=False, soft_wrap=isinstance(part, _UnbrokenLine))
    text = page.getvalue().replace(_HELD, " ")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _add_page(screen: doc.Report, document: doc.Report) -> doc.Report:
    """Return the page's sections without pictures, under the headline of the screen."""
    sections = (
        replace(section, blocks=tuple(_without_pictures(section.blocks)))
        for section in doc.cut_to_medium(document, doc.PAGE).sections
    )
    return replace(screen, sections=tuple(section for section in sections if section.blocks))


def _without_pictures(blocks: Iterable[doc.Block]) -> Iterator[doc.Block]:
    for block in blocks:
        if isinstance(block, doc.Plots):
            yield from _without_pictures(block.beside)
        elif isinstance(block, doc.Fold):
            yield replace(block, blocks=tuple(_without_pictures(block.blocks)))
        elif not isinstance(block, doc.ShareBar):
            yield block


class _UnbrokenLine(Text):
    """Hold a line that is never broken: it can be copied from the terminal."""


def _parts(document: doc.Report) -> Iterator[RenderableType]:
    word = _plain(f" {document.word} ", STYLES[document.tone])
    yield Text.assemble(word, " ", _plain(document.headline, "bold"))
    for proviso in document.provisos:
        yield _plain(proviso, "bold")
    for paragraph in document.under:
        yield from _block(paragraph, 0)
    for section in document.sections:
        yield Text()
        if section.title:
            yield _plain(section.title, "bold")
        wide = any(isinstance(block, doc.Table | doc.Judgement) for block in section.blocks)
        yield from _blocks(section.blocks, 0 if wide or not section.title else STEP)
    if document.places:
        yield Text()
        yield from _blocks(document.places, 0)


def _blocks(blocks: Iterable[doc.Block], indent: int) -> Iterator[RenderableType]:
    for place, block in enumerate(blocks):
        if isinstance(block, doc.Judgement | doc.Heading | doc.Fold) and place:
            yield Text()
        yield from _block(block, indent)


def _block(block: doc.Block, indent: int) -> Iterator[RenderableType]:
    if isinstance(block, doc.Paragraph):
        yield _indented(_plain(block.text, _KINDS.get(block.kind, "")), indent)
    elif isinstance(block, doc.Items):
        for number, item in enumerate(block.items, 1):
            text = "".join(map(doc.plain_text, doc.item_parts(item)))
            yield _indented(_plain(f"{number}. {text}" if block.ordered else text), indent)
    elif isinstance(block, doc.FactList):
        for label, text in block.rows:
            yield _indented(_plain(f"{label}: {text}"), indent)
    elif isinstance(block, doc.Lines):
        for line in block.lines:
            yield _UnbrokenLine(f"{'': <{indent}}{visible(line)}")
    elif isinstance(block, doc.Table):
        yield _indented(_grid(block), indent)
    elif isinstance(block, doc.Heading):
        yield _indented(_plain(block.text, "bold"), indent)
    elif isinstance(block, doc.Fold):
        note = f": {block.note}" if block.note else ""
        yield _indented(Text.assemble(_plain(block.title, "bold"), _plain(note)), indent)
        yield from _blocks(block.blocks, indent + STEP)
    elif isinstance(block, doc.Judgement):
        yield from _judgement(block, indent)


def _judgement(finding: doc.Judgement, indent: int) -> Iterator[RenderableType]:
    text = ": ".join(part for part in (finding.mark, finding.subject, finding.summary) if part)
    word = _plain(finding.word, STYLES[finding.tone])
    yield _indented(Text.assemble(word, " ", _plain(text)), indent)
    for entry in finding.entries:
        inner = indent + STEP
        only = entry.blocks[0]
        if len(entry.blocks) == 1 and isinstance(only, doc.Paragraph):
            yield _indented(_plain(f"{entry.label}: {only.text}"), inner)
        else:
            yield _indented(_plain(entry.label), inner)
            yield from _blocks(entry.blocks, inner + STEP)


def _grid(table: doc.Table) -> Grid:
    gap = 1 if table.tight else 2
    heads = any(column.head for column in table.columns)
    grid = Grid(
        box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_header=heads
    )
    for column in table.columns:
        head = Text("\n").join(map(_plain, column.head.split("\n")))
        grid.add_column(
            head, justify="right" if column.right else "left", overflow="fold",
            no_wrap=column.whole,
        )  # fmt: skip
    for row in table.rows:
        grid.add_row(*map(_cell, row))
    return grid


def _cell(content: doc.Inline) -> Text:
    if isinstance(content, str):
        return _plain(content)
    return _plain(content.text, STYLES[content.tone] or "bold" * content.strong)


def _plain(words: str, style: str = "") -> Text:
    """Return text that a terminal cannot obey and rich does not read as markup."""
    return Text(_UNIT.sub(_HELD, visible(words)), style=style)


def _indented(part: RenderableType, indent: int) -> RenderableType:
    return Padding(Group(part), (0, 0, 0, indent)) if indent else part
