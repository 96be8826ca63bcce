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
#: Classes by code, and bridges by any of their names.
_NETWORK = re.compile(r"02..").fullmatch
_BRIDGE = re.compile(r"06..|.*bridge.*", re.IGNORECASE | re.DOTALL).fullmatch
_SLOT = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)", re.DOTALL)


def parse(text: str, argument: str = "") -> Parts:
    """Adapters of the classes 02xx and 0c06.

    Fact ``acs redirect``: the PCI bridges on which Access Control Services redirect peer
    requests to the root (``ACSCtl: … ReqRedir+``), space separated; left out where the
    capabilities were not shown.
    """
    if text.lstrip().startswith("Slot:"):
        records = re.split(r"\n[^\S\n]*(?=\n)", text.replace("\r\n", "\n"))
        told = [_record(record) for record in records]
        return Parts(adapters=_adapters(told), facts=_numbers(told))
    functions = [_function(head[1], head[2], body) for head, body in blocks(text, _SLOT.match)]
    troubles = unrecognised(TOOL, text, functions)
    facts = _redirecting(functions) | _numbers(functions)
    return Parts(adapters=_adapters(functions), facts=facts, troubles=troubles)


def _numbers(functions: Iterable["_Function"]) -> dict[str, str]:
    """Fact ``pci id BUS`` of each network controller."""
    return {
        f"pci id {one.bus}": one.numbers
        for one in functions
        if one.bus and one.numbers and _is_adapter(one)
    }


class _Function(msgspec.Struct, frozen=True):
    """One function; ``values`` is what ``-v`` prints below its line, by the line's first word.

    ``bus`` is empty where a record gives none. ``device_class`` is the code where lspci printed
    it, else the class's name. ``product`` is empty where neither the database nor lspci's options
    tell it. ``links`` are the PCI Express link as it is and as it can be.
    """

    bus: str
    device_class: str
    vendor: str | Skipped
    product: str
    values: dict[str, str]
    links: dict[str, PcieLink | Skipped] = {}
    denied: bool = False
    numbers: str = ""


def _function(slot: str, rest: str, body: str) -> _Function:
    inside = [line for line in body.split("\n") if line[:1].isspace()]
    values = pairs("\n".join(inside), ":")
    denied = any(DENIED in line[:80] for line in inside)
    bus = pci.address(slot) or slot
    now, able = (_link(values, register, bus, denied) for register in ("LnkSta", "LnkCap"))
    links = {"pcie_now": now, "pcie_capable": able}
    numbers = _DEVICE.search(rest.partition(" (rev ")[0].partition(" (prog-if ")[0][-12:])
    return _Function(
        bus, *_named(rest), values, links, denied, numbers[1].lower() if numbers else ""
    )


def _link(values: dict[str, str], register: str, bus: str, denied: bool) -> PcieLink | Skipped:
    if register in values:
        return pci.link(values[register], register)
    if denied:
        return Skipped(f"lspci was not run as root: {register} of {bus} is denied")
    return Skipped(f"lspci shows no {register} of {bus}")


def _record(text: str) -> _Function:
    """``Driver`` and ``NUMANode`` come with ``-k`` and ``-v``."""
    values = pairs(text, ":")
    device_class, _, _ = _named(values.get("Class", "") + ": ")
    vendor, product = values.get("Vendor", ""), values.get("Device", "")
    codes = [one[-5:-1] for one in (vendor, product) if one.endswith("]") and one[-6:-5] == "["]
    product = _product(pci.without_numbers(product), ":".join(codes) if len(codes) == 2 else "")
    told = {"Kernel driver in use": "Driver", "NUMA node": "NUMANode"}
    return _Function(
        pci.address(values.get("Slot", "")) or "", device_class,
        said(TOOL, pci.without_numbers(vendor)), product,
        {key: values.get(name, "") for key, name in told.items()},
        numbers=":".join(codes).lower() if len(codes) == 2 else "",
    )  # fmt: skip


def _adapters(functions: Iterable[_Function]) -> tuple[Adapter, ...]:
    return tuple(_adapter(one) for one in functions if one.bus and _is_adapter(one))


def _is_adapter(one: _Function) -> bool:
    """Check for class 02xx, and InfiniBand's other class, 0c06."""
    return one.device_class.lower() in pci.CLASSES or bool(_NETWORK(one.device_class))


def _adapter(one: _Function) -> Adapter:
    driver, node = (one.values.get(key, "") for key in ("Kernel driver in use", "NUMA node"))
    return blank_adapter(
        TOOL, pci.kind_of(one.device_class, one.product, driver),
        bus=one.bus, vendor=one.vendor, product=one.product, driver=driver,
        numa_node=figures.whole(node, "the NUMA node") if node else Skipped("lspci names none"),
        **one.links,
    )  # fmt: skip


def _redirecting(functions: list[_Function]) -> dict[str, str]:
    shown = any("Capabilities" in one.values for one in functions)
    if not shown or any(one.denied for one in functions):
        return {}
    redirecting = (one for one in functions if "ReqRedir+" in one.values.get("ACSCtl", ""))
    return {"acs redirect": " ".join(one.bus for one in redirecting if _BRIDGE(one.device_class))}


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


def _named(rest: str) -> tuple[str, str | Skipped, str]:
    """Class, vendor, product of ``Ethernet controller [0200]: Intel Corporation … [8086:1583]``."""
    before, _, name = rest.partition(": ")
    found = _CODE.search(before[-8:])
    for aside in _ASIDES:
        name = name.rpartition(aside)[0] if aside in name else name
    numbers = _DEVICE.search(name[-12:])
    vendor, product = _parted(pci.without_numbers(name))
    return found[1] if found else before, vendor, _product(product, numbers[1] if numbers else "")


def _parted(name: str) -> tuple[str | Skipped, str]:
    if _BARE.fullmatch(name[:20]):
        return Skipped("lspci gives numbers only"), name
    for vendor in VENDORS:
        if name.startswith(vendor + " "):
            return vendor, name[len(vendor) + 1 :]
    return Skipped("lspci gives vendor and product in one; it stands in the product"), name


def _product(product: str, numbers: str) -> str:
    """``Device 0d57`` is one that the database does not know: its numbers, if they are there."""
    return numbers if product.partition(" ")[0] in ("Device", "") else product
