"""``fabricgauge lab``: a virtual cluster on this machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from fabricgauge.cli.nearest import LabGroup
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.lab.spec import KINDS, ON_A_NODE, LabSpec, NetworkSpec, numbered_nodes
from fabricgauge.lab.state import LabFault, LabState, load_complete, names
from fabricgauge.model.errors import UsageError
from fabricgauge.model.words.figures import link_rate
from fabricgauge.store.settings import rate_bit_s

if TYPE_CHECKING:
    from fabricgauge.lab.up import DaemonStatus, LabStatus

#: Actions on a node's Slurm daemon; each is a function of the scheduler.
SLURM_ACTIONS = ("start", "stop", "restart", "kill")

#: Name of a lab that nobody named.
DEFAULT_NAME = "lab"

_name_option = click.option(
    "--name", default=DEFAULT_NAME, show_default=True, metavar="NAME",
    help="Name of the lab. Several labs can exist at the same time.",
)  # fmt: skip
_named_option = click.option("--name", metavar="NAME", help="The same as NAME without the option.")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=LabGroup, context_settings=HELP_OPTIONS)
def lab() -> None:
    """Make virtual clusters on this machine: namespaces as nodes, links with set rates, faults."""


@lab.command()
@click.argument("lab_name", default="", metavar="[NAME]")
@_named_option
@click.option(
    "--nodes", default="2", show_default=True, metavar="N|NAME,…",
    help="Number of nodes (c1, c2, …), or their names.",
)  # fmt: skip
@click.option(
    "--network", "networks", multiple=True, metavar="NAME:RATE[:MTU]",
    help="Network: line rate per direction in bit/s (100M, 1G, 25G), MTU in bytes (default 1500). "
    "May be repeated. Default: net1:1G:1500.",
)  # fmt: skip
@click.option(
    "--slurm", is_flag=True,
    help="Run Slurm: slurmctld on `head`, slurmd on each node. Needs root.",
)  # fmt: skip
@click.option(
    "--rdma", type=click.Choice(["roce", "iwarp"]),
    help="Make two virtual machines with software RDMA instead: RoCE v2 (rxe) or iWARP (siw). "
    "Emulated: ignore their speed. With --slurm, RoCE without IPv4, and a network for Slurm.",
)  # fmt: skip
def up(
    lab_name: str, name: str | None, nodes: str, networks: tuple[str, ...], slurm: bool,
    rdma: str | None,
) -> None:  # fmt: skip
    """Bring a lab up, called NAME or `lab`. It stays until `lab down`."""
    from fabricgauge.lab import up as bring_up

    name = _join_names((lab_name,) if lab_name else (), name)[0]

    node_names = _parse_nodes(nodes)
    specs = tuple(parse_network(text) for text in networks or ("net1:1G",))
    spec = LabSpec(name, node_names, specs, slurm, rdma or "")
    click.echo(summary_text(bring_up.up(spec, partial(click.echo, err=True))))


@lab.command(
    "exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@_name_option
@click.argument("node")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, node: str, argv: tuple[str, ...]) -> None:
    """Run a command on NODE (or `head`) and exit with its status."""
    from fabricgauge.lab.host_access import enter

    words = argv[1:] if argv[0] == "--" else argv
    if not words:
        raise UsageError("lab exec: name a command, e.g. 'fabricgauge lab exec c1 -- ip addr'")
    sys.stdout.flush()
    enter(load_complete(name), node, words)


@lab.command()
@click.argument("lab_name", default="", metavar="[NAME]")
@_named_option
@_json_option
def status(lab_name: str, name: str | None, as_json: bool) -> None:
    """Show all labs, or the lab NAME: nodes, networks, active faults."""
    words = (lab_name,) if lab_name else ()
    _show_status(_join_names(words, name)[0] if lab_name or name else None, as_json)


@lab.command("list")
@_json_option
def list_(as_json: bool) -> None:
    """Show all labs: nodes, networks, active faults."""
    _show_status(None, as_json)


def _show_status(name: str | None, as_json: bool) -> None:
    import msgspec

    from fabricgauge.lab.up import status as lab_statuses

    statuses = lab_statuses(name)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(statuses)))
        return
    for lab_status in statuses:
        click.echo(status_text(lab_status))
    if not statuses:
        click.echo("no lab exists; bring one up with 'fabricgauge lab up'")


@lab.command()
@click.argument("lab_names", nargs=-1, metavar="[NAME]...")
@_named_option
@click.option(
    "--all", "all_labs", is_flag=True,
    help="Remove all labs of this user except those in use: a program measures them, comes up"
    " with them or runs on a node.",
)  # fmt: skip
def down(lab_names: tuple[str, ...], name: str | None, all_labs: bool) -> None:
    """Remove the lab NAME or `lab`, complete or broken, with all its processes."""
    from fabricgauge.lab.host_access import describe_use
    from fabricgauge.lab.up import down as remove

    if all_labs and (lab_names or name):
        raise UsageError("lab down: name labs, or --all")
    for lab_name in names() if all_labs else _join_names(lab_names, name):
        if all_labs and (use := describe_use(lab_name)):
            command = f"fabricgauge lab down {lab_name}"
            click.echo(f"lab {lab_name}: kept, since {use}; to remove it anyway, run '{command}'")
            continue
        removed = remove(lab_name)
        click.echo(f"lab {lab_name}: {'removed' if removed else 'does not exist'}")


@lab.command()
@_name_option
@click.option("--list", "show", is_flag=True, help="Show the kinds of fault and the active faults.")
@click.argument("kind", required=False, metavar="[KIND]", type=click.Choice(list(KINDS)))
@click.argument("node", required=False)
@click.argument("network", required=False)
@click.argument("value", required=False)
def fault(
    name: str, show: bool, kind: str | None, node: str | None, network: str | None,
    value: str | None,
) -> None:  # fmt: skip
    """Put a fault on the link of NODE in NETWORK. --list shows the VALUE of each kind."""
    if show:
        click.echo(_fault_list(name))
        return
    if kind in ON_A_NODE and value is None:
        network, value = "", network
    if kind is None or node is None or network is None:
        raise UsageError("lab fault: name KIND NODE NETWORK [VALUE]; see 'lab fault --list'")
    if kind == "link-up" and value is None:
        _end_faults(name, node, network, "link-down")
        return
    from fabricgauge.lab.faults import inject

    click.echo(faults_text(inject(load_complete(name), parse_fault(kind, node, network, value))))


@lab.command()
@_name_option
@click.argument("action", type=click.Choice(list(SLURM_ACTIONS)))
@click.argument("node")
def slurm(name: str, action: str, node: str) -> None:
    """Start or end the Slurm daemon of NODE: slurmctld on `head`, slurmd elsewhere.

    stop asks the daemon to end; its jobs go on. kill ends it at once and, except on `head`, all
    other processes on the node too, like a power cut.
    """
    from fabricgauge.lab.up import status as lab_statuses
    from fabricgauge.model.features import load_role

    getattr(load_role("scheduler"), action)(load_complete(name), node)
    (lab_status,) = lab_statuses(name)
    daemons = [daemon for daemon in lab_status.slurm if daemon.node == node]
    click.echo("\n".join(map(daemon_text, daemons)))


@lab.command()
@_name_option
@click.argument("node", required=False)
@click.argument("network", required=False)
def heal(name: str, node: str | None, network: str | None) -> None:
    """End all faults, or only those of NODE, or of NODE in NETWORK."""
    _end_faults(name, node, network)


def _join_names(words: tuple[str, ...], name: str | None) -> tuple[str, ...]:
    """Return the named labs, or the default one.

    Raises:
        UsageError: a lab is named as a word and as an option, differently.
    """
    if words and name and words != (name,):
        raise UsageError(f"name the lab once: {' '.join(words)} or --name {name}")
    return words or (name or DEFAULT_NAME,)


def parse_network(text: str) -> NetworkSpec:
    """Parse ``NAME:RATE[:MTU]``; UsageError for another form."""
    words = text.split(":")
    if len(words) not in (2, 3):
        raise UsageError(f"--network {text!r}: write NAME:RATE or NAME:RATE:MTU, e.g. net1:1G:9000")
    mtu = _parse_bytes(words[2], f"--network {text!r}") if len(words) == 3 else 1500
    return NetworkSpec(words[0], rate_bit_s(words[1]), mtu)


def _end_faults(name: str, node: str | None, network: str | None, kind: str | None = None) -> None:
    from fabricgauge.lab.faults import heal as end_faults

    click.echo(faults_text(end_faults(load_complete(name), node, network, kind)))


#: A hostname (RFC 1123), with underscores, which clusters use; it needs no quotes in a shell.
_HOSTNAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def _parse_nodes(text: str) -> tuple[str, ...]:
    if text.isdecimal():
        return numbered_nodes(int(text))
    nodes = tuple(text.split(","))
    for node in nodes:
        if not _HOSTNAME.fullmatch(node):
            raise UsageError(
                f"--nodes: {node!r} is not a hostname: use letters, digits, hyphens, dots and"
                " underscores"
            )
    return nodes


def _fault_list(name: str) -> str:
    lines = [f"{name:10}{kind.value:8}{kind.does}" for name, kind in KINDS.items()]
    if name in names():
        lines.append(faults_text(load_complete(name)))
    return "\n".join(lines)


def summary_text(state: LabState) -> str:
    """Return the lab's nodes and networks, and its Slurm if it has one."""
    lines = [f"lab {state.name}: {', '.join(node.name for node in state.nodes)}"]
    lines += [
        f"  {network.name}: {network.subnet} on {network.interface}, "
        f"{link_rate(network.rate_bit_s)} per direction, MTU {network.mtu_bytes}"
        for network in state.networks
    ]
    if state.rdma:
        lines.append(f"  virtual machines with emulated {state.rdma}: ignore their speed")
    else:
        lines.append(f"  TCP congestion control: {state.congestion_control}")
    if state.slurm:
        lines.append("  Slurm: partition normal, controller on head")
    return "\n".join(lines)


def daemon_text(daemon: DaemonStatus) -> str:
    """Return one daemon of the lab's Slurm, and whether it runs."""
    state = f"runs (process {daemon.pid})" if daemon.running else "does not run"
    return f"Slurm: {daemon.program} on {daemon.node} {state}"


def status_text(status: LabStatus) -> str:
    """Return the present state of a lab: nodes, networks, what is broken, faults, daemons."""
    state = status.state
    if not isinstance(state, LabState):
        return f"lab {status.name}: broken: {state.reason}"
    lines = [summary_text(state)]
    if not status.standing:
        machines = [node.name for node in state.nodes if state.rdma and node.index]
        ended = [name for name in status.dead if name in machines]
        reason = (
            f"no process holds {', '.join(status.dead)}" if status.dead else "`up` did not finish"
        )
        if ended:
            consoles = " and ".join(f"{state.directory}/console.{name}" for name in ended)
            reason = f"the virtual machine of {', '.join(ended)} has ended; see its last output in"
            reason = f"{reason} {consoles}"
        command = f"fabricgauge lab down {status.name}"
        lines.append(f"  broken: {reason}; remove it with '{command}'")
    lines += [f"  fault: {_describe_fault(fault)}" for fault in state.faults]
    lines += [f"  {daemon_text(daemon)}" for daemon in status.slurm]
    return "\n".join(lines)


def faults_text(state: LabState) -> str:
    """Return the active faults, one per line."""
    lines = [f"fault: {_describe_fault(fault)}" for fault in state.faults]
    return "\n".join(lines) or f"lab {state.name}: no active faults"


def _describe_fault(fault: LabFault) -> str:
    return KINDS[fault.kind].wrong.format(
        where=fault.where, amount=fault.amount, text=fault.text,
        rate=link_rate(fault.amount), percent=fault.amount * 100,
    )  # fmt: skip


def parse_fault(kind: str, node: str, network: str, value: str | None) -> LabFault:
    """Return the fault that the words describe; UsageError if VALUE is missing or not expected."""
    value_form, command = KINDS[kind].value, f"lab fault {kind}"
    if bool(value_form) != (value is not None):
        raise UsageError(
            f"{command}: " + (f"needs {value_form}" if value_form else f"takes no value {value!r}")
        )
    parsers: dict[str, Callable[[str], float]] = {
        "RATE": rate_bit_s,
        "BYTES": lambda text: _parse_bytes(text, command),
        "PERCENT": lambda text: _parse_number(text.removesuffix("%"), command) / 100,
        "PER_S": lambda text: _parse_number(text, command),
    }
    if value is None:
        return LabFault(kind, node, network)
    if value_form in parsers:
        return LabFault(kind, node, network, parsers[value_form](value))
    if value_form == "NAME=IP" and "=" not in value:
        raise UsageError(f"{command}: {value!r} is not NAME=IP, e.g. c1=10.77.0.99")
    return LabFault(kind, node, network, text=value)


def _parse_bytes(text: str, command: str) -> int:
    """Return a whole number of bytes; UsageError, which begins with ``command``, for other text."""
    if not text.isdecimal() or not text.isascii():
        raise UsageError(f"{command}: {text!r} is not a number of bytes")
    return int(text)


def _parse_number(text: str, command: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{command}: {text!r} is not a number") from error
