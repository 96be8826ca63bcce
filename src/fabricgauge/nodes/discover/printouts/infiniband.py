"""Printouts of RDMA ports and their devices: ibstat, ibv_devinfo, rdma …; pure.

As infiniband-diags and rdma-core 44 print them. ``ibstat`` shows devices that have management
datagrams, so not iWARP's. ``ibstatus`` reads sysfs. ``rdma link`` and ``rdma dev`` are those of
iproute2 6.1, as text or with ``-j``, ``-d``: they print LIDs of InfiniBand and Omni-Path only, and
an interface of protocols over Ethernet; ``rdma dev`` distinguishes RoCE and iWARP. ``show_gids``
and ``ibdev2netdev`` are scripts of Mellanox' mlnx-tools, ``mlxlink`` is of its firmware tools 4.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S
from fabricgauge.model.inventory import Adapter, Gid, RdmaPort
from fabricgauge.nodes.discover.printouts import verbs
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    make_counters_fact,
    parse_entries,
    parse_pairs,
    parse_whole,
    report_unrecognised,
    split_blocks,
    split_lines,
    split_pair,
    to_table,
)

_IBSTAT, _IBSTATUS, _DEVINFO, _RDMA = "ibstat", "ibstatus", "ibv_devinfo", "rdma"

#: The head of a block: a device, one of its ports, or both at once.
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

#: Amazon's number: its Elastic Fabric Adapter has its own transport.
_AMAZON = "0x1d0f"


class _Block(msgspec.Struct):
    """The keys below a device, or below one of its ports; a device's ``number`` is "".

    ``device_values`` are the keys of the device.
    """

    device: str
    number: str
    values: dict[str, str]
    device_values: dict[str, str]

    @property
    def layer(self) -> str:
        return self.get("Link layer") or self.get("link_layer")

    def get(self, key: str) -> str:
        return self.values.get(key, "")


def _choose_protocol(tool: str, block: _Block, layer: str) -> str:
    """Return the protocol: ibv_devinfo prints the transport, ibstatus' first GID shows iWARP."""
    transport = block.device_values.get("transport", "").partition(" ")[0].lower()
    if transport == "iwarp":
        return transport
    if block.device_values.get("vendor_id") == _AMAZON:
        return "efa"
    ethernet = "roce"
    if tool == _IBSTATUS:
        digits = block.get("default gid").replace(":", "")
        is_known = len(digits) == 32 and digits.strip("0")
        # iWARP's GID is a hardware address and zeros (Linux 6.12: siw_query_gid,
        # irdma_iw_query_gid, c4iw_query_gid).
        ethernet = ("roce" if digits[12:].strip("0") else "iwarp") if is_known else ""
    return verbs.choose_protocol(block.device, layer, ethernet)


def _split_devices(tool: str, text: str) -> list[_Block]:
    blocks: list[_Block] = []
    for head, body in split_blocks(text, lambda line: _HEADS[tool].fullmatch(line.strip())):
        device, number, values = head["device"], head["number"] or "", parse_pairs(body, ":")
        if device is not None:
            blocks.append(_Block(device, number, values, values))
        elif blocks:
            blocks.append(_Block(blocks[-1].device, number, values, blocks[-1].device_values))
    return blocks


def _make_blocks(names: Iterable[str]) -> list[_Block]:
    return [_Block(name, "", {}, {}) for name in names]


def _make_parts(tool: str, text: str, blocks: list[_Block]) -> Parts:
    """Return ports, and devices with their own block and the layer of their first port.

    Fact ``part DEVICE``: the PCI numbers of its product, if the tool prints them.
    """
    layers = {block.device: block.layer for block in reversed(blocks) if block.number}
    parts = {
        block.device: part for block in blocks if not block.number and (part := _get_part(block))
    }
    return Parts(
        facts={f"part {device}": part for device, part in parts.items()},
        adapters=tuple(
            _make_adapter(tool, block, layers.get(block.device, ""))
            for block in blocks
            if not block.number
        ),
        rdma_ports=tuple(_make_port(tool, block) for block in blocks if block.number),
        troubles=report_unrecognised(tool, text, blocks),
    )


def _make_adapter(tool: str, block: _Block, layer: str) -> Adapter:
    firmware = block.get("Firmware version") or block.get("fw_ver")
    return verbs.build_adapter(
        tool, block.device, _choose_protocol(tool, block, layer), product=block.get("CA type"),
        firmware=firmware if not firmware or firmware.strip("0.")
        else Skipped(f"{firmware[:40]!r}: it has none"),
    )  # fmt: skip


#: Mellanox' name of a product is its PCI number in decimal: ``MT4123`` is 101b.
_MELLANOX = re.compile(r"MT([0-9]{4,5})")
#: Its numbers as a PCI vendor, and as a vendor of InfiniBand (its OUI).
_MELLANOX_PCI, _MELLANOX_OUI = "15b3", "0x02c9"


def _get_part(block: _Block) -> str:
    product = _MELLANOX.fullmatch(block.get("CA type"))
    number = product[1] if product else block.get("vendor_part_id")
    if not product and block.get("vendor_id") != _MELLANOX_OUI:
        return ""
    is_valid = number.isascii() and number.isdigit() and 0 < int(number[:6]) < 1 << 16
    return f"{_MELLANOX_PCI}:{int(number):04x}" if is_valid else ""


def _make_port(tool: str, block: _Block) -> RdmaPort:
    protocol = _choose_protocol(tool, block, block.layer)
    gids = tuple(_list_gids(block)) if protocol == "roce" else ()
    return verbs.build_port(
        tool, block.device, int(block.number), block.values, protocol, block.layer,
        gids=gids, gid_types=tuple(sorted({gid.kind for gid in gids})),
    )  # fmt: skip


_GID = re.compile(r"GID\[ *([0-9]{1,3})\]")


def _list_gids(block: _Block) -> Iterator[Gid]:
    """Read ``GID[  3]: ::ffff:10.1.0.1, RoCE v2``; rdma-core before 29 does not print the kind."""
    for key, value in block.values.items():
        index = _GID.fullmatch(key)
        text, _, kind = value.partition(", ")
        if index and kind and (address := verbs.format_gid(text)):
            kernel_kind = verbs.GID_KINDS.get(kind.strip(), kind.strip()[:40])
            yield Gid(int(index[1]), address, "", kernel_kind)


def parse_ibstat(text: str, argument: str = "") -> Parts:
    """Return ports with state, rate, LIDs and GUID, and an adapter by its RDMA device.

    The rate is nominal, as the kernel sums it up. With the argument ``-l`` the text is a list
    of names: without it, a word alone on its line may be any text.
    """
    is_list = argument.split()[:1] in _LISTING
    names = (line for line in split_lines(text) if _NAME.fullmatch(line))
    blocks = _make_blocks(names) if is_list else _split_devices(_IBSTAT, text)
    return _make_parts(_IBSTAT, text, blocks)


def parse_ibstatus(text: str, argument: str = "") -> Parts:
    """Return ports with state, rate, width and LIDs."""
    return _make_parts(_IBSTATUS, text, _split_devices(_IBSTATUS, text))


def parse_ibv_devinfo(text: str, argument: str = "") -> Parts:
    """Return ports with state, MTU, LIDs and, with ``-v``, width and speed; and adapters."""
    blocks = _split_devices(_DEVINFO, text) or _make_blocks(_list_counted_names(text))
    return _make_parts(_DEVINFO, text, blocks)


def _list_counted_names(text: str) -> Iterator[str]:
    """Yield the names below the line that counts them."""
    is_below_count = False
    for line in split_lines(text):
        key, value = split_pair(line)
        if is_below_count and value and not key:
            yield value
        is_below_count = is_below_count or bool(_COUNT.fullmatch(line.strip()[:40]))


#: ``rdma dev``'s node types; an ``rnic`` uses iWARP (Linux, rdma/ib_verbs.h).
_NODE_TYPES = {"rnic": "iwarp"}


def parse_rdma(text: str, argument: str = "") -> Parts:
    """Return ports of ``rdma link``, or adapters of ``rdma dev``; the text shows which it is.

    Fact ``rdma protocol of DEVICE``: ``iwarp``, if ``rdma dev`` shows it.
    """
    entries, troubles = parse_entries(
        _RDMA, text, lambda entry: [to_table(entry)], _parse_rdma_text
    )
    adapters, ports, facts = list[Adapter](), list[RdmaPort](), dict[str, str]()
    for entry in entries:
        device = entry.get("ifname", "")
        if "node_type" in entry:
            stated = _NODE_TYPES.get(entry["node_type"], "")
            protocol, firmware = stated or verbs.choose_protocol(device, ""), entry.get("fw", "")
            adapters.append(verbs.build_adapter(_RDMA, device, protocol, firmware=firmware))
            facts |= {f"rdma protocol of {device}": stated} if stated else {}
        if verbs.PORT.fullmatch(number := entry.get("port", "")):
            layer = "InfiniBand" if "lid" in entry else "Ethernet" if "netdev" in entry else ""
            protocol = verbs.choose_protocol(device, layer)
            ports.append(verbs.build_port(_RDMA, device, int(number), entry, protocol, layer))
    return Parts(adapters=tuple(adapters), rdma_ports=tuple(ports), facts=facts, troubles=troubles)


def _parse_rdma_text(text: str) -> Iterator[dict[str, str]]:
    """Read ``link mlx5_0/1 state …`` (old: ``1/1: mlx5_0/1: state …``) and ``0: mlx5_0: …``."""
    for line in split_lines(text):
        words = line.split()
        if len(words) < 4:
            continue
        name = words[1].removesuffix(":")
        if words[0] == "link" or (words[0].endswith(":") and name != words[1]):
            device, slash, number = name.rpartition("/")
            identity = {"ifname": device, "port": number} if slash else {"ifname": name}
            yield {**dict(zip(words[2::2], words[3::2], strict=False)), **identity}


_SHOWN_GID = re.compile(
    r"(\S+)\s+([0-9]{1,3})\s+([0-9]{1,3})\s+([0-9a-fA-F:]{2,39})\s+(?:[0-9.]{7,15}\s+)?(v[12])"
    r"(?:\s+(\S+))?\s*"
)
_SHOW_GIDS, _NETDEV = "show_gids", "ibdev2netdev"
#: Its last line if the node has no GID.
_NO_GIDS = "n_gids_found=0"


def parse_show_gids(text: str, argument: str = "") -> Parts:
    """Return RoCE ports with their GIDs, as the script of Mellanox' tools lists them."""
    rows = [row for line in split_lines(text) if (row := _SHOWN_GID.fullmatch(line.strip()[:300]))]
    ports: dict[tuple[str, int], list[Gid]] = {}
    interfaces: dict[tuple[str, int], str] = {}
    for row in rows:
        key, kind = (row[1], int(row[2])), "RoCE v2" if row[5] == "v2" else "IB/RoCE v1"
        if address := verbs.format_gid(row[4]):
            ports.setdefault(key, []).append(Gid(int(row[3]), address, row[6] or "", kind))
            # A VLAN's interface comes after that of the port.
            interfaces.setdefault(key, row[6] or "")
    return Parts(
        rdma_ports=tuple(
            verbs.build_port(
                _SHOW_GIDS, device, number, {}, "roce", "Ethernet",
                interface=interfaces[device, number]
                or Skipped(f"{_SHOW_GIDS} names no interface of {device}:{number}"),
                gids=tuple(gids), gid_types=tuple(sorted({gid.kind for gid in gids})),
            )
            for (device, number), gids in ports.items()
            if interfaces[device, number]
        ),
        troubles=() if _NO_GIDS in text else report_unrecognised(_SHOW_GIDS, text, rows),
    )  # fmt: skip


_INTERFACE_ROW = re.compile(
    r"(?:(?P<bus>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) )?(?P<device>\S+)"
    r"(?: \((?P<part>MT[0-9]{4,5})[^)]*\).*? fw (?P<firmware>[0-9.]{3,20}))?"
    r" +port +(?P<port>[0-9]{1,3})(?: +\((?P<state>[A-Z ]{1,12})\))? +==> +(?P<interface>\S+)"
    r" +\((?P<up>Up|Down)\)"
)


def parse_ibdev2netdev(text: str, argument: str = "") -> Parts:
    """Return the interface of each RDMA port; with ``-v`` its bus, firmware and state as well."""
    rows = [
        row for line in split_lines(text) if (row := _INTERFACE_ROW.fullmatch(line.strip()[:400]))
    ]
    devices = {row["device"]: row for row in reversed(rows)}
    return Parts(
        adapters=tuple(
            verbs.build_adapter(
                _NETDEV, device, "",
                bus=device_row["bus"] or Skipped(f"{_NETDEV} gives the bus with -v"),
                firmware=device_row["firmware"] or "",
                interfaces=tuple(row["interface"] for row in rows if row["device"] == device),
            )
            for device, device_row in devices.items()
        ),
        rdma_ports=tuple(
            verbs.build_port(
                _NETDEV, row["device"], int(row["port"]), {"state": row["state"] or ""},
                verbs.choose_protocol(row["device"], ""), "", interface=row["interface"],
            )
            for row in rows
        ),
        facts={
            f"part {device}": f"{_MELLANOX_PCI}:{int(row['part'][2:]):04x}"
            for device, row in devices.items()
            if row["part"]
        },
        troubles=report_unrecognised(_NETDEV, text, rows),
    )  # fmt: skip


_MLXLINK = "mlxlink"

#: A lane's nominal rate in Gb/s, from which the kernel computes a port's (Linux 6.12,
#: drivers/infiniband/core/sysfs.c, rate_show).
_NOMINAL = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50,
            "NDR": 100, "XDR": 200}  # fmt: skip
#: ``IB-HDR``, ``200G``, ``100GbE``.
_ETHERNET_SPEED = re.compile(r"([0-9]{1,4})G(?:bE|_[0-9]{1,2}X)?")
_SOUND = ("No issue was observed", "N/A", "")
#: mlxlink's states of a port that has no link.
_WITHOUT_LINK = ("polling", "disable", "disabled", "down")
#: Its counters of errors that forward error correction did not mend.
_MLXLINK_COUNTERS = {
    "Effective Physical Errors": "effective_physical_errors",
    "Link Down Counter": "link_downed", "Link Error Recovery Counter": "link_error_recovery",
}  # fmt: skip


def parse_mlxlink(text: str, argument: str = "") -> Parts:
    """Return one port with state, speed, width, recommendation and errors.

    ``argument`` names the device (``-d mlx5_0``): the printout does not. Symbol errors are those
    before forward error correction, which are sound.
    """
    name = _find_device(argument, "(?:-?d|--?device)")
    values = parse_pairs(re.sub(r"\x1b\[[0-9;]{0,16}m", "", text), ":")
    if "Physical state" not in values or "Speed" not in values:
        return Parts(troubles=report_unrecognised(_MLXLINK, text, ()))
    if not name:
        return Parts(troubles=(f"{_MLXLINK}: the file's name does not contain the device (-d)",))
    speed = values["Speed"]
    layer = "InfiniBand" if speed.startswith("IB-") else ""
    layer = "Ethernet" if _ETHERNET_SPEED.fullmatch(speed) else layer
    width, ethernet = values.get("Width", ""), _ETHERNET_SPEED.fullmatch(speed)
    rates: dict[str, object] = {}
    if lane_bit_s := LANE_BIT_S.get(generation := speed.removeprefix("IB-")):
        lanes = parse_whole(width.removesuffix("x"), "the width", largest=16)
        rates["lane_bit_s"] = lane_bit_s
        rates["rate_bit_s"] = (
            lanes if isinstance(lanes, Skipped) else lanes * _NOMINAL[generation] * 1e9
        )
    elif ethernet:
        rates["rate_bit_s"] = float(ethernet[1]) * 1e9
    reason = values.get("Recommendation", "")
    if values.get("State", "").lower() in _WITHOUT_LINK:
        values |= {"Physical state": values["State"].title(), "State": "Down"}
    port = verbs.build_port(
        _MLXLINK, name, 1, values | {"Width": width.replace("x", "X")},
        verbs.choose_protocol(name, layer, ethernet="roce"), layer,
        reason="" if reason in _SOUND else reason[:200], **rates,
    )  # fmt: skip
    counters = {
        counter: int(values[label])
        for label, counter in _MLXLINK_COUNTERS.items()
        if values.get(label, "").isdecimal()
    }
    return Parts(
        rdma_ports=(port,),
        facts=make_counters_fact(f"{name}:1", counters) if counters else {},
    )


_PERFQUERY = "perfquery"
_PORT_COUNTERS = re.compile(r"# Port (?:extended )?counters: Lid (\d{1,5}) port (\d{1,3})\b")


def parse_perfquery(text: str, argument: str = "") -> Parts:
    """Return fact ``counters of DEVICE:PORT``, in the form of ``make_counters_fact``.

    ``argument`` names the device (``-C mlx5_0``, or the name alone): the printout has only a LID,
    which names the port otherwise. Counters of all ports (``-a``, port 255) are left out.
    """
    head = _PORT_COUNTERS.search(text)
    counters = {
        name: int(value)
        for name, printed in parse_pairs(text, ":").items()
        if (value := printed.lstrip(".")).isascii() and value.isdigit() and len(value) <= 20
    }
    if head is None or not counters:
        return Parts(troubles=report_unrecognised(_PERFQUERY, text, ()))
    if head[2] == "255":
        return Parts()
    device = _find_device(argument, "(?:-?C|--?Ca)") or f"LID {head[1]}"
    return Parts(facts=make_counters_fact(f"{device}:{head[2]}", counters))


def _find_device(argument: str, option: str) -> str:
    """Return the device behind an option, or that the whole argument names; "" without one."""
    behind = rf"(?:^|[ _-]){option}[ _-]+([A-Za-z][A-Za-z0-9_]{{0,40}})"
    match = re.search(behind, argument) or re.fullmatch(r"([A-Za-z][A-Za-z0-9_]*)", argument)
    return match[1] if match else ""
