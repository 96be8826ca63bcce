"""``lspci``, ``lspci -vv``, ``-n``, ``-nn``, ``-vmm`` → network adapters with their links; pure.

As pciutils 3.9 prints it. Without root the capabilities are denied, and with them the PCIe
link. GPUs come from nvidia-smi.
"""

import re
from collections.abc import Iterable

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Adapter, PcieLink
from fabricgauge.nodes.discover.printouts import pci
from fabricgauge.nodes.discover.printouts.parsing import (
    Parts,
    make_adapter,
    parse_pairs,
    parse_whole,
    read_text,
    report_unrecognised,
    split_blocks,
)

TOOL = "lspci"
DENIED = "<access denied>"
#: Classes by code, and bridges by any of their names.
_NETWORK = re.compile(r"02..").fullmatch
_BRIDGE = re.compile(r"06..|.*bridge.*", re.IGNORECASE | re.DOTALL).fullmatch
_SLOT = re.compile(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)", re.DOTALL)


def parse(text: str, argument: str = "") -> Parts:
    """Return adapters of the classes 02xx and 0c06.

    Fact ``acs redirect``: the PCI bridges on which Access Control Services redirect peer
    requests to the root (``ACSCtl: … ReqRedir+``), space separated; absent if the capabilities
    were not shown.
    """
    if text.lstrip().startswith("Slot:"):
        records = re.split(r"\n[^\S\n]*(?=\n)", text.replace("\r\n", "\n"))
        functions = [_parse_record(record) for record in records]
        return Parts(adapters=_make_adapters(functions), facts=_make_id_facts(functions))
    functions = [
        _parse_function(head[1], head[2], body) for head, body in split_blocks(text, _SLOT.match)
    ]
    troubles = report_unrecognised(TOOL, text, functions)
    facts = _make_redirect_fact(functions) | _make_id_facts(functions)
    return Parts(adapters=_make_adapters(functions), facts=facts, troubles=troubles)


def _make_id_facts(functions: Iterable["_Function"]) -> dict[str, str]:
    """Return the fact ``pci id BUS`` of each network controller."""
    return {
        f"pci id {function.bus}": function.numbers
        for function in functions
        if function.bus and function.numbers and _is_adapter(function)
    }


class _Function(msgspec.Struct, frozen=True):
    """One function; ``values`` are the lines of ``-v`` below it, by their first word.

    ``bus`` is "" if a record gives none. ``device_class`` is the code if lspci printed it, else the
    class's name. ``product`` is "" if neither the database nor lspci's options give it. ``links``
    are the PCI Express link in use and the best one.
    """

    bus: str
    device_class: str
    vendor: str | Skipped
    product: str
    values: dict[str, str]
    links: dict[str, PcieLink | Skipped] = {}
    is_denied: bool = False
    numbers: str = ""


def _parse_function(slot: str, description: str, body: str) -> _Function:
    indented = [line for line in body.split("\n") if line[:1].isspace()]
    values = parse_pairs("\n".join(indented), ":")
    is_denied = any(DENIED in line[:80] for line in indented)
    bus = pci.parse_address(slot) or slot
    links = {
        "pcie_now": _parse_link(values, "LnkSta", bus, is_denied),
        "pcie_capable": _parse_link(values, "LnkCap", bus, is_denied),
    }
    name = description.partition(" (rev ")[0].partition(" (prog-if ")[0]
    numbers = _DEVICE.search(name[-12:])
    return _Function(
        bus, *_split_description(description), values, links, is_denied,
        numbers[1].lower() if numbers else "",
    )  # fmt: skip


def _parse_link(
    values: dict[str, str], register: str, bus: str, is_denied: bool
) -> PcieLink | Skipped:
    if register in values:
        return pci.parse_link(values[register], register)
    if is_denied:
        return Skipped(f"lspci was not run as root: {register} of {bus} is denied")
    return Skipped(f"lspci shows no {register} of {bus}")


def _parse_record(text: str) -> _Function:
    """Read a record of ``-vmm``; ``Driver`` and ``NUMANode`` come with ``-k`` and ``-v``."""
    values = parse_pairs(text, ":")
    device_class, _, _ = _split_description(values.get("Class", "") + ": ")
    vendor, product = values.get("Vendor", ""), values.get("Device", "")
    codes = [name[-5:-1] for name in (vendor, product) if name.endswith("]") and name[-6:-5] == "["]
    numbers = ":".join(codes) if len(codes) == 2 else ""
    labels = {"Kernel driver in use": "Driver", "NUMA node": "NUMANode"}
    return _Function(
        pci.parse_address(values.get("Slot", "")) or "", device_class,
        read_text(TOOL, pci.strip_numbers(vendor)),
        _choose_product(pci.strip_numbers(product), numbers),
        {key: values.get(label, "") for key, label in labels.items()},
        numbers=numbers.lower(),
    )  # fmt: skip


def _make_adapters(functions: Iterable[_Function]) -> tuple[Adapter, ...]:
    return tuple(
        _make_adapter(function) for function in functions if function.bus and _is_adapter(function)
    )


def _is_adapter(function: _Function) -> bool:
    """Check for class 02xx, and InfiniBand's other class, 0c06."""
    device_class = function.device_class
    return device_class.lower() in pci.CLASSES or bool(_NETWORK(device_class))


def _make_adapter(function: _Function) -> Adapter:
    driver = function.values.get("Kernel driver in use", "")
    numa_node = function.values.get("NUMA node", "")
    return make_adapter(
        TOOL, pci.choose_kind(function.device_class, function.product, driver),
        bus=function.bus, vendor=function.vendor, product=function.product, driver=driver,
        numa_node=parse_whole(numa_node, "the NUMA node")
        if numa_node else Skipped("lspci names none"),
        **function.links,
    )  # fmt: skip


def _make_redirect_fact(functions: list[_Function]) -> dict[str, str]:
    is_shown = any("Capabilities" in function.values for function in functions)
    if not is_shown or any(function.is_denied for function in functions):
        return {}
    redirecting = (
        function.bus
        for function in functions
        if "ReqRedir+" in function.values.get("ACSCtl", "") and _BRIDGE(function.device_class)
    )
    return {"acs redirect": " ".join(redirecting)}


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


def _split_description(description: str) -> tuple[str, str | Skipped, str]:
    """Return class, vendor, product of ``Ethernet controller [0200]: Intel … [8086:1583]``."""
    class_name, _, name = description.partition(": ")
    code = _CODE.search(class_name[-8:])
    for aside in _ASIDES:
        name = name.rpartition(aside)[0] if aside in name else name
    numbers = _DEVICE.search(name[-12:])
    vendor, product = _split_vendor(pci.strip_numbers(name))
    product = _choose_product(product, numbers[1] if numbers else "")
    return code[1] if code else class_name, vendor, product


def _split_vendor(name: str) -> tuple[str | Skipped, str]:
    if _BARE.fullmatch(name[:20]):
        return Skipped("lspci gives numbers only"), name
    for vendor in VENDORS:
        if name.startswith(vendor + " "):
            return vendor, name[len(vendor) + 1 :]
    return Skipped("lspci gives vendor and product as one text, kept as the product"), name


def _choose_product(product: str, numbers: str) -> str:
    """Return the numbers of a product that the database lacks (``Device 0d57``), if printed."""
    return numbers if product.partition(" ")[0] in ("Device", "") else product
