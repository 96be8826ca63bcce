"""What is wanted against what adapters can, others have, and interfaces are made of; pure.

MTUs, addresses and subnets; and bonds, bridges, VLANs and what they are made of: no plan makes or
breaks one. Source: ``ip -j -d addr`` of iproute2 6.1: ``info_kind`` of a link, its ``master``, and
of a link upon another the other's name as ``link``.
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.configure import links
from fabricgauge.configure.backends.kind import Backend
from fabricgauge.configure.job import HEAD, Draft
from fabricgauge.configure.links import State
from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import WantedNetwork, WantedPort
from fabricgauge.model.finding import Command
from fabricgauge.model.ip_link import IpLink


def asks() -> Iterator[Command]:
    """The head's own addresses; the nodes are asked for the sake of their lifelines."""
    yield links.questions(HEAD)[0]


def clashes(job: Draft, backend: Backend) -> Iterator[str]:
    """Sentences on ports that cannot be made as they are wanted, would break a link that is made
    of others, or be written down wrongly.
    """
    others = _others(job)
    for wanted, port in job.ports:
        state = links.state(job, port.node)
        link = state.link(port.interface)
        if isinstance(link, IpLink):
            yield from _layers(backend, wanted, port, state, link)
            yield from _too_large(backend.name, wanted, port, link)
        has = any(one.ip == port.ip for each in state.links for one in each.addresses)
        if port.ip in others and not has:
            yield f"{port.ip} is wanted for {port.node} in {wanted.name}, but {others[port.ip]}"


def _layers(
    backend: Backend, wanted: WantedNetwork, port: WantedPort, state: State, link: IpLink
) -> Iterator[str]:
    if link.master:
        yield (
            f"{port.where} belongs to {link.master}, which has the addresses:"
            f" name that as the interface for {wanted.name}, or another"
        )
    elif backend.adapters_only and link.kind in _MADE:
        yield (
            f"{port.where} is {_MADE[link.kind]}, and for {backend.name} only adapters are planned:"
            f" give it {port.cidr} where it is defined, or use the backend ip"
        )


def _too_large(
    backend: str, wanted: WantedNetwork, port: WantedPort, link: IpLink
) -> Iterator[str]:
    """IPoIB's limit follows its mode, which network services set and plain ip does not."""
    most, mtu = link.most_mtu_bytes, wanted.mtu_bytes
    ethernet = wanted.kind == "ethernet"
    if (ethernet or backend == "ip") and not isinstance(mtu, Skipped) and 0 < most < mtu:
        mode = f"ip link set dev {port.interface} type ipoib mode connected"
        yield (
            f"{port.where} takes an MTU of {most} at most, and {wanted.name} wants"
            f" {mtu}{'' if ethernet else f'; in connected mode it takes more ({mode})'}"
        )


def notes(job: Draft, backend: Backend) -> Iterator[str]:
    """Other interfaces of a node in the subnet that its port is wanted in; and what goes, or may be
    interrupted, when a service follows what is written for an adapter.
    """
    for wanted, port in job.ports:
        state = links.state(job, port.node)
        own = state.link(port.interface)
        subnet = ipaddress.IPv4Network(wanted.subnet)
        for link in state.links:
            for one in link.ipv4 if link.name != port.interface else ():
                if one.ip not in job.owners and ipaddress.IPv4Address(one.ip) in subnet:
                    yield (
                        f"{port.node}:{link.name} has {one.cidr}, in the subnet"
                        f" of {wanted.name} on {port.interface}: the kernel sends through one of"
                        f" the two only; give {wanted.name} a subnet of its own"
                    )
        if isinstance(own, Skipped) or not backend.adapters_only:
            continue
        others = [one.cidr for one in own.addresses
                  if one.scope == "global" and one.ip != port.ip]  # fmt: skip
        if others:
            yield (
                f"{port.where} has {', '.join(others)} as well, and {backend.name} gets {port.cidr}"
                " only: the others may be gone afterwards"
            )
        if above := _above(port, state):
            yield f"{port.where} carries {', '.join(above)}, which may be interrupted for a moment"


def _others(job: Draft) -> dict[str, str]:
    """Addresses that no node of the plan has: of the head, of gateways, of further nodes."""
    found: dict[str, str] = {}
    planned = frozenset(job.nodes)
    for inventory in job.inventories:
        for route in inventory.routes:
            found[route.gateway] = f"it is a gateway of {inventory.name}"
    for inventory in job.inventories:
        for interface in inventory.interfaces if inventory.name not in planned else ():
            told = f"{inventory.name}:{interface.name} has it"
            found |= {one.ip: told for one in interface.addresses}
    for link in links.state(job, HEAD).links:
        found |= {one.ip: f"the head has it on {link.name}" for one in link.addresses}
    return found


#: Kinds of links (ip-link(8)) that are made of others, by the word for a sentence. What is
#: not here may be an adapter's own: veth, ipoib.
_MADE = {
    "bond": "a bond", "team": "a team", "bridge": "a bridge", "openvswitch": "a switch",
    "vlan": "a VLAN", "macvlan": "a macvlan", "ipvlan": "an ipvlan", "vxlan": "a VXLAN",
    "dummy": "a dummy", "tun": "a tunnel", "wireguard": "a tunnel",
}  # fmt: skip

#: Those that lie upon one other link and are lost with its definition.
_UPON = frozenset(("vlan", "macvlan", "ipvlan"))


def _above(port: WantedPort, state: State) -> list[str]:
    return [one.name for one in state.links if one.parent == port.interface and one.kind in _UPON]
