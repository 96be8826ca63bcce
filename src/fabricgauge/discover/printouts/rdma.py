"""``rdma link`` and ``rdma dev``, as text or with ``-j``, ``-d`` → ports and devices; pure.

As iproute2 6.1 prints them. ``rdma link`` gives LIDs for InfiniBand and Omni-Path only, and
an interface for what lies over Ethernet; RoCE and iWARP are told apart by ``rdma dev``.
"""

from collections.abc import Iterator

from fabricgauge.discover.printouts import figures, verbs
from fabricgauge.discover.printouts.lines import (
    broken_off,
    is_json,
    lines,
    objects,
    table,
    unrecognised,
)
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, blank_port, said
from fabricgauge.model.inventory import Adapter, RdmaPort

TOOL = "rdma"
#: What stands first in a text line of ``rdma link``.
_LINK = "link"
#: ``rdma dev``'s node types; an ``rnic`` speaks iWARP (Linux, rdma/ib_verbs.h).
_NODE_TYPES = {"rnic": "iwarp"}


def parse(text: str, argument: str = "") -> Parts:
    """Ports of ``rdma link``, adapters by RDMA device of ``rdma dev``; it shows which it is.

    Fact ``rdma protocol of DEVICE``: ``iwarp``, where ``rdma dev`` tells it.
    """
    if is_json(text):
        read = objects(text)
        entries = [table(entry) for entry in read.found]
        troubles = broken_off(TOOL, read.whole)
    else:
        entries = list(_entries(text))
        troubles = unrecognised(TOOL, text, entries)
    links = [entry for entry in entries if verbs.PORT.fullmatch(entry.get("port", ""))]
    devices = [entry for entry in entries if "node_type" in entry]
    return Parts(
        adapters=tuple(map(_adapter, devices)), rdma_ports=tuple(map(_port, links)),
        facts=_facts(devices), troubles=troubles,
    )  # fmt: skip


def _entries(text: str) -> Iterator[dict[str, str]]:
    """``link mlx5_0/1 state …`` (old: ``1/1: mlx5_0/1: state …``) and ``0: mlx5_0: …``."""
    for line in lines(text):
        words = line.split()
        if len(words) < 4:
            continue
        name = words[1].removesuffix(":")
        if words[0] == _LINK or (words[0].endswith(":") and name != words[1]):
            device, middle, number = name.rpartition("/")
            known = {"ifname": device, "port": number} if middle else {"ifname": name}
            yield {**_pairs(words[2:]), **known}


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=False))


def _port(entry: dict[str, str]) -> RdmaPort:
    device = entry.get("ifname", "")
    layer = "InfiniBand" if "lid" in entry else "Ethernet" if "netdev" in entry else ""
    protocol = verbs.protocol(device, layer)
    return blank_port(
        TOOL, device, int(entry["port"]),
        link_layer=verbs.layer(protocol, layer), protocol=protocol,
        state=verbs.state(entry.get("state", ""), TOOL),
        physical=verbs.physical(entry.get("physical_state", ""), TOOL),
        lid=figures.whole(entry.get("lid", ""), "the LID"),
        sm_lid=figures.whole(entry.get("sm_lid", ""), "the subnet manager's LID"),
        interface=said(TOOL, entry.get("netdev", "")),
    )  # fmt: skip


def _adapter(entry: dict[str, str]) -> Adapter:
    device = entry.get("ifname", "")
    protocol = _NODE_TYPES.get(entry["node_type"]) or verbs.protocol(device, "")
    return blank_adapter(
        TOOL, verbs.KIND_OF.get(protocol, ""), rdma_devices=(device,),
        firmware=said(TOOL, entry.get("fw", "")),
    )  # fmt: skip


def _facts(devices: list[dict[str, str]]) -> dict[str, str]:
    return {
        f"rdma protocol of {entry.get('ifname', '')}": _NODE_TYPES[entry["node_type"]]
        for entry in devices
        if entry["node_type"] in _NODE_TYPES
    }
