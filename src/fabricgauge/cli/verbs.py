"""The command line's table of contents; a verb's module is loaded only when it is used."""

import importlib
from typing import Any

import click

from fabricgauge import __version__
from fabricgauge.cli import nearest
from fabricgauge.cli.overview import HELP_OPTIONS, VERBS, overview
from fabricgauge.model.errors import UsageError
from fabricgauge.store import settings


class Verbs(nearest.VerbGroup):
    """A group that knows its verbs by name and imports a verb when it is called."""

    words = nearest.VERB_WORDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"fabricgauge.{module}"), name)
        _name_variables(command, f"FABRICGAUGE_{cmd_name.upper()}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a verb; values in configuration files become the defaults of its options."""
        name, command, arguments = super().resolve_command(ctx, args)
        if name in settings.VERBS and command is not None:
            ctx.default_map = {name: _file_values(name, command, ctx)}
        return name, command, arguments

    def get_help(self, ctx: click.Context) -> str:
        return overview()


@click.group(cls=Verbs, context_settings=HELP_OPTIONS)
@click.version_option(__version__, "-V", "--version", prog_name="fabricgauge")
def cli() -> None:
    """A go/no-go gauge for cluster interconnects."""


@click.command("help", context_settings=HELP_OPTIONS)
@click.argument("verbs", nargs=-1, metavar="[VERB]...")
@click.pass_context
def help_(ctx: click.Context, /, verbs: tuple[str, ...]) -> None:
    """Show the help page of a verb, e.g. `help check` or `help lab up`."""
    context = ctx.find_root()
    if not verbs:
        click.echo(overview())
        return
    for verb in verbs:
        group = context.command
        if not isinstance(group, click.Group):
            ctx.fail(f"{context.command_path} has no verbs; see '{context.command_path} --help'")
        command = group.get_command(context, verb)
        if command is None:
            words = group.words if isinstance(group, nearest.VerbGroup) else {}
            known = group.list_commands(context)
            ctx.fail(nearest.unknown_verb(verb, known, words, context.command_path))
        context = click.Context(command, info_name=verb, parent=context)
    click.echo(context.get_help())


def _name_variables(command: click.Command, prefix: str) -> None:
    """Name the variable of each option by its word, as click does by its parameter."""
    if isinstance(command, click.Group):
        for name, verb in command.commands.items():
            _name_variables(verb, f"{prefix}_{name.upper()}")
    for option in command.params:
        words = [word[2:].replace("-", "_") for word in option.opts if word.startswith("--")]
        if words and option.name not in words and getattr(option, "allow_from_autoenv", False):
            option.envvar = [f"{prefix}_{word.upper()}" for word in words]


def _file_values(verb: str, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Return the values of configuration files by the names of the command's parameters.

    Click takes the command line first, then the environment, then these.

    Raises:
        UsageError: a file names an unknown option of the verb, or sets an invalid value.
    """
    by_option = {
        word.removeprefix("--"): parameter
        for parameter in command.params
        for word in parameter.opts
        if word.startswith("--")
    }
    defaults: dict[str, Any] = {}
    configured = settings.load()
    for key, value in configured.verbs[verb].items():
        file = configured.option_files[verb, key]
        option = by_option.get(key)
        if option is None or option.name is None:
            raise UsageError(f"{file}: {verb} has no option {key!r}; see fabricgauge {verb} --help")
        words = value if isinstance(value, list) else [value]
        default = words if option.multiple else ",".join(map(str, words))
        try:
            option.type_cast_value(ctx, default)
        except click.UsageError as error:
            raise UsageError(f"{file}: [{verb}] {key} = {value!r}: {error.message}") from error
        defaults[option.name] = default
    return defaults
