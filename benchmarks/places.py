"""Where the ranks are put: on nodes of a lab, or on one machine's shared memory."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import msgspec

from fabricgauge.lab.host_access import access as lab_access
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.up import down, up
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.plan import PlannedLaunch

LAB_RATE_BIT_S = 1e9


class Place(msgspec.Struct, frozen=True):
    """The ranks' nodes and the way there.

    ``env`` tells each kind of MPI which network to take. It is the environment, not the engine's
    own pinning, so that every program that is compared is started in the same way.
    """

    name: str
    access: HostAccess
    launch: PlannedLaunch
    env: Mapping[str, Mapping[str, str]]


def shared_memory(ranks: int = 2) -> Place:
    """All ranks on this machine, each MPI's own choice of transport."""
    here = _launch(*("here",) * ranks)
    return Place("shared memory", HostAccess("local", (Host("here", ()),)), here, {})


def of_ranks(stack: ExitStack, ranks: int, *, with_lab: bool) -> list[Place]:
    """Shared memory, and on request a lab with a node for each rank, up until ``mpi_impl`` ends."""
    nodes = tuple(f"c{i}" for i in range(1, ranks + 1))
    return [shared_memory(ranks), *([stack.enter_context(lab(nodes))] if with_lab else [])]


@contextmanager
def lab(nodes: tuple[str, ...] = ("c1", "c2")) -> Iterator[Place]:
    """A rank on each node of a lab of our own at 1 Gb/s, over TCP; it is removed in the end."""
    name = f"bench-{os.getpid()}-{len(nodes)}"
    state = up(LabSpec(name, nodes, (NetworkSpec("net1", LAB_RATE_BIT_S),)))
    try:
        network = state.networks[0]
        env = _over_tcp(network.interface, network.subnet)
        yield Place("lab, TCP at 1 Gb/s", lab_access(state), _launch(*nodes), env)
    finally:
        down(name)


def _launch(*nodes: str) -> PlannedLaunch:
    return PlannedLaunch(1, None, None, nodes, ())


def _over_tcp(interface: str, subnet: str) -> dict[str, dict[str, str]]:
    mpich = {
        "UCX_TLS": "tcp,self,sm", "UCX_NET_DEVICES": interface,
        "FI_PROVIDER": "tcp", "FI_TCP_IFACE": interface,
    }  # fmt: skip
    openmpi = {
        "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,vader",
        "OMPI_MCA_btl_tcp_if_include": subnet,
    }  # fmt: skip
    return {"mpich": mpich, "openmpi": openmpi}
