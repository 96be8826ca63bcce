"""``fabricgauge discover``: show nodes, differences between peers and ceilings of networks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.main import INTERRUPTED
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import print_report
from fabricgauge.model.request import MeasurementRequest, keep_applicable
from fabricgauge.store import settings
from fabricgauge.store.run_directory import now_utc

if TYPE_CHECKING:
    from fabricgauge.model.fabric import DeclaredNetwork, Fabric
    from fabricgauge.model.inventory import Inventory

    #: The number counts the nodes without an answer when the survey was interrupted.
    Survey = tuple[tuple[Inventory, ...], Fabric, int]


@click.command(context_settings=HELP_OPTIONS)
@cli_options.nodes_argument
@cli_options.node_options
@cli_options.bundle_option
@cli_options.output_option("Keep all answers as a bundle in this new directory, for --from.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=30.0, show_default=True,
              metavar="SECONDS", help="Time limit for the answer of a node.")  # fmt: skip
@cli_options.format_option("discovery")
@cli_options.to_option
@click.option("-v", "--verbose", is_flag=True, help="Show each node with all its facts.")
@click.pass_context
def discover(ctx: click.Context, /, **options: Any) -> None:
    """Show the hardware of NODES, the nodes that differ from their peers, and network ceilings.

    NODES are the same as -w: c1 c2, or 'c[1-16]'.

    Asks many nodes at once. A node needs only a shell. After --timeout, uses the part of the answer
    that has arrived. A bundle that -o wrote can be read on any machine. You can also write a bundle
    by hand: put the output of a tool into DIR/NODE/TOOL.txt.

    Exit status: 3 if a node could not be reached or its answer could not be read, 130 if
    interrupted, else 0.
    """
    from fabricgauge.doctor.survey import conclude_survey, read_bundle
    from fabricgauge.model.inventory import Subnet

    request, networks = cli_options.build_request(options), settings.load().networks
    bundle, output = options["bundle"], options["output"]
    unread: tuple[str, ...] = ()
    subnet = Subnet()
    if bundle is None:
        survey = _survey_nodes(request, networks, options["timeout"], output)
        inventories, fabric, unanswered = survey
    else:
        with_output = () if output else ("output",)
        effective = ("bundle", "format", "to", "verbose", *with_output)
        cli_options.refuse_without_effect(ctx, effective, cli_options.BUNDLE_CONFLICT)
        content = read_bundle(bundle, networks)
        inventories, fabric, unanswered = content.inventories, content.fabric, 0
        unread, subnet = content.unread, content.subnet
    discovery, verbose = conclude_survey(inventories, fabric, unread, subnet), options["verbose"]
    print_report("discovery", discovery, options["format"], options["to"], verbose=verbose)
    ctx.exit(INTERRUPTED if unanswered else 3 if fabric.unreached or not inventories else 0)


def _survey_nodes(
    request: MeasurementRequest,
    networks: "tuple[DeclaredNetwork, ...]",
    timeout_s: float,
    output: Path | None,
) -> "Survey":
    """Ask the nodes; after an interrupt, report and bundle hold the answers that have arrived."""
    from fabricgauge import __version__
    from fabricgauge.check.target import reach_hosts
    from fabricgauge.cli.progress import AnswerCount
    from fabricgauge.doctor.survey import survey_nodes
    from fabricgauge.model.surveyed import BundleIndex
    from fabricgauge.store.bundle import BundleWriter

    with reach_hosts(keep_applicable(request)) as (access, known):
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
        with AnswerCount(len(access.nodes)) as answers:

            def keep(node: str, raw: str, trouble: str) -> None:
                if writer:
                    writer.keep(node, raw, trouble)
                answers.count(trouble)

            try:
                survey = survey_nodes(
                    access, declared, timeout_s=timeout_s, keep=keep, partial=True
                )
                return (*survey, answers.unanswered)
            finally:
                if writer:
                    writer.close("no answer before the survey was interrupted")
