"""What one node has, as traits that can be held against another node's; pure.

A trait is named without the names that a kernel gave (``firmware of XL710 #2``): adapters are
told apart by product and by their order on the bus. The same adapter is then the same trait on
a node whose interfaces are called otherwise.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from fabricgauge.discover.port_ends import host_link
from fabricgauge.discover.survey.same import bus_of
from fabricgauge.discover.survey.sysfs import VIRTUAL, virtual_functions
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.words.figures import link_rate, size

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

#: What the name of an adapter's part begins with.
ADAPTER = "adapter "

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
    labelled = _labelled(inventory, products)
    told = {key: Trait("shape", value) for key, value in _shape(inventory, memory)}
    told |= {part: Trait("part", adapter.kind) for part, adapter in labelled.items()}
    stacks = sorted(inventory.stacks, key=lambda one: one.kind)
    told |= {one.kind: Trait("part", one.version) for one in stacks}
    if isinstance(node, Node):
        told |= {key: Trait("end", value) for key, value in _ends(node, own, labelled)}
    told |= {key: Trait("detail", value) for key, value in _node_details(inventory)}
    told |= {
        f"{what} of {part.removeprefix(ADAPTER)}": Trait("detail", value, part)
        for part, adapter in labelled.items()
        for what, value in _details(inventory, adapter)
    }
    names = {part: one.interfaces or one.rdma_devices for part, one in labelled.items()}
    return Traits(
        inventory.name, told, {part: ", ".join(some) for part, some in names.items() if some},
        isinstance(node, Node) and CUT_OFF not in inventory.facts,
    )  # fmt: skip


def identity(inventory: Inventory, adapter: Adapter) -> str:
    """The adapter's PCI numbers, else what is known of its product."""
    names = (f"pci id {adapter.bus}", *(f"part {device}" for device in adapter.rdma_devices))
    known = next((inventory.facts[name] for name in names if name in inventory.facts), "")
    for value in (known, adapter.product, adapter.driver):
        if isinstance(value, str) and value:
            return value
    return "unknown adapter"


def _labelled(inventory: Inventory, products: Mapping[str, str]) -> dict[str, Adapter]:
    """By part: the second of a product in the order of the bus is ``adapter PRODUCT #2``.

    Virtual functions are a setting of their physical one, and no adapters.
    """
    virtual = virtual_functions(inventory.facts)
    counts: Counter[str] = Counter()
    found: dict[str, Adapter] = {}
    real = (one for one in inventory.adapters if one.bus not in virtual)
    for adapter in sorted(
        real, key=lambda one: (bus_of(one.bus) if isinstance(one.bus, str) else "~", one.interfaces)
    ):
        of = identity(inventory, adapter)
        product = products.get(of, of)
        counts[product] += 1
        number = f" #{counts[product]}" if counts[product] > 1 else ""
        found[f"{ADAPTER}{product}{number}"] = adapter
    return found


def _shape(inventory: Inventory, memory: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(node := inventory.node, Node):
        if "cpu model" in node.facts:
            yield "processor", node.facts["cpu model"]
        yield "processors", str(node.cpu_count)
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
            counted = fact.endswith(" bytes") and facts[fact].isdecimal()
            yield called, size(int(facts[fact])) if counted else facts[fact]
    if "kernel command line" in facts:
        words = filter(_TELLING.fullmatch, facts["kernel command line"].split())
        yield "kernel command line", " ".join(words) or "nothing telling"
    if links := sum(len(gpu.links_bit_s) for gpu in inventory.gpus):
        yield "NVLinks", str(links)
    for fact in sorted(facts):  # settings of an interface have its name in them
        if fact.startswith("net.") and not fact.startswith("net.ipv4.conf."):
            yield fact, facts[fact]


def _details(inventory: Inventory, adapter: Adapter) -> Iterator[tuple[str, str]]:
    """A driver of the kernel itself gives the kernel's version, which is a trait already."""
    node = inventory.node
    kernel = node.kernel if isinstance(node, Node) else ""
    for what in ("driver", "driver_version", "firmware", "lane_mode"):
        value = getattr(adapter, what)
        if isinstance(value, str) and (not kernel or value != kernel):
            yield what.replace("_", " "), value
    if isinstance(adapter.numa_node, int):
        yield "NUMA node", str(adapter.numa_node)
    if parted := inventory.facts.get(f"{VIRTUAL} {adapter.bus}"):
        yield VIRTUAL, str(len(parted.split()))
    if now := host_link(adapter.pcie_now):
        able = host_link(adapter.pcie_capable)
        both = f"{now} of {able.removeprefix('PCIe ')}" if able not in ("", now) else now
        yield "PCIe", both.removeprefix("PCIe ")
    if isinstance(node, Node):
        held = (node.interface(name) for name in sorted(adapter.interfaces))
        for place, interface in _placed(held):
            if isinstance(interface, Interface):
                yield from ((f"{what}{place}", value) for what, value in _interface(interface))
    ports = (port for port in inventory.rdma_ports if port.device in adapter.rdma_devices)
    for place, port in _placed(sorted(ports, key=lambda port: (port.device, port.number))):
        yield f"RDMA port{place}", _port(port)


_T = TypeVar("_T")


def _placed(those: Iterable[_T]) -> Iterator[tuple[str, _T]]:
    """Each with its place on the adapter; the first needs none."""
    return ((f" {number}" if number > 1 else "", one) for number, one in enumerate(those, 1))


def _interface(interface: Interface) -> Iterator[tuple[str, str]]:
    yield "link", _link(interface)
    yield "MTU", str(interface.mtu_bytes)
    if isinstance(interface.ipoib, IpoibPort) and isinstance(interface.ipoib.mode, str):
        yield "IPoIB mode", interface.ipoib.mode


def _link(interface: Interface) -> str:
    """``up, 25 Gb/s``, ``no carrier``, ``switched off``."""
    if isinstance(interface.carrier, Skipped):
        return "switched off"
    rate = interface.speed_bit_s
    up = "up" if isinstance(rate, Skipped) else f"up, {link_rate(rate)}"
    return up if interface.carrier else "no carrier"


def _port(port: RdmaPort) -> str:
    """Protocol, state, rate, width and path MTU, as far as they are known."""
    mtu = f"MTU {port.path_mtu_bytes}" if isinstance(port.path_mtu_bytes, int) else ""
    rate = link_rate(port.rate_bit_s) if isinstance(port.rate_bit_s, float) else port.rate_bit_s
    lanes = f"{port.lanes}x" if isinstance(port.lanes, int) else port.lanes
    told = (port.protocol, port.state, rate, lanes, mtu)
    return ", ".join(one for one in told if isinstance(one, str) and one)


def ends(networks: Iterable[Network]) -> dict[str, Ends]:
    """By node its members of each network."""
    found: dict[str, Ends] = {}
    for network in networks:
        for member in network.members:
            found.setdefault(member.node, {}).setdefault(network.name, []).append(member)
    return found


def _ends(node: Node, own: Ends, adapters: Mapping[str, Adapter]) -> Iterator[tuple[str, str]]:
    """``adapters`` by the part's name that like nodes have in common."""
    on = {name: part for part, one in adapters.items() for name in one.interfaces}
    for network, members in own.items():
        yield f"end in {network}", "; ".join(_end(node, member, on) for member in members)


def _end(node: Node, member: Member, on: Mapping[str, str]) -> str:
    """Link and MTU of an adapter's interface are compared with the adapter."""
    if member.interface in on:
        return f"on {on[member.interface].removeprefix(ADAPTER)}"
    interface = node.interface(member.interface)
    state = f"{_link(interface)}, " if isinstance(interface, Interface) else ""
    return f"{state}MTU {member.mtu_bytes}"
