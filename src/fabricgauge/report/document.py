"""Define the parts of a report, whatever its subject: frozen values that know no format.

A content module builds a ``Report``; each module of ``render`` writes any document in one format.
Texts are raw: renderers escape them, and no text is markup.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Flag, auto
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from fabricgauge.report.picture import Drawable
else:
    Drawable = Any  # a stored document is decoded by its annotations, and holds no picture

#: Meaning of a word or a row; each renderer has its own colours.
Tone = Literal["", "pass", "warn", "fail", "invalid", "inconclusive", "skipped"]


class Medium(Flag):
    """Name where a reader sees a document; each part lists the media it is meant for."""

    #: A terminal: few columns, and the first screen counts.
    SCREEN = auto()
    #: An issue tracker: tables, no plots.
    TRACKER = auto()
    #: A file for a browser: room for everything.
    PAGE = auto()
    #: That file on paper: the sections that answer; a page's details stay on the screen.
    PAPER = auto()


SCREEN, TRACKER, PAGE, PAPER = Medium.SCREEN, Medium.TRACKER, Medium.PAGE, Medium.PAPER
TEXT = SCREEN | TRACKER
ALL = TEXT | PAGE | PAPER


class RowLimit(msgspec.Struct, frozen=True):
    """Limit the rows of each medium; ``words`` is the sentence on the rest, with ``{count}``."""

    words: str
    most: Mapping[Medium, int]


class Cell(msgspec.Struct, frozen=True):
    """Hold text with a meaning: ``tone`` makes it a badge, ``link`` is a section's ``ident``.

    ``hint`` appears when a reader points at it.
    """

    text: str
    strong: bool = False
    tone: Tone = ""
    link: str = ""
    hint: str = ""


Inline = str | Cell


class ColumnHead(msgspec.Struct, frozen=True):
    """Hold the head of a column, in lines; ``right`` aligns figures.

    A cell of a ``whole`` column is never broken into lines, one of a ``loose`` one at any letter.
    """

    head: str
    right: bool = False
    whole: bool = False
    loose: bool = False
    on: Medium = ALL


def heads(*texts: str, on: Medium = ALL) -> tuple[ColumnHead, ...]:
    """Return a head for each text: a leading ``>`` means right, ``=`` whole, ``~`` loose."""
    signs = ((text.lstrip(">=~"), text[:1]) for text in texts)
    return tuple(
        ColumnHead(text, sign == ">", sign == "=", sign == "~", on) for text, sign in signs
    )


def figure_heads(*texts: str) -> tuple[ColumnHead, ...]:
    """Return right-aligned heads, whatever their texts begin with."""
    return tuple(ColumnHead(text, right=True) for text in texts)


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    """Hold one or more sentences."""

    text: str
    kind: Literal["plain", "strong", "soft", "caution", "remedy"] = "plain"
    on: Medium = ALL


class Items(msgspec.Struct, frozen=True, tag=True):
    """Hold a list; an item is one text, or parts that follow each other without a gap."""

    items: tuple[Inline | tuple[Inline, ...], ...]
    ordered: bool = False
    limit: RowLimit | None = None
    on: Medium = ALL


class FactList(msgspec.Struct, frozen=True, tag=True):
    """Hold labels, each with a text."""

    rows: tuple[tuple[str, str], ...]
    on: Medium = ALL


class Table(msgspec.Struct, frozen=True, tag=True):
    """Hold rows of as many cells as there are columns.

    ``total`` draws a line above the last row, ``marked`` are the places of rows that stand out,
    ``tight`` is for many narrow columns. A reader can narrow a ``filtered`` table on a page, by the
    first column and by words. ``more`` counts rows beyond its limit that were not made.
    """

    columns: tuple[ColumnHead, ...]
    rows: tuple[tuple[Inline, ...], ...]
    total: bool = False
    marked: frozenset[int] = frozenset()
    tight: bool = False
    filtered: bool = False
    limit: RowLimit | None = None
    on: Medium = ALL
    more: int = 0


class Lines(msgspec.Struct, frozen=True, tag=True):
    """Hold text to be copied: commands, columns already aligned. No line is ever broken."""

    lines: tuple[str, ...]
    on: Medium = ALL


class Plot(msgspec.Struct, frozen=True, tag=True):
    """Hold a picture; ``note`` explains it. Only pages can show one."""

    picture: "Drawable"
    note: str = ""
    on: Medium = PAGE


class Plots(msgspec.Struct, frozen=True, tag=True):
    """Hold pictures side by side; ``beside`` stands to the right of a large one."""

    plots: tuple[Plot, ...]
    beside: tuple["Block", ...] = ()
    on: Medium = PAGE


class ShareBar(msgspec.Struct, frozen=True, tag=True):
    """Hold shares of a whole: text and share of each part, and whether the part is right.

    The colours of ``alike`` parts only separate them. The rest to 1 stays empty.
    """

    label: str
    parts: tuple[tuple[str, float, bool], ...]
    alike: bool = False
    on: Medium = PAGE


class Fold(msgspec.Struct, frozen=True, tag=True):
    """Hold blocks under a title that opens them; text formats show all of them."""

    title: str
    note: str
    blocks: tuple["Block", ...]
    open: bool = False
    on: Medium = ALL


class Deferred(msgspec.Struct, frozen=True, tag=True):
    """Hold blocks that are built only when shown: pictures take time."""

    make: Callable[[], Iterable["Block"]]
    on: Medium = PAGE


class Entry(msgspec.Struct, frozen=True):
    """Hold a label with its blocks, as part of a finding."""

    label: str
    blocks: tuple["Block", ...]


class Judgement(msgspec.Struct, frozen=True, tag=True):
    """Hold a finding or a verdict: ``WORD mark: subject: summary``, and its reasons.

    ``mark`` is the check or rule that decided it.
    """

    word: str
    tone: Tone
    mark: str
    subject: str
    summary: str
    entries: tuple[Entry, ...] = ()
    open: bool = True
    ident: str = ""
    on: Medium = ALL


class Heading(msgspec.Struct, frozen=True, tag=True):
    """Hold a title within a section."""

    text: str
    level: Literal[1, 2] = 1
    on: Medium = ALL


Block = (
    Paragraph | Items | FactList | Table | Lines | Plot | Plots | ShareBar | Fold | Judgement
    | Heading | Deferred
)  # fmt: skip


class Section(msgspec.Struct, frozen=True):
    """Hold a part of a document; ``nav`` is its short name in a list, ``urgent`` draws the eye to
    it.

    ``intro`` introduces the blocks; without a block to show, the section is left out.
    """

    ident: str
    title: str
    blocks: tuple[Block, ...]
    nav: str = ""
    intro: str = ""
    urgent: bool = False
    on: Medium = ALL


class KeyFigure(msgspec.Struct, frozen=True):
    """Hold a figure for the head of a page: number, unit, and its meaning.

    ``valid`` is false if a rule found that the figure means something else.
    """

    value: str
    unit: str
    what: str
    valid: bool = True


class Report(msgspec.Struct, frozen=True):
    """Answer first if it is good: ``word`` and ``headline``. The sections follow: what, where, what
    to do.

    ``title`` is the window's, ``about`` names the subject. ``provisos`` stand above everything,
    such as figures that are not those of a real fabric.
    """

    word: str
    tone: Tone
    headline: str
    title: str
    about: str
    sections: tuple[Section, ...]
    under: tuple[Paragraph, ...] = ()
    provisos: tuple[str, ...] = ()
    figures: tuple[KeyFigure, ...] = ()
    closing: str = ""
    #: The last lines of a page of text: the places of further reports.
    places: tuple[Block, ...] = ()


def limit_blocks(
    blocks: Sequence[Block], limit: int, words: str, on: Medium = ALL, more: int = 0
) -> tuple[Block, ...]:
    """Return the first blocks up to the limit, and a sentence on the rest.

    ``words`` has ``{count}`` for their number. ``more`` counts blocks that were not made.
    """
    visible, remark = _cut(tuple(blocks), RowLimit(words, {ALL: limit}), ALL, more)
    return (*visible, *(replace(block, on=on) for block in remark))


def side_by_side(pictures: "Iterable[Drawable | None]") -> Plots:
    """Return the pictures side by side, without those that are None."""
    return Plots(tuple(Plot(picture) for picture in pictures if picture is not None))


_Part = TypeVar("_Part", bound="Section | Block")
_Row = TypeVar("_Row")


def plain_text(content: Inline) -> str:
    return content if isinstance(content, str) else content.text


def item_parts(item: Inline | tuple[Inline, ...]) -> tuple[Inline, ...]:
    return item if isinstance(item, tuple) else (item,)


def cut_to_medium(document: Report, medium: Medium) -> Report:
    sections = (
        replace(section, blocks=(Paragraph(section.intro), *blocks) if section.intro else blocks)
        for section in _select(document.sections, medium)
        if (blocks := _show_blocks(section.blocks, medium))
    )
    return replace(
        document, sections=tuple(sections), under=tuple(_select(document.under, medium)),
        places=_show_blocks(document.places, medium),
    )  # fmt: skip


def _select(parts: Iterable[_Part], medium: Medium) -> Iterator[_Part]:
    return (part for part in parts if medium in part.on)


def _show_blocks(blocks: Iterable[Block], medium: Medium) -> tuple[Block, ...]:
    return tuple(part for block in _select(blocks, medium) for part in _show_block(block, medium))


#: The field without which a block shows nothing.
_HOLDS = {Table: "rows", Items: "items", FactList: "rows", Lines: "lines", Plots: "plots"}


def _show_block(block: Block, medium: Medium) -> Iterator[Block]:
    """Yield the block as the medium shows it, and a sentence on the cut rows; drop empty blocks."""
    if not getattr(block, _HOLDS.get(type(block), "on")):
        return
    if isinstance(block, Deferred):
        yield from _show_blocks(block.make(), medium)
    elif isinstance(block, Fold):
        yield replace(block, blocks=_show_blocks(block.blocks, medium))
    elif isinstance(block, Plots):
        yield replace(block, beside=_show_blocks(block.beside, medium))
    elif isinstance(block, Judgement):
        shown = ((entry.label, _show_blocks(entry.blocks, medium)) for entry in block.entries)
        yield replace(block, entries=tuple(Entry(*entry) for entry in shown if entry[1]))
    elif isinstance(block, Table):
        visible = [medium in column.on for column in block.columns]
        rows, remark = _cut(block.rows, block.limit, medium, block.more)
        cells = tuple(tuple(compress(row, visible)) for row in rows)
        columns = tuple(compress(block.columns, visible))
        yield replace(block, columns=columns, rows=cells, more=0)
        yield from remark
    elif isinstance(block, Items):
        items, remark = _cut(block.items, block.limit, medium)
        yield replace(block, items=items)
        yield from remark
    else:
        yield block


def _cut(
    rows: tuple[_Row, ...], limit: RowLimit | None, medium: Medium, more: int = 0
) -> tuple[tuple[_Row, ...], list[Paragraph]]:
    limits = limit.most.items() if limit else ()
    most_rows = next((rows_limit for media, rows_limit in limits if medium in media), len(rows))
    if limit is None or len(rows) + more <= most_rows:
        return rows, []
    words = limit.words.replace("{count}", f"{len(rows) + more - most_rows:,}")
    return rows[:most_rows], [Paragraph(words, kind="caution")]
