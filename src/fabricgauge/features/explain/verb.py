"""``fabricgauge explain``: a rule, a check, a threshold or a word, as the documentation has it."""

from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report


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
    from fabricgauge.features.explain.content import Explanation
    from fabricgauge.features.explain.entries import find_entries
    from fabricgauge.features.explain.pages import all_entries

    entries = all_entries()
    if words:
        explanation = Explanation(find_entries(entries, " ".join(words)))
    else:
        explanation = Explanation(entries, is_list=True)
    print_report("explanation", explanation, options["format"], options["to"])
