"""PCI addresses and links as tools print them, and which technology an adapter is of."""

import re

from fabricgauge.discover.printouts import figures
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import PcieLink

_ADDRESS = re.compile(
    r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])", re.ASCII
)
_SPEED = re.compile(r"Speed ([0-9.]{1,8}) ?GT/s")
_WIDTH = re.compile(r"Width x([0-9]{1,3})")
_NUMBERS = re.compile(r" \[[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4})?\]$")

#: Giga-transfers per second of a lane by generation, from the first on (PCI Express Base
#: Specification 7.0, 1.2).
GT_S = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0)

#: Both figures come within the first octets of their line.
_LONGEST = 400


def address(text: str) -> str | None:
    """``0000:61:00.0`` of ``61:00.0``, ``0000:61:00.0`` or ``00000000:61:00.0``."""
    found = _ADDRESS.fullmatch(text.strip()[:32])
    if found is None:
        return None
    domain = (found[1] or "").lower().lstrip("0")
    return f"{domain:0>4}:{found[2]}:{found[3]}.{found[4]}".lower()


def bus(tool: str, text: str) -> str | Skipped:
    """The same, or what the tool wrote instead."""
    return address(text) or Skipped(f"{tool} gives the bus as {text[:60]!r}")


def link(line: str, what: str) -> PcieLink | Skipped:
    """``LnkCap: Port #0, Speed 8GT/s, Width x8, …`` with or without ``(downgraded)``."""
    speed, width = _SPEED.search(line[:_LONGEST]), _WIDTH.search(line[:_LONGEST])
    if speed is None or width is None or int(width[1]) == 0:
        return Skipped(f"{what} is given as {line.strip()[:80]!r}")
    gt_s = figures.number(speed[1], what)
    return gt_s if isinstance(gt_s, Skipped) else PcieLink(gt_s, int(width[1]))


def without_numbers(name: str) -> str:
    """``Red Hat, Inc.`` of ``Red Hat, Inc. [1af4]``."""
    return name[: -len(found[0])] if (found := _NUMBERS.search(name[-12:])) else name


#: Kernel drivers of one technology each (Linux 6.12, drivers/infiniband/hw and drivers/net;
#: cxi: HPE Slingshot Host Software 2.1).
DRIVERS = {
    "hfi1": "omni-path", "efa": "efa", "cxi_ss1": "slingshot", "cxi_eth": "slingshot",
    "cxi_core": "slingshot", "ib_ipoib": "infiniband", "mlx4_ib": "infiniband",
    "ib_mthca": "infiniband", "ib_qib": "infiniband",
}  # fmt: skip

#: Words of product names in the PCI database (pci.ids of 2024-11-25); the first that fits.
PRODUCTS = (
    ("omni-path", "omni-path"), ("hfi silicon", "omni-path"),
    ("elastic fabric adapter", "efa"), ("cassini", "slingshot"), ("slingshot", "slingshot"),
)  # fmt: skip

#: PCI classes by code and by the names of pci.ids; "interface" is lshw's word (lshw 02.19).
CLASSES = {
    "0200": "ethernet", "ethernet controller": "ethernet", "ethernet interface": "ethernet",
    "0207": "infiniband", "infiniband controller": "infiniband", "infiniband": "infiniband",
    "0c06": "infiniband", "0208": "fabric", "fabric controller": "fabric",
    "0280": "network", "network controller": "network", "wireless interface": "network",
}  # fmt: skip


def kind_of(device_class: str, product: str = "", driver: str = "") -> str:
    """``ethernet``, ``infiniband``, ``omni-path``, ``efa``, ``slingshot``.

    ``fabric`` and ``network`` are classes that do not say more; empty where nothing tells.
    Driver and product outrank the class: some model of each of the first four has class 0200.
    """
    name, _, inner = driver.partition("[")  # ethtool -i prints mlx5_core[ib_ipoib] for IPoIB
    words = product[:200].lower()
    found = (kind for known, kind in PRODUCTS if known in words)
    return (
        DRIVERS.get(name)
        or DRIVERS.get(inner.rstrip("]"))
        or next(found, CLASSES.get(device_class[:40].lower(), ""))
    )
