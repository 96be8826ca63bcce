"""Many nodes → classes of like nodes, and the differences of single ones; pure.

Nodes are alike in their shape: processors, memory, adapters, GPUs, MPIs. A node of a rare shape
joins the frequent one that is most like it, so that a node with a dead adapter stands out in its
class instead of forming its own. Within a class nodes vote on each attribute: a node with another
value than most is named, attribute by attribute.

An attribute's name contains no name that a kernel gave (``firmware of XL710 #2``): adapters are
identified by product and by their order on the bus. So the same adapter is the same trait on a node
whose interfaces have other names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.groups import group_by
from fabricgauge.model.inventory import Adapter, Inventory, RdmaPort
from fabricgauge.model.surveyed import InterfaceNaming, LikeNodes, Oddity, Split
from fabricgauge.model.words.figures import link_rate, size
from fabricgauge.nodes.discover.ports import name_link
from fabricgauge.nodes.discover.survey.same import NUMBERS, normalise_bus
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
    traits: dict[str, Trait] = {}

    def add(kind: str, values: Iterable[tuple[str, str]]) -> None:
        traits.update((attribute, Trait(kind, value)) for attribute, value in values)

    add("shape", _list_shape(inventory, memory))
    add("part", ((part, adapter.kind) for part, adapter in parts.items()))
    stacks = sorted(inventory.stacks, key=lambda stack: stack.kind)
    add("part", ((stack.kind, stack.version) for stack in stacks))
    if isinstance(node, Node):
        add("end", _list_memberships(node, members, parts))
    add("detail", _list_node_details(inventory))
    for part, adapter in parts.items():
        for detail, value in _list_adapter_details(inventory, adapter):
            traits[f"{detail} of {part.removeprefix(ADAPTER)}"] = Trait("detail", value, part)
    add("detail", _list_printed_ports(inventory))
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

    def get_bus_order(adapter: Adapter) -> tuple[str, tuple[str, ...]]:
        bus = normalise_bus(adapter.bus) if isinstance(adapter.bus, str) else "~"
        return bus, adapter.interfaces

    for adapter in sorted(physical, key=get_bus_order):
        identity = identify_adapter(inventory, adapter)
        product = products.get(identity, identity)
        counts[product] += 1
        number = f" #{counts[product]}" if counts[product] > 1 else ""
        parts[f"{ADAPTER}{product}{number}"] = adapter
    return parts


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


def _list_memberships(
    node: Node, members: Members, adapters: Mapping[str, Adapter]
) -> Iterator[tuple[str, str]]:
    """``adapters`` are by the part's name that like nodes have in common."""
    parts = {name: part for part, adapter in adapters.items() for name in adapter.interfaces}
    for network, network_members in members.items():
        ends: list[str] = []
        for member in network_members:
            interface = node.interface(member.interface)
            state = f"{_describe_link(interface)}, " if isinstance(interface, Interface) else ""
            # Link and MTU of an adapter's interface are compared with the adapter.
            part = parts.get(member.interface, "").removeprefix(ADAPTER)
            ends.append(f"on {part}" if part else f"{state}MTU {member.mtu_bytes}")
        yield f"end in {network}", "; ".join(ends)


#: Sizes of memory within this share of each other are one size: firmware takes more or less.
SAME_MEMORY = 0.01

#: A rare shape has at most this share of the nodes of the frequent one that it is compared with,
RARE = 0.1

#: but two nodes are rare compared with four.
MIN_RARE = 2

#: It shares at least this share of its features with the frequent shape.
MIN_LIKENESS = 0.5

#: Order in which differences are reported.
_KINDS = ("shape", "part", "end", "detail")

Shape = frozenset[tuple[str, str]]


class _Class(msgspec.Struct):
    """Nodes with the shape of most of them; ``founders`` is how many have exactly that shape."""

    shape: Shape
    founders: int
    members: list[Traits]


def classify_nodes(
    inventories: Sequence[Inventory], networks: Sequence[Network] = ()
) -> tuple[LikeNodes, ...]:
    """Return the classes, the largest first; a node that no source describes is in none.

    Like nodes are also compared by their members of ``networks``.
    """
    products, memory = _name_products(inventories), _name_memory_sizes(inventories)
    members: dict[str, Members] = {}
    for network in networks:
        for member in network.members:
            members.setdefault(member.node, {}).setdefault(network.name, []).append(member)
    return classify_traits(
        [
            list_traits(inventory, products, memory, members.get(inventory.name, {}))
            for inventory in inventories
            if inventory.sources
        ]
    )


def classify_traits(node_traits: Sequence[Traits]) -> tuple[LikeNodes, ...]:
    """Return the classes of nodes with these traits, the largest first."""
    return tuple(map(_describe_class, _form_classes(node_traits)))


def _name_products(inventories: Sequence[Inventory]) -> dict[str, str]:
    """Return the name of each PCI identity: a node without the database gives numbers only.

    If no node has the name, the driver precedes the numbers.
    """
    names: dict[str, str] = {}
    drivers: dict[str, str] = {}
    for inventory in inventories:
        for adapter in inventory.adapters:
            numbers = identify_adapter(inventory, adapter)
            if isinstance(adapter.product, str) and adapter.product != numbers:
                names.setdefault(numbers, adapter.product)
            elif isinstance(adapter.driver, str) and NUMBERS.fullmatch(numbers):
                drivers.setdefault(numbers, f"{adapter.driver} {numbers}")
    return {**drivers, **names}


def _name_memory_sizes(inventories: Sequence[Inventory]) -> dict[str, str]:
    """Return by the fact's text the size that a report shows, the same for nearly equal sizes."""
    texts = {inventory.facts.get("memory bytes", "") for inventory in inventories}
    sizes = sorted((int(text), text) for text in texts if text.isdigit() and len(text) < 18)
    names: dict[str, str] = {}
    group: list[tuple[int, str]] = []
    for amount in [*sizes, (1 << 62, "")]:
        if group and amount[0] > group[-1][0] * (1 + SAME_MEMORY):
            median_gib = group[len(group) // 2][0] / (1 << 30)
            name = f"{float(f'{median_gib:.4g}'):,g} GiB"
            names.update((text, name) for _, text in group)
            group = []
        group.append(amount)
    return names


def _form_classes(node_traits: Sequence[Traits]) -> list[_Class]:
    by_shape: dict[tuple[bool, Shape], list[Traits]] = {}
    for traits in node_traits:
        features = (
            (attribute, trait.value)
            for attribute, trait in traits.by_attribute.items()
            if trait.kind in ("shape", "part")
        )
        by_shape.setdefault((traits.is_complete, frozenset(features)), []).append(traits)
    classes: list[_Class] = []
    # Complete answers first, and of them the most frequent shape.
    ordered = sorted(by_shape.items(), key=lambda item: (not item[0][0], -len(item[1])))
    for (is_complete, shape), members in ordered:
        home = _find_home(classes, shape, len(members), is_complete)
        if home is None:
            classes.append(_Class(shape, len(members), members))
        else:
            home.members.extend(members)
    return classes


def _find_home(
    classes: Sequence[_Class], shape: Shape, count: int, is_complete: bool
) -> _Class | None:
    """Return the most similar class compared with which ``count`` nodes are rare.

    An answer that was cut off belongs to a class that has all features of its arrived part, however
    many answers were cut off.
    """

    def compute_likeness(candidate: _Class) -> float:
        size = max(len(candidate.shape), len(shape)) if is_complete else len(shape)
        return len(candidate.shape & shape) / max(size, 1)

    candidates = [
        candidate
        for candidate in classes
        if (not is_complete and shape <= candidate.shape)
        or (2 * count <= candidate.founders and count <= max(MIN_RARE, RARE * candidate.founders))
    ]
    most_similar = max(candidates, key=compute_likeness, default=None)
    if most_similar and compute_likeness(most_similar) >= MIN_LIKENESS:
        return most_similar
    return None


def _describe_class(node_class: _Class) -> LikeNodes:
    majority: dict[str, str] = {}
    oddities: list[Oddity] = []
    splits: list[Split] = []
    for attribute, ballots in _collect_ballots(node_class.members):
        result = vote(attribute, ballots)
        if isinstance(result, Split):
            splits.append(result)
            continue
        usual, attribute_oddities = result
        oddities += attribute_oddities
        if usual:
            majority[attribute] = usual
    odd_nodes = {node for oddity in oddities for node in oddity.nodes}
    names = tuple(member.name for member in node_class.members)
    namings: list[InterfaceNaming] = []
    for part in (attribute for attribute in majority if attribute.startswith(ADAPTER)):
        interfaces = {
            member.name: member.interfaces[part]
            for member in node_class.members
            if part in member.interfaces
        }
        namings.append(InterfaceNaming(part, _sort_by_frequency(interfaces)))
    return LikeNodes(
        nodes=names,
        example=next((name for name in names if name not in odd_nodes), names[0]),
        traits=majority,
        oddities=tuple(oddities),
        splits=tuple(splits),
        namings=tuple(naming for naming in namings if len(naming.names) > 1),
        names={naming.adapter: naming.names[0][0] for naming in namings if len(naming.names) == 1},
    )


def _collect_ballots(members: Sequence[Traits]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield by attribute the known value of each node; "" for a part that it lacks.

    A member of a network, or a detail of a part, is a difference only if more than half have it.
    """
    by_kind: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _KINDS}
    parts: dict[str, str] = {}
    for member in members:
        for attribute, trait in member.by_attribute.items():
            by_kind[trait.kind].setdefault(attribute, {})[member.name] = trait.value
            parts.setdefault(attribute, trait.part)
    lacking = {member.name: "" for member in members if member.is_complete}
    for kind in _KINDS:
        for attribute, ballots in by_kind[kind].items():
            part = parts[attribute]
            holders = by_kind["part"].get(part, {}) if part else ballots
            if (part or kind == "end") and 2 * len(holders) <= len(members):
                continue
            yield attribute, {**lacking, **ballots} if kind in ("part", "end") else ballots


def _sort_by_frequency(ballots: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each value with its nodes, the most frequent first."""
    by_value = group_by(ballots, ballots.__getitem__)
    return tuple(sorted(by_value.items(), key=lambda item: (-len(item[1]), item[0])))


def vote(attribute: str, ballots: Mapping[str, str]) -> tuple[str, list[Oddity]] | Split:
    """Return the majority's value, and an oddity for each other value; a ``Split`` without one.

    Two nodes that differ, or many with many values, have no majority: no node is odd.
    """
    ordered = _sort_by_frequency(ballots)
    usual, holders = ordered[0] if ordered else ("", ())
    if len(ordered) > 1 and 2 * len(holders) <= len(ballots):
        return Split(attribute, ordered)
    return usual, [
        Oddity(attribute, value, nodes, usual, len(holders)) for value, nodes in ordered[1:]
    ]
