"""Choose a few partners for each node of any number, and plan its trials; pure."""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Member, Network
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import TRIALS, Trial
from fabricgauge.nodes.discover.sections import is_address

#: Names and addresses that a node looks up: with more nodes, only its own and its partners'.
MAX_NAMES = 32

#: The longest name of the name service (RFC 1035, 2.3.4).
LONGEST_NAME = 255

#: Octets of an echo: a small one, and one that takes many packets at any usual MTU.
SMALL_BYTES, LARGE_BYTES = 56, 65000

#: Headers around an echo's payload: IP 20 or 40 octets (RFC 791, 8200), ICMP 8 (RFC 792, 4443).
HEADERS_BYTES = {4: 28, 6: 48}

#: Number of echoes of each kind.
SMALL_COUNT, WHOLE_COUNT, LARGE_COUNT = 5, 3, 4

#: Small echoes to the next node, and to every partner if some of the first were lost: if a pair
#: loses 1 % in each direction, 500 echoes all come back in one of 20,000 trials.
MANY_COUNT, MANY_INTERVAL_S = 500, 0.01

SMALL: frozenset[Trial] = frozenset({"echoes"})

#: Between two other echoes of one ping; users who are not root may not send faster with iputils
#: before 2022 (ping(8)), which then send many echoes at this pace for the same time.
INTERVAL_S = 0.2

#: Neighbours begin their large echoes one after another, so that they do not meet on a wire:
#: one of 65,000 octets takes 1 ms at 1 Gb/s, and they come every 200 ms.
PHASES, PHASE_S = 8, 0.025

#: End of the large echoes. They must not meet small ones that are counted: Linux answers
#: all echoes of a processor through one socket, and drops what exceeds its buffer (Linux 6.12,
#: net/ipv4/icmp.c, icmp_init: two packets of 64 KiB).
LARGE_S = 1.5


#: More large echoes follow if the quickest took longer than SLOW_FACTOR times the wire's time there
#: and back plus SLOW_S: other work on a node may delay all of a few echoes.
SLOW_FACTOR, SLOW_S, SLOW_COUNT = 2.0, 0.5e-3, 12


class Echo(msgspec.Struct, frozen=True):
    """Echoes that one node is to send to another in a network; sizes in octets of payload."""

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
    """All trials of one node."""

    echoes: tuple[Echo, ...]
    names: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    def list_words(self) -> list[str]:
        """Return the positional parameters of trials.sh, without its first two."""
        pings = (
            ("ping", str(echo.count), f"{echo.interval_s:g}", str(echo.payload_bytes),
             str(int(echo.whole)), f"{echo.after_s:g}", echo.source_ip, echo.target_ip)
            for echo in self.echoes
        )  # fmt: skip
        names = (("name", name) for name in self.names)
        addresses = (("address", ip) for ip in self.addresses)
        return [word for words in (*pings, *names, *addresses) for word in words]


def plan_trials(
    fabric: Fabric, networks: tuple[Network, ...], selected: Collection[Trial] = TRIALS
) -> dict[str, NodeTrial]:
    """Return by node its ``selected`` trials over ``networks``."""
    echoes: dict[str, list[Echo]] = {node.name: [] for node in fabric.nodes}
    for network, rail in _list_rails(networks):
        for echo in _plan_small_echoes(network, rail, selected):
            echoes[echo.source].append(echo)
    trials = {node: NodeTrial(tuple(node_echoes), ()) for node, node_echoes in echoes.items()}
    names = tuple(node.name for node in fabric.nodes if is_name(node.name))
    ips = tuple(dict.fromkeys(member.ip for network in networks for member in network.members))
    for node, node_echoes in echoes.items() if "names" in selected else ():
        near_names = filter(is_name, (node, *(echo.target for echo in node_echoes)))
        near_ips = (ip for echo in node_echoes for ip in (echo.source_ip, echo.target_ip))
        trials[node] = NodeTrial(
            tuple(node_echoes), _limit_names(names, near_names), _limit_names(ips, near_ips)
        )
    return trials


def plan_second_trials(
    networks: tuple[Network, ...],
    lossy: Iterable[tuple[str, str, str]],
    names: Mapping[str, tuple[str, ...]],
    selected: Collection[Trial] = TRIALS,
) -> dict[str, NodeTrial]:
    """Return by node its second trials: large echoes, and small ones after losses.

    ``lossy`` are the network, source and target address of pings that lost echoes. Both ends
    try all their partners again, which shows the culprit. ``names`` are further names for each
    node to look up.
    """
    lossy_ips = {(network, ip) for network, source, target in lossy for ip in (source, target)}
    echoes: dict[str, list[Echo]] = {}
    for network, rail in _list_rails(networks):
        for echo in _plan_large_echoes(network, rail) if "large" in selected else ():
            echoes.setdefault(echo.source, []).append(echo)
        for echo in _plan_small_echoes(network, rail, SMALL):
            if lossy_ips & {(echo.network, echo.source_ip), (echo.network, echo.target_ip)}:
                echoes.setdefault(echo.source, []).append(_multiply(echo, LARGE_S))
    return {
        node: NodeTrial(tuple(echoes.get(node, ())), names.get(node, ()))
        for node in dict.fromkeys((*echoes, *names))
        if node in echoes or names[node]
    }


def plan_slow_trials(
    networks: tuple[Network, ...], round_trips_s: Mapping[tuple[str, str, str], float]
) -> dict[str, NodeTrial]:
    """Return by node the large echoes to repeat, because the first were slow.

    ``round_trips_s`` are those of the first by network, source and target address.
    """
    echoes: dict[str, list[Echo]] = {}
    for network, rail in _list_rails(networks):
        if isinstance(network.rate_bit_s, Skipped):
            continue
        slow_s = SLOW_FACTOR * 2 * LARGE_BYTES * 8 / network.rate_bit_s + SLOW_S
        for echo in _plan_large_echoes(network, rail):
            path = echo.network, echo.source_ip, echo.target_ip
            if round_trips_s.get(path, 0.0) > slow_s:
                repeated = msgspec.structs.replace(echo, count=SLOW_COUNT)
                echoes.setdefault(echo.source, []).append(repeated)
    return {node: NodeTrial(tuple(node_echoes), ()) for node, node_echoes in echoes.items()}


def _list_rails(networks: Iterable[Network]) -> Iterator[tuple[Network, list[Member]]]:
    """Yield the first interface of each node in a network, then the second ones, …"""
    for network in networks:
        by_node = group_by(network.members, lambda member: member.node)
        for rail in range(max(map(len, by_node.values()), default=0)):
            members = [
                node_members[rail] for node_members in by_node.values() if len(node_members) > rail
            ]
            if len(members) > 1:
                yield network, members


def _plan_small_echoes(
    network: Network, ring: list[Member], selected: Collection[Trial]
) -> Iterator[Echo]:
    """Yield echoes to the next node, the one before, and the one across.

    They are small ones, and ones that fill a packet of the smaller MTU.
    """
    size = len(ring)
    steps = [step for step in dict.fromkeys((1 % size, (size - 1) % size, size // 2)) if step]
    for index, member in enumerate(ring):
        headers_bytes = HEADERS_BYTES[ipaddress.ip_address(member.ip).version]
        for step_index, step in enumerate(steps):
            target = ring[(index + step) % size]
            if target.ip == member.ip:
                continue
            if "echoes" in selected:
                small = _make_echo(network, member, target, SMALL_BYTES, False, SMALL_COUNT)
                yield _multiply(small) if "losses" in selected and not step_index else small
            if "wholes" in selected:
                full_bytes = max(0, min(member.mtu_bytes, target.mtu_bytes) - headers_bytes)
                yield _make_echo(network, member, target, full_bytes, True, WHOLE_COUNT)


def _multiply(echo: Echo, after_s: float = 0.0) -> Echo:
    return msgspec.structs.replace(
        echo, count=MANY_COUNT, interval_s=MANY_INTERVAL_S, after_s=after_s
    )


def _plan_large_echoes(network: Network, ring: list[Member]) -> Iterator[Echo]:
    """Yield echoes to the next node only: two senders to one node would wait for each other."""
    for index, member in enumerate(ring):
        target = ring[(index + 1) % len(ring)]
        if target.ip != member.ip:
            after_s = index % PHASES * PHASE_S
            yield _make_echo(network, member, target, LARGE_BYTES, False, LARGE_COUNT, after_s)


def _make_echo(
    network: Network, source: Member, target: Member, payload_bytes: int, is_whole: bool,
    count: int, after_s: float = 0.0,
) -> Echo:  # fmt: skip
    return Echo(
        network.name, source.node, source.interface, source.ip, target.node, target.ip,
        payload_bytes, is_whole, count, after_s,
    )  # fmt: skip


def is_name(text: str) -> bool:
    """Check for a name that can be looked up: no address, and no option for getent.

    ``_gateway`` and ``_outbound`` mean a different address on each node (nss-myhostname(8)).
    """
    if text.startswith(("-", "_")) or not 0 < len(text) <= LONGEST_NAME or "\0" in text:
        return False
    return not is_address(text)


def _limit_names(names: tuple[str, ...], near_names: Iterable[str]) -> tuple[str, ...]:
    """Return all names, or if they are many only those of the node and its partners."""
    return names if len(names) <= MAX_NAMES else tuple(dict.fromkeys(near_names))[:MAX_NAMES]
