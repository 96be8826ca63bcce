"""Find the known rates below the stated link that a figure fits.

A table for each family: slower links, slots, rails, TCP over a fast fabric, another network. Each
row has its bounds in payload bytes/s per direction. Where several rows fit, all are candidates.
"""

import math
from collections.abc import Iterator
from typing import Literal

import msgspec

from fabricgauge.judge.ceiling.technologies import slot_share
from fabricgauge.judge.stats.series import Series
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import PcieLink
from fabricgauge.model.fabric import OVER_TCP, Network
from fabricgauge.model.words import figures, sentences

Kind = Literal["link", "slot", "rail", "tcp", "network", "host", "verbs"]

#: Link rates of IEEE 802.3 in bit/s, as `ethtool` lists them.
ETHERNET_RATES = (
    10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9,
)  # fmt: skip

#: Data rate of one lane in bit/s after encoding, oldest first. InfiniBand Architecture
#: Specification Volume 2 Release 1.5: 8b/10b up to QDR, 64b/66b up to EDR, then 50 Gb/s and twice
#: that.
INFINIBAND_LANES = {
    "SDR": 2e9, "DDR": 4e9, "QDR": 8e9, "FDR10": 10e9, "FDR": 13.636e9, "EDR": 25e9, "HDR": 50e9,
    "NDR": 100e9, "XDR": 200e9,
}  # fmt: skip

#: Rates of Omni-Path (one to four lanes of OPA100; CN5000) and of Slingshot (10 and 11) in bit/s.
OMNI_PATH_RATES = (25e9, 50e9, 75e9, 100e9, 400e9)
SLINGSHOT_RATES = (100e9, 200e9, 400e9)

#: PCIe: giga-transfers per second of a lane by generation.
PCIE_GT_S = {"1.0": 2.5, "2.0": 5.0, "3.0": 8.0, "4.0": 16.0, "5.0": 32.0, "6.0": 64.0}
#: Widths of a link in lanes (PCI Express Base Specification).
PCIE_LANES = (1, 2, 4, 8, 16)
#: What adapters reach of a slot's data rate: 83 % (packets of 128 bytes, half of them beside flow
#: control) to 93 % (256 bytes). Neugebauer et al., "Understanding PCIe performance for end host
#: networking", SIGCOMM 2018: 50 Gb/s of 63 Gb/s and more for Gen 3 x8.
PCIE_SHARE = (0.79, 0.94)
#: A slot below this share of the link is in no server that the link is bought for.
LEAST_SLOT = 0.1

#: How near a figure must be to a row's rate, below and above.
NEAR = (0.93, 1.02)
#: A rate below this share of the nominal one is another rate.
LOWER = 0.98

#: What TCP carries over a fast fabric, MPI's one connection or a few, in bytes/s: published figures
#: are 0.17 GB/s (MPICH issue 6157) and 1.1 GB/s over IPoIB of QDR to 6 GB/s over 100 Gb/s.
TCP_BYTES_S = (0.15e9, 6.5e9)
#: From this rate on hosts may limit one program's TCP, which then reaches so many bytes/s.
#: Published: 3 to 40 Gb/s by one stream, 30 to 70 Gb/s by iperf3 before 3.16, whose streams share
#: one thread.
HOST_BIT_S = 10e9
PROGRAM_BYTES_S = (0.3e9, 9e9)
#: What verbs reach on 100 Gb/s of Omni-Path, whose adapter expects PSM2 or OPX, in bytes/s: 3.7 to
#: 6.6 GB/s beside 12.3 by PSM2 (UCX issue 3196).
VERBS_BYTES_S = (2e9, 8e9)
#: Payload of TCP by a link's rate: MTU 1500 with timestamps, and MTU 9000.
TCP_PAYLOAD = (1448 / 1538, 8948 / 9038)
#: Networks beside a fast one: management, storage.
BESIDE = (1e9, 10e9, 25e9, 40e9)
#: Small messages per second below which the kernel sends them, and above which an adapter does.
#: osu_bw over TCP sends 0.1 to 0.6 million of 1 byte a second, over verbs 1.5 to 20.
SLOW_RATE, FAST_RATE = 0.7e6, 1.2e6
#: The same of a ping-pong: seconds one way.
SLOW_S, FAST_S = 7e-6, 4e-6
SMALL_BYTES = 8


class Plateau(msgspec.Struct, frozen=True):
    """A known rate: payload between ``low`` and ``high`` bytes/s per direction."""

    kind: Kind
    name: str
    low: float
    high: float


def link_rates(network: Network) -> tuple[tuple[str, float], ...]:
    """Return the rates in bit/s that a link of this family can come up at, each with its name."""
    technology = network.technology
    if technology == "infiniband" or (technology == "ipoib" and "x " in network.link):
        return tuple(_infiniband_rates(network))
    if technology == "efa":
        return ()  # a cloud's adapter negotiates no rate
    rates = {"omni-path": OMNI_PATH_RATES, "slingshot": SLINGSHOT_RATES}.get(technology)
    if technology == "ipoib":
        rates = OMNI_PATH_RATES
    return tuple((figures.link_rate(rate), rate) for rate in rates or ETHERNET_RATES)


def _infiniband_rates(network: Network) -> Iterator[tuple[str, float]]:
    """Yield fewer lanes of the link's own speed, and four lanes of older ones, like rates once."""
    link_speed = network.link.partition(" ")[2].upper()
    names_by_rate: dict[float, list[str]] = {}
    for speed, lane_bit_s in INFINIBAND_LANES.items():
        is_possible = speed == link_speed or link_speed not in INFINIBAND_LANES
        for lanes in (1, 2, 4) if is_possible else (4,):
            names_by_rate.setdefault(lanes * lane_bit_s, []).append(f"{lanes}x {speed}")
        if speed == link_speed:
            break
    for rate, names in names_by_rate.items():
        yield f"{figures.link_rate(rate)} ({sentences.listed(names)})", rate


def plateaus(network: Network, payload_bytes_per_s: float) -> Iterator[Plateau]:
    """Yield known rates below the network's ceiling, which is the payload."""
    nominal = network.rate_bit_s
    if isinstance(nominal, Skipped):
        return
    links_bytes_per_s = payload_bytes_per_s / slot_share(network)
    for name, rate in link_rates(network):
        share = links_bytes_per_s * rate / nominal
        # A slot below both rates does not show which of them the link has.
        if rate < LOWER * nominal and share < LOWER * payload_bytes_per_s:
            yield Plateau("link", name, NEAR[0] * share, NEAR[1] * share)
    for rails in range(1, network.rails):
        share = rails / network.rails * payload_bytes_per_s
        name = f"{rails} of {network.rails} rails"
        yield Plateau("rail", name, NEAR[0] * share, NEAR[1] * share)
    if not network.host_link:
        yield from _slots(nominal * network.rails)
    if network.technology in OVER_TCP:
        if nominal >= HOST_BIT_S:
            yield Plateau("host", "TCP of one program", *PROGRAM_BYTES_S)
    else:
        if network.technology == "omni-path":
            yield Plateau("verbs", "verbs on Omni-Path (UCX, openib)", *VERBS_BYTES_S)
        yield Plateau("tcp", "TCP over the fast network (IPoIB)", *TCP_BYTES_S)
        for rate in (rate for rate in BESIDE if rate < nominal):
            low, high = (rate / 8 * share for share in TCP_PAYLOAD)
            name = f"TCP over another network of {figures.link_rate(rate)}"
            yield Plateau("network", name, NEAR[0] * low, NEAR[1] * high)


def _slots(nominal: float) -> Iterator[Plateau]:
    """Yield a row for slots of equal rates: 3.0 x16 is 4.0 x8."""
    slots_by_rate: dict[int, list[tuple[str, float]]] = {}
    for generation, gt_s in PCIE_GT_S.items():
        for lanes in PCIE_LANES:
            data = PcieLink(gt_s, lanes).data_bit_s
            if LEAST_SLOT * nominal <= data and PCIE_SHARE[0] * data < LOWER * nominal:
                slot = f"{generation} x{lanes}", data
                slots_by_rate.setdefault(round(math.log2(data / 2e9)), []).append(slot)
    for slots in slots_by_rate.values():
        low = min(data for _, data in slots) * PCIE_SHARE[0] / 8
        high = max(data for _, data in slots) * PCIE_SHARE[1] / 8
        yield Plateau("slot", f"PCIe {sentences.listed([name for name, _ in slots])}", low, high)


def carrier(series: Series) -> Literal["kernel", "adapter", ""]:
    """Return whether kernel or adapter sent small messages; empty if unknown."""
    foreign = series.foreign
    if foreign is not None and foreign.transport:
        return "kernel" if foreign.transport == "tcp" else "adapter"
    small = [
        point for point in series.points if 0 < point.message_bytes <= SMALL_BYTES and point.sized
    ]
    if not small:
        return ""
    if series.is_latency:
        best = min(point.time.value for point in small)
        return "kernel" if best >= SLOW_S else "adapter" if best <= FAST_S else ""
    rate = max(point.bandwidth.value / point.message_bytes for point in small)
    return "kernel" if rate <= SLOW_RATE else "adapter" if rate >= FAST_RATE else ""


def fitting(series: Series, network: Network, payload: float, figure: float) -> tuple[Plateau, ...]:
    """Return the rows that a figure fits; the sender of small messages excludes some."""
    sender = carrier(series)
    without: dict[str, tuple[Kind, ...]] = {
        "kernel": ("slot", "link") if network.technology not in OVER_TCP else (),
        "adapter": ("tcp", "network"),
        "": (),
    }
    rows = [
        plateau
        for plateau in plateaus(network, payload)
        if plateau.low <= figure <= plateau.high and plateau.kind not in without[sender]
    ]
    # An exact rate outranks the range of all that TCP reaches.
    has_exact_rate = any(plateau.kind in ("network", "link", "rail") for plateau in rows)
    return tuple(plateau for plateau in rows if plateau.kind != "tcp" or not has_exact_rate)
