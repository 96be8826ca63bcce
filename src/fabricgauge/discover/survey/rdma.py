"""Sections on RDMA devices and their ports, as sysfs has them; pure.

Source: Linux 6.12, drivers/infiniband/core/sysfs.c (state, phys_state, rate, gid_attrs) and
Documentation/ABI/stable/sysfs-class-infiniband.
"""

import re

import msgspec

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import partial, pci, verbs
from fabricgauge.discover.printouts.kinds import kind_of
from fabricgauge.discover.survey.cut import every, pairs
from fabricgauge.discover.survey.drivers import protocol_of
from fabricgauge.discover.survey.pci import numa_node
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, RdmaPort

#: One lane on the wire in bit/s by the name that the kernel gives its speed.
#: InfiniBand Architecture Specification Volume 2 Release 1.5; FDR10 is Mellanox's.
LANE_BIT_S: dict[str, float] = {
    "SDR": 2.5e9, "DDR": 5e9, "QDR": 10e9, "FDR10": 10.3125e9, "FDR": 14.0625e9,
    "EDR": 25.78125e9, "HDR": 53.125e9, "NDR": 106.25e9, "XDR": 212.5e9,
}  # fmt: skip

_SYS = "/sys"
_LID = re.compile(r"0x([0-9a-f]{1,8})")


def rdma_parts(sections: dict[str, str]) -> Parts:
    """All ``rdma DEVICE`` and ``rdma-port NUMBER DEVICE`` sections."""
    devices = {
        name.removeprefix("rdma "): pairs(text)
        for name, text in sections.items()
        if name.startswith("rdma ")
    }
    ports = [
        (found[1], found[2], text)
        for name, text in sections.items()
        if (found := re.fullmatch(r"rdma-port ([0-9]{1,3}) (.+)", name))
    ]
    return Parts(
        adapters=tuple(_adapter(name, values) for name, values in devices.items()),
        rdma_ports=tuple(
            _port(device, int(number), devices.get(device, {}), text)
            for number, device, text in ports
        ),
        facts=_facts(devices, ports),
    )


def _adapter(device: str, values: dict[str, str]) -> Adapter:
    driver = values.get("driver", "")
    blank = partial.adapter(_SYS, kind_of("", driver=driver))
    return msgspec.structs.replace(
        blank,
        bus=pci.address(values.get("bus", "")) or Skipped(f"{device} is on no PCI bus"),
        driver=driver or blank.driver,
        firmware=values.get("fw_ver") or blank.firmware,
        numa_node=numa_node(values, device),
        rdma_devices=(device,),
    )


def _port(device: str, number: int, of: dict[str, str], text: str) -> RdmaPort:
    values = pairs(text)
    where = f"{device}:{number}"
    link_layer = values.get("link_layer", "")
    protocol = protocol_of(device, of.get("driver", ""), of.get("node_type", ""), link_layer)
    layer = verbs.layer(protocol, link_layer)
    rate = verbs.RATE.fullmatch(values.get("rate", ""))
    blank = partial.port(_SYS, device, number)
    return msgspec.structs.replace(
        blank,
        link_layer=layer,
        protocol=protocol,
        state=verbs.state(values.get("state", ""), where),
        physical=verbs.physical(values.get("phys_state", ""), where),
        rate_bit_s=float(rate[1]) * 1e9 if rate else blank.rate_bit_s,
        lane_bit_s=_lane(rate, layer, where),
        lanes=int(rate[2]) if rate and rate[2] else blank.lanes,
        lid=_lid(values, "lid", layer, where),
        sm_lid=_lid(values, "sm_lid", layer, where),
        guid=_guid(values, where),
        interface=values.get("netdev") or Skipped(f"no interface belongs to {where}"),
    )


def _lane(rate: re.Match[str] | None, layer: str, where: str) -> float | Skipped:
    """The kernel's names are InfiniBand's; over Ethernet they only spell the rate."""
    if rate and rate[2] and layer in ("InfiniBand", "Omni-Path"):
        return LANE_BIT_S.get(rate[3] or "SDR") or Skipped(f"{where}: {rate[3]} is not known")
    return Skipped(f"/sys gives no speed of a lane of {where}")


def _lid(values: dict[str, str], key: str, layer: str, where: str) -> int | Skipped:
    """0 is a port without one, which is wrong on a running fabric; Ethernet knows none."""
    found = _LID.fullmatch(values.get(key, ""))
    if layer == "Ethernet" or not found:
        return Skipped(f"{where} has no {key.replace('_', ' ')}")
    return int(found[1], 16)


def _guid(values: dict[str, str], where: str) -> str | Skipped:
    """The port's GUID is the lower half of its first GID (Volume 1, 4.1.1)."""
    words = values.get("gid", "").split(":")
    if len(words) == 8 and any(word.strip("0") for word in words[4:]):
        return "0x" + "".join(words[4:])
    return Skipped(f"/sys gives no GUID of {where}")


def _facts(devices: dict[str, dict[str, str]], ports: list[tuple[str, str, str]]) -> dict[str, str]:
    facts = {f"board {name}": of["board_id"] for name, of in devices.items() if of.get("board_id")}
    for number, device, text in ports:
        kinds = sorted(set(every(text, "gid_type")))
        if kinds:
            facts[f"gid types {device}:{number}"] = ", ".join(kinds)
    return facts
