"""Sections on PCI functions and RDMA devices, as sysfs has them → adapters, GPUs, ports; pure.

Sources: Linux 6.12, Documentation/ABI/testing/sysfs-bus-pci (current_link_speed and the like;
"Unknown" and a width of 0 or 255 where the function has no PCI Express link),
drivers/infiniband/core/sysfs.c (state, phys_state, rate, gid_attrs),
Documentation/ABI/stable/sysfs-class-infiniband, drivers/infiniband/sw (rxe, siw),
drivers/infiniband/hw/cxgb4 and include/rdma/ib_verbs.h (node types). PCI classes: PCI Code and ID
Assignment 1.16.
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.printouts import pci, verbs
from fabricgauge.discover.printouts.lines import pairs
from fabricgauge.discover.printouts.parts import Parts, blank_adapter
from fabricgauge.discover.printouts.pci import DRIVERS, kind_of
from fabricgauge.discover.printouts.priorities import priorities
from fabricgauge.discover.sections import every
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S
from fabricgauge.model.inventory import Adapter, Gid, Gpu, PcieLink, RdmaPort

_SYS = "/sys"

#: The beginning of a fact's name; behind it stands the physical function's address.
VIRTUAL = "virtual functions"

_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) GT/s(?: PCIe)?")
#: Widths of the specification (PCI Express Base Specification 5.0, 7.5.3.6).
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})
_HEX = re.compile(r"0x([0-9a-f]{1,8})")

#: ``3 0000:0000:0000:0000:0000:ffff:0a1e:0002 ens1f0np0 RoCE v2``, as probe.sh prints it.
_GID = re.compile(r"([0-9]{1,3}) ((?:[0-9a-f]{4}:){7}[0-9a-f]{4}) (\S+) (.{1,40})")


def pci_parts(sections: dict[str, str]) -> Parts:
    """All ``pci ADDRESS`` sections; GPUs are numbered by their place on the bus, as by default
    in NVIDIA's tools.

    Fact ``virtual functions BUS``: the addresses of those that a function was parted into.
    """
    adapters: list[Adapter] = []
    gpus: list[Gpu] = []
    facts: dict[str, str] = {}
    virtual: dict[str, list[str]] = {}
    for name in sorted(name for name in sections if name.startswith("pci ")):
        address, values = name.removeprefix("pci "), pairs(sections[name])
        bus = pci.address(address) or address
        vendor, device = _hex(values, "vendor", 4), _hex(values, "device", 4)
        device_class = _hex(values, "class", 6)
        numbers = f"{vendor}:{device}"
        if is_gpu(vendor, device_class):
            product = f"{GPU_VENDORS.get(vendor, '')} {numbers}".strip()
            gpus.append(
                Gpu(
                    len(gpus), product, bus, numa_node(values, bus), (),
                    pcie_link(bus, values, "current"), pcie_link(bus, values, "max"),
                )
            )  # fmt: skip
            if kind := values.get("iommu_type"):
                facts[f"iommu type of {bus}"] = kind[:20]
        elif values.get("class", "").startswith(("0x02", "0x0c06")):
            product = numbers if vendor and device else ""
            adapters.append(
                _adapter(bus, values, sections[name], vendor, product, device_class[:4])
            )
            if "physfn" in values:
                virtual.setdefault(values["physfn"], []).append(bus)
            elif product:
                facts[f"pci id {bus}"] = product
    facts.update((f"{VIRTUAL} {of}", " ".join(buses)) for of, buses in virtual.items())
    return Parts(adapters=tuple(adapters), gpus=tuple(gpus), facts=facts)


def virtual_functions(facts: Mapping[str, str]) -> frozenset[str]:
    """The addresses of all virtual functions that the facts name."""
    known = (text.split() for name, text in facts.items() if name.startswith(f"{VIRTUAL} "))
    return frozenset(bus for buses in known for bus in buses)


def _adapter(
    bus: str, values: dict[str, str], text: str, vendor: str, product: str, device_class: str
) -> Adapter:
    driver = values.get("driver", "")
    return Adapter(
        bus=bus,
        vendor=vendor or Skipped(f"/sys gives no vendor of {bus}"),
        product=product or Skipped(f"/sys gives no device of {bus}"),
        kind=kind_of(device_class, driver=driver),
        driver=driver or Skipped(f"no driver is bound to {bus}"),
        driver_version=values.get("driver_version") or Skipped("it is of the kernel itself"),
        firmware=Skipped(f"/sys gives no firmware of {bus}"),
        numa_node=numa_node(values, bus),
        pcie_now=pcie_link(bus, values, "current"),
        pcie_capable=pcie_link(bus, values, "max"),
        interfaces=every(text, "net"),
        rdma_devices=every(text, "infiniband"),
    )


def numa_node(values: dict[str, str], what: str) -> int | Skipped:
    """The kernel writes -1 where the firmware names no node."""
    text = values.get("numa_node", "")
    if text.isascii() and text.isdigit() and len(text) <= 4:
        return int(text)
    return Skipped(f"{what} belongs to no particular NUMA node")


def pcie_link(bus: str, values: dict[str, str], which: str) -> PcieLink | Skipped:
    speed = _SPEED.fullmatch(values.get(f"{which}_link_speed", ""))
    width = values.get(f"{which}_link_width", "")
    if speed and width.isascii() and width.isdigit() and int(width[:4]) in _WIDTHS:
        return PcieLink(float(speed[1]), int(width))
    return Skipped(f"/sys gives no PCI Express link of {bus}")


def _hex(values: dict[str, str], key: str, digits: int) -> str:
    """The last ``digits`` of a hexadecimal number; empty where there is none."""
    found = _HEX.fullmatch(values.get(key, ""))
    return found[1].rjust(digits, "0")[-digits:] if found else ""


def rdma_parts(sections: dict[str, str]) -> Parts:
    """All ``rdma DEVICE`` and ``rdma-port NUMBER DEVICE`` sections."""
    devices: dict[str, dict[str, str]] = {}
    ports: list[tuple[str, int, str]] = []
    for name, text in sections.items():
        if name.startswith("rdma ") and not name.startswith("rdma -"):  # the tool's
            devices[name.removeprefix("rdma ")] = pairs(text)
        elif found := re.fullmatch(r"rdma-port ([0-9]{1,3}) (.+)", name):
            ports.append((found[2], int(found[1]), text))
    facts = {f"board {name}": of["board_id"] for name, of in devices.items() if of.get("board_id")}
    read = tuple(
        _port(device, number, devices.get(device, {}), text) for device, number, text in ports
    )
    facts |= {f"gid types {one.name}": ", ".join(one.gid_types) for one in read if one.gid_types}
    return Parts(
        adapters=tuple(_rdma_adapter(name, values) for name, values in devices.items()),
        rdma_ports=read,
        facts=facts,
    )


def net_parts(sections: Mapping[str, str]) -> Parts:
    """The adapters that ``sys INTERFACE`` sections tell of: those on a PCI function."""
    names = (name for name in sections if name.startswith("sys "))
    told = ((name.removeprefix("sys "), pairs(sections[name])) for name in names)
    return Parts(
        adapters=tuple(
            blank_adapter(
                _SYS, kind_of("", driver=values.get("driver", "")), bus=bus,
                driver=values.get("driver", ""), interfaces=(name,),
                numa_node=numa_node(values, name), pcie_now=pcie_link(bus, values, "current"),
            )
            for name, values in told
            if (bus := pci.address(values.get("bus", "")))
        )
    )  # fmt: skip


def _rdma_adapter(device: str, values: dict[str, str]) -> Adapter:
    driver, bus = values.get("driver", ""), pci.address(values.get("bus", ""))
    return blank_adapter(
        _SYS, kind_of("", driver=driver),
        bus=bus or Skipped(f"{device} is on no PCI bus"),
        driver=driver, firmware=values.get("fw_ver", ""), rdma_devices=(device,),
        numa_node=numa_node(values, device),
        pcie_now=pcie_link(bus or device, values, "current"),
    )  # fmt: skip


def _port(device: str, number: int, of: dict[str, str], text: str) -> RdmaPort:
    """``speed`` is that of Slingshot's interface in 10^6 bit/s, which stands for the rate."""
    values = pairs(text)
    if re.fullmatch("[1-9][0-9]{0,6}", values.get("speed", "")):
        values["rate"] = f"{int(values['speed']) / 1000:g} Gb/sec"
    where, link_layer = f"{device}:{number}", values.get("link_layer", "")
    protocol = protocol_of(device, of.get("driver", ""), of.get("node_type", ""), link_layer)
    layer = verbs.layer(protocol, link_layer)
    return verbs.port(
        _SYS, device, number, values, protocol, link_layer,
        lane_bit_s=_lane(values.get("rate", ""), layer, where),
        lid=_lid(values, "lid", layer, where), sm_lid=_lid(values, "sm_lid", layer, where),
        interface=values.get("netdev") or Skipped(f"no interface belongs to {where}"),
        subnet_prefix=_prefix(values.get("gid", ""), where),
        priorities=priorities(values, where) if protocol == "roce" else Skipped("it is not RoCE"),
        pkeys=tuple(one for one in every(text, "pkey") if one != "0x0000"),
        gid_types=tuple(sorted(every(text, "gid_type"))),
        gids=tuple(
            Gid(int(found[1]), found[2], found[3].removeprefix("-"), found[4])
            for found in map(_GID.fullmatch, every(text, "gids"))
            if found
        ),
    )  # fmt: skip


def _prefix(gid: str, where: str) -> str | Skipped:
    """The upper half of a GID; the kernel writes all eight groups of four digits."""
    groups = gid.split(":")
    if len(groups) == 8 and all(re.fullmatch("[0-9a-f]{4}", one) for one in groups):
        return "".join(groups[:4])
    return Skipped(f"/sys gives no GID of {where}")


def _lane(text: str, layer: str, where: str) -> float | Skipped:
    """The kernel's names are InfiniBand's; over Ethernet they only spell the rate."""
    rate = verbs.RATE.fullmatch(text)
    if rate and rate[2] and layer in ("InfiniBand", "Omni-Path"):
        return LANE_BIT_S.get(rate[3] or "SDR") or Skipped(f"{where}: {rate[3]} is not known")
    return Skipped(f"/sys gives no speed of a lane of {where}")


def _lid(values: dict[str, str], key: str, layer: str, where: str) -> int | Skipped:
    """0 is a port without one, which is wrong on a running fabric; Ethernet knows none."""
    found = _HEX.fullmatch(values.get(key, ""))
    if layer == "Ethernet" or not found:
        return Skipped(f"{where} has no {key.replace('_', ' ')}")
    return int(found[1], 16)


#: RDMA drivers that speak iWARP alone; irdma and qedr say it by their node type.
IWARP = frozenset({"siw", "iw_cxgb4", "i40iw", "iw_nes"})

#: Vendors whose displays are GPUs that compute: NVIDIA, AMD. Others' are a console's.
GPU_VENDORS: dict[str, str] = {"10de": "NVIDIA", "1002": "AMD"}


def protocol_of(device: str, driver: str, node_type: str, link_layer: str) -> str:
    """What an RDMA port speaks: ``infiniband``, ``roce``, ``iwarp``, ``omni-path``, ``efa`` or
    ``slingshot``.

    ``node_type`` is as /sys has it (``1: CA``, ``4: RNIC``); empty where nothing tells.
    """
    if DRIVERS.get(driver) in ("omni-path", "efa", "slingshot"):
        return DRIVERS[driver]
    if node_type.startswith("4") or driver in IWARP:
        return "iwarp"
    return verbs.protocol(device, link_layer, ethernet="roce")


def is_gpu(vendor: str, pci_class: str) -> bool:
    """3D controllers and accelerators of any vendor, displays of those whose displays compute."""
    if pci_class.startswith(("0302", "12")):
        return True
    return pci_class.startswith("03") and vendor in GPU_VENDORS
