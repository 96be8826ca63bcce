"""What is wanted against what adapters can and others have: MTUs, addresses, subnets; pure."""

import ipaddress
from collections.abc import Iterator

from fabricgauge.configure import links
from fabricgauge.configure.job import HEAD, Job
from fabricgauge.configure.links import Link, State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Wanted, WantedPort
from fabricgauge.model.finding import Command


def asks() -> Iterator[Command]:
    """The head's own addresses; the nodes are asked for the sake of their lifelines."""
    yield links.questions(HEAD)[0]


def clashes(job: Job) -> Iterator[str]:
    """Sentences on ports that cannot be made as they are wanted."""
    others = _others(job)
    for wanted, port in job.ports:
        held = links.state(job, port.node)
        link = held.link(port.interface) if isinstance(held, State) else held
        if isinstance(link, Link):
            yield from _too_large(job.description.backend, wanted, port, link)
        if port.ip in others and not _has(held, port.ip):
            yield f"{port.ip} is wanted for {port.node} in {wanted.name}, but {others[port.ip]}"


def _too_large(backend: str, wanted: Wanted, port: WantedPort, link: Link) -> Iterator[str]:
    """IPoIB's limit follows its mode, which network services set and plain ip does not."""
    most, mtu = link.most_mtu_bytes, wanted.mtu_bytes
    ethernet = wanted.kind == "ethernet"
    if (ethernet or backend == "ip") and not isinstance(mtu, Skipped) and 0 < most < mtu:
        mode = f"ip link set dev {port.interface} type ipoib mode connected"
        yield (
            f"{port.node}:{port.interface} takes an MTU of {most} at most, and {wanted.name} wants"
            f" {mtu}{'' if ethernet else f'; in connected mode it takes more ({mode})'}"
        )


def notes(job: Job) -> Iterator[str]:
    """Other interfaces of a node in the subnet that its port is wanted in."""
    for wanted, port in job.ports:
        state = links.state(job, port.node)
        if isinstance(state, State):
            yield from _beside(job, wanted, port, state)


def _beside(job: Job, wanted: Wanted, port: WantedPort, state: State) -> Iterator[str]:
    subnet = ipaddress.IPv4Network(wanted.subnet)
    for link in state.links:
        for one in link.ipv4 if link.name != port.interface else ():
            if one.ip not in job.owners and ipaddress.IPv4Address(one.ip) in subnet:
                yield (
                    f"{port.node}:{link.name} has {one.ip}/{one.prefix_length}, in the subnet of"
                    f" {wanted.name} on {port.interface}: the kernel sends through one of the two"
                    f" only; give {wanted.name} a subnet of its own"
                )


def _others(job: Job) -> dict[str, str]:
    """Addresses that no node of the plan has: of the head, of gateways, of further nodes."""
    found: dict[str, str] = {}
    planned = frozenset(job.nodes)
    for inventory in job.inventories:
        for route in inventory.routes:
            found[route.gateway] = f"it is a gateway of {inventory.name}"
    for inventory in job.inventories:
        if inventory.name not in planned and not isinstance(inventory.node, Skipped):
            for interface in inventory.node.interfaces:
                found |= {one.ip: f"{inventory.name}:{interface.name} has it"
                          for one in interface.addresses}  # fmt: skip
    head = links.state(job, HEAD)
    for link in head.links if isinstance(head, State) else ():
        found |= {one.ip: f"the head has it on {link.name}" for one in link.addresses}
    return found


def _has(state: State | Skipped, ip: str) -> bool:
    return isinstance(state, State) and any(
        one.ip == ip for link in state.links for one in link.addresses
    )
