"""``fabricgauge explain``: a rule, a check, a threshold or a word, as the documentation has it."""

from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.features.explain.content import Entry, Explanation, find_entries, read_entries
from fabricgauge.model.errors import CannotRun

#: The pages in an installed package, and in a checkout.
INSTALLED = Path(__file__).resolve().parents[2] / "_manual"
CHECKOUT = Path(__file__).resolve().parents[4] / "docs" / "reference"

#: Pages, in the order in which a name is looked up.
PAGES = ("rules", "checks", "configuration", "glossary")


@click.command(context_settings=HELP_OPTIONS)
@click.argument("words", nargs=-1, metavar="[NAME]")
@cli_options.format_option("explanation")
@cli_options.to_option
@cli_options.output_file_option
def explain(words: tuple[str, ...], **options: Any) -> None:
    """Explain a rule, a check, a threshold or a word of the reports.

    NAME is e.g. fraction, INCONCLUSIVE, fraction.pass or half round trip. Without it, lists all
    names. The texts are those of the documentation, and come with the program.
    """
    entries = all_entries()
    if words:
        explanation = Explanation(find_entries(entries, " ".join(words)))
    else:
        explanation = Explanation(entries, is_list=True)
    print_report("explanation", explanation, options["format"], options["to"])


def all_entries() -> tuple[Entry, ...]:
    """Return the entries of all pages.

    Raises:
        CannotRun: the package lacks its pages.
    """
    for folder in (INSTALLED, CHECKOUT):
        files = {page: folder / f"{page}.md" for page in PAGES}
        if all(file.is_file() for file in files.values()):
            texts = {page: file.read_text("utf-8") for page, file in files.items()}
            return tuple(read_entries(texts))
    raise CannotRun(f"the pages are in neither {INSTALLED} nor {CHECKOUT}; install it again")
