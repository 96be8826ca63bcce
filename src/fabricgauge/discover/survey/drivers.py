"""What a driver, a PCI class or a node type tells of an adapter; pure.

Sources: Linux 6.12, drivers/infiniband/sw (rxe, siw), drivers/infiniband/hw/cxgb4 and
include/rdma/ib_verbs.h (node types). PCI classes: PCI Code and ID Assignment 1.16.
"""

from fabricgauge.discover.printouts import verbs
from fabricgauge.discover.printouts.kinds import DRIVERS

#: RDMA drivers that speak iWARP alone; irdma and qedr say it by their node type.
IWARP = frozenset({"siw", "iw_cxgb4", "i40iw", "iw_nes"})

#: Vendors whose displays are GPUs that compute: NVIDIA, AMD. Others' are a console's.
GPU_VENDORS: dict[str, str] = {"10de": "NVIDIA", "1002": "AMD"}


def protocol_of(device: str, driver: str, node_type: str, link_layer: str) -> str:
    """What an RDMA port speaks: ``infiniband``, ``roce``, ``iwarp``, ``omni-path`` or ``efa``.

    ``node_type`` is as /sys has it (``1: CA``, ``4: RNIC``); empty where nothing tells.
    """
    if DRIVERS.get(driver) in ("omni-path", "efa"):
        return DRIVERS[driver]
    if node_type.startswith("4") or driver in IWARP:
        return "iwarp"
    return verbs.protocol(device, link_layer, ethernet="roce")


def is_gpu(vendor: str, pci_class: str) -> bool:
    """3D controllers and accelerators of any vendor, displays of those whose displays compute."""
    if pci_class.startswith(("0302", "12")):
        return True
    return pci_class.startswith("03") and vendor in GPU_VENDORS
