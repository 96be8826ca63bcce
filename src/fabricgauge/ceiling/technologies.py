"""Which module works out the ceiling of which technology: one row each."""

from collections.abc import Callable, Iterable

from fabricgauge.ceiling import binding, ethernet, infiniband, ipoib, omni_path, unframed
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
    "omni-path": omni_path.ceiling,
    "ipoib": ipoib.ceiling,
    "slingshot": unframed.slingshot,
    "efa": unframed.efa,
    "nvlink": unframed.nvlink,
    "pcie": binding.pcie,
    "cxl": unframed.cxl,
    "simulated": unframed.simulated,
}


def ceiling(network: Network) -> Ceiling | Skipped:
    """The ceiling of one network; Skipped with the reason when it cannot be worked out."""
    work_out = CEILINGS.get(network.technology)
    if work_out is None:
        known = ", ".join(sorted(CEILINGS))
        return Skipped(
            f"{network.name}: no ceiling is known for technology {network.technology!r}"
            f" (known: {known})"
        )
    return unknown(network) or work_out(network)


def ceilings(networks: Iterable[Network]) -> dict[str, Ceiling | Skipped]:
    """The ceiling of each network, by the network's name."""
    return {network.name: ceiling(network) for network in networks}
