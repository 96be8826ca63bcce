"""Which nodes, reached how: the launcher that the options name."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.host_access import HostAccess

if TYPE_CHECKING:
    from fabricgauge.run.launchers.slurm import Allocation

#: `--lab` without a name: a lab of our own, removed afterwards.
OWN_LAB = "(own)"
_OWN_LAB_PREFIX = "check-"

#: In a Slurm allocation MPI's own launcher starts the ranks (slurm), or srun does.
LAUNCHERS = ("ssh", "local", "slurm", "srun")

Reached = tuple[HostAccess, tuple[DeclaredNetwork, ...]]


@contextmanager
def reached(options: dict[str, Any]) -> Iterator[Reached]:
    """The hosts, and the networks that their launcher declares.

    Raises:
        UsageError: options that contradict each other, or no nodes.
    """
    if options.get("sim"):
        yield _simulated(options), ()
        return
    if options["lab"] is None:
        yield _inside(_without_lab(options)), ()
        return
    if options["launcher"]:
        raise UsageError("--lab and --launcher exclude each other: a lab has its own launcher")
    if options["lab"] == OWN_LAB:
        with own_lab(options.get("nodes")) as name:
            yield _in_lab(name, options)
    else:
        yield _in_lab(options["lab"], options)


def _inside(access: HostAccess) -> HostAccess:
    """The same, known to be one machine's where this program runs on a node of a lab itself."""
    import msgspec

    return msgspec.structs.replace(access, virtual="FABRICGAUGE_LAB" in os.environ)


def _simulated(options: dict[str, Any]) -> HostAccess:
    """Nodes that are no hosts: nothing but the simulator reaches them."""
    from fabricgauge.cli.fabric import simulation_of
    from fabricgauge.model.host_access import Host

    if options["lab"] is not None or options["launcher"]:
        raise UsageError("--sim excludes --lab and --launcher: nothing real is measured")
    simulation = simulation_of(options)
    there = simulation.platform.nodes if simulation else ()
    nodes = _named(options, there)
    unknown = [node for node in nodes if node not in there]
    if unknown:
        raise UsageError(
            f"{options['sim']} has no node {unknown[0]!r}; it has {there[0]} to {there[-1]}"
        )
    return HostAccess("simulated", tuple(Host(node, ()) for node in nodes), virtual=True)


def _without_lab(options: dict[str, Any]) -> HostAccess:
    from fabricgauge.run.launchers import local, slurm, ssh

    nodes = _named(options)
    allocated = slurm.allocation(os.environ)
    launcher = options["launcher"] or _usual(nodes, allocated)
    if launcher in ("slurm", "srun"):
        if allocated is None:
            raise UsageError(
                f"--launcher {launcher} needs a Slurm allocation; start it in one (salloc,"
                " sbatch), or let it ask for its own: fabricgauge submit"
            )
        return slurm.access(allocated, _named(options, allocated.nodes), launcher)
    if launcher == "local":
        return local.access(nodes or (platform.node(),))
    if not nodes:
        raise UsageError("--launcher ssh needs nodes; name them with -w, e.g. -w c[1-2]")
    config = options.get("ssh_config")
    return ssh.access(nodes, ("-F", str(Path(config).resolve())) if config else ())


def _usual(nodes: tuple[str, ...], allocated: "Allocation | None") -> str:
    """Slurm for nodes of our own allocation, ssh for others, this machine for none."""
    if allocated is not None and set(nodes) <= set(allocated.nodes):
        return "slurm"
    return "ssh" if nodes else "local"


def _named(options: dict[str, Any], everybody: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The nodes of ``-w``, or everybody, without those of ``-x``; empty where none are named.

    Raises:
        UsageError: no node is left.
    """
    from fabricgauge.run.launchers.nodes import expand

    exclude = options["exclude"] or ""
    if options["nodelist"]:
        return expand(options["nodelist"], exclude)
    if not everybody or not exclude:
        return everybody
    return expand(",".join(everybody), exclude)


def _in_lab(name: str, options: dict[str, Any]) -> Reached:
    import msgspec

    from fabricgauge.lab.host_access import access, declared_networks
    from fabricgauge.lab.state import load_complete

    state = load_complete(name)
    hosts = access(state)
    names = _named(options, hosts.nodes)
    unknown = [node for node in names if node not in hosts.nodes]
    if unknown:
        raise UsageError(f"lab {name} has no node {unknown[0]!r}; it has {', '.join(hosts.nodes)}")
    by_name = {host.node: host for host in hosts.hosts}
    hosts = msgspec.structs.replace(hosts, hosts=tuple(by_name[name] for name in names))
    return hosts, declared_networks(state)


@contextmanager
def own_lab(nodes: int | None, slurm: bool = False) -> Iterator[str]:
    """A lab for this check alone; what a killed check left behind is removed first."""
    from fabricgauge.lab.spec import LabSpec, numbered_nodes
    from fabricgauge.lab.state import names
    from fabricgauge.lab.up import down, up

    for name in names():
        owner = name.removeprefix(_OWN_LAB_PREFIX)
        if name.startswith(_OWN_LAB_PREFIX) and owner.isdigit() and not _alive(int(owner)):
            down(name)
    name = f"{_OWN_LAB_PREFIX}{os.getpid()}"
    up(LabSpec(name, numbered_nodes(nodes or 2), slurm=slurm))
    try:
        yield name
    finally:
        down(name)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
