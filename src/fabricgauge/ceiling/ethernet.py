"""What TCP over Ethernet can carry per direction, from rate, MTU and TCP timestamps.

Sizes: IEEE 802.3-2022 clauses 3.1-3.2 and 4.4.2 (header, FCS, preamble with start
delimiter, interpacket gap of 96 bit times); RFC 791, RFC 8200 and RFC 9293 (IPv4, IPv6
and TCP headers without options); RFC 7323 appendix A (timestamps padded to 12 bytes).
"""

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, Step
from fabricgauge.model.fabric import Network

HEADER_BYTES = 14
FCS_BYTES = 4
PREAMBLE_BYTES = 8
GAP_BYTES = 12
IPV4_BYTES = 20
IPV6_BYTES = 40
TCP_BYTES = 20
TIMESTAMPS_BYTES = 12


def ceiling(network: Network) -> Ceiling | Skipped:
    """The most TCP payload per direction, with every step of the sum.

    Skipped when the line rate is not known, when the network has no members, or
    when its MTU leaves no room for payload.
    """
    if isinstance(network.rate_bit_s, Skipped):
        return Skipped(f"{network.name}: no line rate, so no ceiling: {network.rate_bit_s.reason}")
    if not network.members:
        return Skipped(f"{network.name}: no members, so no MTU to work out a ceiling with")
    if network.rate_bit_s <= 0:
        return Skipped(f"{network.name}: a line rate of {network.rate_bit_s:g} bit/s is none")
    payload = _payload_step(network)
    if payload.value <= 0:
        return Skipped(f"{network.name}: MTU {network.mtu_bytes} leaves no room for payload")
    return _sum(network, network.rate_bit_s, payload)


def _sum(network: Network, rate_bit_s: float, payload: Step) -> Ceiling:
    wire = _wire_step(network.mtu_bytes)
    line = Step(
        "line rate", f"{rate_bit_s / 1e9:g} Gb/s ÷ 8 bit ({network.rate_origin})",
        rate_bit_s / 8, "bytes/s per direction",
    )  # fmt: skip
    share = Step(
        "payload share of the wire", f"{payload.value:g} ÷ {wire.value:g}",
        payload.value / wire.value, "share",
    )  # fmt: skip
    limit = Step(
        "ceiling", f"{line.value / 1e6:.2f} MB/s × {payload.value:g} ÷ {wire.value:g}",
        line.value * share.value, "bytes/s per direction",
    )  # fmt: skip
    return Ceiling(
        network=network.name,
        payload_bytes_per_s=limit.value,
        payload_per_packet_bytes=int(payload.value),
        wire_bytes_per_packet=int(wire.value),
        burst_bytes=network.burst_bytes,
        binding=f"Ethernet line rate of {network.name}, {rate_bit_s / 1e9:g} Gb/s",
        steps=(line, _mtu_step(network), payload, wire, share, limit),
    )


def _mtu_step(network: Network) -> Step:
    return Step("MTU", "smallest of the members", network.mtu_bytes, "bytes")


def _payload_step(network: Network) -> Step:
    ip, ip_bytes = ("IPv6", IPV6_BYTES) if ":" in network.subnet else ("IPv4", IPV4_BYTES)
    expression = f"{network.mtu_bytes} − {ip_bytes} ({ip}) − {TCP_BYTES} (TCP)"
    value = network.mtu_bytes - ip_bytes - TCP_BYTES
    if network.timestamps:
        expression += f" − {TIMESTAMPS_BYTES} (TCP timestamps)"
        value -= TIMESTAMPS_BYTES
    return Step("payload per packet", expression, value, "bytes")


def _wire_step(mtu_bytes: int) -> Step:
    return Step(
        "wire bytes per packet",
        f"{mtu_bytes} + {HEADER_BYTES} (header) + {FCS_BYTES} (FCS)"
        f" + {PREAMBLE_BYTES} (preamble, start delimiter) + {GAP_BYTES} (gap)",
        mtu_bytes + HEADER_BYTES + FCS_BYTES + PREAMBLE_BYTES + GAP_BYTES,
        "bytes",
    )
