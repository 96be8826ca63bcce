"""``fabricgauge help``: show the help page of a verb."""

import click

from fabricgauge.cli.nearest import VerbGroup, unknown_verb
from fabricgauge.cli.overview import HELP_OPTIONS, overview


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
            words = group.words if isinstance(group, VerbGroup) else {}
            known = group.list_commands(context)
            ctx.fail(unknown_verb(verb, known, words, context.command_path))
        context = click.Context(command, info_name=verb, parent=context)
    click.echo(context.get_help())
