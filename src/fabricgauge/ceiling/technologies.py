"""Which module works out the ceiling of which technology: one row each."""

from collections.abc import Callable, Iterable

from fabricgauge.ceiling import ethernet
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

CEILINGS: dict[str, Callable[[Network], Ceiling | Skipped]] = {
    "ethernet": ethernet.ceiling,
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
    return work_out(network)


def ceilings(networks: Iterable[Network]) -> dict[str, Ceiling | Skipped]:
    """The ceiling of each network, by the network's name."""
    return {network.name: ceiling(network) for network in networks}
