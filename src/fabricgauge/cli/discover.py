"""``fabricgauge discover``: what the nodes are, and what their networks can carry."""

from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.nodes import LAUNCHERS, OWN_LAB, reached

if TYPE_CHECKING:
    from fabricgauge.model.fabric import Fabric


@click.command()
@click.option("-w", "--nodelist", metavar="NODES", help="Nodes, e.g. c[1-2] or @group.")
@click.option("-x", "--exclude", metavar="NODES", help="Nodes to leave out.")
@click.option("--lab", is_flag=False, flag_value=OWN_LAB, metavar="[NAME]", help="A lab's nodes.")
@click.option("--launcher", type=click.Choice(LAUNCHERS), help="How nodes are reached.")
@click.option("--format", type=click.Choice(["terminal", "json"]), default="terminal",
              show_default=True, help="What to print.")  # fmt: skip
@click.pass_context
def discover(ctx: click.Context, /, **options: Any) -> None:
    """Show nodes, interfaces and networks, and the sum behind each network's ceiling."""
    from fabricgauge import settings
    from fabricgauge.discover.interface import discover as ask

    with reached(options) as (reach, declared):
        fabric = ask(reach, (*declared, *settings.load().networks), keep=lambda node, raw: None)
    if options["format"] == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(fabric), indent=1))
    else:
        click.echo(_text(fabric))
    ctx.exit(3 if fabric.unreached or not fabric.nodes else 0)


def _text(fabric: "Fabric") -> str:
    from fabricgauge.ceiling.technologies import ceilings
    from fabricgauge.report.inventory import render

    return render(fabric, ceilings(fabric.networks))
