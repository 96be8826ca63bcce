"""Give other stages access to a lab's nodes, and its networks as declared."""

import os
from pathlib import Path

from fabricgauge.lab.state import LabState
from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.host_access import Host, HostAccess


def access(state: LabState) -> HostAccess:
    """Return access to all nodes except the head.

    ``mpiexec`` starts on the head, or on the first node of a lab without a head. Each command
    checks the node's holder process and keeps the working directory. Virtual machines have a
    kernel each, so they are not ``virtual``.
    """
    return HostAccess(
        launcher="lab",
        hosts=tuple(Host(node.name, entry(state, node.name)) for node in state.nodes if node.index),
        head_prefix=entry(state, state.nodes[0].name),
        agent=str(Path(state.directory) / "agent"),
        virtual=not state.rdma,
    )


def entry(state: LabState, node: str) -> tuple[str, ...]:
    """Return the argv prefix that runs a command on a node of the lab."""
    return ("/bin/sh", str(Path(state.directory) / "enter"), state.node(node).name)


def declared_networks(state: LabState) -> tuple[DeclaredNetwork, ...]:
    """Return the lab's networks with their specified line rates in bit/s."""
    return tuple(
        DeclaredNetwork(network.name, network.subnet, network.rate_bit_s, "declared by the lab")
        for network in state.networks
    )


def enter(state: LabState, node: str, argv: tuple[str, ...]) -> None:
    """Replace this process by ``argv`` on a node; terminal, input and exit status are its own."""
    prefix = entry(state, node)
    os.execv(prefix[0], [*prefix, *argv])  # noqa: S606 -- an argv list, on purpose
