"""Every number that decides is named, has its origin, and stands on the generated page."""

from tests.docs.numbers import PAGE, Number, numbers, numbers_of, page


def test_the_page_holds_todays_numbers() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run scripts/write-numbers"


def test_each_number_has_an_origin() -> None:
    rows = list(numbers())
    assert len(rows) > 150
    assert [f"{row.file}: {row.name}" for row in rows if not row.origin] == []


def test_a_constant_is_read_with_its_comment() -> None:
    source = '#: Share of the time (kernel docs).\nLEAST = 0.25\nMOST, FEW = 3, 4\n\nWORDS = "a"\n'
    origin = "Share of the time (kernel docs)."
    assert list(numbers_of("a.py", source)) == [
        Number("a.py", "LEAST", "0.25", origin), Number("a.py", "MOST, FEW", "(3, 4)", origin),
    ]  # fmt: skip
    assert list(numbers_of("a.py", "LEAST = 2")) == [Number("a.py", "LEAST", "2", "")]
