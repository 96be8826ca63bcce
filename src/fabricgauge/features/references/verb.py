"""``fabricgauge references``: list the published results that ship, or show one."""

from pathlib import Path

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.logs.references.interface import is_reference, names, reference
from fabricgauge.model.errors import UsageError


@click.command(context_settings=HELP_OPTIONS)
@click.argument("name", default="")
@cli_options.format_option("references")
@cli_options.to_option
def references(name: str, format: str, to: Path | None) -> None:
    """List the published results that ship, or show the one called NAME.

    NAME may also be the beginning of several names, e.g. `guide`.
    """
    if name and not is_reference(name):
        chosen = [known for known in names() if known.startswith(name)]
        if not chosen:
            reference(name)  # its message has the names that come close
            raise UsageError(f"no reference is called {name!r}")
    else:
        chosen = [name] if name else list(names())
    print_report("references", tuple(map(reference, chosen)), format, to)
