"""Inventories → what the ceilings of their networks and RDMA ports need; pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from fabricgauge.discover.ports import PortEnd, host_link, interface_of, is_usable, slot
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.fabric import Member, Network, Node
from fabricgauge.model.inventory import Inventory
from fabricgauge.model.likeness import PortClass
from fabricgauge.words.figures import link_rate


def with_host_links(
    networks: Iterable[Network], nodes: Sequence[Inventory | Node]
) -> tuple[Network, ...]:
    """The networks, each with the fastest PCI Express link of its members' adapters.

    The rate is the fastest port's as well: an adapter in a narrow slot is odd, and no limit for
    the others. A network of which some member's adapter is not known stays as it is.
    """
    by_interface = {
        (node.name, interface): slot(adapter)
        for node in nodes
        for adapter in node.adapters
        for interface in adapter.interfaces
    }
    return tuple(_attached(network, by_interface) for network in networks)


def _attached(network: Network, links: Mapping[tuple[str, str], PcieLink | Skipped]) -> Network:
    found = [links.get((member.node, member.interface)) for member in network.members]
    known = [link for link in found if isinstance(link, PcieLink) and host_link(link)]
    if len(known) < len(found) or not known:
        return network
    fastest = max(known, key=lambda link: link.gt_s * link.lanes)
    return msgspec.structs.replace(network, host_link=host_link(fastest))


def port_classes(
    inventories: Sequence[Inventory], joined: Collection[tuple[str, str]] = ()
) -> tuple[PortClass, ...]:
    """Active RDMA ports that are alike, with a network that stands for a link of theirs.

    That they are alike does not say that they are joined; those of ``joined``, by node and name,
    are known to be, and left out.
    """
    links: dict[str, Network] = {}
    ends: dict[str, list[Member]] = {}
    for inventory in inventories:
        for port in inventory.rdma_ports:
            if is_usable(port) and (inventory.name, port.name) not in joined:
                adapters = (one for one in inventory.adapters if port.device in one.rdma_devices)
                adapter = next(adapters, Skipped("no source names its adapter"))
                interface = interface_of(inventory.node, port)
                end = PortEnd(inventory.name, port, adapter, interface)
                link = _link(end)
                links.setdefault(link.name, link)
                ends.setdefault(link.name, []).append(end.member)
    return tuple(_class(links[name], tuple(ends[name])) for name in sorted(links))


def _class(network: Network, ends: tuple[Member, ...]) -> PortClass:
    """Where the MTU is the interface's, the members say so: RDMA's is then smaller."""
    members = ends if isinstance(network.stated_mtu_bytes, Skipped) else ()
    return PortClass(msgspec.structs.replace(network, members=members), ends)


def _link(end: PortEnd) -> Network:
    """A link like this port's, of one name for equal ports."""
    rate, (mtu, by_interface, assumed) = end.rate_bit_s, end.mtu
    lanes = end.link if end.port.protocol == "infiniband" else ""
    told = lanes or (link_rate(rate) if isinstance(rate, float) else "of unknown rate")
    packet = f"MTU {mtu} assumed" if assumed else f"MTU {mtu}"
    told = f"{end.technology} {told}"
    return Network(
        name=", ".join(part for part in (told, packet, end.host_link) if part),
        subnet="", technology=end.technology, rate_bit_s=rate, members=(),
        rate_origin="not known" if isinstance(rate, Skipped) else "the ports report it",
        stated_mtu_bytes=Skipped("the members say it") if by_interface else mtu,
        host_link=end.host_link, link=end.link, assumed=("mtu",) if assumed else (),
    )  # fmt: skip
