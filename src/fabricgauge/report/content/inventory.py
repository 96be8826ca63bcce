"""Nodes, adapters, interfaces and networks in words, and who is near to whom.

Many nodes' names are written as a person writes them: ``c[1-3,7],gpu[01-04]``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ClusterShell.RangeSet import RangeSet

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.inventory import Adapter, Gpu, Inventory, PcieLink, RdmaPort
from fabricgauge.report import document as doc
from fabricgauge.words.figures import link_rate
from fabricgauge.words.sentences import counted

#: RoCE and iWARP have no subnet manager, and tools write 0.
_WITH_LID = ("infiniband", "omni-path")

#: nvidia-smi's words for the way between an adapter and a GPU, nearest first (topo -m's legend).
DISTANCES = {
    "PIX": "one PCIe bridge at most",
    "PXB": "several PCIe bridges",
    "PHB": "a PCIe host bridge",
    "NODE": "host bridges of one NUMA node",
    "SYS": "the link between sockets",
}
#: With more, as of a host of containers, a page would grow past what mail takes.
MOST_INTERFACES = 32


#: A list of names may fill some lines, and no more; that of a few names is never cut.
LONGEST = 400
FEW = 20

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)


def folded(names: Iterable[str]) -> str:
    """Each name once, those that differ in their last number alone as one, in time n log n.

    ClusterShell reads it back. A number with zeros in front keeps its width.
    """
    plain: list[str] = []
    groups: dict[tuple[str, str], set[str]] = {}
    for name in dict.fromkeys(names):
        found = _NUMBERED.fullmatch(name)
        if found is None:
            plain.append(name)
        else:
            groups.setdefault((found[1], found[3]), set()).add(found[2])
    parts = [*plain]
    for (before, after), numbers in groups.items():
        ranges = str(RangeSet.fromlist(numbers))
        parts.append(f"{before}[{ranges}]{after}" if len(numbers) > 1 else before + ranges + after)
    return ",".join(parts)


def shortened(names: Sequence[str]) -> str:
    """The same, or of names that fold badly the first two, the last, and how many they are."""
    text = folded(names)
    if len(text) <= LONGEST or len(names) <= FEW:
        return text
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names):,})"


def known(said: str, *values: object) -> list[str]:
    """The words with the values in them, nothing where one of them is not known."""
    return [] if any(isinstance(one, Skipped) for one in values) else [said.format(*values)]


def adapter(one: Adapter) -> str:
    """One line on an adapter of one node; what is not known is left out."""
    told = [
        one.kind,
        *known("{}", one.bus),
        *known("{}", one.product),
        *known("driver {}", one.driver),
        *known("firmware {}", one.firmware),
        *_pcie(one),
        *known("NUMA node {}", one.numa_node),
        *known("lanes {}", one.lane_mode),
        *([f"lanes could be {', '.join(one.lane_modes)}"] if one.lane_modes else []),
    ]
    return f"{_ends(one) or 'no interface'}: {', '.join(told)}"


def _pcie(one: Adapter) -> list[str]:
    if isinstance(one.pcie_now, Skipped):
        return []
    able = "" if isinstance(one.pcie_capable, Skipped) else f" (can {lanes(one.pcie_capable)})"
    return [f"PCIe {lanes(one.pcie_now)}{able if one.pcie_now != one.pcie_capable else ''}"]


def lanes(link: PcieLink) -> str:
    return f"{link.gt_s:g} GT/s x{link.lanes}"


def port(one: RdmaPort) -> str:
    """One line on an RDMA port of one node."""
    told = [
        one.protocol,
        *known("{}", one.state),
        *known("{}", one.physical),
        *([link_rate(one.rate_bit_s)] if isinstance(one.rate_bit_s, float) else []),
        *([counted(one.lanes, "lane")] if isinstance(one.lanes, int) else []),
        *(known("LID {}", one.lid) if one.protocol in _WITH_LID else []),
        *known("on {}", one.interface),
        *([one.reason] if one.reason else []),
    ]
    return f"{one.device}:{one.number}: {', '.join(told)}"


def gpu(one: Gpu) -> str:
    where = [one.bus or "bus not known", *known("NUMA node {}", one.numa_node)]
    return f"GPU {one.index}: {', '.join((one.product, *where))}"


def interfaces(node: Node, wired: frozenset[str] = frozenset()) -> doc.Table:
    """A row for each; those of adapters (``wired``) and those with addresses come first."""
    columns = doc.heads("interface", "driver", "state", ">rate", ">MTU", "addresses")
    limit = doc.RowLimit(
        "{count} more interfaces are in the JSON report", {doc.PAGE: MOST_INTERFACES}
    )
    return doc.Table(columns, tuple(map(_interface, ordered(node, wired))), limit=limit)


def ordered(node: Node, wired: frozenset[str]) -> list[Interface]:
    return sorted(node.interfaces, key=lambda one: (one.name not in wired, not one.addresses))


def _interface(one: Interface) -> tuple[str, ...]:
    speed = one.speed_bit_s
    driver = one.driver if isinstance(one.driver, str) else one.driver.reason
    ipoib = ""
    if isinstance(one.ipoib, IpoibPort):
        mode = known(" in {} mode", one.ipoib.mode)
        ipoib = "".join((", IPoIB", *mode, *known(" on {}", one.ipoib.link)))
    return (
        one.name, f"{driver}{ipoib}", one.operstate,
        speed.reason if isinstance(speed, Skipped) else link_rate(speed), str(one.mtu_bytes),
        " ".join(f"{address.ip}/{address.prefix_length}" for address in one.addresses),
    )  # fmt: skip


def titled(one: Network) -> str:
    """Name, subnet where that is not its name, technology."""
    subnet = f" ({one.subnet})" if one.subnet not in ("", one.name) else ""
    rails = f", {one.rails} rails together" if one.rails > 1 else ""
    technology = f", {one.technology}" if one.technology != one.name else ""
    return f"{one.name}{subnet}{technology}{rails}"


def listed(members: tuple[Member, ...]) -> str:
    """``c[1-9]:eth0, c10:eth1``: nodes by the name that they give their interface."""
    nodes: dict[str, list[str]] = {}
    for member in members:
        nodes.setdefault(member.interface, []).append(member.node)
    return ", ".join(f"{shortened(names)}:{name}" for name, names in nodes.items())


def nearness(inventory: Inventory) -> doc.Table:
    """Adapters with their NUMA node and their way to each GPU.

    Where no tool measured the way, equal or different NUMA nodes are all that is known.
    """
    told = {(near.adapter, near.gpu): near.distance for near in inventory.nearness}
    gpus = (f"GPU {gpu.index}\nNUMA node {number(gpu.numa_node)}" for gpu in inventory.gpus)
    rows: tuple[tuple[doc.Said, ...], ...] = tuple(
        (
            doc.Cell(_ends(one) or number(one.bus), strong=True), number(one.numa_node),
            *(_way(one, gpu, told) for gpu in inventory.gpus),
        )
        for one in inventory.adapters
    )  # fmt: skip
    return doc.Table(doc.heads("adapter", "NUMA node", *gpus), rows)


def _ends(one: Adapter) -> str:
    return ", ".join((*one.interfaces, *one.rdma_devices))


def _way(one: Adapter, gpu: Gpu, told: dict[tuple[str, int], str]) -> str:
    for name in (*one.rdma_devices, *one.interfaces):
        if (name, gpu.index) in told:
            return told[name, gpu.index]
    if isinstance(one.numa_node, Skipped) or isinstance(gpu.numa_node, Skipped):
        return "not known"
    return "same NUMA node" if one.numa_node == gpu.numa_node else "SYS"


def number(value: int | str | Skipped) -> str:
    return "not known" if isinstance(value, Skipped) else str(value)


#: Host names are words with points and hyphens (RFC 952); what is between is kept as well.
_WORDS = re.compile(r"([\w.-]+)")


def told_together(told: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Sentences behind their nodes' names, once for all nodes that say the same."""
    return tuple(f"{names}: {sentence}" for names, sentence in together(told))


def together(told: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Sentences begin with their node's name, or have it where another node's has its own."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, sentence in told:
        bare = sentence.removeprefix(f"{name}: ").removeprefix(f"{name} ")
        common = "".join("NODE" if word == name else word for word in _WORDS.split(bare))
        alike.setdefault(common, []).append((name, bare))
    for common, nodes in alike.items():
        names = [name for name, _ in nodes]
        yield shortened(names), nodes[0][1] if len(nodes) == 1 else common
