"""Do echoes come back, over the right interface, in both directions, in time?"""

from collections import defaultdict
from collections.abc import Iterator

from fabricgauge.doctor.blame import Pair, blamed, concerns, pair, twins
from fabricgauge.doctor.places import ends
from fabricgauge.doctor.wording import duration, listed
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.preflight import Ping, Preflight

ID = "ping"
TITLE = "Small echoes come back over each network, none lost, none late"
WHY = "Each lost packet costs TCP milliseconds at least; where all are lost, MPI cannot start."

#: Echoes of at most so many bytes count; larger ones are for other checks.
SMALL_BYTES = 1000

#: A round trip is far above the others' when it is so many times their quartile and so much
#: longer: sleeping processors and interrupt moderation make some 0.1 ms of difference.
TIMES, EXCESS_S = 5.0, 0.5e-3

REMEDY = (
    "look at error counters of both ends (ethtool -S) and of the switch's ports, exchange cable and"
    " transceiver, then the port; where nothing comes back, look at firewall, address and VLAN"
)

#: Where a neighbour answers ARP and no echo, cable, switch and VLAN are sound.
FILTERED_WHY = (
    "What stops echoes may stop MPI's connections as well; and loss, MTU and rate of this network"
    " could not be tried."
)
FILTERED = (
    "let ICMP echoes pass, at least among the nodes (firewall rules; sysctl"
    " net.ipv4.icmp_echo_ignore_all=0); where a policy forbids it, fabricgauge check tries TCP"
)


def look(preflight: Preflight) -> tuple[Finding, ...] | Skipped:
    small = [ping for ping in preflight.pings if _counts(ping)]
    if not small:
        return Skipped(preflight.untried.get("ping", "no echo was sent"))
    places = {(end.network.name, end.seen.name): end.where for end in ends(preflight)}
    found: list[Finding] = []
    for network in dict.fromkeys(ping.network for ping in small):
        own = [ping for ping in small if ping.network == network]
        where = {node: place for (name, node), place in places.items() if name == network}
        found += [*_lost(network, own, where), *_late(network, own, where)]
    return tuple(found)


def _counts(ping: Ping) -> bool:
    return not ping.whole and ping.payload_bytes <= SMALL_BYTES and ping.sent > 0


def _by_pair(pings: list[Ping]) -> dict[Pair, list[Ping]]:
    found: dict[Pair, list[Ping]] = defaultdict(list)
    for ping in pings:
        found[pair(ping.source, ping.target)].append(ping)
    return found


def _lost(network: str, pings: list[Ping], where: dict[str, str]) -> Iterator[Finding]:
    pairs = _by_pair(pings)
    failed = {name: any(p.received < p.sent for p in own) for name, own in pairs.items()}
    for who in blamed(failed, twins(pings)):
        own = [
            ping
            for name, some in pairs.items()
            if failed[name] and concerns(who, name)
            for ping in some
        ]
        yield _loss(network, who, own, where)


def _loss(network: str, who: tuple[str, ...], own: list[Ping], where: dict[str, str]) -> Finding:
    sent, back = sum(p.sent for p in own), sum(p.received for p in own)
    told = (f"{back} of {sent} echoes came back", *(_told(ping) for ping in own))
    place = _where(who, where)
    if all(p.heard for p in own if p.received < p.sent):
        what = "answers no echo, though its link answers"
        return Finding(ID, Severity.WARN, place, what, told, FILTERED_WHY, FILTERED, who, network)
    what = "loses echoes" if back else "answers no echo"
    severity = Severity.WARN if sent - back == 1 else Severity.FAIL
    return Finding(ID, severity, place, what, told, WHY, REMEDY, who, network)


def _told(ping: Ping) -> str:
    words = f"; ping: {ping.told}" if ping.told and not ping.received else ""
    words += "; ARP or neighbour discovery was answered" * ping.heard
    return (
        f"{ping.source}:{ping.source_interface} ({ping.source_ip}) → {ping.target}"
        f" ({ping.target_ip}): {ping.received} of {ping.sent} came back{words}"
    )


def _where(who: tuple[str, ...], where: dict[str, str]) -> str:
    names = listed([where.get(node, node) for node in who])
    return names if len(who) == 1 else f"between {names}"


def _late(network: str, pings: list[Ping], where: dict[str, str]) -> Iterator[Finding]:
    times: dict[Pair, float] = {}
    for name, own in _by_pair(pings).items():
        known = [ping.rtt_s for ping in own if not isinstance(ping.rtt_s, Skipped)]
        if known:
            times[name] = min(known)
    if len(times) < 3:
        return  # nobody to compare with
    usual = sorted(times.values())[len(times) // 4]  # one of few nodes is in most pairs
    late = {name: t > TIMES * usual and t - usual > EXCESS_S for name, t in times.items()}
    for who in blamed(late):
        own_times = {n: t for n, t in times.items() if late[n] and concerns(who, n)}
        told = [f"{a} ↔ {b}: round trip {duration(t)}" for (a, b), t in own_times.items()]
        yield Finding(
            ID, Severity.WARN, _where(who, where), "echoes take far longer than the others'",
            (f"usual round trip in {network}: {duration(usual)}", *told), WHY,
            "look for a longer way (a switch too many, a router, a tunnel), for power saving and"
            " interrupt moderation (ethtool -c), and for other load on the node",
            who, network,
        )  # fmt: skip
