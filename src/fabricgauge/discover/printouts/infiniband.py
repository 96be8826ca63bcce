"""What tools print of RDMA ports and their devices: ibstat, ibv_devinfo, rdma …; pure.

As infiniband-diags and rdma-core 44 print them. ``ibstat`` knows the devices that have management
datagrams: not iWARP's. ``ibstatus`` reads sysfs. ``rdma link`` and ``rdma dev`` are those of
iproute2 6.1, as text or with ``-j``, ``-d``: LIDs are of InfiniBand and Omni-Path only, and an
interface of what lies over Ethernet; RoCE and iWARP are told apart by ``rdma dev``. ``show_gids``
and ``ibdev2netdev`` are scripts of Mellanox' mlnx-tools, ``mlxlink`` is of its firmware tools 4.
"""

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
from fabricgauge.discover.printouts.parts import Parts
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S
from fabricgauge.model.inventory import Adapter, Gid, RdmaPort

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
    """Ports, and the devices that have a block of their own with the layer of their first port.

    Fact ``part DEVICE``: the PCI numbers of its product, where the tool tells them.
    """
    layers = {one.device: one.layer for one in reversed(found) if one.number}
    parts = {one.device: part for one in found if not one.number and (part := _part(one))}
    return Parts(
        facts={f"part {device}": part for device, part in parts.items()},
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


#: Mellanox' name of a product is its PCI number in decimal: ``MT4123`` is 101b.
_MELLANOX = re.compile(r"MT([0-9]{4,5})")
#: Its numbers as a PCI vendor, and as a vendor of InfiniBand (its OUI).
_MELLANOX_PCI, _MELLANOX_OUI = "15b3", "0x02c9"


def _part(block: _Block) -> str:
    named = _MELLANOX.fullmatch(block.get("CA type"))
    number = named[1] if named else block.get("vendor_part_id")
    if not named and block.get("vendor_id") != _MELLANOX_OUI:
        return ""
    known = number.isascii() and number.isdigit() and 0 < int(number[:6]) < 1 << 16
    return f"{_MELLANOX_PCI}:{int(number):04x}" if known else ""


def _port(tool: str, block: _Block) -> RdmaPort:
    protocol = _protocol(tool, block, block.layer)
    gids = tuple(_gids(block)) if protocol == "roce" else ()
    return verbs.port(
        tool, block.device, int(block.number), block.values, protocol, block.layer,
        gids=gids, gid_types=tuple(sorted({one.kind for one in gids})),
    )  # fmt: skip


_GID = re.compile(r"GID\[ *([0-9]{1,3})\]")


def _gids(block: _Block) -> Iterator[Gid]:
    """``GID[  3]: ::ffff:10.1.0.1, RoCE v2``; rdma-core before 29 does not print the kind."""
    for key, value in block.values.items():
        at = _GID.fullmatch(key)
        address, _, kind = value.partition(", ")
        if at and kind and (whole := verbs.gid(address)):
            yield Gid(int(at[1]), whole, "", verbs.GID_KINDS.get(kind.strip(), kind.strip()[:40]))


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


_SHOWN_GID = re.compile(
    r"(\S+)\s+([0-9]{1,3})\s+([0-9]{1,3})\s+([0-9a-fA-F:]{2,39})\s+(?:[0-9.]{7,15}\s+)?(v[12])"
    r"(?:\s+(\S+))?\s*"
)
_SHOW_GIDS, _NETDEV = "show_gids", "ibdev2netdev"
#: Its last line, where it found none.
_NO_GIDS = "n_gids_found=0"


def show_gids(text: str, argument: str = "") -> Parts:
    """RoCE ports with their GIDs, as the script of Mellanox' tools lists them."""
    rows = [found for line in lines(text) if (found := _SHOWN_GID.fullmatch(line.strip()[:300]))]
    ports: dict[tuple[str, int], list[Gid]] = {}
    interfaces: dict[tuple[str, int], str] = {}
    for row in rows:
        name, kind = (row[1], int(row[2])), "RoCE v2" if row[5] == "v2" else "IB/RoCE v1"
        if whole := verbs.gid(row[4]):
            ports.setdefault(name, []).append(Gid(int(row[3]), whole, row[6] or "", kind))
            # A VLAN's interface comes behind that of the port.
            interfaces.setdefault(name, row[6] or "")
    return Parts(
        rdma_ports=tuple(
            verbs.port(
                _SHOW_GIDS, device, number, {}, "roce", "Ethernet",
                interface=interfaces[device, number]
                or Skipped(f"{_SHOW_GIDS} names no interface of {device}:{number}"),
                gids=tuple(gids), gid_types=tuple(sorted({one.kind for one in gids})),
            )
            for (device, number), gids in ports.items()
            if interfaces[device, number]
        ),
        troubles=() if _NO_GIDS in text else unrecognised(_SHOW_GIDS, text, rows),
    )  # fmt: skip


_ON = re.compile(
    r"(?:(?P<bus>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(?P<device>\S+)"
    r"(?: \((?P<part>MT[0-9]{4,5})[^)]*\).*? fw (?P<firmware>[0-9.]{3,20}))?"
    r" +port +(?P<port>[0-9]{1,3})(?: +\((?P<state>[A-Z ]{1,12})\))? +==> +(?P<interface>\S+)"
    r" +\((?P<up>Up|Down)\)"
)


def ibdev2netdev(text: str, argument: str = "") -> Parts:
    """The interface of each RDMA port; with ``-v`` its bus, firmware and state as well."""
    found = [row for line in lines(text) if (row := _ON.fullmatch(line.strip()[:400]))]
    devices = {row["device"]: row for row in reversed(found)}
    return Parts(
        adapters=tuple(
            verbs.adapter(
                _NETDEV, device, "",
                bus=row["bus"] or Skipped(f"{_NETDEV} gives the bus with -v"),
                firmware=row["firmware"] or "",
                interfaces=tuple(one["interface"] for one in found if one["device"] == device),
            )
            for device, row in devices.items()
        ),
        rdma_ports=tuple(
            verbs.port(
                _NETDEV, row["device"], int(row["port"]), {"state": row["state"] or ""},
                verbs.protocol(row["device"], ""), "", interface=row["interface"],
            )
            for row in found
        ),
        facts={
            f"part {device}": f"{_MELLANOX_PCI}:{int(row['part'][2:]):04x}"
            for device, row in devices.items()
            if row["part"]
        },
        troubles=unrecognised(_NETDEV, text, found),
    )  # fmt: skip


_MLXLINK = "mlxlink"
_DEVICE_OPTION = re.compile(r"(?:^|[ _-])(?:-?d|--?device)[ _-]+([A-Za-z][A-Za-z0-9_]{0,40})")
#: A lane's nominal rate in Gb/s, of which the kernel sums up a port's (Linux 6.12,
#: drivers/infiniband/core/sysfs.c, rate_show).
_NOMINAL = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50,
            "NDR": 100, "XDR": 200}  # fmt: skip
#: ``IB-HDR``, ``200G``, ``100GbE``.
_ETHERNET_SPEED = re.compile(r"([0-9]{1,4})G(?:bE|_[0-9]{1,2}X)?")
_SOUND = ("No issue was observed", "N/A", "")
#: What mlxlink calls the state of a port that has no link.
_WITHOUT_LINK = ("polling", "disable", "disabled", "down")
#: Its counters that no forward error correction has mended.
_MLXLINK_COUNTERS = {
    "Effective Physical Errors": "effective_physical_errors",
    "Link Down Counter": "link_downed", "Link Error Recovery Counter": "link_error_recovery",
}  # fmt: skip


def mlxlink(text: str, argument: str = "") -> Parts:
    """One port with state, speed, width, what it recommends, and its errors.

    ``argument`` names the device (``-d mlx5_0``): the printout does not. Symbol errors are those
    before forward error correction, which are sound.
    """
    device = _DEVICE_OPTION.search(argument) or re.fullmatch(r"([A-Za-z][A-Za-z0-9_]*)", argument)
    values = pairs(re.sub(r"\x1b\[[0-9;]{0,16}m", "", text), ":")
    if "Physical state" not in values or "Speed" not in values:
        return Parts(troubles=unrecognised(_MLXLINK, text, ()))
    if device is None:
        return Parts(troubles=(f"{_MLXLINK}: the file's name does not tell the device (-d)",))
    name, speed = device[1], values["Speed"]
    layer = "InfiniBand" if speed.startswith("IB-") else ""
    layer = "Ethernet" if _ETHERNET_SPEED.fullmatch(speed) else layer
    lanes, ethernet = values.get("Width", ""), _ETHERNET_SPEED.fullmatch(speed)
    known: dict[str, object] = {}
    if lane := LANE_BIT_S.get(called := speed.removeprefix("IB-")):
        count = figures.whole(lanes.removesuffix("x"), "the width", most=16)
        known["lane_bit_s"] = lane
        known["rate_bit_s"] = (
            count if isinstance(count, Skipped) else count * _NOMINAL[called] * 1e9
        )
    elif ethernet:
        known["rate_bit_s"] = float(ethernet[1]) * 1e9
    reason = values.get("Recommendation", "")
    if values.get("State", "").lower() in _WITHOUT_LINK:
        values |= {"Physical state": values["State"].title(), "State": "Down"}
    port = verbs.port(
        _MLXLINK, name, 1, values | {"Width": lanes.replace("x", "X")},
        verbs.protocol(name, layer, ethernet="roce"), layer,
        reason="" if reason in _SOUND else reason[:200], **known,
    )  # fmt: skip
    counted = {
        called: int(values[key])
        for key, called in _MLXLINK_COUNTERS.items()
        if values.get(key, "").isdecimal()
    }
    return Parts(
        rdma_ports=(port,),
        facts=figures.counters_fact(f"{name}:1", counted) if counted else {},
    )


_PERFQUERY = "perfquery"
_PORT_COUNTERS = re.compile(r"# Port (?:extended )?counters: Lid (\d{1,5}) port (\d{1,3})\b")
_DEVICE_OF_COUNTERS = re.compile(r"(?:^|[ _-])(?:-?C|--?Ca)[ _-]+([A-Za-z][A-Za-z0-9_]{0,40})")


def perfquery(text: str, argument: str = "") -> Parts:
    """Return fact ``counters of DEVICE:PORT``, as ``counters_fact`` has it.

    ``argument`` names the device (``-C mlx5_0``, or the name alone): the printout has only a LID,
    which names the port otherwise. Counters of all ports (``-a``, port 255) are left out.
    """
    head = _PORT_COUNTERS.search(text)
    counted = {
        name: int(value)
        for name, printed in pairs(text, ":").items()
        if (value := printed.lstrip(".")).isascii() and value.isdigit() and len(value) <= 20
    }
    if head is None or not counted:
        return Parts(troubles=unrecognised(_PERFQUERY, text, ()))
    if head[2] == "255":
        return Parts()
    device = _DEVICE_OF_COUNTERS.search(argument) or re.fullmatch(
        r"([A-Za-z][A-Za-z0-9_]*)", argument
    )
    name = f"{device[1] if device else f'LID {head[1]}'}:{head[2]}"
    return Parts(facts=figures.counters_fact(name, counted))
