"""Sections on PCI functions, as sysfs has them → adapters and GPUs; pure.

Source: Linux 6.12, Documentation/ABI/testing/sysfs-bus-pci (current_link_speed and the like;
"Unknown" and a width of 0 or 255 where the function has no PCI Express link).
"""

import re
from collections.abc import Mapping

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import pci
from fabricgauge.discover.printouts.kinds import kind_of
from fabricgauge.discover.survey.cut import every, pairs
from fabricgauge.discover.survey.drivers import GPU_VENDORS, is_gpu
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, Gpu, PcieLink

#: The beginning of a fact's name; behind it stands the physical function's address.
VIRTUAL = "virtual functions"

_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) GT/s(?: PCIe)?")
#: Widths of the specification (PCI Express Base Specification 5.0, 7.5.3.6).
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})
_HEX = re.compile(r"0x([0-9a-f]{1,8})")


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
        if is_gpu(_hex(values, "vendor", 4), _hex(values, "class", 6)):
            gpus.append(_gpu(len(gpus), bus, values))
        elif values.get("class", "").startswith(("0x02", "0x0c06")):
            adapter = _adapter(bus, values, sections[name])
            adapters.append(adapter)
            if "physfn" in values:
                virtual.setdefault(values["physfn"], []).append(bus)
            elif isinstance(adapter.product, str):
                facts[f"pci id {bus}"] = adapter.product
    facts.update((f"{VIRTUAL} {of}", " ".join(buses)) for of, buses in virtual.items())
    return Parts(adapters=tuple(adapters), gpus=tuple(gpus), facts=facts)


def virtual_functions(facts: Mapping[str, str]) -> frozenset[str]:
    """The addresses of all virtual functions that the facts name."""
    known = (text.split() for name, text in facts.items() if name.startswith(f"{VIRTUAL} "))
    return frozenset(bus for buses in known for bus in buses)


def _adapter(bus: str, values: dict[str, str], text: str) -> Adapter:
    driver = values.get("driver", "")
    return Adapter(
        bus=bus,
        vendor=_hex(values, "vendor", 4) or Skipped(f"/sys gives no vendor of {bus}"),
        product=_product(bus, values),
        kind=kind_of(_hex(values, "class", 6)[:4], driver=driver),
        driver=driver or Skipped(f"no driver is bound to {bus}"),
        driver_version=values.get("driver_version") or Skipped("it is of the kernel itself"),
        firmware=Skipped(f"/sys gives no firmware of {bus}"),
        numa_node=numa_node(values, bus),
        pcie_now=_link(bus, values, "current"),
        pcie_capable=_link(bus, values, "max"),
        interfaces=every(text, "net"),
        rdma_devices=every(text, "infiniband"),
    )


def _gpu(index: int, bus: str, values: dict[str, str]) -> Gpu:
    vendor, device = _hex(values, "vendor", 4), _hex(values, "device", 4)
    named = GPU_VENDORS.get(vendor, "")
    product = f"{named} {vendor}:{device}".strip()
    return Gpu(index, product, bus, numa_node(values, bus), ())


def _product(bus: str, values: dict[str, str]) -> str | Skipped:
    vendor, device = _hex(values, "vendor", 4), _hex(values, "device", 4)
    return f"{vendor}:{device}" if vendor and device else Skipped(f"/sys gives no device of {bus}")


def numa_node(values: dict[str, str], what: str) -> int | Skipped:
    """The kernel writes -1 where the firmware names no node."""
    text = values.get("numa_node", "")
    if text.isascii() and text.isdigit() and len(text) <= 4:
        return int(text)
    return Skipped(f"{what} belongs to no particular NUMA node")


def _link(bus: str, values: dict[str, str], which: str) -> PcieLink | Skipped:
    speed = _SPEED.fullmatch(values.get(f"{which}_link_speed", ""))
    width = values.get(f"{which}_link_width", "")
    if speed and width.isascii() and width.isdigit() and int(width[:4]) in _WIDTHS:
        return PcieLink(float(speed[1]), int(width))
    return Skipped(f"/sys gives no PCI Express link of {bus}")


def _hex(values: dict[str, str], key: str, digits: int) -> str:
    """The last ``digits`` of a hexadecimal number; empty where there is none."""
    found = _HEX.fullmatch(values.get(key, ""))
    return found[1].rjust(digits, "0")[-digits:] if found else ""
