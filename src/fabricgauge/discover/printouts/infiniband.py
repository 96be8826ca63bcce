"""``ibstat``, ``ibstatus``, ``ibv_devinfo``, ``rdma`` → RDMA ports and their devices; pure.

As infiniband-diags and rdma-core 44 print them. ``ibstat`` knows the devices that have management
datagrams: not iWARP's. ``ibstatus`` reads sysfs. ``rdma link`` and ``rdma dev`` are those of
iproute2 6.1, as text or with ``-j``, ``-d``: LIDs are of InfiniBand and Omni-Path only, and an
interface of what lies over Ethernet; RoCE and iWARP are told apart by ``rdma dev``.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.printouts import verbs
from fabricgauge.discover.printouts.lines import (
    blocks,
    entries,
    lines,
    pair,
    pairs,
    table,
    unrecognised,
)
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

_IBSTAT, _IBSTATUS, _DEVINFO, _RDMA = "ibstat", "ibstatus", "ibv_devinfo", "rdma"

#: What a block begins with: a device, one of its ports, or both at once.
_HEADS = {
    _IBSTAT: re.compile(r"CA '(?P<device>.*)'|Port (?P<number>[0-9]{1,3})."),
    _IBSTATUS: re.compile(
        r"Infiniband device '(?P<device>.*)' port (?P<number>[0-9]{1,3}) status:"
    ),
    _DEVINFO: re.compile(r"hca_id\s*:\s*(?P<device>.*)|port\s*:\s*(?P<number>[0-9]{1,3})"),
}

#: ``ibstat -l``, as an option and as the end of a file's name; ``ibv_devinfo -l`` counts first.
_LISTING = (["-l"], ["l"], ["--list_of_cas"])
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_COUNT = re.compile(r"[0-9]+ HCAs? found:")

#: Amazon's number: its Elastic Fabric Adapter has a transport of its own.
_AMAZON = "0x1d0f"


class _Block(msgspec.Struct):
    """The keys below a device, or below one of its ports; ``number`` is empty for the former.

    ``of`` are the keys of the device.
    """

    device: str
    number: str
    values: dict[str, str]
    of: dict[str, str]

    @property
    def layer(self) -> str:
        return self.get("Link layer") or self.get("link_layer")

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _protocol(tool: str, block: _Block, layer: str) -> str:
    """ibv_devinfo names the transport; ibstatus' iWARP shows by its first GID."""
    transport = block.of.get("transport", "").partition(" ")[0].lower()
    if transport == "iwarp":
        return transport
    if block.of.get("vendor_id") == _AMAZON:
        return "efa"
    gid = block.get("default gid")
    return verbs.protocol(block.device, layer, _over_ethernet(gid) if tool == _IBSTATUS else "roce")


def _over_ethernet(gid: str) -> str:
    """iWARP's is the hardware address and zeros (Linux 6.12: siw_query_gid, irdma_iw_query_gid,
    c4iw_query_gid)."""
    digits = gid.replace(":", "")
    if len(digits) != 32 or not digits.strip("0"):
        return ""
    return "roce" if digits[12:].strip("0") else "iwarp"


def _blocks(tool: str, text: str) -> list[_Block]:
    found: list[_Block] = []
    for begins, body in blocks(text, lambda line: _HEADS[tool].fullmatch(line.strip())):
        device, number, values = begins["device"], begins["number"] or "", pairs(body, ":")
        if device is not None:
            found.append(_Block(device, number, values, values))
        elif found:
            found.append(_Block(found[-1].device, number, values, found[-1].of))
    return found


def _listed(names: Iterable[str]) -> list[_Block]:
    return [_Block(name, "", {}, {}) for name in names]


def _told(tool: str, text: str, found: list[_Block]) -> Parts:
    """Ports, and the devices that have a block of their own with the layer of their first port."""
    layers = {one.device: one.layer for one in reversed(found) if one.number}
    return Parts(
        adapters=tuple(
            _adapter(tool, one, layers.get(one.device, "")) for one in found if not one.number
        ),
        rdma_ports=tuple(_port(tool, one) for one in found if one.number),
        troubles=unrecognised(tool, text, found),
    )


def _adapter(tool: str, block: _Block, layer: str) -> Adapter:
    firmware = block.get("Firmware version") or block.get("fw_ver")
    return verbs.adapter(
        tool, block.device, _protocol(tool, block, layer), product=block.get("CA type"),
        firmware=firmware if not firmware or firmware.strip("0.")
        else Skipped(f"{firmware[:40]!r}: it has none"),
    )  # fmt: skip


def _port(tool: str, block: _Block) -> RdmaPort:
    protocol = _protocol(tool, block, block.layer)
    return verbs.port(tool, block.device, int(block.number), block.values, protocol, block.layer)


def ibstat(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, LIDs and GUID, and an adapter known by its RDMA device.

    The rate is nominal, as the kernel sums it up. With the argument ``-l`` the text is a list
    of names: without it, a word alone on its line may be anybody's.
    """
    is_list = argument.split()[:1] in _LISTING
    names = (line for line in lines(text) if _NAME.fullmatch(line))
    return _told(_IBSTAT, text, _listed(names) if is_list else _blocks(_IBSTAT, text))


def ibstatus(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, width and LIDs."""
    return _told(_IBSTATUS, text, _blocks(_IBSTATUS, text))


def ibv_devinfo(text: str, argument: str = "") -> Parts:
    """Ports with state, MTU, LIDs and, with ``-v``, width and speed; adapters by RDMA device."""
    return _told(_DEVINFO, text, _blocks(_DEVINFO, text) or _listed(_counted(text)))


def _counted(text: str) -> Iterator[str]:
    """The names below the line that counts them."""
    counted = False
    for line in lines(text):
        key, value = pair(line)
        if counted and value and not key:
            yield value
        counted = counted or bool(_COUNT.fullmatch(line.strip()[:40]))


#: ``rdma dev``'s node types; an ``rnic`` speaks iWARP (Linux, rdma/ib_verbs.h).
_NODE_TYPES = {"rnic": "iwarp"}


def rdma(text: str, argument: str = "") -> Parts:
    """Ports of ``rdma link``, adapters by RDMA device of ``rdma dev``; it shows which it is.

    Fact ``rdma protocol of DEVICE``: ``iwarp``, where ``rdma dev`` tells it.
    """
    found, troubles = entries(_RDMA, text, lambda entry: [table(entry)], _rdma_entries)
    devices = [entry for entry in found if "node_type" in entry]
    spoken = [(one.get("ifname", ""), _NODE_TYPES.get(one["node_type"])) for one in devices]
    ports = (one for one in found if verbs.PORT.fullmatch(one.get("port", "")))
    return Parts(
        adapters=tuple(map(_rdma_adapter, devices)),
        rdma_ports=tuple(map(_rdma_port, ports)),
        facts={f"rdma protocol of {name}": protocol for name, protocol in spoken if protocol},
        troubles=troubles,
    )


def _rdma_entries(text: str) -> Iterator[dict[str, str]]:
    """``link mlx5_0/1 state …`` (old: ``1/1: mlx5_0/1: state …``) and ``0: mlx5_0: …``."""
    for line in lines(text):
        words = line.split()
        if len(words) < 4:
            continue
        name = words[1].removesuffix(":")
        if words[0] == "link" or (words[0].endswith(":") and name != words[1]):
            device, middle, number = name.rpartition("/")
            known = {"ifname": device, "port": number} if middle else {"ifname": name}
            yield {**dict(zip(words[2::2], words[3::2], strict=False)), **known}


def _rdma_port(entry: dict[str, str]) -> RdmaPort:
    device = entry.get("ifname", "")
    layer = "InfiniBand" if "lid" in entry else "Ethernet" if "netdev" in entry else ""
    protocol = verbs.protocol(device, layer)
    return verbs.port(_RDMA, device, int(entry["port"]), entry, protocol, layer)


def _rdma_adapter(entry: dict[str, str]) -> Adapter:
    device = entry.get("ifname", "")
    protocol = _NODE_TYPES.get(entry["node_type"]) or verbs.protocol(device, "")
    return verbs.adapter(_RDMA, device, protocol, firmware=entry.get("fw", ""))
