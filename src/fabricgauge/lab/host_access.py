"""A lab as the other stages see it: access to its nodes, and its networks as declared."""

import os
from pathlib import Path

from fabricgauge.lab.state import LabState
from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.host_access import Host, HostAccess


def access(state: LabState) -> HostAccess:
    """All nodes but the head; ``mpiexec`` is started on the head, or the first node without one.

    Each command checks the node's holder process each time and keeps the working directory.
    Virtual machines have a kernel each.
    """
    return HostAccess(
        launcher="lab",
        hosts=tuple(Host(node.name, entry(state, node.name)) for node in state.nodes if node.index),
        head_prefix=entry(state, state.nodes[0].name),
        agent=str(Path(state.directory) / "agent"),
        virtual=not state.rdma,
    )


def entry(state: LabState, node: str) -> tuple[str, ...]:
    """What to put in front of an argv list so that it runs on a node of the lab."""
    return ("/bin/sh", str(Path(state.directory) / "enter"), state.node(node).name)


def declared_networks(state: LabState) -> tuple[DeclaredNetwork, ...]:
    """The lab's networks with the line rates that it was asked for, in bit/s."""
    return tuple(
        DeclaredNetwork(network.name, network.subnet, network.rate_bit_s, "declared by the lab")
        for network in state.networks
    )


def enter(state: LabState, node: str, argv: tuple[str, ...]) -> None:
    """Become ``argv`` on a node; terminal, input and exit status are then the command's."""
    prefix = entry(state, node)
    os.execv(prefix[0], [*prefix, *argv])  # noqa: S606 -- an argv list, on purpose
