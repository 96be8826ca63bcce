"""The command line's table of contents; a verb's module is loaded only when it is used."""

import importlib
from typing import Any

import click

from fabricgauge import __version__, settings
from fabricgauge.cli.overview import VERBS, overview
from fabricgauge.model.errors import UsageError


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
        if name in settings.VERBS and command is not None:
            ctx.default_map = {name: _said_in_files(name, command, ctx)}
        return name, command, rest

    def get_help(self, ctx: click.Context) -> str:
        return overview()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabricgauge")
def cli() -> None:
    """A go/no-go gauge for cluster interconnects."""


def _said_in_files(verb: str, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Values of files by the names that the command's parameters have in the program.

    Click takes the command line first, then the environment, then these.

    Raises:
        UsageError: a file names an option that the verb has not, or a value that it cannot have.
    """
    by_option = {
        word.removeprefix("--"): one
        for one in command.params
        for word in one.opts
        if word.startswith("--")
    }
    found: dict[str, Any] = {}
    files = settings.load()
    for key, value in files.verbs[verb].items():
        file = files.said_in[verb, key]
        option = by_option.get(key)
        if option is None or option.name is None:
            raise UsageError(f"{file}: {verb} has no option {key!r}; see fabricgauge {verb} --help")
        words = value if isinstance(value, list) else [value]
        said = words if option.multiple else ",".join(map(str, words))
        try:
            option.type_cast_value(ctx, said)
        except click.UsageError as error:
            raise UsageError(f"{file}: [{verb}] {key} = {value!r}: {error.message}") from error
        found[option.name] = said
    return found
