"""What lspci's one line says of a device: class, vendor and product; pure."""

import re

import msgspec

from fabricgauge.discover.printouts import kinds, pci
from fabricgauge.model.absence import Skipped

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


class Names(msgspec.Struct, frozen=True):
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
        return known in kinds.CLASSES or (len(known) == 4 and known.startswith("02"))

    @property
    def is_bridge(self) -> bool:
        """Of class 06xx."""
        known = self.device_class.lower()
        return "bridge" in known or (len(known) == 4 and known.startswith("06"))


def named(rest: str) -> Names:
    """``Ethernet controller [0200]: Intel Corporation … [8086:1583] (rev 02)``."""
    before, _, name = rest.partition(": ")
    found = _CODE.search(before[-8:])
    device_class = found[1] if found else before
    for aside in _ASIDES:
        name = name.rpartition(aside)[0] if aside in name else name
    numbers = _DEVICE.search(name[-12:])
    name = pci.without_numbers(name)
    vendor, product = _parted(name)
    return Names(device_class, vendor, product_of(product, numbers[1] if numbers else ""))


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
