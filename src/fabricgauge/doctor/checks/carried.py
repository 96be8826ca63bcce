"""Do large echoes come back as fast as the network's rate allows?

A limit in a switch or a cable is visible on no node. A large echo crosses each wire once in each
direction: its extra time over a small echo is its size divided by the rate (Jacobson, pathchar,
1997, uses the same difference). Hosts add time: only a large excess counts.
"""

from collections.abc import Iterator

from fabricgauge.doctor.checks import Check, make_finding
from fabricgauge.doctor.checks.echoes import Pair, find_culprits, involves, make_pair
from fabricgauge.doctor.places import Cluster
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Network
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Ping
from fabricgauge.model.words.figures import duration, link_rate

#: A pair is too slow below this share of the rate and of the best pair's rate.
MIN_SHARE = 0.5

#: Excess over the wire's time that interrupts, sleeping processors and other work may cause; more
#: if there is no other pair to compare with.
HOST_S, SINGLE_PAIR_S = 0.3e-3, 1e-3

#: Octets that an IPv4 fragment has around its payload on Ethernet: 20 and 38.
IP_BYTES, FRAME_BYTES = 20, 38


#: By pair, the extra time of a large echo over a small one, one way, and its size.
Excess = dict[Pair, tuple[float, int]]


def _find_networks(cluster: Cluster) -> list[tuple[Network, float, Excess]]:
    """Return the networks of known rate, in bit/s, that answered."""
    pings = group_by(cluster.preflight.pings, lambda ping: ping.network)
    return [
        (network, network.rate_bit_s, excess)
        for network in cluster.networks
        if not isinstance(network.rate_bit_s, Skipped)
        and (excess := _compute_excess(network, pings.get(network.name, ())))
    ]


def _examine_networks(
    cluster: Cluster, networks: list[tuple[Network, float, Excess]]
) -> Iterator[Finding]:
    for network, rate_bit_s, excess in networks:
        slow = _find_slow_pairs(rate_bit_s, excess)
        for nodes in find_culprits({pair: pair in slow for pair in excess}):
            slow_pairs = {pair: time for pair, time in slow.items() if involves(nodes, pair)}
            lowest = min(size * 8 / time_s for time_s, size in slow_pairs.values())
            yield make_finding(
                Severity.WARN, cluster.name_nodes(network.name, nodes),
                f"carries about {link_rate(lowest)} of {link_rate(rate_bit_s)}, as the time of"
                f" large echoes shows (WARN below {100 * MIN_SHARE:g} %)",
                *(f"{a} ↔ {b}: {size:,} octets take {duration(time_s)} one way;"
                  f" {link_rate(rate_bit_s)} would need {duration(size * 8 / rate_bit_s)}"
                  for (a, b), (time_s, size) in sorted(slow_pairs.items())),
                nodes=nodes, network=network.name,
            )  # fmt: skip


def compute_wire_bytes(mtu_bytes: int, payload_bytes: int) -> int:
    """Return an echo's octets on the wire when it is cut into fragments of an MTU."""
    fragments = -(-payload_bytes // max(1, mtu_bytes - IP_BYTES))
    return payload_bytes + fragments * (IP_BYTES + FRAME_BYTES)


def _compute_excess(network: Network, pings: tuple[Ping, ...]) -> Excess:
    mtu_bytes = network.mtu_bytes if network.members else 0
    small: dict[Pair, float] = {}
    large: dict[Pair, tuple[float, int]] = {}
    for ping in pings:
        if isinstance(ping.rtt_s, Skipped) or ping.whole:
            continue
        pair = make_pair(ping.source, ping.target)
        if ping.payload_bytes <= mtu_bytes:
            small[pair] = min(small.get(pair, ping.rtt_s), ping.rtt_s)
        else:
            echo = (ping.rtt_s, compute_wire_bytes(mtu_bytes, ping.payload_bytes))
            large[pair] = min(large.get(pair, echo), echo)
    return {
        pair: (max(0.0, (rtt_s - small[pair]) / 2), size)
        for pair, (rtt_s, size) in large.items()
        if pair in small
    }


def _find_slow_pairs(rate_bit_s: float, excess: Excess) -> Excess:
    """Return the pairs that need far longer than the rate explains and than the best pair."""
    nominal = {pair: size * 8 / rate_bit_s for pair, (_, size) in excess.items()}
    best_s = min(time_s for time_s, _ in excess.values())
    margin_s = HOST_S if len(excess) > 1 else SINGLE_PAIR_S
    return {
        pair: (time_s, size)
        for pair, (time_s, size) in excess.items()
        if MIN_SHARE * time_s > nominal[pair]
        and time_s - nominal[pair] > margin_s
        and (len(excess) == 1 or (MIN_SHARE * time_s > best_s and time_s - best_s > margin_s))
    }


CARRIED = Check(
    "carried",
    "Large echoes take no longer than the network's rate explains",
    "Something on the path carries less than its ends: bandwidth stays below the ceiling.",
    _find_networks,
    lambda cluster: (
        "no network of known rate answered large echoes"
        if cluster.preflight.pings
        else cluster.preflight.untried.get("ping", "no echo was sent")
    ),
    _examine_networks,
    "compare the rates of both ends and of the switch's ports, look for policers on the switch, and"
    " exchange the cable; measure the rate: fabricgauge check",
    trials=("echoes", "large"),
)
