"""``fabricgauge configure``: a plan that makes the networks that a user wants, and its making."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fabricgauge.cli import options as of
from fabricgauge.cli.show import deliver, print_report
from fabricgauge.lab.state import load_complete
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest, applicable
from fabricgauge.report.visible import visible
from fabricgauge.words.sentences import folded

if TYPE_CHECKING:
    from fabricgauge.app.configuring.read_description import DescriptionFile
    from fabricgauge.configure.description import Description
    from fabricgauge.model.configuration import Configuration
    from fabricgauge.model.inventory import Inventory


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@of.nodelist_option
@of.exclude_option
@of.lab_option("A lab's nodes; without FILE the lab's own networks are what is wanted.", "lab")
@of.bundle_option
@of.launcher_option
@click.option("--backend", default="", metavar="NAME",
              help="xcat or ip, instead of the backend in FILE.")  # fmt: skip
@click.option("--format", "format_", default="terminal", show_default=True,
              type=click.Choice(["terminal", "html", "json", "markdown", "script"]),
              help="What to print.")  # fmt: skip
@of.to_option
@click.option("--apply", is_flag=True, help="Run what was printed.", allow_from_autoenv=False)
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
              help="Where journals are kept.  [default: ~/.local/state/fabricgauge/configure]"
              )  # fmt: skip
@click.pass_context
def configure(ctx: click.Context, /, **options: Any) -> None:
    """Plan the commands that give nodes the networks that FILE describes.

    Each step has its reason, its commands, how it is verified and how it is undone. Steps whose
    result is there already are left out, with the evidence. Nothing is changed without --apply.
    It keeps a journal and stops at the first step that fails.

    Exit status: 0 done, or the plan was printed; 1 a step failed; 2 usage; 3 not applied, or not
    to its end, because programs, answers or a consent are missing.
    """  # fmt: skip
    from fabricgauge.app.configuring.hosts import PlanHosts
    from fabricgauge.app.configuring.making import make, unmake
    from fabricgauge.app.configuring.planning import planned, require_answers
    from fabricgauge.app.target import reached

    request, file, bundle = of.request_of(options), options["file"], options["bundle"]
    apply = options["apply"]
    if options["undo"]:
        if file or bundle:
            raise UsageError("--undo takes neither FILE nor --from: the journal has the plan")
        with reached(applicable(request)) as (there, _):
            ctx.exit(unmake(options["undo"], there, request.lab, _tell, apply=apply))
    description, inventories, access, place = _wanted(request, file, bundle, options["backend"])
    require_answers(description, inventories)
    offline = bundle and not apply
    hosts = Skipped("the plan is made from a bundle") if offline else PlanHosts(access)
    plan = planned(description, inventories, hosts)
    _show(plan, options["format_"], access, options["to"])
    if apply:
        consent = frozenset(options["consent"])
        ctx.exit(make(plan, access, place, options["journals"], consent, _tell))


def _wanted(
    request: MeasurementRequest, path: Path | None, bundle: Path | None, backend: str
) -> "tuple[Description, tuple[Inventory, ...], HostAccess, MeasurementRequest]":
    """Return the wanted networks, the nodes' inventories, the way to the nodes and its request."""
    from fabricgauge.app.configuring.read_description import read_file
    from fabricgauge.app.survey import read_bundle, surveyed
    from fabricgauge.app.target import reached

    if bundle and request.lab:
        raise UsageError("--from and --lab exclude each other: a bundle has its own nodes")
    file = (str(path), read_file(path)) if path else None
    known = read_bundle(bundle).inventories if bundle else ()
    names = tuple(one.name for one in known)
    there = request
    if not request.nodelist and not request.lab:
        all_of_them = names or _description(request, file, backend, ()).nodes
        there = msgspec.structs.replace(request, nodelist=folded(all_of_them))
    with reached(applicable(there)) as (access, _):
        description = _description(request, file, backend, names)
        return description, known or surveyed(access, ())[0], access, there


def _description(
    request: MeasurementRequest,
    file: "tuple[str, DescriptionFile] | None",
    backend: str,
    known: tuple[str, ...],
) -> "Description":
    """What FILE says, or else the lab's own networks; ``known`` are the nodes of a bundle.

    Raises:
        UsageError: there is neither.
    """
    from fabricgauge.app.configuring.planning import lab_description
    from fabricgauge.app.configuring.read_description import description_of
    from fabricgauge.run.launchers.nodes import expand

    wanted = expand(request.nodelist) if request.nodelist else ()
    without = expand(request.exclude) if request.exclude else ()
    state = load_complete(request.lab) if request.lab else None
    there = tuple(node.name for node in state.nodes if node.index) if state else known
    if file is not None:
        return description_of(
            *file, wanted, backend=backend, otherwise=there, without=without,
        )  # fmt: skip
    if state is None:
        raise UsageError("name a FILE that describes the network, or a lab with --lab")
    nodes = tuple(node for node in wanted or there if node not in without)
    return lab_description(state, nodes, backend)


def _show(plan: "Configuration", format_: str, access: "HostAccess", to: Path | None) -> None:
    from fabricgauge.report import configuration_script

    if format_ != "script":
        print_report("plan", plan, format_, to)
        return
    hosts = {"": Host("", access.head_prefix), **{host.node: host for host in access.hosts}}
    try:
        deliver(configuration_script.render(plan, hosts), to)
    except KeyError as error:
        raise UsageError(f"there is no way to {error.args[0]}; name it with -w") from error
    except ValueError as error:
        raise UsageError(f"the plan cannot be a script: {error}; --apply can make it") from error


def _tell(text: str) -> None:
    click.echo(visible(text), err=True)
