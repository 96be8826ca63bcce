"""The document model: each medium sees what is meant for it, cut to its limits, and inert."""

from fabricgauge.report import document as doc
from fabricgauge.report.formats import formats_of
from fabricgauge.report.interface import Kind, Setting

LIMIT = doc.RowLimit("and {count} more", {doc.SCREEN: 1})
HOSTILE = "<b>[x](y)\x1b[2J"


def document(*sections: doc.Section) -> doc.Report:
    return doc.Report("FAIL", "fail", "it broke", "test", "test", sections)


def kind(made: doc.Report) -> Kind[None]:
    return Kind("test", lambda _, _setting: made, lambda _, _setting: {"made": True})


def test_a_medium_has_only_the_parts_that_are_meant_for_it() -> None:
    table = doc.Table((*doc.heads("all"), *doc.heads("page", on=doc.PAGE)), (("1", "2"),))
    made = document(
        doc.Section("a", "A", (table, doc.Paragraph("text", on=doc.TEXT))),
        doc.Section("b", "B", (doc.Paragraph("tracker", on=doc.TRACKER),)),
    )
    screen, page = doc.cut_to_medium(made, doc.SCREEN), doc.cut_to_medium(made, doc.PAGE)
    assert [one.ident for one in screen.sections] == ["a"]
    (shown, text) = screen.sections[0].blocks
    assert isinstance(shown, doc.Table) and shown.rows == (("1",),)
    assert text == doc.Paragraph("text", on=doc.TEXT)
    assert page.sections[0].blocks == (table,)


def test_what_is_cut_off_is_counted_also_within_a_finding() -> None:
    items = doc.Items(("one", "two", "three"), limit=LIMIT)
    finding = doc.Judgement("FAIL", "fail", "rule", "c1", "", (doc.Entry("Evidence", (items,)),))
    (shown,) = (
        doc.cut_to_medium(document(doc.Section("a", "A", (finding,))), doc.SCREEN)
        .sections[0]
        .blocks
    )
    assert isinstance(shown, doc.Judgement)
    left, rest = shown.entries[0].blocks
    assert isinstance(left, doc.Items) and left.items == ("one",)
    assert isinstance(rest, doc.Paragraph) and rest.text == "and 2 more"


def test_a_limit_of_all_text_cuts_on_a_screen_and_in_a_tracker_and_on_no_page() -> None:
    limit = doc.RowLimit("and {count} more", {doc.TEXT: 2})
    made = document(doc.Section("a", "A", (doc.Items(("one", "two", "three"), limit=limit),)))
    for medium, most in ((doc.SCREEN, 2), (doc.TRACKER, 2), (doc.PAGE, 3)):
        items = doc.cut_to_medium(made, medium).sections[0].blocks[0]
        assert isinstance(items, doc.Items) and len(items.items) == most


def test_a_kind_has_the_formats_of_the_parts_that_it_has() -> None:
    assert list(formats_of(kind(document()))) == ["terminal", "html", "json", "markdown"]


def test_no_block_lets_text_act_in_any_format() -> None:
    said = doc.Cell(HOSTILE, strong=True)
    entry = doc.Entry(HOSTILE, (doc.Lines((HOSTILE,)),))
    blocks = (
        doc.Paragraph(HOSTILE), doc.Items((HOSTILE, (said, HOSTILE))),
        doc.Lines((HOSTILE,)),
        doc.FactList(((HOSTILE, HOSTILE),)), doc.Table(doc.heads(HOSTILE), ((said,),)),
        doc.Judgement(HOSTILE, "warn", HOSTILE, HOSTILE, HOSTILE, (entry,)),
    )  # fmt: skip
    formats = formats_of(kind(document(doc.Section("a", HOSTILE, blocks, nav=HOSTILE))))
    for name in ("terminal", "html", "markdown"):
        page = formats[name](None, Setting(width=100))
        assert "\x1b" not in page, name
        assert "[2J" in page, name
    assert "<b>[x]" not in formats["html"](None, Setting())


def test_rows_that_were_not_made_are_counted_with_those_that_are_cut_off() -> None:
    limit = doc.RowLimit("and {count} more", {doc.SCREEN: 1, doc.PAGE: 2})
    table = doc.Table(doc.heads("a"), (("1",), ("2",)), limit=limit, more=1000)
    made = document(doc.Section("a", "A", (table,)))
    for medium, rows, rest in ((doc.SCREEN, 1, "1,001"), (doc.PAGE, 2, "1,000")):
        once = doc.cut_to_medium(made, medium)
        shown, remark = once.sections[0].blocks
        assert isinstance(shown, doc.Table) and len(shown.rows) == rows
        assert remark == doc.Paragraph(f"and {rest} more", kind="caution")
        assert doc.cut_to_medium(once, medium) == once
