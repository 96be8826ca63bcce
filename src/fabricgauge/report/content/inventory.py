"""Describe nodes, adapters, interfaces, networks and distances.

Many nodes' names are folded as a person writes them: ``c[1-3,7],gpu[01-04]``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ClusterShell.RangeSet import RangeSet

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Interface, IpoibPort, Member, Network, Node
from fabricgauge.model.inventory import Adapter, Gpu, Inventory, RdmaPort
from fabricgauge.model.words.figures import link_rate
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc

#: RoCE and iWARP have no subnet manager, and tools write 0.
_WITH_LID = ("infiniband", "omni-path")

#: nvidia-smi's words for the path between an adapter and a GPU, nearest first (topo -m's legend).
DISTANCES = {
    "PIX": "one PCIe bridge at most",
    "PXB": "several PCIe bridges",
    "PHB": "a PCIe host bridge",
    "NODE": "host bridges of one NUMA node",
    "SYS": "the link between sockets",
}
#: Most interfaces of a node: a host of containers has many, and a page must fit into a mail.
MOST_INTERFACES = 32


#: Most letters of a list of names; a list of at most ``FEW`` names is never cut.
LONGEST = 400
FEW = 20

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)


def folded(names: Iterable[str]) -> str:
    """Return each name once, with names that differ only in their last number folded, in time n log
    n.

    ClusterShell reads it back. A number with zeros in front keeps its width.
    """
    plain: list[str] = []
    groups: dict[tuple[str, str], set[str]] = {}
    for name in dict.fromkeys(names):
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.append(name)
        else:
            groups.setdefault((match[1], match[3]), set()).add(match[2])
    for (prefix, suffix), numbers in groups.items():
        ranges = str(RangeSet.fromlist(numbers))
        plain.append(f"{prefix}{f'[{ranges}]' if len(numbers) > 1 else ranges}{suffix}")
    return ",".join(plain)


def shortened(names: Sequence[str]) -> str:
    """Return folded names; if they fold badly, the first two, the last, and their number."""
    text = folded(names)
    if len(text) <= LONGEST or len(names) <= FEW:
        return text
    return f"{names[0]}, {names[1]} … {names[-1]} ({len(names):,})"


def fill_known(template: str, *values: object) -> list[str]:
    """Return the words with the values in them, nothing if a value is unknown."""
    return [] if any(isinstance(value, Skipped) for value in values) else [template.format(*values)]


def adapter(adapter: Adapter) -> str:
    """Return one line on an adapter of one node, without unknown values."""
    facts = [
        adapter.kind,
        *fill_known("{}", adapter.bus),
        *fill_known("{}", adapter.product),
        *fill_known("driver {}", adapter.driver),
        *fill_known("firmware {}", adapter.firmware),
        *_pcie(adapter),
        *fill_known("NUMA node {}", adapter.numa_node),
        *fill_known("lanes {}", adapter.lane_mode),
        *([f"possible lanes {', '.join(adapter.lane_modes)}"] if adapter.lane_modes else []),
    ]
    return f"{_ports(adapter) or 'no interface'}: {', '.join(facts)}"


def _pcie(adapter: Adapter) -> list[str]:
    link, capable = adapter.pcie_now, adapter.pcie_capable
    if isinstance(link, Skipped):
        return []
    able = "" if isinstance(capable, Skipped) or capable == link else f" (can {capable})"
    return [f"PCIe {link}{able}"]


def port(port: RdmaPort) -> str:
    facts = [
        port.protocol,
        *fill_known("{}", port.state),
        *fill_known("{}", port.physical),
        *([link_rate(port.rate_bit_s)] if isinstance(port.rate_bit_s, float) else []),
        *([counted(port.lanes, "lane")] if isinstance(port.lanes, int) else []),
        *(fill_known("LID {}", port.lid) if port.protocol in _WITH_LID else []),
        *fill_known("on {}", port.interface),
        *([port.reason] if port.reason else []),
        *_enabled(port),
    ]
    return f"{port.device}:{port.number}: {', '.join(facts)}"


def _enabled(port: RdmaPort) -> list[str]:
    """Return the width and speed that are enabled, if the port does not run at both of them."""
    lanes, lane_bit_s = max(port.lanes_enabled, default=0), max(port.lane_bit_s_enabled, default=0)
    words = [counted(lanes, "lane")] * bool(lanes)
    words += [f"{link_rate(lane_bit_s)} a lane"] * bool(lane_bit_s)
    is_usual = (port.lanes, port.lane_bit_s) == (lanes, lane_bit_s)
    return [f"enabled: {' at '.join(words)}"] if words and not is_usual else []


def gpu(gpu: Gpu) -> str:
    place = [gpu.bus or "bus unknown", *fill_known("NUMA node {}", gpu.numa_node)]
    return f"GPU {gpu.index}: {', '.join((gpu.product, *place))}"


def interfaces(node: Node, wired: frozenset[str] = frozenset()) -> doc.Table:
    """Return a row for each; interfaces of adapters (``wired``) and with addresses come first."""
    columns = doc.heads("interface", "driver", "state", ">rate", ">MTU", "addresses")
    words = "{count} more interfaces are in the JSON report"
    limit = doc.RowLimit(words, {doc.PAGE: MOST_INTERFACES})
    return doc.Table(columns, tuple(map(_interface, ordered(node, wired))), limit=limit)


def ordered(node: Node, wired: frozenset[str]) -> list[Interface]:
    return sorted(node.interfaces, key=lambda port: (port.name not in wired, not port.addresses))


def _interface(interface: Interface) -> tuple[str, ...]:
    speed = interface.speed_bit_s
    driver = interface.driver if isinstance(interface.driver, str) else interface.driver.reason
    ipoib = ""
    if isinstance(interface.ipoib, IpoibPort):
        mode = fill_known(" in {} mode", interface.ipoib.mode)
        ipoib = "".join((", IPoIB", *mode, *fill_known(" on {}", interface.ipoib.link)))
    return (
        interface.name, f"{driver}{ipoib}", interface.operstate,
        speed.reason if isinstance(speed, Skipped) else link_rate(speed), str(interface.mtu_bytes),
        " ".join(f"{address.ip}/{address.prefix_length}" for address in interface.addresses),
    )  # fmt: skip


def network_title(network: Network) -> str:
    """Return the name, the subnet if it differs, the technology."""
    subnet = f" ({network.subnet})" if network.subnet not in ("", network.name) else ""
    rails = f", {network.rails} rails together" if network.rails > 1 else ""
    technology = f", {network.technology}" if network.technology != network.name else ""
    return f"{network.name}{subnet}{technology}{rails}"


def listed(members: tuple[Member, ...]) -> str:
    """Return ``c[1-9]:eth0, c10:eth1``: nodes by the name of their interface."""
    nodes: dict[str, list[str]] = {}
    for member in members:
        nodes.setdefault(member.interface, []).append(member.node)
    return ", ".join(f"{shortened(names)}:{name}" for name, names in nodes.items())


def nearness(inventory: Inventory) -> doc.Table:
    """Return adapters with their NUMA node and their distance to each GPU.

    Without a tool that measures distances, only the NUMA nodes are compared.
    """
    distances = {(near.adapter, near.gpu): near.distance for near in inventory.nearness}
    gpus = (f"GPU {gpu.index}\nNUMA node {number(gpu.numa_node)}" for gpu in inventory.gpus)
    rows: tuple[tuple[doc.Inline, ...], ...] = tuple(
        (
            doc.Cell(_ports(adapter) or number(adapter.bus), strong=True),
            number(adapter.numa_node),
            *(_distance(adapter, gpu, distances) for gpu in inventory.gpus),
        )
        for adapter in inventory.adapters
    )  # fmt: skip
    return doc.Table(doc.heads("adapter", "NUMA node", *gpus), rows)


def _ports(adapter: Adapter) -> str:
    return ", ".join((*adapter.interfaces, *adapter.rdma_devices))


def _distance(adapter: Adapter, gpu: Gpu, distances: dict[tuple[str, int], str]) -> str:
    for name in (*adapter.rdma_devices, *adapter.interfaces):
        if (name, gpu.index) in distances:
            return distances[name, gpu.index]
    if isinstance(adapter.numa_node, Skipped) or isinstance(gpu.numa_node, Skipped):
        return "unknown"
    return "same NUMA node" if adapter.numa_node == gpu.numa_node else "SYS"


def number(value: int | str | Skipped) -> str:
    return "unknown" if isinstance(value, Skipped) else str(value)


#: Host names are words with points and hyphens (RFC 952); the text between is kept as well.
_WORDS = re.compile(r"([\w.-]+)")


def merge_sentences(sentences: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return sentences behind their nodes' names, once for all nodes with the same sentence."""
    return tuple(f"{names}: {sentence}" for names, sentence in group_sentences(sentences))


def group_sentences(sentences: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Group equal sentences; a node's own name in its sentence does not count."""
    nodes_by_sentence: dict[str, list[tuple[str, str]]] = {}
    for name, sentence in sentences:
        bare = sentence.removeprefix(f"{name}: ").removeprefix(f"{name} ")
        common = "".join("NODE" if word == name else word for word in _WORDS.split(bare))
        nodes_by_sentence.setdefault(common, []).append((name, bare))
    for common, nodes in nodes_by_sentence.items():
        names = [name for name, _ in nodes]
        yield shortened(names), nodes[0][1] if len(nodes) == 1 else common
