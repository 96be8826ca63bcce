"""Which module works out the ceiling of which technology: one row each."""

from collections.abc import Callable, Iterable

import msgspec

from fabricgauge.ceiling import binding, ethernet, infiniband, ipoib, unframed
from fabricgauge.ceiling.packet import unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

CEILINGS: dict[str, Callable[[Network], Ceiling | Skipped]] = {
    "ethernet": ethernet.ceiling,
    "roce-v1": ethernet.roce_v1,
    "roce-v2": ethernet.roce_v2,
    "iwarp": ethernet.iwarp,
    "infiniband": infiniband.ceiling,
    "omni-path": infiniband.omni_path,
    "ipoib": ipoib.ceiling,
    "slingshot": unframed.slingshot,
    "efa": unframed.efa,
    "nvlink": unframed.nvlink,
    "pcie": binding.pcie,
    "cxl": unframed.cxl,
    "simulated": unframed.simulated,
}


#: The RDMA MTUs that may be in force where nobody says which. An adapter on an interface with an
#: MTU of 1500 has 1024 (see ``ethernet``), a subnet manager's usual one is 2048 or 4096.
LIKELY_MTUS = (1024, 2048, 4096)
RDMA = ("roce-v1", "roce-v2", "infiniband")


def ceiling(network: Network) -> Ceiling | Skipped:
    """The ceiling of one network; Skipped with the reason when it cannot be worked out."""
    work_out = CEILINGS.get(network.technology)
    if work_out is None:
        known = ", ".join(sorted(CEILINGS))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {known})"
        )
    found = unknown(network) or work_out(network)
    is_rdma = network.technology in RDMA or network.link == "Slingshot-10"
    if isinstance(found, Skipped) or "mtu" not in network.assumed or not is_rdma:
        return found
    replace = msgspec.structs.replace
    each = {one: work_out(replace(network, stated_mtu_bytes=one)) for one in LIKELY_MTUS}
    limits = {one: of.payload_bytes_per_s for one, of in each.items() if isinstance(of, Ceiling)}
    return replace(found, by_mtu=limits)


def ceilings(networks: Iterable[Network]) -> dict[str, Ceiling | Skipped]:
    """The ceiling of each network, by the network's name."""
    return {network.name: ceiling(network) for network in networks}
