"""``fabricgauge configure``: plan the networks that a user wants, and apply the plan."""

from pathlib import Path
from typing import Any

import click
import msgspec

from fabricgauge.check.target import reach_hosts
from fabricgauge.cli import options as cli_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.show import deliver, print_report
from fabricgauge.doctor.survey import read_bundle, survey_nodes
from fabricgauge.features.configure import configuration_script
from fabricgauge.features.configure.apply.hosts import PlanHosts
from fabricgauge.features.configure.apply.making import apply_plan, undo_journal
from fabricgauge.features.configure.apply.read_description import (
    DescriptionFile,
    description_of,
    read_file,
)
from fabricgauge.features.configure.description import Description
from fabricgauge.features.configure.interface import lab_description, make_plan, require_answers
from fabricgauge.features.configure.job import Configuration
from fabricgauge.lab.state import load_complete
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.request import MeasurementRequest, keep_applicable
from fabricgauge.model.words.sentences import folded
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.report.visible import visible


@click.command(context_settings=HELP_OPTIONS)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@cli_options.nodelist_option("the nodes of FILE, else of the lab")
@cli_options.exclude_option
@cli_options.lab_option("Nodes of a lab. Without FILE, plan the lab's own networks.", "lab")
@cli_options.bundle_option
@cli_options.launcher_option
@click.option(
    "--backend", default="", metavar="NAME",
    help="Backend: xcat or ip. Default: as in FILE.",
)  # fmt: skip
@click.option("--format", "format_", default="terminal", show_default=True,
              type=click.Choice(["terminal", "html", "json", "markdown", "script"]),
              help="Format of the plan.")  # fmt: skip
@cli_options.to_option
@click.option("--apply", is_flag=True, help="Run the printed commands.", allow_from_autoenv=False)
@click.option(
    "--consent",
    multiple=True,
    type=click.Choice(["reboot", "management"]),
    help="Agree to steps that ask for it. May be repeated.",
    allow_from_autoenv=False,
)
@click.option("--undo", type=click.Path(path_type=Path), metavar="JOURNAL",
              help="Print the commands that undo a journal's steps. --apply runs them.",
              allow_from_autoenv=False)  # fmt: skip
@click.option("--journals", type=click.Path(path_type=Path), metavar="DIR",
              help="Directory of journals. Default: ~/.local/state/fabricgauge/configure."
              )  # fmt: skip
@click.pass_context
def configure(ctx: click.Context, /, **options: Any) -> None:
    """Plan the commands that give nodes the networks that FILE describes.

    Prints each step with its reason, its commands, its check and its undo commands. Leaves out
    steps whose result already exists, and prints the evidence. Changes nothing without --apply,
    which keeps a journal and stops at the first step that fails.

    Exit status: 0 applied, or the plan was printed; 1 a step failed; 2 usage; 3 not applied, or
    only in part, because programs, answers or a consent are missing.
    """  # fmt: skip
    request = cli_options.build_request(options)
    file, bundle = options["file"], options["bundle"]
    apply = options["apply"]
    if options["undo"]:
        if file or bundle:
            raise UsageError("--undo takes neither FILE nor --from: the journal has the plan")
        with reach_hosts(keep_applicable(request)) as (access, _):
            journal = options["undo"]
            ctx.exit(undo_journal(journal, access, request.lab, _print_message, apply=apply))
    facts = _gather_facts(request, file, bundle, options["backend"])
    description, inventories, access, node_request = facts
    require_answers(description, inventories)
    offline = bundle and not apply
    hosts = Skipped("the plan is made from a bundle") if offline else PlanHosts(access)
    plan = make_plan(description, inventories, hosts)
    _print_plan(plan, options["format_"], access, options["to"])
    if apply:
        consent = frozenset(options["consent"])
        journals = options["journals"]
        ctx.exit(apply_plan(plan, access, node_request, journals, consent, _print_message))


def _gather_facts(
    request: MeasurementRequest, path: Path | None, bundle: Path | None, backend: str
) -> tuple[Description, tuple[Inventory, ...], HostAccess, MeasurementRequest]:
    if bundle and request.lab:
        raise UsageError("--from and --lab exclude each other: a bundle has its own nodes")
    file = (str(path), read_file(path)) if path else None
    inventories = read_bundle(bundle).inventories if bundle else ()
    names = tuple(inventory.name for inventory in inventories)
    node_request = request
    if not request.nodelist and not request.lab:
        nodes = names or _describe_networks(request, file, backend, ()).nodes
        node_request = msgspec.structs.replace(request, nodelist=folded(nodes))
    with reach_hosts(keep_applicable(node_request)) as (access, _):
        description = _describe_networks(request, file, backend, names)
        return description, inventories or survey_nodes(access, ())[0], access, node_request


def _describe_networks(
    request: MeasurementRequest,
    file: tuple[str, DescriptionFile] | None,
    backend: str,
    bundle_nodes: tuple[str, ...],
) -> Description:
    """Return the description in FILE, or else of the lab's own networks."""
    listed = expand(request.nodelist) if request.nodelist else ()
    excluded = expand(request.exclude) if request.exclude else ()
    state = load_complete(request.lab) if request.lab else None
    existing = bundle_nodes
    if state:
        existing = tuple(node.name for node in state.nodes if node.index)
    if file is not None:
        return description_of(
            *file, listed, backend=backend, otherwise=existing, without=excluded,
        )  # fmt: skip
    if state is None:
        raise UsageError("name a FILE that describes the network, or a lab with --lab")
    nodes = tuple(node for node in listed or existing if node not in excluded)
    return lab_description(state, nodes, backend)


def _print_plan(plan: Configuration, format_: str, access: "HostAccess", to: Path | None) -> None:
    if format_ != "script":
        print_report("plan", plan, format_, to)
        return
    hosts = {"": Host("", access.head_prefix), **{host.node: host for host in access.hosts}}
    try:
        deliver(configuration_script.render(plan, hosts), to)
    except KeyError as error:
        raise UsageError(f"no access to {error.args[0]}; name it with -w") from error
    except ValueError as error:
        raise UsageError(f"the plan cannot be a script: {error}; use --apply instead") from error


def _print_message(text: str) -> None:
    click.echo(visible(text), err=True)
