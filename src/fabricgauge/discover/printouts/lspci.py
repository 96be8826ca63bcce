"""``lspci``, ``lspci -vv``, ``-n``, ``-nn``, ``-vmm`` → network adapters with their links; pure.

As pciutils 3.9 prints it. Without root the capabilities are denied, and with them the PCIe
link. GPUs are nvidia-smi's to tell.
"""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.discover.printouts import figures, pci
from fabricgauge.discover.printouts.lines import blocks, pairs, unrecognised
from fabricgauge.discover.printouts.parts import Parts, blank_adapter, said
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, PcieLink

TOOL = "lspci"
DENIED = "<access denied>"
_SLOT = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)", re.DOTALL)


def parse(text: str, argument: str = "") -> Parts:
    """Adapters of the classes 02xx and 0c06.

    Fact ``acs redirect``: the PCI bridges on which Access Control Services redirect peer
    requests to the root (``ACSCtl: … ReqRedir+``), space separated; left out where the
    capabilities were not shown.
    """
    if text.lstrip().startswith("Slot:"):
        records = map(_record, re.split(r"\n[^\S\n]*(?=\n)", text.replace("\r\n", "\n")))
        return Parts(adapters=_adapters(records))
    functions = [_function(head[1], head[2], body) for head, body in blocks(text, _SLOT.match)]
    facts = _redirecting(functions)
    troubles = unrecognised(TOOL, text, functions)
    return Parts(adapters=_adapters(functions), facts=facts, troubles=troubles)


class DeviceNames(msgspec.Struct, frozen=True):
    """``device_class`` is the code where lspci printed it, else the class's name.

    ``product`` is empty where neither the database nor lspci's options tell it.
    """

    device_class: str
    vendor: str | Skipped
    product: str

    @property
    def is_network(self) -> bool:
        """Of class 02xx, or InfiniBand's other class, 0c06."""
        known = self.device_class.lower()
        return known in pci.CLASSES or (len(known) == 4 and known.startswith("02"))

    @property
    def is_bridge(self) -> bool:
        """Of class 06xx."""
        known = self.device_class.lower()
        return "bridge" in known or (len(known) == 4 and known.startswith("06"))


class _Function(msgspec.Struct, frozen=True):
    """One function: its line, and what ``-v`` prints below it, by the line's first word.

    ``bus`` is empty where a record gives none.
    """

    bus: str
    names: DeviceNames
    driver: str
    numa_node: str
    links: tuple[PcieLink | Skipped, ...]
    values: dict[str, str]
    denied: bool = False


def _function(slot: str, rest: str, body: str) -> _Function:
    inside = [line for line in body.split("\n") if line[:1].isspace()]
    values = pairs("\n".join(inside), ":")
    denied = any(DENIED in line[:80] for line in inside)
    bus = pci.address(slot) or slot
    links = tuple(_link(values, one, bus, denied) for one in ("LnkSta", "LnkCap"))
    return _Function(
        bus, named(rest), values.get("Kernel driver in use", ""), values.get("NUMA node", ""),
        links, values, denied,
    )  # fmt: skip


def _adapters(functions: Iterable[_Function]) -> tuple[Adapter, ...]:
    return tuple(_adapter(one) for one in functions if one.bus and one.names.is_network)


def _adapter(one: _Function) -> Adapter:
    names, node = one.names, one.numa_node
    return blank_adapter(
        TOOL, pci.kind_of(names.device_class, names.product, one.driver),
        bus=one.bus, vendor=names.vendor, product=said(TOOL, names.product),
        driver=said(TOOL, one.driver),
        numa_node=figures.whole(node, "the NUMA node") if node else Skipped("lspci names none"),
        **dict(zip(("pcie_now", "pcie_capable"), one.links, strict=False)),
    )  # fmt: skip


def _link(values: dict[str, str], register: str, bus: str, denied: bool) -> PcieLink | Skipped:
    if register in values:
        return pci.link(values[register], register)
    if denied:
        return Skipped(f"lspci was not run as root: {register} of {bus} is denied")
    return Skipped(f"lspci shows no {register} of {bus}")


def _redirecting(blocks: list[_Function]) -> dict[str, str]:
    shown = any("Capabilities" in one.values for one in blocks)
    if not shown or any(one.denied for one in blocks):
        return {}
    buses = [
        one.bus
        for one in blocks
        if one.names.is_bridge and "ReqRedir+" in one.values.get("ACSCtl", "")
    ]
    return {"acs redirect": " ".join(buses)}


def _record(text: str) -> _Function:
    """``Driver`` and ``NUMANode`` come with ``-k`` and ``-v``."""
    values = pairs(text, ":")
    driver, node = values.get("Driver", ""), values.get("NUMANode", "")
    return _Function(
        pci.address(values.get("Slot", "")) or "", _names(values), driver, node, (), {}
    )


def _names(values: dict[str, str]) -> DeviceNames:
    device_class = named(values.get("Class", "") + ": ").device_class
    vendor, product = values.get("Vendor", ""), values.get("Device", "")
    numbers = f"{_code(vendor)}:{_code(product)}" if _code(vendor) and _code(product) else ""
    product = product_of(pci.without_numbers(product), numbers)
    return DeviceNames(device_class, said(TOOL, pci.without_numbers(vendor)), product)


def _code(name: str) -> str:
    return name[-5:-1] if name.endswith("]") and name[-6:-5] == "[" else ""


#: Vendors of adapters as pci.ids of 2024-11-25 names them: lspci prints vendor and product
#: without a sign between the two.
VENDORS = (
    "Intel Corporation", "Mellanox Technologies", "NVIDIA Corporation", "Red Hat, Inc.",
    "Broadcom Inc. and subsidiaries", "Broadcom Limited", "Broadcom Corporation",
    "Cornelis Networks, Inc", "Cornelis Networks", "Amazon.com, Inc.", "Cray Inc",
    "Hewlett Packard Enterprise", "Hewlett-Packard Company", "Chelsio Communications Inc",
    "QLogic Corp.", "QLogic, Corp.", "Cavium, Inc.", "Marvell Technology Group Ltd.",
    "Marvell Semiconductor (Israel) Ltd.", "Solarflare Communications", "Xilinx Corporation",
    "Emulex Corporation", "AMD Pensando Systems", "Pensando Systems",
    "Advanced Micro Devices, Inc. [AMD]", "Huawei Technologies Co., Ltd.", "Aquantia Corp.",
    "Realtek Semiconductor Co., Ltd.", "Microsoft Corporation", "Google, Inc.", "VMware",
    "Fungible", "Netronome Systems, Inc.", "Atos", "Bull", "Enfabrica", "Myricom Inc.",
)  # fmt: skip

_CODE = re.compile(r"\[([0-9a-fA-F]{4})\]$")
_DEVICE = re.compile(r"\[([0-9a-fA-F]{4}:[0-9a-fA-F]{4})\]$")
_BARE = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{4}")
_ASIDES = (" (rev ", " (prog-if ")


def named(rest: str) -> DeviceNames:
    """``Ethernet controller [0200]: Intel Corporation … [8086:1583] (rev 02)``."""
    before, _, name = rest.partition(": ")
    found = _CODE.search(before[-8:])
    device_class = found[1] if found else before
    for aside in _ASIDES:
        name = name.rpartition(aside)[0] if aside in name else name
    numbers = _DEVICE.search(name[-12:])
    name = pci.without_numbers(name)
    vendor, product = _parted(name)
    return DeviceNames(device_class, vendor, product_of(product, numbers[1] if numbers else ""))


def _parted(name: str) -> tuple[str | Skipped, str]:
    if _BARE.fullmatch(name[:20]):
        return Skipped("lspci gives numbers only"), name
    for vendor in VENDORS:
        if name.startswith(vendor + " "):
            return vendor, name[len(vendor) + 1 :]
    return Skipped("lspci gives vendor and product in one; it stands in the product"), name


def product_of(product: str, numbers: str) -> str:
    """``Device 0d57`` is one that the database does not know: its numbers, if they are there."""
    return numbers if product.partition(" ")[0] in ("Device", "") else product
