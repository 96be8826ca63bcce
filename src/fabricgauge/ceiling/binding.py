"""Link, host link and rails: the smallest limit binds, and the ceiling names it."""

import msgspec

from fabricgauge.ceiling.packet import Packet, mtu_step, unknown
from fabricgauge.ceiling.pcie import PcieCapacity, pcie_link
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network
from fabricgauge.words.figures import gigabits_per_s

PER_DIRECTION = "bytes/s per direction"


def ceiling_of(
    network: Network, medium: str, packet: Packet, coding: tuple[CeilingStep, ...] = ()
) -> Ceiling | Skipped:
    """The ceiling of a network from its line rate and its largest packet.

    ``medium`` is what limits where the link does, e.g. ``Ethernet line rate``; ``coding``
    leads to that rate. Each rail has an adapter with a host link of its own. Skipped where
    the rate or the MTU is unknown, or the packet has no room for payload.
    """
    reason = unknown(network)
    if reason or isinstance(network.rate_bit_s, Skipped):
        return reason or Skipped(f"{network.name}: no line rate")
    if packet.payload.value <= 0:
        return Skipped(f"{network.name}: MTU {network.mtu_bytes} leaves no room for payload")
    before = _link_steps(network, network.rate_bit_s, packet)
    named = f"{medium} of {network.name}, {gigabits_per_s(network.rate_bit_s, 6)}"
    last, binding = _bound(network, before[-1], named)
    return Ceiling(
        network=network.name,
        payload_bytes_per_s=last[-1].value,
        payload_per_packet_bytes=int(packet.payload.value),
        wire_bytes_per_packet=int(packet.wire.value),
        burst_bytes=network.burst_bytes * network.rails,
        binding=binding,
        steps=(*coding, *before[:-1], *last),
    )


def _link_steps(network: Network, rate_bit_s: float, packet: Packet) -> tuple[CeilingStep, ...]:
    payload, wire = packet.payload.value, packet.wire.value
    line = CeilingStep(
        "line rate", f"{gigabits_per_s(rate_bit_s)} ÷ 8 bit ({network.rate_origin})",
        rate_bit_s / 8, PER_DIRECTION,
    )  # fmt: skip
    share = CeilingStep(
        "payload share of the wire", f"{payload:g} ÷ {wire:g}", payload / wire, "share"
    )  # fmt: skip
    limit = CeilingStep(
        "ceiling", f"{line.value / 1e6:.2f} MB/s × {payload:g} ÷ {wire:g}",
        line.value * share.value, PER_DIRECTION,
    )  # fmt: skip
    return (line, *packet.before, packet.payload, packet.wire, share, limit)


def _bound(network: Network, link: CeilingStep, named: str) -> tuple[tuple[CeilingStep, ...], str]:
    """The steps from one link's limit to the ceiling, and what binds."""
    steps, binding = _one_rail(network, link, named)
    if network.rails == 1:
        return steps, binding
    what = "link" if network.technology == "nvlink" else "rail"
    one = _renamed(steps[-1], f"one {what}")
    expression = f"{network.rails} {what}s × {one.value / 1e6:.2f} MB/s"
    total = CeilingStep("ceiling", expression, network.rails * one.value, PER_DIRECTION)
    return (*steps[:-1], one, total), f"{network.rails} {what}s, each by {binding}"


def _one_rail(
    network: Network, link: CeilingStep, named: str
) -> tuple[tuple[CeilingStep, ...], str]:
    if not network.host_link:
        return (link,), named
    host = pcie_link(network.host_link)
    if isinstance(host, Skipped):
        told = f"{link.expression} (host link not counted: {host.reason})"
        return (_renamed(link, "ceiling", told),), named
    return _smaller(link, host, named)


def _smaller(
    link: CeilingStep, host: PcieCapacity, named: str
) -> tuple[tuple[CeilingStep, ...], str]:
    other = host.payload_bytes_per_s
    expression = (
        f"smaller of {link.value / 1e6:.2f} MB/s (one link) and {other / 1e6:.2f} MB/s"
        f" ({host.name})"
    )
    least = CeilingStep("ceiling", expression, min(link.value, other), PER_DIRECTION)
    binding = named if link.value <= other else f"host link {host.name}"
    return (_renamed(link, "one link"), *host.limit_steps(), least), binding


def _renamed(step: CeilingStep, label: str, expression: str = "") -> CeilingStep:
    return CeilingStep(label, expression or step.expression, step.value, step.unit)


def pcie(network: Network) -> Ceiling | Skipped:
    """The most payload per direction; ``Network.link`` names the generation."""
    link = pcie_link(network.link)
    if isinstance(link, Skipped):
        return Skipped(f"{network.name}: {link.reason}")
    link = msgspec.structs.replace(link, payload_bytes=network.mtu_bytes)
    payload, wire = link.packet
    packet = Packet(payload, wire, (mtu_step(network, "MPS"),))
    return ceiling_of(network, "PCIe data rate", packet, link.coding_steps)
