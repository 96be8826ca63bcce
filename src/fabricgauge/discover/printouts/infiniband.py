"""``ibstat``, ``ibstatus``, ``ibv_devinfo`` → RDMA ports and their devices; pure.

As infiniband-diags and rdma-core 44 print them. ``ibstat`` knows the devices that have management
datagrams: not iWARP's. ``ibstatus`` reads sysfs. A speed of ``ibv_devinfo``
(libibverbs/examples/devinfo.c) is one lane's, as the standard names it: 14.0 is
FDR's 14.0625 Gb/s.
"""

import ipaddress
import re

import msgspec

from fabricgauge.discover.printouts import figures, verbs
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, blank_port, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

_IBSTAT = "ibstat"

#: As an option, and as the end of a file's name.
_LISTING = (["-l"], ["l"], ["--list_of_cas"])
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class _IbstatBlock(msgspec.Struct):
    """A ``CA 'NAME'``, or one of its ports; ``number`` is empty for the former."""

    device: str
    number: str
    values: dict[str, str]


def ibstat(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, LIDs and GUID, and an adapter known by its RDMA device.

    The rate is nominal, as the kernel sums it up. With the argument ``-l`` the text is a list
    of names: without it, a word alone on its line may be anybody's.
    """
    blocks = _listed(text) if argument.split()[:1] in _LISTING else _ibstat_blocks(text)
    ports = tuple(_ibstat_port(one) for one in blocks if one.number)
    kinds = {one.device: verbs.KIND_OF.get(one.protocol, "") for one in ports}
    adapters = tuple(_ibstat_adapter(one, kinds) for one in blocks if not one.number)
    return Parts(adapters=adapters, rdma_ports=ports, troubles=unrecognised(_IBSTAT, text, blocks))


def _ibstat_blocks(text: str) -> list[_IbstatBlock]:
    found: list[_IbstatBlock] = []
    for line in lines(text):
        bare = line.strip()
        if bare.startswith("CA '") and bare.endswith("'"):
            found.append(_IbstatBlock(bare[4:-1], "", {}))
        elif found and bare.startswith("Port ") and verbs.PORT.fullmatch(bare[5:-1]):
            found.append(_IbstatBlock(found[-1].device, bare[5:-1], {}))
        elif found and ":" in bare:
            key, value = pair(bare)
            found[-1].values.setdefault(key, value)
    return found


def _listed(text: str) -> list[_IbstatBlock]:
    return [_IbstatBlock(line, "", {}) for line in lines(text) if _NAME.fullmatch(line)]


def _ibstat_port(block: _IbstatBlock) -> RdmaPort:
    values = block.values
    layer = values.get("Link layer", "")
    protocol = verbs.protocol(block.device, layer, ethernet="roce")
    return msgspec.structs.replace(
        blank_port(_IBSTAT, block.device, int(block.number)),
        link_layer=verbs.layer(protocol, layer), protocol=protocol,
        state=verbs.state(values.get("State", ""), _IBSTAT),
        physical=verbs.physical(values.get("Physical state", ""), _IBSTAT),
        rate_bit_s=figures.number(values.get("Rate", "").partition(" ")[0], "the rate", 1e9),
        lid=figures.whole(values.get("Base lid", ""), "the LID"),
        sm_lid=figures.whole(values.get("SM lid", ""), "the subnet manager's LID"),
        guid=figures.identifier(values.get("Port GUID", ""), "the port's GUID"),
    )  # fmt: skip


def _ibstat_adapter(block: _IbstatBlock, kinds: dict[str, str]) -> Adapter:
    return msgspec.structs.replace(
        blank_adapter(_IBSTAT, kinds.get(block.device, "")), rdma_devices=(block.device,),
        product=said(_IBSTAT, block.values.get("CA type", "")),
        firmware=said(_IBSTAT, block.values.get("Firmware version", "")),
    )  # fmt: skip


_IBSTATUS = "ibstatus"
_HEAD = re.compile(r"Infiniband device '(.*)' port ([0-9]{1,3}) status:")
_RATE = re.compile(r"([0-9.]{1,8}) Gb/sec \(([0-9]{1,2})X(?: ([A-Z0-9]{2,6}))?\)")


def ibstatus(text: str, argument: str = "") -> Parts:
    """Ports with state, rate, width and LIDs.

    RoCE and iWARP are told apart by the first GID: iWARP's is the hardware address and
    zeros (Linux 6.12: siw_query_gid, irdma_iw_query_gid, c4iw_query_gid).
    """
    ports = tuple(_ibstatus_port(*block) for block in _ibstatus_blocks(text))
    return Parts(rdma_ports=ports, troubles=unrecognised(_IBSTATUS, text, ports))


def _ibstatus_blocks(text: str) -> list[tuple[str, int, dict[str, str]]]:
    found: list[tuple[str, int, dict[str, str]]] = []
    for line in lines(text):
        head = _HEAD.fullmatch(line.strip())
        if head:
            found.append((head[1], int(head[2]), {}))
        elif found:
            key, value = pair(line)
            found[-1][2].setdefault(key, value)
    return found


def _ibstatus_port(device: str, number: int, values: dict[str, str]) -> RdmaPort:
    gid, layer = values.get("default gid", ""), values.get("link_layer", "")
    protocol = verbs.protocol(device, layer, ethernet=_over_ethernet(gid))
    rate = _RATE.fullmatch(values.get("rate", ""))
    unread = figures.unread(values.get("rate", ""), "the rate")
    lanes = int(rate[2]) if rate else 0
    rate_bit_s = figures.number(rate[1], "the rate", 1e9) if rate else unread
    lane = rate_bit_s / lanes if lanes and isinstance(rate_bit_s, float) else unread
    return msgspec.structs.replace(
        blank_port(_IBSTATUS, device, number), protocol=protocol,
        link_layer=verbs.layer(protocol, layer),
        state=verbs.state(values.get("state", ""), _IBSTATUS),
        physical=verbs.physical(values.get("phys state", ""), _IBSTATUS),
        rate_bit_s=rate_bit_s, lane_bit_s=lane, lanes=lanes or unread,
        lid=figures.hexadecimal(values.get("base lid", ""), "the LID"),
        sm_lid=figures.hexadecimal(values.get("sm lid", ""), "the subnet manager's LID"),
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


_DEVINFO = "ibv_devinfo"
_COUNT = re.compile(r"[0-9]+ HCAs? found:")

#: Amazon's number: its Elastic Fabric Adapter has a transport of its own.
_AMAZON = "0x1d0f"


class _IbvDevice(msgspec.Struct):
    """One ``hca_id`` with the keys below it, and those of each of its ports."""

    name: str
    values: dict[str, str]
    ports: list[dict[str, str]]


def ibv_devinfo(text: str, argument: str = "") -> Parts:
    """Ports with state, MTU, LIDs and, with ``-v``, width and speed; adapters by RDMA device."""
    devices = _devices(text)
    return Parts(
        adapters=tuple(map(_devinfo_adapter, devices)),
        rdma_ports=tuple(_devinfo_port(one, values) for one in devices for values in one.ports),
        troubles=unrecognised(_DEVINFO, text, devices),
    )


def _devices(text: str) -> list[_IbvDevice]:
    found: list[_IbvDevice] = []
    listed = False
    for line in lines(text):
        key, value = pair(line)
        if key == "hca_id" or (listed and value and not key):
            found.append(_IbvDevice(value, {}, []))
        elif found and key == "port" and verbs.PORT.fullmatch(value):
            found[-1].ports.append({key: value})
        elif found and key:
            values = found[-1].ports[-1] if found[-1].ports else found[-1].values
            values.setdefault(key, value)
        listed = listed or bool(_COUNT.fullmatch(line.strip()[:40]))
    return found


def _protocol(device: _IbvDevice, layer: str) -> str:
    transport = device.values.get("transport", "").partition(" ")[0].lower()
    if transport == "iwarp":
        return "iwarp"
    if device.values.get("vendor_id") == _AMAZON:
        return "efa"
    return verbs.protocol(device.name, layer, ethernet="roce")


def _devinfo_adapter(device: _IbvDevice) -> Adapter:
    layer = device.ports[0].get("link_layer", "") if device.ports else ""
    return msgspec.structs.replace(
        blank_adapter(_DEVINFO, verbs.KIND_OF.get(_protocol(device, layer), "")),
        rdma_devices=(device.name,),
        firmware=_firmware(device.values.get("fw_ver", "")),
    )


def _firmware(text: str) -> str | Skipped:
    if text and not text.strip("0."):
        return Skipped(f"{text[:40]!r}: it has none")
    return said(_DEVINFO, text)


def _devinfo_port(device: _IbvDevice, values: dict[str, str]) -> RdmaPort:
    layer = values.get("link_layer", "")
    protocol = _protocol(device, layer)
    lanes = _figure(values, "active_width", "X")
    lane = figures.number(values.get("active_speed", "").partition(" ")[0], "the speed", 1e9)
    return msgspec.structs.replace(
        blank_port(_DEVINFO, device.name, int(values["port"])),
        link_layer=verbs.layer(protocol, layer), protocol=protocol,
        state=verbs.state(values.get("state", ""), _DEVINFO),
        physical=verbs.physical(values.get("phys_state", ""), _DEVINFO),
        rate_bit_s=figures.product(lane, lanes),
        lane_bit_s=lane, lanes=lanes, mtu_bytes=_figure(values, "active_mtu", " "),
        lid=figures.whole(values.get("port_lid", ""), "the LID"),
        sm_lid=figures.whole(values.get("sm_lid", ""), "the subnet manager's LID"),
        guid=_guid_of_ipv6(values.get("GID[  0]", "")),
    )  # fmt: skip


def _figure(values: dict[str, str], key: str, before: str) -> int | Skipped:
    """``4096`` of ``4096 (5)``, ``4`` of ``4X (2)``."""
    text, middle, _ = values.get(key, "").partition(before)
    return figures.whole(text if middle else "", key, most=1 << 20)


def _guid_of_ipv6(gid: str) -> str | Skipped:
    """The lower half of the first GID, which older versions print in eight full groups."""
    try:
        whole = int(ipaddress.IPv6Address(gid[:60].partition(",")[0].strip()))
    except ValueError:
        return figures.unread(gid, "the first GID")
    return f"0x{whole & (1 << 64) - 1:016x}"
