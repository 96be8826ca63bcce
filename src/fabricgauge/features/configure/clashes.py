"""Check the plan against adapters' limits, others' addresses and layered interfaces; pure.

No plan makes or breaks bonds, bridges or VLANs. Source: ``ip -j -d addr`` of iproute2 6.1, with
``info_kind`` of a link, its ``master``, and as ``link`` the name of the link below it.
"""

import ipaddress
from collections.abc import Iterator

from fabricgauge.features.configure import links
from fabricgauge.features.configure.job import HEAD, Backend, Draft, WantedNetwork, WantedPort
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ip_link import IpLink


def clashes(job: Draft, backend: Backend) -> Iterator[str]:
    """Yield sentences on ports that cannot be configured as described.

    That is so if a port would break a layered link, or the backend would define it wrongly.
    """
    other_owners = _other_owners(job)
    for network, port in job.ports:
        state = links.state(job, port.node)
        link = state.link(port.interface)
        if isinstance(link, IpLink):
            yield from _layer_clashes(backend, network, port, link)
            yield from _mtu_clashes(backend.name, network, port, link)
        is_present = any(
            address.ip == port.ip for held_link in state.links for address in held_link.addresses
        )
        if port.ip in other_owners and not is_present:
            owner = other_owners[port.ip]
            yield f"{port.ip} is planned for {port.node} in {network.name}, but {owner}"


def _layer_clashes(
    backend: Backend, network: WantedNetwork, port: WantedPort, link: IpLink
) -> Iterator[str]:
    if link.master:
        yield (
            f"{port.where} belongs to {link.master}, which has the addresses:"
            f" name that as the interface for {network.name}, or another"
        )
    elif backend.adapters_only and link.kind in _VIRTUAL_KINDS:
        yield (
            f"{port.where} is {_VIRTUAL_KINDS[link.kind]}, and for {backend.name} only adapters are"
            f" planned: give it {port.cidr} where it is defined, or use the backend ip"
        )


def _mtu_clashes(
    backend: str, network: WantedNetwork, port: WantedPort, link: IpLink
) -> Iterator[str]:
    """Check the MTU. IPoIB's limit depends on its mode, which plain ip does not set."""
    limit, mtu = link.most_mtu_bytes, network.mtu_bytes
    ethernet = network.kind == "ethernet"
    if (ethernet or backend == "ip") and not isinstance(mtu, Skipped) and 0 < limit < mtu:
        mode = f"ip link set dev {port.interface} type ipoib mode connected"
        yield (
            f"{port.where} takes an MTU of {limit} at most, and {network.name} wants"
            f" {mtu}{'' if ethernet else f'; in connected mode it takes more ({mode})'}"
        )


def notes(job: Draft, backend: Backend) -> Iterator[str]:
    """Yield notes on further interfaces in a port's subnet, and on what a service may remove.

    A service that follows the definition of an adapter may drop other addresses, or interrupt
    links above it.
    """
    for network, port in job.ports:
        state = links.state(job, port.node)
        port_link = state.link(port.interface)
        subnet = ipaddress.IPv4Network(network.subnet)
        for link in state.links:
            for address in link.ipv4 if link.name != port.interface else ():
                if address.ip not in job.owners and ipaddress.IPv4Address(address.ip) in subnet:
                    yield (
                        f"{port.node}:{link.name} has {address.cidr}, in the subnet"
                        f" of {network.name} on {port.interface}: the kernel sends through one of"
                        f" the two only; give {network.name} a subnet of its own"
                    )
        if isinstance(port_link, Skipped) or not backend.adapters_only:
            continue
        other_cidrs = [address.cidr for address in port_link.addresses
                       if address.scope == "global" and address.ip != port.ip]  # fmt: skip
        if other_cidrs:
            yield (
                f"{port.where} has {', '.join(other_cidrs)} as well, and {backend.name} gets"
                f" {port.cidr} only: the others may be gone afterwards"
            )
        if above := [
            link.name
            for link in state.links
            if link.parent == port.interface and link.kind in _UPPER_KINDS
        ]:
            yield f"{port.where} carries {', '.join(above)}, which may be interrupted for a moment"


def _other_owners(job: Draft) -> dict[str, str]:
    """Return owners of addresses outside of the plan: the head, gateways, further nodes."""
    owners: dict[str, str] = {}
    planned = frozenset(job.nodes)
    for inventory in job.inventories:
        for route in inventory.routes:
            owners[route.gateway] = f"it is a gateway of {inventory.name}"
    for inventory in job.inventories:
        for interface in inventory.interfaces if inventory.name not in planned else ():
            sentence = f"{inventory.name}:{interface.name} has it"
            owners |= {address.ip: sentence for address in interface.addresses}
    for link in links.state(job, HEAD).links:
        owners |= {address.ip: f"the head has it on {link.name}" for address in link.addresses}
    return owners


#: Kinds of layered links (ip-link(8)), with a word for a sentence. Other kinds may be an
#: adapter's: veth, ipoib.
_VIRTUAL_KINDS = {
    "bond": "a bond", "team": "a team", "bridge": "a bridge", "openvswitch": "a switch",
    "vlan": "a VLAN", "macvlan": "a macvlan", "ipvlan": "an ipvlan", "vxlan": "a VXLAN",
    "dummy": "a dummy", "tun": "a tunnel", "wireguard": "a tunnel",
}  # fmt: skip

#: Kinds that lie on one other link and are lost with its definition.
_UPPER_KINDS = frozenset(("vlan", "macvlan", "ipvlan"))
