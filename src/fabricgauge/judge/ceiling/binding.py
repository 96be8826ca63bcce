"""Combine link, host link and rails: the smallest limit binds, and the ceiling names it."""

import msgspec

from fabricgauge.judge.ceiling.packet import Packet, mtu_step, unknown
from fabricgauge.judge.ceiling.pcie import PcieCapacity, pcie_link
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling, CeilingStep
from fabricgauge.model.fabric import Network
from fabricgauge.model.words.figures import gigabits_per_s

PER_DIRECTION = "bytes/s per direction"

#: The last steps of a sum, and what binds.
_Bound = tuple[tuple[CeilingStep, ...], str]


def ceiling_of(
    network: Network, medium: str, packet: Packet, coding: tuple[CeilingStep, ...] = ()
) -> Ceiling | Skipped:
    """Return the ceiling of a network from its line rate and its largest packet.

    ``medium`` names the link's limit, e.g. ``Ethernet line rate``; ``coding``
    leads to that rate. Each rail has a host link of its own, unless ``Network.slots`` are fewer.
    Skipped if the rate or the MTU is unknown, or the packet has no room for payload.
    """
    reason, rate_bit_s = unknown(network), network.rate_bit_s
    if reason or isinstance(rate_bit_s, Skipped):
        return reason or Skipped(f"{network.name}: no line rate")
    payload, wire = packet.payload.value, packet.wire.value
    if payload <= 0:
        return Skipped(f"{network.name}: MTU {network.mtu_bytes} leaves no room for payload")
    rate, part = f"{gigabits_per_s(rate_bit_s)} ÷ 8 bit", f"{payload:g} ÷ {wire:g}"
    line = _step("line rate", f"{rate} ({network.rate_origin})", rate_bit_s / 8)
    share = CeilingStep("payload share of the wire", part, payload / wire, "share")
    limit = _step("ceiling", f"{line.value / 1e6:.2f} MB/s × {part}", line.value * share.value)
    named = f"{medium} of {network.name}, {gigabits_per_s(rate_bit_s, 6)}"
    host = pcie_link(network.host_link) if network.host_link else Skipped("it is not known")
    if isinstance(host, PcieCapacity) and 0 < network.slots < network.rails:
        last, binding = _shared_slots(network, limit, named, host)
    else:
        last, binding = _all_rails(network, _one_rail(network, limit, named, host))
    return Ceiling(
        network=network.name,
        payload_bytes_per_s=last[-1].value,
        payload_per_packet_bytes=int(payload),
        wire_bytes_per_packet=int(wire),
        burst_bytes=network.burst_bytes * network.rails,
        binding=binding,
        steps=(*coding, line, *packet.before, packet.payload, packet.wire, share, *last),
    )


def _step(label: str, expression: str, value: float) -> CeilingStep:
    return CeilingStep(label, expression, value, PER_DIRECTION)


def _one_rail(
    network: Network, link: CeilingStep, named: str, host: PcieCapacity | Skipped
) -> _Bound:
    """Return the smaller of link and host link."""
    if not network.host_link:
        return (link,), named
    if isinstance(host, Skipped):
        expression = f"{link.expression} (host link not counted: {host.reason})"
        return (_step("ceiling", expression, link.value),), named
    host_limit = host.payload_bytes_per_s
    smaller = (
        f"smaller of {link.value / 1e6:.2f} MB/s (one link) and {host_limit / 1e6:.2f} MB/s"
        f" ({host.name})"
    )
    least = _step("ceiling", smaller, min(link.value, host_limit))
    one_link = _step("one link", link.expression, link.value)
    binding = named if link.value <= host_limit else f"host link {host.name}"
    return (one_link, *host.limit_steps(), least), binding


def _all_rails(network: Network, rail: _Bound) -> _Bound:
    (*before, last), binding = rail
    if network.rails == 1:
        return rail
    unit = "link" if network.technology == "nvlink" else "rail"
    one_rail = _step(f"one {unit}", last.expression, last.value)
    expression = f"{network.rails} {unit}s × {last.value / 1e6:.2f} MB/s"
    total = _step("ceiling", expression, network.rails * last.value)
    return (*before, one_rail, total), f"{network.rails} {unit}s, each by {binding}"


def _shared_slots(network: Network, link: CeilingStep, named: str, host: PcieCapacity) -> _Bound:
    """Return the smaller of all links and their fewer slots, if ports share an adapter."""
    links, slots = network.rails * link.value, network.slots * host.payload_bytes_per_s
    all_rails = f"{network.rails} rails × {link.value / 1e6:.2f} MB/s"
    host_links = f"{network.slots} × {host.payload_bytes_per_s / 1e6:.2f} MB/s"
    smaller = f"smaller of {links / 1e6:.2f} MB/s (rails) and {slots / 1e6:.2f} MB/s ({host.name})"
    binding = f"{network.rails} rails, each by {named}"
    if slots < links:
        binding = f"host link {host.name}, {network.slots} for {network.rails} rails"
    steps = (
        _step("one rail", link.expression, link.value),
        _step("all rails", all_rails, links),
        *host.limit_steps(),
        _step("host links", host_links, slots),
        _step("ceiling", smaller, min(links, slots)),
    )
    return steps, binding


def pcie(network: Network) -> Ceiling | Skipped:
    """Return the most payload per direction; ``Network.link`` names the generation."""
    link = pcie_link(network.link)
    if isinstance(link, Skipped):
        return Skipped(f"{network.name}: {link.reason}")
    payload, wire = msgspec.structs.replace(link, payload_bytes=network.mtu_bytes).packet
    packet = Packet(payload, wire, (mtu_step(network, "MPS"),))
    return ceiling_of(network, "PCIe data rate", packet, link.coding_steps)
