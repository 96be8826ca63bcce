"""What a survey's reports say in words: adapters, oddities, namings, the summary."""

import re
from collections.abc import Iterator, Sequence

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Unreached
from fabricgauge.model.inventory import Adapter, Inventory, PcieLink, RdmaPort
from fabricgauge.model.likeness import LikeNodes, Naming, Oddity, Split
from fabricgauge.model.surveyed import Surveyed
from fabricgauge.report.folded import shortened
from fabricgauge.report.quantities import link_rate

ADAPTER = "adapter "
_OF = " of "

#: Host names are words with points and hyphens (RFC 952); what is between is kept as well.
_WORDS = re.compile(r"([\w.-]+)")

#: RoCE and iWARP have no subnet manager, and tools write 0.
_WITH_LID = ("infiniband", "omni-path")


def summary(surveyed: Surveyed) -> str:
    """How many answered, in how many classes, and how many of them are odd."""
    asked = len(surveyed.inventories)
    lost = len(surveyed.fabric.unreached)
    odd = len(odd_nodes(surveyed))
    answered = f"{asked - lost:,} of {asked:,} nodes answered" if lost else counted(asked, "node")
    kinds = counted(len(surveyed.classes), "class", "classes")
    return f"{answered}; {kinds} of like nodes, {odd or 'none'} odd"


def odd_nodes(surveyed: Surveyed) -> set[str]:
    return {node for one in surveyed.classes for oddity in one.oddities for node in oddity.nodes}


def counted(number: int, one: str, many: str = "") -> str:
    """``1 node``, ``2,000 nodes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def oddity(one: Oddity) -> str:
    """``c17: firmware of XL710 is 5.04; 1,993 like nodes have 6.01``."""
    others = counted(one.usual_count, "like node") + (" has" if one.usual_count == 1 else " have")
    is_part = not one.value or not one.usual
    if is_part and one.attribute.startswith(ADAPTER):
        what = f"{one.attribute} is missing" if one.usual else f"has {one.attribute}"
        return f"{shortened(one.nodes)}: {what}; {others} {'it' if one.usual else 'none'}"
    value = f"is {one.value}" if one.value else "is missing"
    return f"{shortened(one.nodes)}: {one.attribute} {value}; {others} {one.usual or 'none'}"


def split(one: Split) -> str:
    """``kernel: 5.14 on c1; 6.1 on c2``."""
    values = "; ".join(f"{value or 'missing'} on {shortened(nodes)}" for value, nodes in one.values)
    return f"{one.attribute}: {values}"


def naming(one: Naming) -> str:
    """``interface of adapter XL710: enp97s0 on c1; enp182s0 on c2``."""
    names = "; ".join(f"{name} on {shortened(nodes)}" for name, nodes in one.names)
    return f"interface of {one.adapter}: {names}"


def features(like: LikeNodes) -> Iterator[tuple[str, str]]:
    """Rows of a class: an adapter's attributes in one row, the settings in the last."""
    adapters = [key for key in like.traits if key.startswith(ADAPTER)]
    settings = []
    for attribute, value in like.traits.items():
        owner = next((a for a in adapters if attribute.endswith(_OF + a[len(ADAPTER) :])), "")
        if attribute in adapters:
            called = [like.names[attribute]] if attribute in like.names else []
            yield attribute, ", ".join((value, *called, *_attributes(like, attribute)))
        elif attribute.startswith("net."):
            settings.append(f"{attribute} = {value}")
        elif not owner:
            yield attribute, value
    if settings:
        yield "settings", "; ".join(settings)


def _attributes(like: LikeNodes, adapter: str) -> Iterator[str]:
    end = _OF + adapter.removeprefix(ADAPTER)
    for attribute, value in like.traits.items():
        if attribute.endswith(end):
            yield f"{attribute.removesuffix(end)} {value}"


def adapter(one: Adapter) -> str:
    """One line on an adapter of one node; what is not known is left out."""
    known = [
        one.kind,
        *(text for text in (one.bus, one.product) if isinstance(text, str)),
        *_named("driver", one.driver),
        *_named("firmware", one.firmware),
        *_pcie(one),
        *([f"NUMA node {one.numa_node}"] if isinstance(one.numa_node, int) else []),
        *_named("lanes", one.lane_mode),
        *([f"lanes could be {', '.join(one.lane_modes)}"] if one.lane_modes else []),
    ]
    names = ", ".join((*one.interfaces, *one.rdma_devices)) or "no interface"
    return f"{names}: {', '.join(known)}"


def _named(what: str, value: str | Skipped) -> list[str]:
    return [f"{what} {value}"] if isinstance(value, str) else []


def _pcie(one: Adapter) -> list[str]:
    if isinstance(one.pcie_now, Skipped):
        return []
    able = "" if isinstance(one.pcie_capable, Skipped) else f" (can {lanes(one.pcie_capable)})"
    return [f"PCIe {lanes(one.pcie_now)}{able if one.pcie_now != one.pcie_capable else ''}"]


def lanes(link: PcieLink) -> str:
    return f"{link.gt_s:g} GT/s x{link.lanes}"


def port(one: RdmaPort) -> str:
    """One line on an RDMA port of one node."""
    known = [
        one.protocol,
        *(text for text in (one.state, one.physical) if isinstance(text, str)),
        *([link_rate(one.rate_bit_s)] if isinstance(one.rate_bit_s, float) else []),
        *([counted(one.lanes, "lane")] if isinstance(one.lanes, int) else []),
        *([f"LID {one.lid}"] if isinstance(one.lid, int) and one.protocol in _WITH_LID else []),
        *([f"on {one.interface}"] if isinstance(one.interface, str) else []),
        *([one.reason] if one.reason else []),
    ]
    return f"{one.device}:{one.number}: {', '.join(known)}"


def troubles(inventories: Sequence[Inventory]) -> Iterator[str]:
    """What could not be read, once for all nodes that say the same."""
    told = [(one.name, trouble) for one in inventories for trouble in one.troubles]
    yield from (f"{names}: {trouble}" for names, trouble in _together(told))


def unreached(nodes: Sequence[Unreached]) -> Iterator[tuple[str, str]]:
    """Nodes and the reason, once for all of which the same is said."""
    yield from _together([(one.name, one.reason) for one in nodes])


def _together(told: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Sentences begin with their node's name, or have it where another node's has its own."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, sentence in told:
        bare = sentence.removeprefix(f"{name}: ").removeprefix(f"{name} ")
        common = "".join("NODE" if word == name else word for word in _WORDS.split(bare))
        alike.setdefault(common, []).append((name, bare))
    for common, nodes in alike.items():
        names = [name for name, _ in nodes]
        yield shortened(names), nodes[0][1] if len(nodes) == 1 else common
