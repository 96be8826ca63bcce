"""What a simulator lets through per direction: the rate that the platform states, no headers."""

from fabricgauge.ceiling.binding import ceiling_of
from fabricgauge.ceiling.packet import bare, unknown
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.fabric import Network

NO_PACKETS = "a fluid model has no packets, nothing is taken off"


def ceiling(network: Network) -> Ceiling | Skipped:
    """The stated rate itself."""
    reason = unknown(network)
    if reason:
        return reason
    return ceiling_of(network, "simulated link rate", bare(network, NO_PACKETS))
