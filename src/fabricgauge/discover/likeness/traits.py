"""What one node has, as traits that can be held against another node's; pure.

A trait is named without the names that a kernel gave (``firmware of XL710 #2``): adapters are
told apart by product and by their order on the bus. The same adapter is then the same trait on
a node whose interfaces are called otherwise.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from fabricgauge.discover.survey.ports import host_link
from fabricgauge.discover.survey.same import bus_of
from fabricgauge.discover.survey.sysfs import VIRTUAL, virtual_functions
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.words.figures import link_rate

#: Words of the kernel's command line that change what a network carries or a processor does;
#: others (root, BOOT_IMAGE, ip, addresses) differ between like nodes by right.
#: Linux 6.12, Documentation/admin-guide/kernel-parameters.txt.
_TELLING = re.compile(
    r"(?:iommu|intel_iommu|amd_iommu|mitigations|isolcpus|nohz_full|rcu_nocbs|hugepages|"
    r"default_hugepagesz|hugepagesz|transparent_hugepage|numa_balancing|pci|pcie_aspm|idle|"
    r"processor\.max_cstate|intel_idle\.max_cstate|intel_pstate|amd_pstate|nosmt)(?:=\S*)?"
)

#: Facts that are traits, and what a report calls them.
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

#: The fact of an answer that did not arrive whole.
CUT_OFF = "answer"


class Trait(msgspec.Struct, frozen=True):
    """A value, its kind, and the part that it belongs to; empty for the node itself.

    ``shape`` and ``part`` make a node what it is; a part that is missing is a difference. A trait
    of ``shape`` or ``detail`` that is missing is not known, which is none. ``end`` is where the
    node stands in a network; one that most have is missed.
    """

    kind: str
    value: str
    part: str = ""


class Traits(msgspec.Struct, frozen=True):
    """One node's, by attribute.

    ``whole`` is false for an answer that was cut off: what is missing may be there.
    ``interfaces`` are the kernel's names of a part's interfaces, else of its RDMA devices.
    """

    name: str
    told: dict[str, Trait]
    interfaces: dict[str, str]
    whole: bool


#: A node's members by the network's name.
Ends = dict[str, list[Member]]


def traits(
    inventory: Inventory, products: Mapping[str, str], memory: Mapping[str, str], own: Ends
) -> Traits:
    """``products`` gives the name of a PCI identity, ``memory`` that of an amount in bytes.

    ``own`` are the node's members of networks.
    """
    node = inventory.node
    labelled = {f"adapter {label}": one for label, one in _labelled(inventory, products).items()}
    told = {key: Trait("shape", value) for key, value in _shape(inventory, memory)}
    told |= {part: Trait("part", adapter.kind) for part, adapter in labelled.items()}
    stacks = sorted(inventory.stacks, key=lambda one: one.kind)
    told |= {one.kind: Trait("part", one.version) for one in stacks}
    if isinstance(node, Node):
        told |= {key: Trait("end", value) for key, value in end_traits(node, own, labelled).items()}
    told |= {key: Trait("detail", value) for key, value in _node_details(inventory)}
    for part, adapter in labelled.items():
        label = part.removeprefix("adapter ")
        told |= {
            f"{what} of {label}": Trait("detail", value, part)
            for what, value in _details(inventory, adapter)
        }
    names = {part: one.interfaces or one.rdma_devices for part, one in labelled.items()}
    return Traits(
        inventory.name, told, {part: ", ".join(some) for part, some in names.items() if some},
        isinstance(node, Node) and CUT_OFF not in inventory.facts,
    )  # fmt: skip


def identity(inventory: Inventory, adapter: Adapter) -> str:
    """The adapter's PCI numbers, else what is known of its product."""
    known = inventory.facts.get(f"pci id {adapter.bus}", "")
    for value in (known, adapter.product, adapter.driver):
        if isinstance(value, str) and value:
            return value
    return "unknown adapter"


def _labelled(inventory: Inventory, products: Mapping[str, str]) -> dict[str, Adapter]:
    """By product; the second of a product in the order of the bus is ``PRODUCT #2``.

    Virtual functions are a setting of their physical one, and no adapters.
    """
    virtual = virtual_functions(inventory.facts)
    counts: Counter[str] = Counter()
    found: dict[str, Adapter] = {}
    for adapter in sorted(inventory.adapters, key=_place):
        if adapter.bus in virtual:
            continue
        of = identity(inventory, adapter)
        product = products.get(of, of)
        counts[product] += 1
        number = f" #{counts[product]}" if counts[product] > 1 else ""
        found[f"{product}{number}"] = adapter
    return found


def _place(adapter: Adapter) -> tuple[str, tuple[str, ...]]:
    return (bus_of(adapter.bus) if isinstance(adapter.bus, str) else "~", adapter.interfaces)


def _shape(inventory: Inventory, memory: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(inventory.node, Node):
        if "cpu model" in inventory.node.facts:
            yield "processor", inventory.node.facts["cpu model"]
        yield "processors", str(inventory.node.cpu_count)
        counts = Counter(gpu.product for gpu in inventory.gpus)
        gpus = ", ".join(f"{count} × {product}" for product, count in sorted(counts.items()))
        if gpus or CUT_OFF not in inventory.facts:
            yield "GPUs", gpus or "none"
    amount = inventory.facts.get("memory bytes", "")
    if amount in memory:
        yield "memory", memory[amount]


def _node_details(inventory: Inventory) -> Iterator[tuple[str, str]]:
    facts = dict(inventory.facts)
    if isinstance(inventory.node, Node):
        yield "kernel", inventory.node.kernel
        facts.update(inventory.node.facts)
    for fact, called in _FACTS.items():
        if fact in facts:
            unit = " bytes" if fact.endswith(" bytes") and facts[fact].isdigit() else ""
            yield called, f"{facts[fact]}{unit}"
    words = [
        word for word in facts.get("kernel command line", "").split() if _TELLING.fullmatch(word)
    ]
    if "kernel command line" in facts:
        yield "kernel command line", " ".join(words) or "nothing telling"
    links = [len(gpu.links_bit_s) for gpu in inventory.gpus]
    if any(links):
        yield "NVLinks", str(sum(links))
    yield from ((key, facts[key]) for key in sorted(facts) if _is_setting(key))


def _is_setting(fact: str) -> bool:
    """Settings of the whole node; those of an interface have its name in them."""
    return fact.startswith("net.") and not fact.startswith("net.ipv4.conf.")


def _details(inventory: Inventory, adapter: Adapter) -> Iterator[tuple[str, str]]:
    for what in ("driver", "driver_version", "firmware", "lane_mode"):
        value = getattr(adapter, what)
        if isinstance(value, str) and not _is_kernel(inventory, value):
            yield what.replace("_", " "), value
    if isinstance(adapter.numa_node, int):
        yield "NUMA node", str(adapter.numa_node)
    if parted := inventory.facts.get(f"{VIRTUAL} {adapter.bus}"):
        yield VIRTUAL, str(len(parted.split()))
    if now := host_link(adapter.pcie_now):
        able = host_link(adapter.pcie_capable)
        both = f"{now} of {able.removeprefix('PCIe ')}" if able not in ("", now) else now
        yield "PCIe", both.removeprefix("PCIe ")
    if not isinstance(inventory.node, Skipped):
        yield from link_traits(inventory.node, adapter)
    yield from port_traits(inventory, adapter)


def _is_kernel(inventory: Inventory, version: str) -> bool:
    """A driver of the kernel itself gives the kernel's version: that is a trait already."""
    return isinstance(inventory.node, Node) and version == inventory.node.kernel


def link_traits(node: Node, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """Link and MTU of each interface, by its place on the adapter."""
    for number, name in enumerate(sorted(adapter.interfaces), 1):
        interface = node.interface(name)
        if isinstance(interface, Interface):
            place = f" {number}" if number > 1 else ""
            yield f"link{place}", link(interface)
            yield f"MTU{place}", str(interface.mtu_bytes)
            if isinstance(interface.ipoib, IpoibPort) and isinstance(interface.ipoib.mode, str):
                yield f"IPoIB mode{place}", interface.ipoib.mode


def link(interface: Interface) -> str:
    """``up, 25 Gb/s``, ``no carrier``, ``switched off``."""
    if isinstance(interface.carrier, Skipped):
        return "switched off"
    if not interface.carrier:
        return "no carrier"
    if isinstance(interface.speed_bit_s, Skipped):
        return "up"
    return f"up, {link_rate(interface.speed_bit_s)}"


def port_traits(inventory: Inventory, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """State, rate and width of each RDMA port, by its place on the adapter."""
    ports = [port for port in inventory.rdma_ports if port.device in adapter.rdma_devices]
    ordered = sorted(ports, key=lambda port: (port.device, port.number))
    for number, port in enumerate(ordered, 1):
        place = f" {number}" if number > 1 else ""
        yield f"RDMA port{place}", _port(port)


def _port(port: RdmaPort) -> str:
    parts = [port.protocol]
    if isinstance(port.state, str):
        parts.append(port.state)
    if isinstance(port.rate_bit_s, float):
        parts.append(link_rate(port.rate_bit_s))
    if isinstance(port.lanes, int):
        parts.append(f"{port.lanes}x")
    return ", ".join(parts)


def ends(networks: Iterable[Network]) -> dict[str, Ends]:
    """By node its members of each network."""
    found: dict[str, Ends] = {}
    for network in networks:
        for member in network.members:
            found.setdefault(member.node, {}).setdefault(network.name, []).append(member)
    return found


def end_traits(node: Node, own: Ends, adapters: Mapping[str, Adapter]) -> dict[str, str]:
    """``adapters`` by the part's name that like nodes have in common."""
    on = {name: part for part, one in adapters.items() for name in one.interfaces}
    return {
        f"end in {network}": "; ".join(_end(node, member, on) for member in members)
        for network, members in own.items()
    }


def _end(node: Node, member: Member, on: Mapping[str, str]) -> str:
    """Link and MTU of an adapter's interface are compared with the adapter."""
    if member.interface in on:
        return f"on {on[member.interface].removeprefix('adapter ')}"
    interface = node.interface(member.interface)
    state = f"{link(interface)}, " if isinstance(interface, Interface) else ""
    return f"{state}MTU {member.mtu_bytes}"
