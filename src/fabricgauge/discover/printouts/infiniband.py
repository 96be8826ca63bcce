"""``ibstat``, ``ibstatus``, ``ibv_devinfo``, ``rdma`` → RDMA ports and their devices; pure.

As infiniband-diags and rdma-core 44 print them. ``ibstat`` knows the devices that have management
datagrams: not iWARP's. ``ibstatus`` reads sysfs. A speed of ``ibv_devinfo``
(libibverbs/examples/devinfo.c) is one lane's, as the standard names it: 14.0 is
FDR's 14.0625 Gb/s. ``rdma link`` and ``rdma dev`` are those of iproute2 6.1, as text or with
``-j``, ``-d``: LIDs are of InfiniBand and Omni-Path only, and an interface of what lies over
Ethernet; RoCE and iWARP are told apart by ``rdma dev``.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.discover.printouts import figures, verbs
from fabricgauge.discover.printouts.lines import (
    blocks,
    entries,
    lines,
    pair,
    pairs,
    table,
    unrecognised,
)
from fabricgauge.discover.printouts.parts import Parts, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

_IBSTAT, _IBSTATUS, _DEVINFO, _RDMA = "ibstat", "ibstatus", "ibv_devinfo", "rdma"

#: What a block begins with: a device, one of its ports, or both at once.
_IBSTAT_HEAD = re.compile(r"CA '(?P<device>.*)'|Port (?P<number>[0-9]{1,3}).")
_IBSTATUS_HEAD = re.compile(
    r"Infiniband device '(?P<device>.*)' port (?P<number>[0-9]{1,3}) status:"
)
_DEVINFO_HEAD = re.compile(r"hca_id\s*:\s*(?P<device>.*)|port\s*:\s*(?P<number>[0-9]{1,3})")

#: ``ibstat -l``, as an option and as the end of a file's name; ``ibv_devinfo -l`` counts first.
_LISTING = (["-l"], ["l"], ["--list_of_cas"])
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_COUNT = re.compile(r"[0-9]+ HCAs? found:")

_RATE = re.compile(r"([0-9.]{1,8}) Gb/sec \(([0-9]{1,2})X(?: ([A-Z0-9]{2,6}))?\)")

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

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _blocks(text: str, head: re.Pattern[str]) -> list[_Block]:
    found: list[_Block] = []
    for begins, body in blocks(text, lambda line: head.fullmatch(line.strip())):
        device, number, values = begins["device"], begins["number"] or "", pairs(body, ":")
        if device is not None:
            found.append(_Block(device, number, values, values))
        elif found:
            found.append(_Block(found[-1].device, number, values, found[-1].of))
    return found


def _listed(names: Iterable[str]) -> list[_Block]:
    return [_Block(name, "", {}, {}) for name in names]


_IBSTAT_PORT = verbs.PortLabels(_IBSTAT, "State", "Physical state", "Base lid", "SM lid")


def ibstat(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, LIDs and GUID, and an adapter known by its RDMA device.

    The rate is nominal, as the kernel sums it up. With the argument ``-l`` the text is a list
    of names: without it, a word alone on its line may be anybody's.
    """
    is_list = argument.split()[:1] in _LISTING
    names = (line for line in lines(text) if _NAME.fullmatch(line))
    found = _listed(names) if is_list else _blocks(text, _IBSTAT_HEAD)
    ports = tuple(_ibstat_port(one) for one in found if one.number)
    protocols = {one.device: one.protocol for one in ports}
    adapters = (
        verbs.adapter(
            _IBSTAT, one.device, protocols.get(one.device, ""),
            product=said(_IBSTAT, one.get("CA type")),
            firmware=said(_IBSTAT, one.get("Firmware version")),
        )
        for one in found if not one.number
    )  # fmt: skip
    troubles = unrecognised(_IBSTAT, text, found)
    return Parts(adapters=tuple(adapters), rdma_ports=ports, troubles=troubles)


def _ibstat_port(block: _Block) -> RdmaPort:
    layer = block.get("Link layer")
    protocol = verbs.protocol(block.device, layer, ethernet="roce")
    return verbs.port(
        _IBSTAT_PORT, block.device, int(block.number), block.values, protocol, layer,
        rate_bit_s=figures.number(block.get("Rate").partition(" ")[0], "the rate", 1e9),
        guid=figures.identifier(block.get("Port GUID"), "the port's GUID"),
    )  # fmt: skip


_IBSTATUS_PORT = verbs.PortLabels(
    _IBSTATUS, "state", "phys state", "base lid", "sm lid", figures.hexadecimal
)


def ibstatus(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, width and LIDs.

    RoCE and iWARP are told apart by the first GID: iWARP's is the hardware address and
    zeros (Linux 6.12: siw_query_gid, irdma_iw_query_gid, c4iw_query_gid).
    """
    ports = tuple(map(_ibstatus_port, _blocks(text, _IBSTATUS_HEAD)))
    return Parts(rdma_ports=ports, troubles=unrecognised(_IBSTATUS, text, ports))


def _ibstatus_port(block: _Block) -> RdmaPort:
    gid, layer = block.get("default gid"), block.get("link_layer")
    protocol = verbs.protocol(block.device, layer, ethernet=_over_ethernet(gid))
    rate = _RATE.fullmatch(block.get("rate"))
    unread = figures.unread(block.get("rate"), "the rate")
    lanes = int(rate[2]) if rate else 0
    rate_bit_s = figures.number(rate[1], "the rate", 1e9) if rate else unread
    lane = rate_bit_s / lanes if lanes and isinstance(rate_bit_s, float) else unread
    return verbs.port(
        _IBSTATUS_PORT, block.device, int(block.number), block.values, protocol, layer,
        rate_bit_s=rate_bit_s, lane_bit_s=lane, lanes=lanes or unread,
        guid=_guid_of_gid(gid, protocol),
    )  # fmt: skip


def _over_ethernet(gid: str) -> str:
    digits = gid.replace(":", "")
    if len(digits) != 32 or not digits.strip("0"):
        return ""
    return "iwarp" if not digits[12:].strip("0") else "roce"


def _guid_of_gid(gid: str, protocol: str) -> str | Skipped:
    if protocol == "iwarp":
        return Skipped("the first GID of an iWARP device holds no GUID")
    return figures.identifier(gid[-19:], "the port's GUID")


_DEVINFO_PORT = verbs.PortLabels(_DEVINFO, "state", "phys_state", "port_lid", "sm_lid")


def ibv_devinfo(text: str, argument: str = "") -> Parts:
    """Ports with state, MTU, LIDs and, with ``-v``, width and speed; adapters by RDMA device."""
    found = _blocks(text, _DEVINFO_HEAD) or _listed(_counted(text))
    layers = {one.device: one.get("link_layer") for one in reversed(found) if one.number}
    adapters = (
        verbs.adapter(
            _DEVINFO, one.device, _protocol(one, layers.get(one.device, "")),
            firmware=_firmware(one.get("fw_ver")),
        )
        for one in found if not one.number
    )  # fmt: skip
    return Parts(
        adapters=tuple(adapters),
        rdma_ports=tuple(_devinfo_port(one) for one in found if one.number),
        troubles=unrecognised(_DEVINFO, text, found),
    )


def _counted(text: str) -> Iterator[str]:
    """The names below the line that counts them."""
    counted = False
    for line in lines(text):
        key, value = pair(line)
        if counted and value and not key:
            yield value
        counted = counted or bool(_COUNT.fullmatch(line.strip()[:40]))


def _protocol(block: _Block, layer: str) -> str:
    transport = block.of.get("transport", "").partition(" ")[0].lower()
    if transport == "iwarp":
        return "iwarp"
    if block.of.get("vendor_id") == _AMAZON:
        return "efa"
    return verbs.protocol(block.device, layer, ethernet="roce")


def _firmware(text: str) -> str | Skipped:
    if text and not text.strip("0."):
        return Skipped(f"{text[:40]!r}: it has none")
    return said(_DEVINFO, text)


def _devinfo_port(block: _Block) -> RdmaPort:
    layer = block.get("link_layer")
    protocol = _protocol(block, layer)
    lanes = _figure(block, "active_width", "X")
    lane = figures.number(block.get("active_speed").partition(" ")[0], "the speed", 1e9)
    return verbs.port(
        _DEVINFO_PORT, block.device, int(block.number), block.values, protocol, layer,
        rate_bit_s=figures.product(lane, lanes),
        lane_bit_s=lane, lanes=lanes, mtu_bytes=_figure(block, "active_mtu", " "),
        guid=_guid_of_ipv6(block.get("GID[  0]")),
    )  # fmt: skip


def _figure(block: _Block, key: str, before: str) -> int | Skipped:
    """``4096`` of ``4096 (5)``, ``4`` of ``4X (2)``."""
    text, middle, _ = block.get(key).partition(before)
    return figures.whole(text if middle else "", key, most=1 << 20)


def _guid_of_ipv6(gid: str) -> str | Skipped:
    """The lower half of the first GID, which older versions print in eight full groups."""
    try:
        whole = int(ipaddress.IPv6Address(gid[:60].partition(",")[0].strip()))
    except ValueError:
        return figures.unread(gid, "the first GID")
    return f"0x{whole & (1 << 64) - 1:016x}"


#: ``rdma dev``'s node types; an ``rnic`` speaks iWARP (Linux, rdma/ib_verbs.h).
_NODE_TYPES = {"rnic": "iwarp"}
_RDMA_PORT = verbs.PortLabels(_RDMA, "state", "physical_state", "lid", "sm_lid")


def rdma(text: str, argument: str = "") -> Parts:
    """Ports of ``rdma link``, adapters by RDMA device of ``rdma dev``; it shows which it is.

    Fact ``rdma protocol of DEVICE``: ``iwarp``, where ``rdma dev`` tells it.
    """
    found, troubles = entries(_RDMA, text, lambda entry: [table(entry)], _rdma_entries)
    devices = [entry for entry in found if "node_type" in entry]
    spoken = [(one.get("ifname", ""), _NODE_TYPES.get(one["node_type"])) for one in devices]
    return Parts(
        adapters=tuple(map(_rdma_adapter, devices)),
        rdma_ports=tuple(
            _rdma_port(one) for one in found if verbs.PORT.fullmatch(one.get("port", ""))
        ),
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
    return verbs.port(
        _RDMA_PORT, device, int(entry["port"]), entry, verbs.protocol(device, layer), layer,
        interface=said(_RDMA, entry.get("netdev", "")),
    )  # fmt: skip


def _rdma_adapter(entry: dict[str, str]) -> Adapter:
    device = entry.get("ifname", "")
    protocol = _NODE_TYPES.get(entry["node_type"]) or verbs.protocol(device, "")
    return verbs.adapter(_RDMA, device, protocol, firmware=said(_RDMA, entry.get("fw", "")))
