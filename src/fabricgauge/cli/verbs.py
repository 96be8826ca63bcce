"""The command line's table of contents; a verb's module is loaded only when it is used."""

import importlib

import click

from fabricgauge import __version__
from fabricgauge.cli.overview import VERBS, overview

#: ``check`` and ``lab`` see to files themselves, or have no settings in them.
FILE_VERBS = frozenset({"import", "compare", "report"})


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Files' values become the defaults of those verbs that do not read them themselves."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in FILE_VERBS and command is not None:
            from fabricgauge.cli.defaults import from_files

            ctx.default_map = {name: from_files(name, command)}
        return name, command, rest

    def get_help(self, ctx: click.Context) -> str:
        return overview()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabricgauge")
def cli() -> None:
    """A go/no-go gauge for cluster interconnects."""
