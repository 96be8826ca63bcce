"""What ip(8) of iproute2 shows on a node that has what is wanted; pure."""

from collections.abc import Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.configuration import Verification, Wanted, WantedPort
from fabricgauge.model.finding import Command

#: NetworkManager, networkd and wicked bring an interface up within seconds.
PATIENCE_S = 30.0

_MOST_IN_A_DATAGRAM = 4092


def address(port: WantedPort) -> str:
    return f"{port.ip}/{port.prefix_length}"


def transport_mode(wanted: Wanted) -> str:
    """IPoIB's mode: datagrams carry an InfiniBand MTU less 4 bytes (RFC 4391), which is 4092 at
    most; larger ones need connections (RFC 4755).
    """
    mtu = 0 if isinstance(wanted.mtu_bytes, Skipped) else wanted.mtu_bytes
    return "connected" if needs_connections(mtu) else "datagram"


def needs_connections(mtu_bytes: int) -> bool:
    """Whether IPoIB has such an MTU in connected mode only."""
    return mtu_bytes > _MOST_IN_A_DATAGRAM


def has_address(port: WantedPort, patience_s: float = PATIENCE_S) -> Verification:
    """The interface has the wanted address."""
    shown = Command(port.node, ("ip", "-o", "-4", "addr", "show", "dev", port.interface))
    return Verification(shown, f" {address(port)} ", patience_s=patience_s)


def has_mtu(port: WantedPort, mtu_bytes: int, patience_s: float = PATIENCE_S) -> Verification:
    shown = Command(port.node, ("ip", "-o", "link", "show", "dev", port.interface))
    return Verification(shown, f" mtu {mtu_bytes} ", patience_s=patience_s)


def all_of(wanted: Wanted, port: WantedPort) -> Iterator[Verification]:
    yield has_address(port)
    if not isinstance(wanted.mtu_bytes, Skipped):
        yield has_mtu(port, wanted.mtu_bytes)
