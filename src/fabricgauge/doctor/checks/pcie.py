"""Has every adapter all of its PCI Express link?"""

from collections.abc import Iterator

from fabricgauge.doctor.places import Seen, nodes, usual
from fabricgauge.doctor.wording import link_rate
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.inventory import Adapter, PcieLink
from fabricgauge.model.preflight import Preflight

ID = "pcie"
TITLE = "Every adapter has its whole PCI Express link"
WHY = "A slot that is narrower or slower than the adapter may carry less than its port."

#: Share of a link's data rate that payload gets behind packet headers and flow control
#: (PCI Express Base Specification 3.0: 256-byte payloads, 24 octets around each, DLLPs).
PAYLOAD_SHARE = 0.87


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    every = [(seen, adapter) for seen in nodes(preflight) for adapter in seen.adapters]
    if not any(isinstance(adapter.pcie_now, PcieLink) for _, adapter in every):
        return Skipped("no adapter's PCI Express link is known")
    common = _usual(every)
    return tuple(
        found
        for seen, adapter in every
        for found in _look(seen, adapter, common.get(seen.product(adapter)))
    )


def _usual(every: list[tuple[Seen, Adapter]]) -> dict[str, PcieLink]:
    """By product, the link that most adapters of it have."""
    links: dict[str, list[PcieLink]] = {}
    for seen, adapter in every:
        if isinstance(adapter.pcie_now, PcieLink):
            links.setdefault(seen.product(adapter), []).append(adapter.pcie_now)
    common = {product: usual(some) for product, some in links.items()}
    return {product: link for product, link in common.items() if isinstance(link, PcieLink)}


def data_bit_s(link: PcieLink) -> float:
    """Data rate per direction: 8b/10b up to 5 GT/s, 128b/130b above (Base Specification 3.0)."""
    coding = 0.8 if link.gt_s <= 5 else 128 / 130
    return link.gt_s * 1e9 * link.lanes * coding


def _look(seen: Seen, adapter: Adapter, common: PcieLink | None) -> Iterator[Finding]:
    """Less than the adapter can, or in a slot that is less than those of like adapters."""
    now, capable = adapter.pcie_now, adapter.pcie_capable
    if isinstance(now, Skipped):
        return
    odd = common is not None and data_bit_s(now) < data_bit_s(common)
    if isinstance(capable, PcieLink) and (now.lanes < capable.lanes or now.gt_s < capable.gt_s):
        what = f"runs at {_name(now)}, capable of {_name(capable)}"
        yield _finding(seen, adapter, now, what, odd)
    elif odd and common is not None:
        yield _finding(
            seen, adapter, now, f"runs at {_name(now)}, the others at {_name(common)}", odd
        )


def _in_use(seen: Seen, adapter: Adapter) -> bool:
    ours = [one for one in seen.node.interfaces if one.name in adapter.interfaces]
    return any(one.addresses for one in ours) or any(
        port.state == "ACTIVE" and port.device in adapter.rdma_devices
        for port in seen.inventory.rdma_ports
    )


def _name(link: PcieLink) -> str:
    return f"{link.gt_s:g} GT/s x{link.lanes}"


def _port_bit_s(seen: Seen, adapter: Adapter) -> float:
    """What the adapter's ports carry together, as far as it is known."""
    speeds = [one.speed_bit_s for one in seen.node.interfaces if one.name in adapter.interfaces]
    rates = [
        port.rate_bit_s for port in seen.inventory.rdma_ports if port.device in adapter.rdma_devices
    ]
    return max(
        sum(rate for rate in some if isinstance(rate, float | int)) for some in (speeds, rates)
    )


def _severity(binds: bool, odd: bool, unknown: bool) -> Severity:
    """A slot that suffices, and is no less than those of like adapters, was bought so."""
    if binds:
        return Severity.FAIL
    return Severity.WARN if odd or unknown else Severity.NOTE


def _finding(seen: Seen, adapter: Adapter, now: PcieLink, what: str, odd: bool) -> Finding:
    carried, port = PAYLOAD_SHARE * data_bit_s(now), _port_bit_s(seen, adapter)
    unknown = not port and _in_use(seen, adapter)
    bus = adapter.bus if isinstance(adapter.bus, str) else "adapter"
    where = f"{seen.name}:{adapter.interfaces[0] if adapter.interfaces else bus}"
    limit = f"{_name(now)} carries about {link_rate(carried)} of payload"
    against = f", its port {link_rate(port)}" if port else ""
    product = adapter.product if isinstance(adapter.product, str) else adapter.kind
    return Finding(
        ID, _severity(0 < carried < port, odd, unknown), where, what,
        (f"{seen.name}: {bus} {product}", limit + against), WHY,
        "put the adapter into a slot with all its lanes, reseat it, look at the firmware's settings"
        " for the slot (speed, bifurcation) and at dmesg for PCIe errors",
        (seen.name,),
    )  # fmt: skip
