"""Addresses that each node has to itself: no other node is meant to reach it by them."""

import ipaddress
from collections import Counter

from fabricgauge.doctor.places import Seen, has_cable, leads_out
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Address, Interface, IpoibPort
from fabricgauge.model.preflight import Preflight

#: Drivers of networks over USB, by which management controllers speak with their own host: Linux
#: 6.12, drivers/net/usb.
USB = frozenset({"cdc_ether", "cdc_ncm", "cdc_eem", "rndis_host"})

#: Two nodes with one address may be a mistake; what more of them have alike was made so.
LEAST_ALIKE = 3

#: Ports of this rate are there for the nodes' traffic: alike addresses are a cloned image's.
FAST_BIT_S = 10e9


class Private:
    """Which addresses are private, for ``every`` node of a preflight."""

    def __init__(self, preflight: Preflight, every: tuple[Seen, ...]) -> None:
        networks = preflight.fabric.networks
        self._members = {member.ip for network in networks for member in network.members}
        self._subnets = tuple(ipaddress.ip_network(network.subnet) for network in networks)
        counts = Counter(
            (interface.name, address)
            for seen in every
            for interface in seen.node.interfaces
            for address in interface.addresses
        )
        self._alike = {
            place
            for place, count in counts.items()
            if count >= LEAST_ALIKE and 2 * count > len(every)
        }

    def has(self, interface: Interface, address: Address) -> bool:
        """Bridges of containers and guests, networks over USB, and what most nodes have alike on
        the same interface; but nothing of a network of the nodes."""
        if not has_cable(interface):
            return address.ip not in self._members
        alike = (interface.name, address) in self._alike and not _is_fast(interface)
        return (interface.driver in USB or alike) and not self._in_network(address)

    def all_of(self, interface: Interface) -> bool:
        """Whether the interface has no address by which others are meant to reach the node."""
        return all(
            self.has(interface, one) for one in interface.addresses if leads_out(one.ip)
        )  # fmt: skip

    def _in_network(self, address: Address) -> bool:
        own = ipaddress.ip_interface(f"{address.ip}/{address.prefix_length}").network
        return any(own.version == one.version and own.overlaps(one) for one in self._subnets)


def _is_fast(interface: Interface) -> bool:
    rate = 0.0 if isinstance(interface.speed_bit_s, Skipped) else interface.speed_bit_s
    return rate >= FAST_BIT_S or isinstance(interface.ipoib, IpoibPort)
