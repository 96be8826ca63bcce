"""Which nodes a request means, and how they are reached."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import msgspec

from fabricgauge.app.target import Target, ranks_of, simulation_of, target_of
from fabricgauge.lab.host_access import access, declared_networks
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.state import load_complete, names
from fabricgauge.lab.up import down, up
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import (
    OWN_LAB,
    MeasurementRequest,
    applicable,
    resumed,
    without,
)
from fabricgauge.run.launchers import LAUNCHERS, launcher_of
from fabricgauge.run.launchers.interface import NodesAsked
from fabricgauge.run.launchers.nodes import chosen
from fabricgauge.settings import Settings

_OWN_LAB_PREFIX = "check-"
#: How many nodes a lab has that is made for one run.
USUAL_NODES = 2

Reached = tuple[HostAccess, tuple[DeclaredNetwork, ...]]


@contextmanager
def located(
    said: MeasurementRequest,
    settings: Settings,
    from_files: Collection[str] = (),
    stored: MeasurementRequest | None = None,
) -> Iterator[Target]:
    """The target of a request in which everything has an effect, while its lab is there.

    ``stored`` is the request of the run that is resumed. ``from_files`` are fields that
    configuration files say.

    Raises:
        UsageError: options that contradict each other or have no effect, or no nodes.
    """
    request = applicable(said, _ranks_of_own_lab(said), from_files)
    if stored is not None:
        request = resumed(without(request, from_files), stored)
    with reached(request) as (access, declared):
        if stored is None:
            ranks = ranks_of(request, access.nodes)
            request = applicable(request, len(ranks), from_files)
        yield target_of(request, access, declared, settings)


def _ranks_of_own_lab(request: MeasurementRequest) -> int:
    """Known before it is brought up; 0 for nodes that are only known once they are reached."""
    if request.lab != OWN_LAB or request.resume:
        return 0
    return (len(request.rank_order) or request.nodes or USUAL_NODES) * request.ppn


@contextmanager
def reached(request: MeasurementRequest) -> Iterator[Reached]:
    """The hosts, and the networks that their launcher declares.

    Raises:
        UsageError: no nodes, or none of that name.
    """
    if request.sim:
        yield _simulated(request), ()
    elif not request.lab:
        # The same, known to be one machine's where this program runs on a node of a lab itself.
        virtual = "FABRICGAUGE_LAB" in os.environ
        yield msgspec.structs.replace(_without_lab(request), virtual=virtual), ()
    elif request.lab == OWN_LAB:
        with own_lab(request.nodes) as name:
            yield _in_lab(name, request)
    else:
        yield _in_lab(request.lab, request)


def _simulated(request: MeasurementRequest) -> HostAccess:
    """Nodes that are no hosts: nothing but the simulator reaches them."""
    simulation = simulation_of(request)
    there = simulation.platform.nodes if simulation else ()
    nodes = chosen(request.nodelist, request.exclude, there)
    unknown = [node for node in nodes if node not in there]
    if unknown:
        raise UsageError(
            f"{request.sim} has no node {unknown[0]!r}; it has {there[0]} to {there[-1]}"
        )
    return HostAccess("simulated", tuple(Host(node, ()) for node in nodes), virtual=True)


def _without_lab(request: MeasurementRequest) -> HostAccess:
    asked = NodesAsked(request.nodelist, request.exclude, request.ssh_config, os.environ)
    if request.launcher:
        return launcher_of(request.launcher).reach(asked)
    launchers = map(launcher_of, reversed(LAUNCHERS))
    return next(one for one in launchers if one.is_usual(asked)).reach(asked)


def _in_lab(name: str, request: MeasurementRequest) -> Reached:
    state = load_complete(name)
    there = access(state)
    names = chosen(request.nodelist, request.exclude, there.nodes)
    unknown = [node for node in names if node not in there.nodes]
    if unknown:
        raise UsageError(f"lab {name} has no node {unknown[0]!r}; it has {', '.join(there.nodes)}")
    by_name = {host.node: host for host in there.hosts}
    hosts = tuple(by_name[one] for one in names)
    return msgspec.structs.replace(there, hosts=hosts), declared_networks(state)


@contextmanager
def own_lab(nodes: int, with_slurm: bool = False) -> Iterator[str]:
    """A lab for this check alone; what a killed check left behind is removed first."""
    for name in names():
        owner = name.removeprefix(_OWN_LAB_PREFIX)
        if name.startswith(_OWN_LAB_PREFIX) and owner.isdigit() and not _alive(int(owner)):
            down(name)
    name = f"{_OWN_LAB_PREFIX}{os.getpid()}"
    up(LabSpec(name, numbered_nodes(nodes or USUAL_NODES), slurm=with_slurm))
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
