"""Do RoCE ports have one traffic class, with a priority that has PFC? pure.

An adapter derives the priority on the wire from the DSCP, the upper six bits of the traffic class.
"""

from collections.abc import Iterator

from fabricgauge.doctor.checks import Check, examine_separately, make_finding
from fabricgauge.doctor.places import Cluster, Port, find_outliers
from fabricgauge.model.absence import Skipped
from fabricgauge.model.adapter import Priorities
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.words.sentences import listed

LOSSLESS = (
    "switch PFC on for the priority of the traffic class (dcb pfc set dev INTERFACE prio-pfc"
    " PRIORITY:on), or set a traffic class of a priority with PFC; switches must have the same"
)


class MarkedPort(Port, frozen=True, kw_only=True):
    """A RoCE port in a network of ports; ``settings`` are the known settings to compare."""

    marks: Priorities
    settings: dict[str, str]

    @property
    def description(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return f"{self.label}: {settings}"


def _group_ports(cluster: Cluster) -> tuple[tuple[MarkedPort, ...], ...]:
    """Return ports with a known setting, by network and rail: rails may have different uses."""
    groups = (
        tuple(
            MarkedPort(port.node, port.port, port.network_name, marks=marks, settings=settings)
            for port in ports
            if isinstance(marks := port.port.priorities, Priorities)
            and (settings := _list_settings(marks))
        )
        for ports in cluster.group_joined_ports(by_rail=True)
    )
    return tuple(filter(None, groups))


def _list_settings(marks: Priorities) -> dict[str, str]:
    pfc = marks.pfc if isinstance(marks.pfc, Skipped) else _list_numbers(marks.pfc) or "none"
    settings = {
        "traffic class": marks.traffic_class, "default TOS of rdma_cm": marks.cm_tos,
        "priorities with PFC": pfc,
    }  # fmt: skip
    return {name: str(value) for name, value in settings.items() if not isinstance(value, Skipped)}


def _list_numbers(priorities: tuple[int, ...]) -> str:
    return listed([str(priority) for priority in priorities])


def _examine_ports(ports: tuple[MarkedPort, ...]) -> Iterator[Finding]:
    for setting in dict.fromkeys(setting for port in ports for setting in port.settings):
        yield from _compare_setting(setting, [port for port in ports if setting in port.settings])
    for port in ports:
        yield from _examine_priority(port)


def _compare_setting(setting: str, ports: list[MarkedPort]) -> Iterator[Finding]:
    common, outliers = find_outliers({port.label: port.settings[setting] for port in ports})
    examples = [port.description for port in ports if port.label not in outliers][:1]
    for port in (port for port in ports if port.label in outliers):
        summary = f"has {setting} {port.settings[setting]}, the other ports have {common}"
        if isinstance(common, Skipped):
            values = "; ".join(sorted(set(outliers.values())))
            summary = f"differs from the other ports in {setting}: {values}"
        yield make_finding(Severity.WARN, port, summary, port.description, *examples)


def _examine_priority(port: MarkedPort) -> Iterator[Finding]:
    traffic_class, pfc = port.marks.traffic_class, port.marks.pfc
    if not isinstance(traffic_class, int) or isinstance(pfc, Skipped) or not pfc:
        return
    dscp = traffic_class >> 2
    priorities = port.marks.find_priorities(dscp)
    if priorities and not set(priorities) & set(pfc):
        source = "dcb's dscp-prio" if port.marks.mapped else f"{dscp} >> 3, without dscp-prio"
        yield make_finding(
            Severity.WARN, port,
            f"sends traffic class {traffic_class} → DSCP {dscp} → priority"
            f" {_list_numbers(priorities)} without PFC; priority {_list_numbers(pfc)} has PFC",
            f"{port.description}; priority by {source}", remedy=LOSSLESS,
        )  # fmt: skip


PRIORITY = Check(
    "priority",
    "RoCE ports have one traffic class, with a priority that has PFC",
    "Packets outside of the lossless priority are dropped when a switch is full: messages are sent"
    " again, and all ranks that wait for that node are slow.",
    _group_ports,
    "no RoCE port reports its traffic class or priorities",
    examine_separately(_examine_ports),
    "set it as on the other ports, now and at boot: traffic class in"
    " /sys/class/infiniband/DEVICE/tc/PORT/traffic_class, default TOS by cma_roce_tos, PFC by dcb"
    " pfc set or mlnx_qos",
)
