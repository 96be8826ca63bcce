"""What a report consists of, whatever it is about: frozen values that know no format.

A content module builds a ``Report``; each module of ``render`` writes any document in one
format. Texts are as they came: renderers escape them, and no text is markup anywhere.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Flag, auto
from itertools import compress
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from fabricgauge.report.picture import Drawable

#: How a word or a row is meant; each renderer has its own colours for them.
Tone = Literal["", "pass", "warn", "fail", "invalid", "inconclusive", "skipped"]


class Medium(Flag):
    """Where a reader sees a document; each part names those that it is meant for."""

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
    """The most rows of each medium, and the sentence on the rest, which has ``{count}`` in it."""

    words: str
    most: Mapping[Medium, int]


class Cell(msgspec.Struct, frozen=True):
    """Text with a meaning: ``tone`` makes it a badge, ``link`` is the ``ident`` of a section.

    ``hint`` is what pointing at it says.
    """

    text: str
    strong: bool = False
    tone: Tone = ""
    link: str = ""
    hint: str = ""


Said = str | Cell


class ColumnHead(msgspec.Struct, frozen=True):
    """The head of a column, in lines; ``right`` aligns figures.

    A cell of a ``whole`` column is never broken into lines, one of a ``loose`` one at any letter.
    """

    head: str
    right: bool = False
    whole: bool = False
    loose: bool = False
    on: Medium = ALL


def heads(*texts: str, on: Medium = ALL) -> tuple[ColumnHead, ...]:
    """A head for each text: ``>`` in front is right, ``=`` whole, ``~`` loose."""
    signs = ((text.lstrip(">=~"), text[:1]) for text in texts)
    return tuple(
        ColumnHead(text, sign == ">", sign == "=", sign == "~", on) for text, sign in signs
    )


def figures(*texts: str) -> tuple[ColumnHead, ...]:
    """Heads of figures, whatever their texts begin with."""
    return tuple(ColumnHead(text, right=True) for text in texts)


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    """One or more sentences."""

    text: str
    kind: Literal["plain", "strong", "soft", "caution", "remedy"] = "plain"
    on: Medium = ALL


class Items(msgspec.Struct, frozen=True, tag=True):
    """A list, each item one text or parts of one that follow each other without a gap."""

    items: tuple[Said | tuple[Said, ...], ...]
    ordered: bool = False
    limit: RowLimit | None = None
    on: Medium = ALL


class FactList(msgspec.Struct, frozen=True, tag=True):
    """What is known of one thing: labels, each with a text."""

    rows: tuple[tuple[str, str], ...]
    on: Medium = ALL


class Table(msgspec.Struct, frozen=True, tag=True):
    """Rows of as many cells as there are columns.

    ``total`` draws a line above the last row, ``marked`` are the places of rows that stand out,
    ``tight`` is for many narrow columns. A ``filtered`` table can be narrowed on a page, by the
    first column and by words.
    """

    columns: tuple[ColumnHead, ...]
    rows: tuple[tuple[Said, ...], ...]
    total: bool = False
    marked: frozenset[int] = frozenset()
    tight: bool = False
    filtered: bool = False
    limit: RowLimit | None = None
    on: Medium = ALL


class Lines(msgspec.Struct, frozen=True, tag=True):
    """Text to be copied: commands, columns already aligned. No line is ever broken."""

    lines: tuple[str, ...]
    on: Medium = ALL


class Plot(msgspec.Struct, frozen=True, tag=True):
    """A picture; ``note`` says how to read it. Pages alone can show one."""

    picture: "Drawable"
    note: str = ""
    on: Medium = PAGE


class Plots(msgspec.Struct, frozen=True, tag=True):
    """Pictures side by side; ``beside`` stands on the right of a large one, and belongs to it."""

    plots: tuple[Plot, ...]
    beside: tuple["Block", ...] = ()
    on: Medium = PAGE


class ShareBar(msgspec.Struct, frozen=True, tag=True):
    """Shares of a whole: text and share of each part, and whether it is what it should be.

    Parts that are ``alike`` are only told apart. What the shares lack to 1 stays empty.
    """

    label: str
    parts: tuple[tuple[str, float, bool], ...]
    alike: bool = False
    on: Medium = PAGE


class Fold(msgspec.Struct, frozen=True, tag=True):
    """Blocks under a title that opens them; text shows them all."""

    title: str
    note: str
    blocks: tuple["Block", ...]
    open: bool = False
    on: Medium = ALL


class Deferred(msgspec.Struct, frozen=True, tag=True):
    """Blocks that are made only where they are shown: pictures take time."""

    make: Callable[[], Iterable["Block"]]
    on: Medium = PAGE


class Entry(msgspec.Struct, frozen=True):
    """A label and what stands behind it, as part of a finding."""

    label: str
    blocks: tuple["Block", ...]


class Judgement(msgspec.Struct, frozen=True, tag=True):
    """Something that was found or judged: ``WORD mark: subject: summary``, and its reasons.

    ``mark`` is the check or rule that says so.
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
    """A title within a section."""

    text: str
    level: Literal[1, 2] = 1
    on: Medium = ALL


Block = (
    Paragraph | Items | FactList | Table | Lines | Plot | Plots | ShareBar | Fold | Judgement
    | Heading | Deferred
)  # fmt: skip


class Section(msgspec.Struct, frozen=True):
    """A part of a document; ``nav`` is its short name for a list, ``urgent`` draws the eye to it.

    ``intro`` says what follows; without a block that says anything the section is left out.
    """

    ident: str
    title: str
    blocks: tuple[Block, ...]
    nav: str = ""
    intro: str = ""
    urgent: bool = False
    on: Medium = ALL


class KeyFigure(msgspec.Struct, frozen=True):
    """A figure for the head of a page: number, unit, and what exactly it is.

    ``valid`` is false when a rule found that the figure means something else.
    """

    value: str
    unit: str
    what: str
    valid: bool = True


class Report(msgspec.Struct, frozen=True):
    """Is it good? ``word`` and ``headline``. What, where, what to do: the sections, in order.

    ``title`` is the window's, ``about`` names what was looked at. ``provisos`` are printed above
    everything: figures that are not those of a real fabric, say.
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
    #: The last lines of a page of text: where the rest is.
    places: tuple[Block, ...] = ()


def first(blocks: Sequence[Block], limit: int, words: str, on: Medium = ALL) -> tuple[Block, ...]:
    """The first ``most`` blocks, and a sentence on the rest, which has ``{count}`` in it."""
    visible, remark = _cut(tuple(blocks), RowLimit(words, {ALL: limit}), ALL)
    return (*visible, *(replace(block, on=on) for block in remark))


def drawn(pictures: "Iterable[Drawable | None]") -> Plots:
    """The pictures side by side; one of nothing is left out."""
    return Plots(tuple(Plot(picture) for picture in pictures if picture is not None))


_Part = TypeVar("_Part", bound="Section | Block")
_Row = TypeVar("_Row")


def text_of(content: Said) -> str:
    return content if isinstance(content, str) else content.text


def parts_of(item: Said | tuple[Said, ...]) -> tuple[Said, ...]:
    """The parts of an item, in their order."""
    return item if isinstance(item, tuple) else (item,)


def shown_on(document: Report, medium: Medium) -> Report:
    """The document with those parts that are meant for the medium, cut to its limits."""
    sections = (
        replace(section, blocks=(Paragraph(section.intro), *blocks) if section.intro else blocks)
        for section in _meant(document.sections, medium)
        if (blocks := _shown(section.blocks, medium))
    )
    return replace(
        document, sections=tuple(sections), under=tuple(_meant(document.under, medium)),
        places=_shown(document.places, medium),
    )  # fmt: skip


def _meant(parts: Iterable[_Part], medium: Medium) -> Iterator[_Part]:
    return (part for part in parts if medium in part.on)


def _shown(blocks: Iterable[Block], medium: Medium) -> tuple[Block, ...]:
    return tuple(part for block in _meant(blocks, medium) for part in _block(block, medium))


#: What a block is nothing without.
_HOLDS = {Table: "rows", Items: "items", FactList: "rows", Lines: "lines", Plots: "plots"}


def _block(block: Block, medium: Medium) -> Iterator[Block]:
    """The block as the medium shows it, and a sentence on what was cut off; empty ones vanish."""
    if not getattr(block, _HOLDS.get(type(block), "on")):
        return
    if isinstance(block, Deferred):
        yield from _shown(block.make(), medium)
    elif isinstance(block, Fold):
        yield replace(block, blocks=_shown(block.blocks, medium))
    elif isinstance(block, Plots):
        yield replace(block, beside=_shown(block.beside, medium))
    elif isinstance(block, Judgement):
        entries = (replace(entry, blocks=_shown(entry.blocks, medium)) for entry in block.entries)
        yield replace(block, entries=tuple(entry for entry in entries if entry.blocks))
    elif isinstance(block, Table):
        visible = [medium in column.on for column in block.columns]
        rows, remark = _cut(block.rows, block.limit, medium)
        cells = tuple(tuple(compress(row, visible)) for row in rows)
        yield replace(block, columns=tuple(compress(block.columns, visible)), rows=cells)
        yield from remark
    elif isinstance(block, Items):
        items, remark = _cut(block.items, block.limit, medium)
        yield replace(block, items=items)
        yield from remark
    else:
        yield block


def _cut(
    rows: tuple[_Row, ...], limit: RowLimit | None, medium: Medium
) -> tuple[tuple[_Row, ...], list[Paragraph]]:
    limits = limit.most.items() if limit else ()
    most_rows = next((rows_limit for media, rows_limit in limits if medium in media), len(rows))
    if limit is None or len(rows) <= most_rows:
        return rows, []
    words = limit.words.replace("{count}", f"{len(rows) - most_rows:,}")
    return rows[:most_rows], [Paragraph(words, kind="caution")]
