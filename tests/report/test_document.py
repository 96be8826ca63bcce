"""The document model: each medium sees what is meant for it, cut to its limits, and inert."""

from fabricgauge.report.document import (
    PAGE,
    SCREEN,
    TEXT,
    TRACKER,
    Cell,
    Column,
    Document,
    Entry,
    Facts,
    Finding,
    Items,
    Limit,
    Lines,
    Paragraph,
    Section,
    Table,
    shown_on,
)
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Kind, Setting

LIMIT = Limit("and {count} more", {SCREEN: 1})
HOSTILE = "<b>[x](y)\x1b[2J"


def document(*sections: Section) -> Document:
    return Document("FAIL", "fail", "it broke", "test", "test", sections)


def kind(made: Document) -> Kind[None]:
    return Kind("test", lambda _, _setting: made, lambda _, _setting: {"made": True})


def test_a_medium_has_only_the_parts_that_are_meant_for_it() -> None:
    table = Table((Column("all"), Column("page", on=PAGE)), (("1", "2"),))
    made = document(
        Section("a", "A", (table, Paragraph("text", on=TEXT))),
        Section("b", "B", (Paragraph("tracker", on=TRACKER),)),
    )
    screen, page = shown_on(made, SCREEN), shown_on(made, PAGE)
    assert [one.ident for one in screen.sections] == ["a"]
    (shown, text) = screen.sections[0].blocks
    assert isinstance(shown, Table) and shown.rows == (("1",),)
    assert text == Paragraph("text", on=TEXT)
    assert page.sections[0].blocks == (table,)


def test_what_is_cut_off_is_counted_also_within_a_finding() -> None:
    items = Items(("one", "two", "three"), limit=LIMIT)
    finding = Finding("FAIL", "fail", "rule", "c1", "", (Entry("Evidence", (items,)),))
    (shown,) = shown_on(document(Section("a", "A", (finding,))), SCREEN).sections[0].blocks
    assert isinstance(shown, Finding)
    left, rest = shown.entries[0].blocks
    assert isinstance(left, Items) and left.items == ("one",)
    assert isinstance(rest, Paragraph) and rest.text == "and 2 more"


def test_a_kind_has_the_formats_of_the_parts_that_it_has() -> None:
    assert list(formats_of(kind(document()))) == ["terminal", "html", "json", "markdown"]


def test_no_block_lets_text_act_in_any_format() -> None:
    said = Cell(HOSTILE, strong=True)
    entry = Entry(HOSTILE, (Lines((HOSTILE,)),))
    blocks = (
        Paragraph(HOSTILE, lead=HOSTILE), Items((HOSTILE, (said, HOSTILE))), Lines((HOSTILE,)),
        Facts(((HOSTILE, HOSTILE),)), Table((Column(HOSTILE),), ((said,),)),
        Finding(HOSTILE, "warn", HOSTILE, HOSTILE, HOSTILE, (entry,)),
    )  # fmt: skip
    formats = formats_of(kind(document(Section("a", HOSTILE, blocks, nav=HOSTILE))))
    for name in ("terminal", "html", "markdown"):
        page = formats[name](None, Setting(width=100))
        assert "\x1b" not in page, name
        assert "[2J" in page, name
    assert "<b>[x]" not in formats["html"](None, Setting())
