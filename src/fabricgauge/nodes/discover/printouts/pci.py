"""PCI addresses and links as tools print them, and the technology of an adapter."""

import re

from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import PcieLink
from fabricgauge.nodes.discover.printouts.parsing import parse_number

_ADDRESS = re.compile(
    r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])", re.ASCII
)
_SPEED = re.compile(r"Speed ([0-9.]{1,8}) ?GT/s")
_WIDTH = re.compile(r"Width x([0-9]{1,3})")
_NUMBERS = re.compile(r" \[[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4})?\]$")

#: Giga-transfers per second of a lane by generation, from the first on (PCI Express Base
#: Specification 7.0, 1.2).
GT_S = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0)

#: Both figures are among the first octets of their line.
_MAX_LINE = 400


def parse_address(text: str) -> str | None:
    """Return ``0000:61:00.0`` for ``61:00.0``, ``0000:61:00.0`` or ``00000000:61:00.0``."""
    match = _ADDRESS.fullmatch(text.strip()[:32])
    if match is None:
        return None
    domain = (match[1] or "").lower().lstrip("0")
    return f"{domain:0>4}:{match[2]}:{match[3]}.{match[4]}".lower()


def parse_bus(tool: str, text: str) -> str | Skipped:
    """Return the address, or a reason that quotes the tool's text."""
    return parse_address(text) or Skipped(f"{tool} gives the bus as {text[:60]!r}")


def parse_link(line: str, label: str) -> PcieLink | Skipped:
    """Read ``LnkCap: Port #0, Speed 8GT/s, Width x8, …`` with or without ``(downgraded)``."""
    speed, width = _SPEED.search(line[:_MAX_LINE]), _WIDTH.search(line[:_MAX_LINE])
    if speed is None or width is None or int(width[1]) == 0:
        return Skipped(f"{label} is given as {line.strip()[:80]!r}")
    gt_s = parse_number(speed[1], label)
    return gt_s if isinstance(gt_s, Skipped) else PcieLink(gt_s, int(width[1]))


def strip_numbers(name: str) -> str:
    """Return ``Red Hat, Inc.`` for ``Red Hat, Inc. [1af4]``."""
    return name[: -len(match[0])] if (match := _NUMBERS.search(name[-12:])) else name


#: Kernel drivers of one technology each (Linux 6.12, drivers/infiniband/hw and drivers/net;
#: cxi: HPE Slingshot Host Software 2.1).
DRIVERS = {
    "hfi1": "omni-path", "efa": "efa", "cxi_ss1": "slingshot", "cxi_eth": "slingshot",
    "cxi_core": "slingshot", "ib_ipoib": "infiniband", "mlx4_ib": "infiniband",
    "ib_mthca": "infiniband", "ib_qib": "infiniband",
}  # fmt: skip

#: Words of product names in the PCI database (pci.ids of 2024-11-25); the first match counts.
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


def choose_kind(device_class: str, product: str = "", driver: str = "") -> str:
    """Return ``ethernet``, ``infiniband``, ``omni-path``, ``efa``, ``slingshot``.

    ``fabric`` and ``network`` are general classes; "" is unknown. Driver and product outrank the
    class: some model of each of the first four has class 0200.
    """
    name, _, inner = driver.partition("[")  # ethtool -i prints mlx5_core[ib_ipoib] for IPoIB
    product_text = product[:200].lower()
    kinds = (kind for words, kind in PRODUCTS if words in product_text)
    return (
        DRIVERS.get(name)
        or DRIVERS.get(inner.rstrip("]"))
        or next(kinds, CLASSES.get(device_class[:40].lower(), ""))
    )
