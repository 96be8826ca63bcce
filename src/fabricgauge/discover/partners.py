"""Who tries whom: a few partners for each node, however many nodes there are; pure."""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from fabricgauge.discover.sections import is_address
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Member, Network
from fabricgauge.model.groups import grouped
from fabricgauge.model.preflight import TRIALS, Trial

#: Names and addresses that a node looks up: with more nodes, only its own and its partners'.
MOST_NAMES = 32

#: The longest name that the name service knows (RFC 1035, 2.3.4).
LONGEST_NAME = 255

#: Octets of an echo: a small one, and one that takes many packets at any usual MTU.
SMALL_BYTES, LARGE_BYTES = 56, 65000

#: Headers around an echo's payload: IP 20 or 40 octets (RFC 791, 8200), ICMP 8 (RFC 792, 4443).
HEADERS_BYTES = {4: 28, 6: 48}

#: How many echoes of each kind are sent.
SMALL_COUNT, WHOLE_COUNT, LARGE_COUNT = 5, 3, 4

#: Small echoes to the next node, and to every partner where some of the first were lost: of a pair
#: that loses 1 % each way, 500 echoes all come back in one of 20,000 trials.
MANY_COUNT, MANY_INTERVAL_S = 500, 0.01

SMALL: frozenset[Trial] = frozenset({"echoes"})

#: Between two other echoes of one ping; users who are not root may not send faster with iputils
#: before 2022 (ping(8)), which then send the many at this pace for as long.
INTERVAL_S = 0.2

#: Neighbours begin their large echoes one after another, so that they do not meet on a wire:
#: one of 65,000 octets takes 1 ms at 1 Gb/s, and they come every 200 ms.
PHASES, PHASE_S = 8, 0.025

#: When the large ones are over. They must not meet small ones that are counted: Linux answers
#: all echoes of a processor through one socket, and drops what exceeds its buffer (Linux 6.12,
#: net/ipv4/icmp.c, icmp_init: two packets of 64 KiB).
LARGE_S = 1.5


#: More large echoes follow where the quickest took longer than SLOW_TIMES the wire's time there and
#: back plus SLOW_S: other work on a node may delay all of a few echoes.
SLOW_TIMES, SLOW_S, SLOW_COUNT = 2.0, 0.5e-3, 12


class Echo(msgspec.Struct, frozen=True):
    """Echoes that one node is to send another one in a network; sizes in octets of payload."""

    network: str
    source: str
    interface: str
    source_ip: str
    target: str
    target_ip: str
    payload_bytes: int
    whole: bool
    count: int
    after_s: float = 0.0
    interval_s: float = INTERVAL_S


class NodeTrial(msgspec.Struct, frozen=True):
    """All that one node is to try."""

    echoes: tuple[Echo, ...]
    names: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """The positional parameters of trials.sh, without its first two."""
        pings = (
            ("ping", str(echo.count), f"{echo.interval_s:g}", str(echo.payload_bytes),
             str(int(echo.whole)), f"{echo.after_s:g}", echo.source_ip, echo.target_ip)
            for echo in self.echoes
        )  # fmt: skip
        names = (("name", name) for name in self.names)
        addresses = (("address", ip) for ip in self.addresses)
        return [word for words in (*pings, *names, *addresses) for word in words]


def trials(
    fabric: Fabric, networks: tuple[Network, ...], wanted: Collection[Trial] = TRIALS
) -> dict[str, NodeTrial]:
    """By node, what it is to try over ``networks``, of the trials that are ``wanted``."""
    echoes: dict[str, list[Echo]] = {node.name: [] for node in fabric.nodes}
    for network, rail in _rails(networks):
        for echo in _echoes(network, rail, wanted):
            echoes[echo.source].append(echo)
    if "names" not in wanted:
        return {node: NodeTrial(tuple(some), ()) for node, some in echoes.items()}
    names = tuple(node.name for node in fabric.nodes if is_name(node.name))
    ips = tuple(dict.fromkeys(one.ip for network in networks for one in network.members))
    found: dict[str, NodeTrial] = {}
    for node, some in echoes.items():
        own_names = filter(is_name, (node, *(echo.target for echo in some)))
        own_ips = (ip for echo in some for ip in (echo.source_ip, echo.target_ip))
        found[node] = NodeTrial(tuple(some), _few(names, own_names), _few(ips, own_ips))
    return found


def second_trials(
    networks: tuple[Network, ...],
    lossy: Iterable[tuple[str, str, str]],
    names: Mapping[str, tuple[str, ...]],
    wanted: Collection[Trial] = TRIALS,
) -> dict[str, NodeTrial]:
    """By node, what it tries afterwards: large echoes, and small ones where some were lost.

    ``lossy`` are the network, source and target address of pings that lost echoes. Both ends
    try all their partners again, which shows whose fault it is. ``names`` are what each node
    looks up as well.
    """
    again = {(network, ip) for network, source, target in lossy for ip in (source, target)}
    echoes: dict[str, list[Echo]] = {}
    for network, rail in _rails(networks):
        for echo in _large(network, rail) if "large" in wanted else ():
            echoes.setdefault(echo.source, []).append(echo)
        for echo in _echoes(network, rail, SMALL):
            if again & {(echo.network, echo.source_ip), (echo.network, echo.target_ip)}:
                echoes.setdefault(echo.source, []).append(_many(echo, LARGE_S))
    return {
        node: NodeTrial(tuple(echoes.get(node, ())), names.get(node, ()))
        for node in dict.fromkeys((*echoes, *names))
        if node in echoes or names[node]
    }


def slow_trials(
    networks: tuple[Network, ...], round_trips_s: Mapping[tuple[str, str, str], float]
) -> dict[str, NodeTrial]:
    """By node, the large echoes that it sends again; ``round_trips_s`` are those of the first by
    network, source and target address."""
    found: dict[str, list[Echo]] = {}
    for network, rail in _rails(networks):
        if isinstance(network.rate_bit_s, Skipped):
            continue
        slow_s = SLOW_TIMES * 2 * LARGE_BYTES * 8 / network.rate_bit_s + SLOW_S
        for echo in _large(network, rail):
            way = echo.network, echo.source_ip, echo.target_ip
            if round_trips_s.get(way, 0.0) > slow_s:
                more = msgspec.structs.replace(echo, count=SLOW_COUNT)
                found.setdefault(echo.source, []).append(more)
    return {node: NodeTrial(tuple(echoes), ()) for node, echoes in found.items()}


def _rails(networks: Iterable[Network]) -> Iterator[tuple[Network, list[Member]]]:
    """The first interface of each node in a network, then the second ones, …"""
    for network in networks:
        by_node = grouped(network.members, lambda one: one.node)
        for rail in range(max(map(len, by_node.values()), default=0)):
            members = [some[rail] for some in by_node.values() if len(some) > rail]
            if len(members) > 1:
                yield network, members


def _echoes(network: Network, ring: list[Member], wanted: Collection[Trial]) -> Iterator[Echo]:
    """To the next one, the one before, and the one across: small ones, and ones that fill a packet
    of the smaller MTU."""
    size = len(ring)
    steps = [step for step in dict.fromkeys((1 % size, (size - 1) % size, size // 2)) if step]
    for place, member in enumerate(ring):
        headers_bytes = HEADERS_BYTES[ipaddress.ip_address(member.ip).version]
        for nearness, step in enumerate(steps):
            other = ring[(place + step) % size]
            if other.ip == member.ip:
                continue
            if "echoes" in wanted:
                small = _echo(network, member, other, SMALL_BYTES, False, SMALL_COUNT)
                yield _many(small) if "losses" in wanted and not nearness else small
            if "wholes" in wanted:
                whole = max(0, min(member.mtu_bytes, other.mtu_bytes) - headers_bytes)
                yield _echo(network, member, other, whole, True, WHOLE_COUNT)


def _many(echo: Echo, after_s: float = 0.0) -> Echo:
    return msgspec.structs.replace(
        echo, count=MANY_COUNT, interval_s=MANY_INTERVAL_S, after_s=after_s
    )


def _large(network: Network, ring: list[Member]) -> Iterator[Echo]:
    """To the next one only: two that send to one node at once would wait for each other."""
    for place, member in enumerate(ring):
        other = ring[(place + 1) % len(ring)]
        if other.ip != member.ip:
            after_s = place % PHASES * PHASE_S
            yield _echo(network, member, other, LARGE_BYTES, False, LARGE_COUNT, after_s)


def _echo(
    network: Network, member: Member, other: Member, payload_bytes: int, whole: bool,
    count: int, after_s: float = 0.0,
) -> Echo:  # fmt: skip
    return Echo(
        network.name, member.node, member.interface, member.ip, other.node, other.ip,
        payload_bytes, whole, count, after_s,
    )  # fmt: skip


def is_name(text: str) -> bool:
    """Whether it can be looked up: no address, and nothing that getent takes for an option.

    ``_gateway`` and ``_outbound`` mean something else on each node (nss-myhostname(8)).
    """
    if text.startswith(("-", "_")) or not 0 < len(text) <= LONGEST_NAME or "\0" in text:
        return False
    return not is_address(text)


def _few(every: tuple[str, ...], own: Iterable[str]) -> tuple[str, ...]:
    """All, or of many a node's own."""
    return every if len(every) <= MOST_NAMES else tuple(dict.fromkeys(own))[:MOST_NAMES]
