"""Which technology an adapter is of, by what tools say of it."""

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

    ``fabric`` and ``network`` are classes of which no more is known; empty where nothing
    tells. Driver and product go before the class: all of the first four have class 0200
    in some model.
    """
    known = DRIVERS.get(driver.partition("[")[0]) or DRIVERS.get(_inner(driver))
    if known:
        return known
    name = product[:200].lower()
    for words, kind in PRODUCTS:
        if words in name:
            return kind
    return CLASSES.get(device_class[:40].lower(), "")


def _inner(driver: str) -> str:
    """``ib_ipoib`` of ``mlx5_core[ib_ipoib]``, which ethtool -i prints for IPoIB."""
    return driver.partition("[")[2].rstrip("]")
