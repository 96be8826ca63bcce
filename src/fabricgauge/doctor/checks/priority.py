"""Have RoCE ports one traffic class, and is its priority one with PFC? pure.

An adapter derives the priority on the wire from the DSCP, the upper six bits of the traffic class.
"""

from collections.abc import Iterator

from fabricgauge.doctor.check import Check, each, found
from fabricgauge.doctor.places import Cluster, Port, unusual
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Priorities
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.words.sentences import listed

LOSSLESS = (
    "have PFC on for the priority of the traffic class (dcb pfc set dev INTERFACE prio-pfc"
    " PRIORITY:on), or set a traffic class of a priority with PFC; switches must have the same"
)


class MarkedPort(Port, frozen=True, kw_only=True):
    """A RoCE port in a network of ports; ``known`` are the settings that are compared."""

    marks: Priorities
    known: dict[str, str]

    @property
    def told(self) -> str:
        return f"{self.where}: {', '.join(' '.join(one) for one in self.known.items())}"


def _ports(cluster: Cluster) -> tuple[tuple[MarkedPort, ...], ...]:
    """Ports with a known setting, by network and rail: rails may be set up for different things."""
    groups = (
        tuple(
            MarkedPort(one.seen, one.port, one.net, marks=marks, known=known)
            for one in ports
            if isinstance(marks := one.port.priorities, Priorities) and (known := _known(marks))
        )
        for ports in cluster.joined_ports(by_rail=True)
    )
    return tuple(filter(None, groups))


def _known(marks: Priorities) -> dict[str, str]:
    pfc = marks.pfc if isinstance(marks.pfc, Skipped) else _numbers(marks.pfc) or "none"
    every = {
        "traffic class": marks.traffic_class, "default TOS of rdma_cm": marks.cm_tos,
        "priorities with PFC": pfc,
    }  # fmt: skip
    return {what: str(one) for what, one in every.items() if not isinstance(one, Skipped)}


def _numbers(priorities: tuple[int, ...]) -> str:
    return listed([str(one) for one in priorities])


def _look(ports: tuple[MarkedPort, ...]) -> Iterator[Finding]:
    for what in dict.fromkeys(what for one in ports for what in one.known):
        yield from _unlike(what, [one for one in ports if what in one.known])
    for one in ports:
        yield from _lossy(one)


def _unlike(what: str, ports: list[MarkedPort]) -> Iterator[Finding]:
    common, odd = unusual({one.where: one.known[what] for one in ports})
    like = [one.told for one in ports if one.where not in odd][:1]
    for one in (one for one in ports if one.where in odd):
        sentence = f"has {what} {one.known[what]}, the others have {common}"
        if isinstance(common, Skipped):
            sentence = f"ports differ in {what}: {'; '.join(sorted(set(odd.values())))}"
        yield found(Severity.WARN, one, sentence, one.told, *like)


def _lossy(one: MarkedPort) -> Iterator[Finding]:
    sent, pfc = one.marks.traffic_class, one.marks.pfc
    if not isinstance(sent, int) or isinstance(pfc, Skipped) or not pfc:
        return
    dscp = sent >> 2
    at = one.marks.of(dscp)
    if at and not set(at) & set(pfc):
        way = f"traffic class {sent} → DSCP {dscp} → priority {_numbers(at)}"
        by = "dcb's dscp-prio" if one.marks.mapped else f"{dscp} >> 3, without dscp-prio"
        yield found(
            Severity.WARN, one, f"{way} has no PFC; {_numbers(pfc)} has",
            f"{one.told}; priority by {by}", remedy=LOSSLESS,
        )  # fmt: skip


PRIORITY = Check(
    "priority",
    "RoCE ports have one traffic class, of a priority with PFC",
    "Packets outside of the lossless priority are dropped where a switch is full: messages are sent"
    " again, and all that wait for that node are slow.",
    _ports,
    "no RoCE port tells its traffic class or priorities",
    each(_look),
    "set it as on the other ports, now and at boot: traffic class in"
    " /sys/class/infiniband/DEVICE/tc/PORT/traffic_class, default TOS by cma_roce_tos, PFC by dcb"
    " pfc set or mlnx_qos",
)
