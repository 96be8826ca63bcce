"""The command line's page and the program's own pages hold today's help texts."""

import importlib

import pytest
from tests.docs.cli_reference import HELP_PAGES, PAGE, page, whole_pages

from fabricgauge.cli.overview import VERBS


def test_the_page_holds_todays_help_texts() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), "run scripts/write-cli-reference"
    assert HELP_PAGES.read_text(encoding="utf-8") == whole_pages(), (
        "run scripts/write-cli-reference"
    )


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_same_help_options_without_its_group(verb: str) -> None:
    module, _, name = VERBS[verb][0].partition(":")
    command = getattr(importlib.import_module(f"fabricgauge.{module}"), name)
    context = command.make_context(verb, [], resilient_parsing=True)
    assert set(command.get_help_option_names(context)) == {"-h", "--help"}


def test_every_verb_and_subverb_has_a_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for verb in ("check", "report", "discover", "lab up", "lab fault", "engine build"):
        assert f"\n## fabricgauge {verb}\n" in text


def test_an_option_of_several_verbs_has_its_text_once() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("Nodes to leave out.") == 1
    assert HELP_PAGES.read_text(encoding="utf-8").count("Nodes to leave out.") > 5
    check = text.partition("\n## fabricgauge check\n")[2].partition("\n## ")[0]
    assert "--exclude" in check.partition("Also:")[2]
