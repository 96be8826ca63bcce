"""The command line's table of contents; a verb's module is loaded only when it is used."""

import importlib

import click

from fabricgauge import __version__
from fabricgauge.cli.overview import VERBS, overview


class Verbs(click.Group):
    """A group that knows its verbs by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        name = VERBS[cmd_name][0]
        module = importlib.import_module(f"fabricgauge.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def get_help(self, ctx: click.Context) -> str:
        return overview()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabricgauge")
def cli() -> None:
    """A go/no-go gauge for cluster interconnects."""
