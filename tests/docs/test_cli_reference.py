"""The command line's page says what the program says."""

from tests.docs.cli_reference import PAGE, page


def test_the_page_holds_todays_help_texts() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run scripts/write-cli-reference"


def test_every_verb_and_subverb_has_a_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for verb in ("check", "report", "discover", "lab up", "lab fault", "engine build"):
        assert f"\n## fabricgauge {verb}\n" in text
