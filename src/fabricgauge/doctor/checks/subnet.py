"""What printouts of counters and of a whole InfiniBand subnet tell: errors so far, links below what
both ends support; pure.

Counters count since they were cleared or the driver was loaded: how long that is nobody tells. So a
port is held against others, and no rate of errors is given.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median_low

import msgspec

from fabricgauge.doctor.check import Check, found
from fabricgauge.doctor.checks.rates import CABLE, NEAR
from fabricgauge.doctor.places import Cluster, usual
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.subnet import SubnetLink, SubnetPort
from fabricgauge.words.figures import link_rate
from fabricgauge.words.port_counters import kind_of

#: Fewer errors since nobody knows when are chance: a link is specified to have one bit of 10^12
#: wrong, which at 100 Gb/s is one in ten seconds without forward error correction.
LEAST_ERRORS = 100

#: A link that went down or was trained anew this often does so by itself: nodes and switches are
#: started again now and then.
LEAST_DOWN = 20
_DOWN = ("down", "recovery")

#: A port stands out with this many times what the middle one of its like has.
TIMES_OTHERS = 10

#: The largest value of a counter of the standard, at which it stays (InfiniBand Architecture
#: Specification Volume 1, 16.1.3.5, PortCounters: 16, 8 and 4 bits).
FULL = {
    "SymbolErrorCounter": 65535, "LinkErrorRecoveryCounter": 255, "LinkDownedCounter": 255,
    "PortRcvErrors": 65535, "PortRcvRemotePhysicalErrors": 65535, "PortXmitDiscards": 65535,
    "LocalLinkIntegrityErrors": 15, "ExcessiveBufferOverrunErrors": 15, "VL15Dropped": 65535,
}  # fmt: skip

#: A switch drops multicast packets that would go back where they came from; it is no error
#: (ibqueryerrors(8) leaves it out by default in its own list of thresholds).
_SOUND = frozenset({"PortRcvSwitchRelayErrors"})


class CountedPort(msgspec.Struct, frozen=True):
    """A port with its counters of errors and drops; ``like`` names those it is held against."""

    where: str
    node: str
    like: tuple[str, ...]
    counters: dict[str, int]

    def of(self, kind: str) -> dict[str, int]:
        return {n: v for n, v in self.counters.items() if n not in _SOUND and kind_of(n) == kind}


def _counted(cluster: Cluster) -> list[CountedPort]:
    """Ports of nodes by their facts; ports of the subnet, of which those without errors are not
    listed and count none."""
    places: list[CountedPort] = []
    for number, group in enumerate(cluster.alike):
        for seen in group:
            for name, text in seen.facts.items():
                if name.startswith(FACT):
                    port = name.removeprefix(FACT)
                    like = ("node", str(number), port)
                    places.append(
                        CountedPort(f"{seen.name}:{port}", seen.name, like, _numbers(text))
                    )
    return places


#: The fact of ``ethtool -S``, ``mlxlink -c``: ``counters of ens1``.
FACT = "counters of "


def _numbers(text: str) -> dict[str, int]:
    pairs = (word.rpartition("=") for word in text.split())
    return {name: int(value) for name, _, value in pairs if name and value.isdecimal()}


Named = Callable[[SubnetPort], tuple[str, str]]


def naming(cluster: Cluster) -> Named:
    """What to call a port of the subnet, and its node: ``n2:mlx5_0:1`` and ``n2``; of a switch its
    own words, and no node."""
    by_guid: dict[str, tuple[str, str]] = {}
    by_name: dict[tuple[str, str], tuple[str, str]] = {}
    hosts: dict[str, str] = {}
    for seen in cluster.nodes:
        hosts |= {seen.node.hostname or seen.name: seen.name, seen.name: seen.name}
        for one in seen.inventory.rdma_ports:
            told = (f"{seen.name}:{one.name}", seen.name)
            by_guid.setdefault(one.guid if isinstance(one.guid, str) else "", told)
            by_name[seen.name, one.name] = told

    def named(port: SubnetPort) -> tuple[str, str]:
        if port.guid and port.guid in by_guid:
            return by_guid[port.guid]
        host, _, device = port.description.partition(" ")
        node = hosts.get(host, "") if device else ""
        return by_name.get((node, f"{device}:{port.number}"), (port.name, node))

    return named


def _errors(cluster: Cluster, _: object) -> Iterator[Finding]:
    for like in grouped(_counted(cluster), lambda one: one.like).values():
        middle = _middle(like)
        bad = [one for one in like if _above(one, {}, "errors")]
        for one in like:
            worse, severity = _above(one, middle, "errors"), Severity.WARN
            if not worse:
                worse, severity = _above(one, middle, "drops"), Severity.NOTE
            if worse:
                yield _finding(one, worse, severity, len(like) - 1)
        if len(like) > 1 and 2 * len(bad) > len(like):
            yield _everywhere(bad)
    named = naming(cluster)
    for of in cluster.preflight.subnet.errors:
        where, node = named(of.port)
        port = CountedPort(where, node, (), of.counters)
        if worse := _above(port, {}, "errors"):
            yield _finding(port, worse, Severity.WARN, 0)


def _everywhere(bad: Sequence[CountedPort]) -> Finding:
    """Errors that most like ports have counted: none stands out, and all may be in trouble."""
    told = (f"{one.where}: {', '.join(f'{n} {v:,}' for n, v in one.of('errors').items())}"
            for one in bad)  # fmt: skip
    return found(
        Severity.NOTE, f"{bad[0].like[-1]} of {len(bad):,} nodes",
        "has counted errors on most nodes", *told, nodes=[one.node for one in bad],
    )  # fmt: skip


def _middle(like: Sequence[CountedPort]) -> dict[str, int]:
    """Of each counter what the middle port has, the lower one of two."""
    names = {name for one in like for name in one.counters}
    return {name: median_low([one.counters.get(name, 0) for one in like]) for name in names}


def _above(one: CountedPort, middle: Mapping[str, int], kind: str) -> dict[str, int]:
    """The counters that stand out: above what may be chance, and far above the middle port's."""
    worse = {}
    for name, value in one.of(kind).items():
        least = LEAST_DOWN if any(word in name.lower() for word in _DOWN) else LEAST_ERRORS
        many = value >= least or value >= FULL.get(name, value + 1)
        if many and value > TIMES_OTHERS * middle.get(name, 0):
            worse[name] = value
    return worse


def _finding(one: CountedPort, worse: Mapping[str, int], severity: Severity, peers: int) -> Finding:
    name, value = max(worse.items(), key=lambda pair: pair[1])
    full = any(worse[n] >= FULL.get(n, worse[n] + 1) for n in worse)
    others = f", like ports of {peers} nodes have far fewer" if peers else ""
    what = f"has counted {value:,} {name}{others}"
    told = ", ".join(f"{n} {v:,}{' (full)' * (v >= FULL.get(n, v + 1))}" for n, v in worse.items())
    drops = kind_of(name) == "drops"
    return found(
        severity, one.where, what, f"{one.where}: {told}",
        *(["a counter that is full counts no further"] if full else []),
        remedy=DROPPED if drops else ERRORS, nodes=(one.node,) if one.node else (),
    )  # fmt: skip


ERRORS = (
    "clear the counters or note them, wait, and read them again: if they rise, exchange cable and"
    " transceiver, then the port; look at the counters of the other end as well"
)
DROPPED = (
    "read them again under load: if they rise, the port's buffers run over (pause or PFC is off,"
    " the node cannot keep up, or its PCI Express link is too slow)"
)

PORT_ERRORS = Check(
    "port-errors",
    "No port has counted many more errors than ports like it",
    "Each bad frame is sent again: latency jumps and bandwidth falls; a link that goes down and up"
    " breaks jobs.",
    lambda cluster: [*_counted(cluster), *cluster.preflight.subnet.read & {"errors"}],
    "no printout of ethtool -S, mlxlink -c or ibqueryerrors is at hand",
    _errors,
    ERRORS,
)


def _links(cluster: Cluster, links: Sequence[SubnetLink]) -> Iterator[Finding]:
    """Each link once, named by the end that is a node's where one is."""
    named = naming(cluster)
    every = {
        frozenset({(one.port.description, one.port.number), (one.peer.description, one.peer.number)}
                  ): one
        for one in sorted(links, key=lambda one: bool(named(one.port)[1]))
    }  # fmt: skip
    below = [one for one in every.values() if one.rate_bit_s < NEAR * one.rate_supported_bit_s]
    common = usual((one.lanes, one.lane_bit_s) for one in below)
    by_design = 2 * len(below) > len(every)
    for one in below:
        yield _below(named, one, by_design and (one.lanes, one.lane_bit_s) == common)


def _below(named: Named, one: SubnetLink, by_design: bool) -> Finding:
    """Half of the lanes at full speed is what a split cable leaves (HDR100, NDR200)."""
    where, node = named(one.port)
    peer, _ = named(one.peer)
    split = one.lanes * 2 == one.lanes_supported and one.lane_bit_s >= one.lane_bit_s_supported
    severity = Severity.WARN if split else Severity.FAIL
    remedy = SPLIT if split else CABLE
    if by_design:
        severity, remedy = Severity.NOTE, DESIGN
    has, could = (
        _name(one.lanes, one.lane_bit_s),
        _name(one.lanes_supported, one.lane_bit_s_supported),
    )
    return found(
        severity, where, f"its link to {peer} runs at {has}, both ends support {could}",
        f"{where} ↔ {peer}: {has}, could be {could}", remedy=remedy,
        nodes=(node,) if node else (),
    )  # fmt: skip


def _name(lanes: int, lane_bit_s: float) -> str:
    return f"{lanes} lane{'s' * (lanes != 1)} of {link_rate(lane_bit_s)}"


SPLIT = f"none, if a cable splits the switch's port; else {CABLE}"
DESIGN = (
    "none, if cables or the switch's ports were bought so: most links are alike; else exchange the"
    " cables for ones of the speed that both ends support"
)

SUBNET_LINKS = Check(
    "subnet-links",
    "Every link of the InfiniBand subnet runs as fast as both its ends can",
    "Each lane that is missing takes its share of the bandwidth; a slow link between switches slows"
    " all pairs whose route crosses it.",
    lambda cluster: cluster.preflight.subnet.links,
    "no printout of iblinkinfo is at hand",
    _links,
    CABLE,
)
