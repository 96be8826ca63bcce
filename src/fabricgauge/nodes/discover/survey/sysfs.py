"""Sections on PCI functions and RDMA devices, as sysfs has them → adapters, GPUs, ports; pure.

Sources: Linux 6.12, Documentation/ABI/testing/sysfs-bus-pci (current_link_speed and the like;
"Unknown" and a width of 0 or 255 if the function has no PCI Express link),
drivers/infiniband/core/sysfs.c (state, phys_state, rate, gid_attrs),
Documentation/ABI/stable/sysfs-class-infiniband, drivers/infiniband/sw (rxe, siw),
drivers/infiniband/hw/cxgb4 and include/rdma/ib_verbs.h (node types). PCI classes: PCI Code and ID
Assignment 1.16.

Priorities: NVIDIA's mlx5 driver outside of the kernel (tc/PORT/traffic_class: ``Global
tclass=106``, empty if unset, with rules for addresses below if there are any); Linux 6.12,
drivers/infiniband/core/cma_configfs.c (default_roce_tos); iproute2 6.1, dcb-pfc(8) and dcb-app(8).
"""

import re
from collections.abc import Mapping

from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import LANE_BIT_S, UNSET, Priorities
from fabricgauge.model.inventory import Adapter, Gid, Gpu, PcieLink, RdmaPort
from fabricgauge.nodes.discover.printouts import pci, verbs
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    make_adapter,
    parse_pairs,
    parse_whole,
)
from fabricgauge.nodes.discover.printouts.pci import DRIVERS, choose_kind
from fabricgauge.nodes.discover.sections import list_values

_SYS = "/sys"

#: The beginning of a fact's name; the physical function's address follows it.
VIRTUAL = "virtual functions"

_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) GT/s(?: PCIe)?")
#: Widths of the specification (PCI Express Base Specification 5.0, 7.5.3.6).
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})
_HEX = re.compile(r"0x([0-9a-f]{1,8})")

#: ``3 0000:0000:0000:0000:0000:ffff:0a1e:0002 ens1f0np0 RoCE v2``, as probe.sh prints it.
_GID = re.compile(r"([0-9]{1,3}) ((?:[0-9a-f]{4}:){7}[0-9a-f]{4}) (\S+) (.{1,40})")


def parse_pci(sections: dict[str, str]) -> Parts:
    """Read all ``pci ADDRESS`` sections.

    GPUs are numbered by their place on the bus, as by default in NVIDIA's tools. Fact ``virtual
    functions BUS``: the addresses of the virtual functions of a physical one.
    """
    adapters: list[Adapter] = []
    gpus: list[Gpu] = []
    facts: dict[str, str] = {}
    virtual: dict[str, list[str]] = {}
    for name in sorted(name for name in sections if name.startswith("pci ")):
        address, values = name.removeprefix("pci "), parse_pairs(sections[name])
        bus = pci.parse_address(address) or address
        vendor, device = _parse_hex(values, "vendor", 4), _parse_hex(values, "device", 4)
        device_class = _parse_hex(values, "class", 6)
        numbers = f"{vendor}:{device}"
        if is_gpu(vendor, device_class):
            product = f"{GPU_VENDORS.get(vendor, '')} {numbers}".strip()
            gpus.append(
                Gpu(
                    len(gpus), product, bus, parse_numa_node(values, bus), (),
                    parse_pcie_link(bus, values, "current"), parse_pcie_link(bus, values, "max"),
                )
            )  # fmt: skip
            if kind := values.get("iommu_type"):
                facts[f"iommu type of {bus}"] = kind[:20]
        elif values.get("class", "").startswith(("0x02", "0x0c06")):
            product = numbers if vendor and device else ""
            adapters.append(
                _make_adapter(bus, values, sections[name], vendor, product, device_class[:4])
            )
            if "physfn" in values:
                virtual.setdefault(values["physfn"], []).append(bus)
            elif product:
                facts[f"pci id {bus}"] = product
    facts.update((f"{VIRTUAL} {physical}", " ".join(buses)) for physical, buses in virtual.items())
    return Parts(adapters=tuple(adapters), gpus=tuple(gpus), facts=facts)


def find_virtual_functions(facts: Mapping[str, str]) -> frozenset[str]:
    texts = (text for name, text in facts.items() if name.startswith(f"{VIRTUAL} "))
    return frozenset(bus for text in texts for bus in text.split())


def _make_adapter(
    bus: str, values: dict[str, str], text: str, vendor: str, product: str, device_class: str
) -> Adapter:
    driver = values.get("driver", "")
    return Adapter(
        bus=bus,
        vendor=vendor or Skipped(f"/sys gives no vendor of {bus}"),
        product=product or Skipped(f"/sys gives no device of {bus}"),
        kind=choose_kind(device_class, driver=driver),
        driver=driver or Skipped(f"no driver is bound to {bus}"),
        driver_version=values.get("driver_version") or Skipped("it is part of the kernel"),
        firmware=Skipped(f"/sys gives no firmware of {bus}"),
        numa_node=parse_numa_node(values, bus),
        pcie_now=parse_pcie_link(bus, values, "current"),
        pcie_capable=parse_pcie_link(bus, values, "max"),
        interfaces=list_values(text, "net"),
        rdma_devices=list_values(text, "infiniband"),
    )


def parse_numa_node(values: dict[str, str], label: str) -> int | Skipped:
    """Return the NUMA node; the kernel writes -1 if the firmware names none."""
    text = values.get("numa_node", "")
    if text.isascii() and text.isdigit() and len(text) <= 4:
        return int(text)
    return Skipped(f"{label} belongs to no particular NUMA node")


def parse_pcie_link(bus: str, values: dict[str, str], prefix: str) -> PcieLink | Skipped:
    """``prefix`` is ``current`` or ``max``."""
    speed = _SPEED.fullmatch(values.get(f"{prefix}_link_speed", ""))
    width = values.get(f"{prefix}_link_width", "")
    if speed and width.isascii() and width.isdigit() and int(width[:4]) in _WIDTHS:
        return PcieLink(float(speed[1]), int(width))
    return Skipped(f"/sys gives no PCI Express link of {bus}")


def _parse_hex(values: dict[str, str], key: str, digits: int) -> str:
    """Return the last ``digits`` of a hexadecimal number, "" without one."""
    match = _HEX.fullmatch(values.get(key, ""))
    return match[1].rjust(digits, "0")[-digits:] if match else ""


def parse_rdma(sections: dict[str, str]) -> Parts:
    """Read all ``rdma DEVICE`` and ``rdma-port NUMBER DEVICE`` sections."""
    devices: dict[str, dict[str, str]] = {}
    port_sections: list[tuple[str, int, str]] = []
    for name, text in sections.items():
        if name.startswith("rdma ") and not name.startswith("rdma -"):  # an option of the tool
            devices[name.removeprefix("rdma ")] = parse_pairs(text)
        elif match := re.fullmatch(r"rdma-port ([0-9]{1,3}) (.+)", name):
            port_sections.append((match[2], int(match[1]), text))
    boards = ((name, values.get("board_id")) for name, values in devices.items())
    facts = {f"board {name}": board for name, board in boards if board}
    ports = tuple(
        _make_port(device, number, devices.get(device, {}), text)
        for device, number, text in port_sections
    )
    kinds = ((port.name, ", ".join(port.gid_types)) for port in ports)
    facts |= {f"gid types {name}": text for name, text in kinds if text}
    return Parts(
        adapters=tuple(_make_rdma_adapter(name, values) for name, values in devices.items()),
        rdma_ports=ports,
        facts=facts,
    )


def parse_net(sections: Mapping[str, str]) -> Parts:
    """Return the adapters of ``sys INTERFACE`` sections that are on a PCI function."""
    names = (name for name in sections if name.startswith("sys "))
    interfaces = ((name.removeprefix("sys "), parse_pairs(sections[name])) for name in names)
    return Parts(
        adapters=tuple(
            make_adapter(
                _SYS, choose_kind("", driver=values.get("driver", "")), bus=bus,
                driver=values.get("driver", ""), interfaces=(name,),
                numa_node=parse_numa_node(values, name),
                pcie_now=parse_pcie_link(bus, values, "current"),
            )
            for name, values in interfaces
            if (bus := pci.parse_address(values.get("bus", "")))
        )
    )  # fmt: skip


def _make_rdma_adapter(device: str, values: dict[str, str]) -> Adapter:
    driver, bus = values.get("driver", ""), pci.parse_address(values.get("bus", ""))
    return make_adapter(
        _SYS, choose_kind("", driver=driver),
        bus=bus or Skipped(f"{device} is on no PCI bus"),
        driver=driver, firmware=values.get("fw_ver", ""), rdma_devices=(device,),
        numa_node=parse_numa_node(values, device),
        pcie_now=parse_pcie_link(bus or device, values, "current"),
    )  # fmt: skip


def _make_port(device: str, number: int, device_values: dict[str, str], text: str) -> RdmaPort:
    """``speed`` is that of Slingshot's interface in 10^6 bit/s, which stands for the rate."""
    values = parse_pairs(text)
    if re.fullmatch("[1-9][0-9]{0,6}", values.get("speed", "")):
        values["rate"] = f"{int(values['speed']) / 1000:g} Gb/sec"
    label, link_layer = f"{device}:{number}", values.get("link_layer", "")
    driver, node_type = device_values.get("driver", ""), device_values.get("node_type", "")
    protocol = choose_port_protocol(device, driver, node_type, link_layer)
    layer = verbs.choose_layer(protocol, link_layer)
    gids = (match for match in map(_GID.fullmatch, list_values(text, "gids")) if match)
    return verbs.build_port(
        _SYS, device, number, values, protocol, link_layer,
        lane_bit_s=_parse_lane(values.get("rate", ""), layer, label),
        lid=_parse_lid(values, "lid", layer, label),
        sm_lid=_parse_lid(values, "sm_lid", layer, label),
        interface=values.get("netdev") or Skipped(f"no interface belongs to {label}"),
        subnet_prefix=_parse_prefix(values.get("gid", ""), label),
        priorities=parse_priorities(values, label)
        if protocol == "roce" else Skipped("it is not RoCE"),
        pkeys=tuple(key for key in list_values(text, "pkey") if key != "0x0000"),
        gid_types=tuple(sorted(list_values(text, "gid_type"))),
        gids=tuple(
            Gid(int(match[1]), match[2], match[3].removeprefix("-"), match[4]) for match in gids
        ),
    )  # fmt: skip


def _parse_prefix(gid: str, label: str) -> str | Skipped:
    """Return the upper half of a GID; the kernel writes all eight groups of four digits."""
    groups = gid.split(":")
    if len(groups) == 8 and all(re.fullmatch("[0-9a-f]{4}", group) for group in groups):
        return "".join(groups[:4])
    return Skipped(f"/sys gives no GID of {label}")


def _parse_lane(text: str, layer: str, label: str) -> float | Skipped:
    """The kernel's names are InfiniBand's; over Ethernet they only repeat the rate."""
    rate = verbs.RATE.fullmatch(text)
    if rate and rate[2] and layer in ("InfiniBand", "Omni-Path"):
        return LANE_BIT_S.get(rate[3] or "SDR") or Skipped(f"{label}: {rate[3]} is not known")
    return Skipped(f"/sys gives no speed of a lane of {label}")


def _parse_lid(values: dict[str, str], key: str, layer: str, label: str) -> int | Skipped:
    """Return a LID; 0 is a port without one, a fault on a running fabric. Ethernet has none."""
    match = _HEX.fullmatch(values.get(key, ""))
    if layer == "Ethernet" or not match:
        return Skipped(f"{label} has no {key.replace('_', ' ')}")
    return int(match[1], 16)


#: RDMA drivers that use iWARP alone; the node type shows it for irdma and qedr.
IWARP = frozenset({"siw", "iw_cxgb4", "i40iw", "iw_nes"})

#: Vendors whose displays are GPUs that compute: NVIDIA, AMD. Displays of other vendors are a
#: console's.
GPU_VENDORS: dict[str, str] = {"10de": "NVIDIA", "1002": "AMD"}


def choose_port_protocol(device: str, driver: str, node_type: str, link_layer: str) -> str:
    """Return an RDMA port's protocol, "" if unknown.

    It is ``infiniband``, ``roce``, ``iwarp``, ``omni-path``, ``efa`` or ``slingshot``.
    ``node_type`` is as /sys has it (``1: CA``, ``4: RNIC``).
    """
    if DRIVERS.get(driver) in ("omni-path", "efa", "slingshot"):
        return DRIVERS[driver]
    if node_type.startswith("4") or driver in IWARP:
        return "iwarp"
    return verbs.choose_protocol(device, link_layer, ethernet="roce")


def is_gpu(vendor: str, pci_class: str) -> bool:
    """Check for a 3D controller or accelerator, or a display of a vendor of computing GPUs."""
    if pci_class.startswith(("0302", "12")):
        return True
    return pci_class.startswith("03") and vendor in GPU_VENDORS


_PFC = re.compile(r"([0-7]):(on|off)")
_MAPPED = re.compile(r"([0-9]|[1-5][0-9]|6[0-3]):([0-7])")


def parse_priorities(values: Mapping[str, str], port: str) -> Priorities:
    """Read the ``values`` of a port's section; text that is not understood is unknown."""
    word = values.get("traffic_class", "")
    traffic_class = parse_whole(
        word.removeprefix("Global tclass="), f"traffic class of {port}", 255
    )
    pfc_words = values.get("prio-pfc", "").split()
    states = [match for match in map(_PFC.fullmatch, pfc_words) if match]
    mapped = map(_MAPPED.fullmatch, values.get("dscp-prio", "").split())
    return Priorities(
        traffic_class=UNSET if word == UNSET else traffic_class,
        cm_tos=parse_whole(values.get("default_roce_tos", ""), f"default TOS of {port}", 255),
        pfc=tuple(int(state[1]) for state in states if state[2] == "on")
        if states and len(states) == len(pfc_words)
        else Skipped(f"dcb does not give the priorities with PFC of {port}"),
        mapped=tuple((int(match[1]), int(match[2])) for match in mapped if match),
    )
