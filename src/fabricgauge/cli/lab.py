"""``fabricgauge lab``: a virtual cluster on this machine."""

import re
import sys
from functools import partial

import click

from fabricgauge.cli.lab_text import (
    daemon_text,
    faults_text,
    parse_fault,
    status_text,
    summary_text,
    whole_bytes,
)
from fabricgauge.lab.fault_kinds import KINDS, ON_A_NODE
from fabricgauge.lab.spec import LabSpec, NetworkSpec, numbered_nodes
from fabricgauge.lab.state import load_complete, names
from fabricgauge.model.errors import UsageError
from fabricgauge.settings import rate_bit_s

#: What can be done to a node's Slurm daemon; each is a function of ``lab.slurm.cluster``.
SLURM_ACTIONS = ("start", "stop", "restart", "kill")

_name_option = click.option(
    "--name", default="lab", show_default=True, help="The lab; several can stand side by side."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def lab() -> None:
    """A virtual cluster on this machine: nodes as namespaces, links of set rates, faults."""


@lab.command()
@_name_option
@click.option(
    "--nodes", default="2", show_default=True, metavar="N|NAME,…",
    help="How many nodes (c1, c2, …), or their names.",
)  # fmt: skip
@click.option(
    "--network", "networks", multiple=True, metavar="NAME:RATE[:MTU]",
    help="A network: line rate per direction in bit/s (100M, 1G, 25G), MTU in bytes. "
    "May be repeated.  [default: net1:1G:1500]",
)  # fmt: skip
@click.option(
    "--slurm", is_flag=True,
    help="Run Slurm on it: slurmctld on `head`, slurmd on every node. Needs root.",
)  # fmt: skip
@click.option(
    "--rdma", type=click.Choice(["roce", "iwarp"]),
    help="Two virtual machines with software RDMA instead: RoCE v2 (rxe) or iWARP (siw). Emulated: "
    "their speed means nothing.",
)  # fmt: skip
def up(name: str, nodes: str, networks: tuple[str, ...], slurm: bool, rdma: str | None) -> None:
    """Bring a lab up; it stands until `lab down`."""
    from fabricgauge.lab import up as bring_up

    named = _nodes(nodes)
    wanted = tuple(parse_network(text) for text in networks or ("net1:1G",))
    spec = LabSpec(name, named, wanted, slurm, rdma or "")
    click.echo(summary_text(bring_up.up(spec, partial(click.echo, err=True))))


@lab.command(
    "exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@_name_option
@click.argument("node")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, node: str, argv: tuple[str, ...]) -> None:
    """Run a command on NODE (or `head`); its exit status is passed on."""
    from fabricgauge.lab.host_access import enter

    words = argv[1:] if argv[0] == "--" else argv
    if not words:
        raise UsageError("lab exec: name a command, e.g. 'fabricgauge lab exec c1 -- ip addr'")
    sys.stdout.flush()
    enter(load_complete(name), node, words)


@lab.command()
@click.option("--name", help="Only this lab.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def status(name: str | None, as_json: bool) -> None:
    """Show labs, their nodes and networks, and the faults in force."""
    import msgspec

    from fabricgauge.lab.status import status as look

    found = look(name)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for one in found:
        click.echo(status_text(one))
    if not found:
        click.echo("no lab stands; bring one up with 'fabricgauge lab up'")


@lab.command()
@_name_option
@click.option(
    "--all", "everything", is_flag=True, help="Every lab of this user that no program measures."
)
def down(name: str, everything: bool) -> None:
    """Remove a lab with all its processes, also one that is broken."""
    from fabricgauge.lab.up import down as remove
    from fabricgauge.lab.use import process_using

    for lab_name in names() if everything else (name,):
        if everything and (user := process_using(lab_name)):
            click.echo(
                f"lab {lab_name}: kept, process {user} measures it; to remove it all the same run"
                f" 'fabricgauge lab down --name {lab_name}'"
            )
            continue
        removed = remove(lab_name)
        click.echo(f"lab {lab_name}: {'removed' if removed else 'there was none'}")


@lab.command()
@_name_option
@click.option("--list", "show", is_flag=True, help="Show the kinds of fault, and those in force.")
@click.argument("kind", required=False, type=click.Choice(list(KINDS)))
@click.argument("node", required=False)
@click.argument("network", required=False)
@click.argument("value", required=False)
def fault(
    name: str, show: bool, kind: str | None, node: str | None, network: str | None,
    value: str | None,
) -> None:  # fmt: skip
    """Put a fault on the link of NODE in NETWORK; VALUE as the kind wants it (--list)."""
    if show:
        click.echo(_fault_list(name))
        return
    if kind in ON_A_NODE and value is None:
        network, value = "", network
    if kind is None or node is None or network is None:
        raise UsageError("lab fault: name KIND NODE NETWORK [VALUE]; see 'lab fault --list'")
    if kind == "link-up" and value is None:
        _heal(name, node, network, cable_only=True)
        return
    from fabricgauge.lab.faults import inject

    click.echo(faults_text(inject(load_complete(name), parse_fault(kind, node, network, value))))


@lab.command()
@_name_option
@click.argument("action", type=click.Choice(list(SLURM_ACTIONS)))
@click.argument("node")
def slurm(name: str, action: str, node: str) -> None:
    """Start or end the Slurm daemon of NODE: slurmctld on `head`, slurmd elsewhere.

    stop asks it to end; its jobs go on. kill ends it at once, and on a node all that runs
    there, as a power cut does.
    """
    from fabricgauge.lab.slurm import cluster
    from fabricgauge.lab.status import status as look

    getattr(cluster, action)(load_complete(name), node)
    (found,) = look(name)
    click.echo("\n".join(daemon_text(one) for one in found.slurm if one.node == node))


@lab.command()
@_name_option
@click.argument("node", required=False)
@click.argument("network", required=False)
def heal(name: str, node: str | None, network: str | None) -> None:
    """End all faults, or those of NODE, or those of NODE in NETWORK."""
    _heal(name, node, network)


def parse_network(text: str) -> NetworkSpec:
    """``NAME:RATE[:MTU]`` as a network; UsageError if it is not that."""
    words = text.split(":")
    if len(words) not in (2, 3):
        raise UsageError(f"--network {text!r}: write NAME:RATE or NAME:RATE:MTU, e.g. net1:1G:9000")
    mtu = whole_bytes(words[2], f"--network {text!r}") if len(words) == 3 else 1500
    return NetworkSpec(words[0], rate_bit_s(words[1]), mtu)


def _heal(name: str, node: str | None, network: str | None, cable_only: bool = False) -> None:
    from fabricgauge.lab.faults import heal as cure

    kind = "link-down" if cable_only else None
    click.echo(faults_text(cure(load_complete(name), node, network, kind)))


#: A hostname (RFC 1123), with underscores, which clusters use: shells and files take it as it is.
_HOSTNAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def _nodes(text: str) -> tuple[str, ...]:
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
