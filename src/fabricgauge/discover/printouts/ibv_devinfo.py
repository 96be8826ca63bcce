"""``ibv_devinfo``, with ``-v`` or without → ports and firmware; pure.

As rdma-core 44 prints it (libibverbs/examples/devinfo.c). A speed there is one lane's, as the
standard names it: 14.0 for FDR's 14.0625 Gb/s.
"""

import ipaddress
import re

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures, partial, verbs
from fabricgauge.discover.printouts.lines import lines, pair, unrecognised
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

TOOL = "ibv_devinfo"
_COUNT = re.compile(r"[0-9]+ HCAs? found:")
#: Amazon's number: its Elastic Fabric Adapter has a transport of its own.
_AMAZON = "0x1d0f"


class _Device(msgspec.Struct):
    """One ``hca_id`` with the keys below it, and those of each of its ports."""

    name: str
    values: dict[str, str]
    ports: list[dict[str, str]]


def parse(text: str, argument: str = "") -> Parts:
    """Ports with state, MTU, LIDs and, with ``-v``, width and speed; adapters by RDMA device."""
    devices = _devices(text)
    return Parts(
        adapters=tuple(map(_adapter, devices)),
        rdma_ports=tuple(_port(one, values) for one in devices for values in one.ports),
        troubles=unrecognised(TOOL, text, devices),
    )


def _devices(text: str) -> list[_Device]:
    found: list[_Device] = []
    listed = False
    for line in lines(text):
        key, value = pair(line)
        if key == "hca_id" or (listed and value and not key):
            found.append(_Device(value, {}, []))
        elif found and key == "port" and verbs.PORT.fullmatch(value):
            found[-1].ports.append({key: value})
        elif found and key:
            values = found[-1].ports[-1] if found[-1].ports else found[-1].values
            values.setdefault(key, value)
        listed = listed or bool(_COUNT.fullmatch(line.strip()[:40]))
    return found


def _protocol(device: _Device, layer: str) -> str:
    transport = device.values.get("transport", "").partition(" ")[0].lower()
    if transport == "iwarp":
        return "iwarp"
    if device.values.get("vendor_id") == _AMAZON:
        return "efa"
    return verbs.protocol(device.name, layer, ethernet="roce")


def _adapter(device: _Device) -> Adapter:
    layer = device.ports[0].get("link_layer", "") if device.ports else ""
    return msgspec.structs.replace(
        partial.adapter(TOOL, verbs.KIND_OF.get(_protocol(device, layer), "")),
        rdma_devices=(device.name,),
        firmware=_firmware(device.values.get("fw_ver", "")),
    )


def _firmware(text: str) -> str | Skipped:
    if text and not text.strip("0."):
        return Skipped(f"{text[:40]!r}: it has none")
    return partial.said(TOOL, text)


def _port(device: _Device, values: dict[str, str]) -> RdmaPort:
    layer = values.get("link_layer", "")
    protocol = _protocol(device, layer)
    lanes = _figure(values, "active_width", "X")
    lane = figures.number(values.get("active_speed", "").partition(" ")[0], "the speed", 1e9)
    return msgspec.structs.replace(
        partial.port(TOOL, device.name, int(values["port"])),
        link_layer=verbs.layer(protocol, layer), protocol=protocol,
        state=verbs.state(values.get("state", ""), TOOL),
        physical=verbs.physical(values.get("phys_state", ""), TOOL),
        rate_bit_s=figures.product(lane, lanes),
        lane_bit_s=lane, lanes=lanes, mtu_bytes=_figure(values, "active_mtu", " "),
        lid=figures.whole(values.get("port_lid", ""), "the LID"),
        sm_lid=figures.whole(values.get("sm_lid", ""), "the subnet manager's LID"),
        guid=_guid(values.get("GID[  0]", "")),
    )  # fmt: skip


def _figure(values: dict[str, str], key: str, before: str) -> int | Skipped:
    """``4096`` of ``4096 (5)``, ``4`` of ``4X (2)``."""
    text, middle, _ = values.get(key, "").partition(before)
    return figures.whole(text if middle else "", key, most=1 << 20)


def _guid(gid: str) -> str | Skipped:
    """The lower half of the first GID, which older versions print in eight full groups."""
    try:
        whole = int(ipaddress.IPv6Address(gid[:60].partition(",")[0].strip()))
    except ValueError:
        return figures.unread(gid, "the first GID")
    return f"0x{whole & (1 << 64) - 1:016x}"
