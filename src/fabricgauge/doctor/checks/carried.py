"""Do large echoes come back as fast as the network's rate lets them?

What a switch or a cable holds back shows nowhere on the node. A large echo is on each wire of
its way once there and once back, so what it takes beyond a small one is its size by the rate
(Jacobson, pathchar, 1997, uses the same difference). Hosts add to it: only a
great excess counts.
"""

from collections.abc import Iterator

from fabricgauge.doctor.check import Check, found
from fabricgauge.doctor.checks.echoes import Pair, blamed, concerns, pair
from fabricgauge.doctor.places import Cluster
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Ping
from fabricgauge.words.figures import duration, link_rate

#: Below this share of the rate, and of what the best pair shows, a pair is too slow.
SHARE = 0.5

#: Hosts delay an echo by interrupts, sleeping processors and other work: this much beyond what
#: the rate explains is theirs. Where there is no other pair to compare with, more.
HOST_S, ALONE_S = 0.3e-3, 1e-3

#: Octets that an IPv4 fragment has around its payload on Ethernet: 20 and 38.
IP_BYTES, FRAME_BYTES = 20, 38


#: By pair, what a large echo takes beyond a small one, one way, and its size.
Excess = dict[Pair, tuple[float, int]]


def _known(cluster: Cluster) -> list[tuple[Network, float, Excess]]:
    """The networks of known rate, in bit/s, that answered."""
    pings = cluster.preflight.pings
    return [
        (network, network.rate_bit_s, excess)
        for network in cluster.networks
        if not isinstance(network.rate_bit_s, Skipped)
        and (excess := _times(network, [one for one in pings if one.network == network.name]))
    ]


def _nothing(cluster: Cluster) -> str:
    if cluster.preflight.pings:
        return "no network of known rate answered large echoes"
    return cluster.preflight.untried.get("ping", "no echo was sent")


def _carried(cluster: Cluster, networks: list[tuple[Network, float, Excess]]) -> Iterator[Finding]:
    for network, rate_bit_s, excess in networks:
        slow = _slow(rate_bit_s, excess)
        for who in blamed({name: name in slow for name in excess}):
            own = {name: one for name, one in slow.items() if concerns(who, name)}
            worst = min(size * 8 / time_s for time_s, size in own.values())
            yield found(
                Severity.WARN, cluster.where(network.name, who),
                f"carries about {link_rate(worst)} of {link_rate(rate_bit_s)}, by the time of large"
                " echoes",
                *(f"{a} ↔ {b}: {size:,} octets take {duration(time_s)} one way;"
                  f" {link_rate(rate_bit_s)} would need {duration(size * 8 / rate_bit_s)}"
                  for (a, b), (time_s, size) in sorted(own.items())),
                nodes=who, network=network.name,
            )  # fmt: skip


def wire_bytes(mtu_bytes: int, payload_bytes: int) -> int:
    """An echo's octets on the wire, cut into fragments of an MTU."""
    fragments = -(-payload_bytes // max(1, mtu_bytes - IP_BYTES))
    return payload_bytes + fragments * (IP_BYTES + FRAME_BYTES)


def _times(network: Network, pings: list[Ping]) -> Excess:
    mtu_bytes = network.mtu_bytes if network.members else 0
    small: dict[Pair, float] = {}
    large: dict[Pair, tuple[float, int]] = {}
    for ping in pings:
        if isinstance(ping.rtt_s, Skipped) or ping.whole:
            continue
        name = pair(ping.source, ping.target)
        if ping.payload_bytes <= mtu_bytes:
            small[name] = min(small.get(name, ping.rtt_s), ping.rtt_s)
        else:
            one = (ping.rtt_s, wire_bytes(mtu_bytes, ping.payload_bytes))
            large[name] = min(large.get(name, one), one)
    return {
        name: (max(0.0, (rtt_s - small[name]) / 2), size)
        for name, (rtt_s, size) in large.items()
        if name in small
    }


def _slow(rate_bit_s: float, times: Excess) -> Excess:
    """Pairs whose large echoes need far longer than the rate explains and others need."""
    nominal = {name: size * 8 / rate_bit_s for name, (_, size) in times.items()}
    best_s = min(time_s for time_s, _ in times.values())
    margin_s = HOST_S if len(times) > 1 else ALONE_S
    return {
        name: (time_s, size)
        for name, (time_s, size) in times.items()
        if SHARE * time_s > nominal[name]
        and time_s - nominal[name] > margin_s
        and (len(times) == 1 or (SHARE * time_s > best_s and time_s - best_s > margin_s))
    }


CARRIED = Check(
    "carried",
    "Large echoes take no longer than the network's rate explains",
    "Something on the way carries less than its ends: bandwidth stays below the ceiling.",
    _known,
    _nothing,
    _carried,
    "compare the rates of both ends and of the switch's ports, look for policers there, and"
    " exchange the cable; measure it: fabricgauge check",
    reads=("echoes", "large"),
)
