"""``fabricgauge discover``: what the nodes are, who is like whom, what their networks can carry."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.main import INTERRUPTED
from fabricgauge.cli.show import print_report
from fabricgauge.model.request import MeasurementRequest, applicable
from fabricgauge.store.run_directory import now_utc

if TYPE_CHECKING:
    from fabricgauge.model.fabric import DeclaredNetwork, Fabric
    from fabricgauge.model.inventory import Inventory

    #: The last is how many nodes had not answered when it was interrupted.
    Found = tuple[tuple[Inventory, ...], Fabric, int]


@click.command()
@of.nodelist_option
@of.exclude_option
@of.lab_option("A lab's nodes.")
@of.launcher_option
@of.bundle_option
@of.output_option("Keep every answer in a new directory, to be read with --from.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True,
              metavar="SECONDS", help="How long a node may take.")  # fmt: skip
@of.format_option("discovery")
@of.to_option
@click.option("-v", "--verbose", is_flag=True, help="Every node with all its facts.")
@click.pass_context
def discover(ctx: click.Context, /, **options: Any) -> None:
    """Show what nodes have, which differ from their peers, and what each network can carry.

    Many nodes are asked at once. They need a shell and nothing else. If a node's time is up,
    what it has said so far is used. A bundle that -o wrote can be read on any machine. Printouts
    of single tools that you put into DIR/NODE/TOOL.txt are a bundle too.

    Exit status: 3 if a node could not be reached or understood, 130 if interrupted, else 0.
    """
    from fabricgauge.app.survey import concluded, read_bundle
    from fabricgauge.model.subnet import Subnet

    request, networks = of.request_of(options), settings.load().networks
    bundle, output = options["bundle"], options["output"]
    unread: tuple[str, ...] = ()
    subnet = Subnet()
    if bundle is None:
        inventories, fabric, left = _asked(request, networks, options["timeout"], output)
    else:
        of.require_heeded(ctx, ("bundle", "format", "to", "verbose"), of.OF_BUNDLE)
        content = read_bundle(bundle, networks)
        inventories, fabric, left = content.inventories, content.fabric, 0
        unread, subnet = content.unread, content.subnet
    found, verbose = concluded(inventories, fabric, unread, subnet), options["verbose"]
    print_report("discovery", found, options["format"], options["to"], verbose=verbose)
    ctx.exit(INTERRUPTED if left else 3 if fabric.unreached or not inventories else 0)


def _asked(
    request: MeasurementRequest,
    networks: "tuple[DeclaredNetwork, ...]",
    timeout_s: float,
    output: Path | None,
) -> "Found":
    """An interrupt ends the asking; the report is of what had arrived, and so is the bundle."""
    from fabricgauge import __version__
    from fabricgauge.app.survey import surveyed
    from fabricgauge.app.target import reached
    from fabricgauge.cli.progress import Gathering
    from fabricgauge.model.bundle import BundleIndex
    from fabricgauge.store.bundle import BundleWriter

    with reached(applicable(request)) as (access, known):
        declared = (*known, *networks)
        index = BundleIndex(
            gathered_utc=now_utc(),
            program=f"fabricgauge {__version__}",
            launcher=access.launcher,
            virtual=access.virtual,
            declared=declared,
            nodes=access.nodes,
        )
        writer = BundleWriter(output, index) if output else None
        with Gathering(len(access.nodes)) as gathering:

            def keep(node: str, raw: str, trouble: str) -> None:
                if writer:
                    writer.keep(node, raw, trouble)
                gathering.answered(trouble)

            try:
                found = surveyed(access, declared, timeout_s=timeout_s, keep=keep, partial=True)
                return (*found, gathering.left)
            finally:
                if writer:
                    writer.close("it had not answered when the asking was broken off")
