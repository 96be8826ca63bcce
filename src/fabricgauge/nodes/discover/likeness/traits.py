"""One node's properties, as traits that can be compared with another node's; pure.

A trait's name contains no name that a kernel gave (``firmware of XL710 #2``): adapters are
identified by product and by their order on the bus. So the same adapter is the same trait on a node
whose interfaces have other names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.model.words.figures import link_rate, size
from fabricgauge.nodes.discover.port_ends import name_link
from fabricgauge.nodes.discover.survey.same import normalise_bus
from fabricgauge.nodes.discover.survey.sysfs import VIRTUAL, find_virtual_functions

#: Words of the kernel's command line that affect a network or a processor; other words (root,
#: BOOT_IMAGE, ip, addresses) rightly differ between like nodes.
#: Linux 6.12, Documentation/admin-guide/kernel-parameters.txt.
_RELEVANT = re.compile(
    r"(?:iommu|intel_iommu|amd_iommu|mitigations|isolcpus|nohz_full|rcu_nocbs|hugepages|"
    r"default_hugepagesz|hugepagesz|transparent_hugepage|numa_balancing|pci|pcie_aspm|idle|"
    r"processor\.max_cstate|intel_idle\.max_cstate|intel_pstate|amd_pstate|nosmt)(?:=\S*)?"
)

#: Facts that are traits, and their names in a report.
_FACTS = {
    "NUMA nodes": "NUMA nodes",
    "virtual machine": "virtual machine",
    "os release": "operating system",
    "cpu governor": "governor",
    "transparent hugepages": "transparent hugepages",
    "max locked memory bytes": "limit of locked memory",
    "max open files": "limit of open files",
    "iommu groups": "IOMMU groups",
    "firewall": "firewall",
}

#: Prefix of the name of an adapter's part.
ADAPTER = "adapter "

#: The fact of an answer that did not arrive completely.
CUT_OFF = "answer"


class Trait(msgspec.Struct, frozen=True):
    """A value, its kind, and the part that it belongs to; "" for the node itself.

    ``shape`` and ``part`` define a node; a missing part is a difference. A missing trait of
    ``shape`` or ``detail`` is unknown, which is not a difference. ``end`` is the node's member of a
    network; it is missed if most nodes have one.
    """

    kind: str
    value: str
    part: str = ""


class Traits(msgspec.Struct, frozen=True):
    """One node's traits by attribute.

    An answer that was cut off is not ``is_complete``: its missing parts may exist.
    ``interfaces`` are the kernel's names of a part's interfaces, else of its RDMA devices.
    """

    name: str
    by_attribute: dict[str, Trait]
    interfaces: dict[str, str]
    is_complete: bool


#: A node's members by the network's name.
Members = dict[str, list[Member]]


def list_traits(
    inventory: Inventory, products: Mapping[str, str], memory: Mapping[str, str], members: Members
) -> Traits:
    """Return a node's traits.

    ``products`` gives the name of a PCI identity, ``memory`` that of an amount in bytes;
    ``members`` are the node's members of networks.
    """
    node = inventory.node
    parts = _name_parts(inventory, products)
    traits = {
        attribute: Trait("shape", value) for attribute, value in _list_shape(inventory, memory)
    }
    traits |= {part: Trait("part", adapter.kind) for part, adapter in parts.items()}
    stacks = sorted(inventory.stacks, key=lambda stack: stack.kind)
    traits |= {stack.kind: Trait("part", stack.version) for stack in stacks}
    if isinstance(node, Node):
        traits |= {
            attribute: Trait("end", value)
            for attribute, value in _list_memberships(node, members, parts)
        }
    traits |= {
        attribute: Trait("detail", value) for attribute, value in _list_node_details(inventory)
    }
    traits |= {
        f"{detail} of {part.removeprefix(ADAPTER)}": Trait("detail", value, part)
        for part, adapter in parts.items()
        for detail, value in _list_adapter_details(inventory, adapter)
    }
    traits |= {
        attribute: Trait("detail", value) for attribute, value in _list_printed_ports(inventory)
    }
    names = {part: adapter.interfaces or adapter.rdma_devices for part, adapter in parts.items()}
    return Traits(
        inventory.name,
        traits,
        {part: ", ".join(part_names) for part, part_names in names.items() if part_names},
        isinstance(node, Node) and CUT_OFF not in inventory.facts,
    )


def identify_adapter(inventory: Inventory, adapter: Adapter) -> str:
    """Return the adapter's PCI numbers, else its product, else its driver."""
    fact_names = (
        f"pci id {adapter.bus}", *(f"part {device}" for device in adapter.rdma_devices)
    )  # fmt: skip
    numbers = next((inventory.facts[name] for name in fact_names if name in inventory.facts), "")
    for value in (numbers, adapter.product, adapter.driver):
        if isinstance(value, str) and value:
            return value
    return "unknown adapter"


def _name_parts(inventory: Inventory, products: Mapping[str, str]) -> dict[str, Adapter]:
    """Name each adapter: the second of a product in bus order is ``adapter PRODUCT #2``.

    Virtual functions are a setting of their physical function, not adapters.
    """
    virtual_buses = find_virtual_functions(inventory.facts)
    counts: Counter[str] = Counter()
    parts: dict[str, Adapter] = {}
    physical = (adapter for adapter in inventory.adapters if adapter.bus not in virtual_buses)
    for adapter in sorted(physical, key=_get_bus_order):
        identity = identify_adapter(inventory, adapter)
        product = products.get(identity, identity)
        counts[product] += 1
        number = f" #{counts[product]}" if counts[product] > 1 else ""
        parts[f"{ADAPTER}{product}{number}"] = adapter
    return parts


def _get_bus_order(adapter: Adapter) -> tuple[str, tuple[str, ...]]:
    bus = normalise_bus(adapter.bus) if isinstance(adapter.bus, str) else "~"
    return bus, adapter.interfaces


def _list_shape(inventory: Inventory, memory: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(node := inventory.node, Node):
        if "cpu model" in node.facts:
            yield "processor", node.facts["cpu model"]
        yield "processors", str(node.cpu_count)
        counts = Counter(gpu.product for gpu in inventory.gpus)
        gpus = ", ".join(f"{count} × {product}" for product, count in sorted(counts.items()))
        if gpus or CUT_OFF not in inventory.facts:
            yield "GPUs", gpus or "none"
    memory_bytes = inventory.facts.get("memory bytes", "")
    if memory_bytes in memory:
        yield "memory", memory[memory_bytes]


def _list_node_details(inventory: Inventory) -> Iterator[tuple[str, str]]:
    facts = dict(inventory.facts)
    if isinstance(inventory.node, Node):
        yield "kernel", inventory.node.kernel
        facts.update(inventory.node.facts)
    for fact, name in _FACTS.items():
        if fact in facts:
            is_size = fact.endswith(" bytes") and facts[fact].isdecimal()
            yield name, size(int(facts[fact])) if is_size else facts[fact]
    if "kernel command line" in facts:
        words = filter(_RELEVANT.fullmatch, facts["kernel command line"].split())
        yield "kernel command line", " ".join(words) or "no relevant option"
    if links := sum(len(gpu.links_bit_s) for gpu in inventory.gpus):
        yield "NVLinks", str(links)
    for fact in sorted(facts):  # settings of an interface have its name in them
        if fact.startswith("net.") and not fact.startswith("net.ipv4.conf."):
            yield fact, facts[fact]


def _list_adapter_details(inventory: Inventory, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """A driver of the kernel itself gives the kernel's version, which is a trait already."""
    node = inventory.node
    kernel = node.kernel if isinstance(node, Node) else ""
    for field in ("driver", "driver_version", "firmware", "lane_mode"):
        value = getattr(adapter, field)
        if isinstance(value, str) and (not kernel or value != kernel):
            yield field.replace("_", " "), value
    if isinstance(adapter.numa_node, int):
        yield "NUMA node", str(adapter.numa_node)
    if functions := inventory.facts.get(f"{VIRTUAL} {adapter.bus}"):
        yield VIRTUAL, str(len(functions.split()))
    if link := name_link(adapter.pcie_now):
        capable = name_link(adapter.pcie_capable)
        links = f"{link} of {capable.removeprefix('PCIe ')}" if capable not in ("", link) else link
        yield "PCIe", links.removeprefix("PCIe ")
    if isinstance(node, Node):
        interfaces = (node.interface(name) for name in sorted(adapter.interfaces))
        for number, interface in _number_parts(interfaces):
            if isinstance(interface, Interface):
                for detail, value in _list_interface_details(interface):
                    yield f"{detail}{number}", value
    ports = (port for port in inventory.rdma_ports if port.device in adapter.rdma_devices)
    sorted_ports = sorted(ports, key=lambda port: (port.device, port.number))
    for number, port in _number_parts(sorted_ports):
        yield f"RDMA port{number}", _describe_port(port)


def _list_printed_ports(inventory: Inventory) -> Iterator[tuple[str, str]]:
    """Yield the ports whose adapter is unknown: opainfo and ibstat print ports only."""
    devices = {device for adapter in inventory.adapters for device in adapter.rdma_devices}
    ports = (port for port in inventory.rdma_ports if port.device not in devices)
    for protocol, like_ports in group_by(ports, lambda port: port.protocol).items():
        for number, port in _number_parts(
            sorted(like_ports, key=lambda port: (port.device, port.number))
        ):
            yield f"{protocol} port{number}", _describe_port(port)


_T = TypeVar("_T")


def _number_parts(parts: Iterable[_T]) -> Iterator[tuple[str, _T]]:
    """Yield each part with its number on the adapter; the first has none."""
    return ((f" {number}" if number > 1 else "", part) for number, part in enumerate(parts, 1))


def _list_interface_details(interface: Interface) -> Iterator[tuple[str, str]]:
    yield "link", _describe_link(interface)
    yield "MTU", str(interface.mtu_bytes)
    if isinstance(interface.ipoib, IpoibPort) and isinstance(interface.ipoib.mode, str):
        yield "IPoIB mode", interface.ipoib.mode


def _describe_link(interface: Interface) -> str:
    """Return ``up, 25 Gb/s``, ``no carrier`` or ``switched off``."""
    if isinstance(interface.carrier, Skipped):
        return "switched off"
    rate = interface.speed_bit_s
    up = "up" if isinstance(rate, Skipped) else f"up, {link_rate(rate)}"
    return up if interface.carrier else "no carrier"


def _describe_port(port: RdmaPort) -> str:
    """Return the known values of protocol, state, rate, width and path MTU."""
    mtu = f"MTU {port.path_mtu_bytes}" if isinstance(port.path_mtu_bytes, int) else ""
    rate = link_rate(port.rate_bit_s) if isinstance(port.rate_bit_s, float) else port.rate_bit_s
    lanes = f"{port.lanes}x" if isinstance(port.lanes, int) else port.lanes
    values = (port.protocol, port.state, rate, lanes, mtu)
    return ", ".join(value for value in values if isinstance(value, str) and value)


def group_members(networks: Iterable[Network]) -> dict[str, Members]:
    by_node: dict[str, Members] = {}
    for network in networks:
        for member in network.members:
            by_node.setdefault(member.node, {}).setdefault(network.name, []).append(member)
    return by_node


def _list_memberships(
    node: Node, members: Members, adapters: Mapping[str, Adapter]
) -> Iterator[tuple[str, str]]:
    """``adapters`` are by the part's name that like nodes have in common."""
    parts = {name: part for part, adapter in adapters.items() for name in adapter.interfaces}
    for network, network_members in members.items():
        yield (
            f"end in {network}",
            "; ".join(_describe_member(node, member, parts) for member in network_members),
        )


def _describe_member(node: Node, member: Member, parts: Mapping[str, str]) -> str:
    """Link and MTU of an adapter's interface are compared with the adapter."""
    if member.interface in parts:
        return f"on {parts[member.interface].removeprefix(ADAPTER)}"
    interface = node.interface(member.interface)
    state = f"{_describe_link(interface)}, " if isinstance(interface, Interface) else ""
    return f"{state}MTU {member.mtu_bytes}"
