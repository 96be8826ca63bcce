"""Find links that went away, came back or retrained while a run was measured, and when."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from fabricgauge.judge.stats.series import node_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Network, is_adapter_port
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters
from fabricgauge.model.run import Launch

#: Counters of a link that went down or came up: nothing crosses while it is down. The other
#: counter, ``link_error_recovery``, is a link that retrained and stayed up.
AWAY = ("carrier_changes", "link_downed")

#: A port flaps if it lost its link or got it back this many times: three outages.
FLAPPED = 6

#: Two readings further apart do not belong together: a run was resumed between them.
MOST_GAP_S = 300.0


class LinkEvent(msgspec.Struct, frozen=True):
    """A counter of a link that rose by ``count`` between two readings.

    ``began_utc_s`` and ``ended_utc_s`` are their times by the node's clock, since 1970. ``case``
    ran in between; it is empty between two cases.
    """

    node: str
    interface: str
    counter: str
    count: int
    began_utc_s: float
    ended_utc_s: float
    case: str

    @property
    def away(self) -> bool:
        """Check whether the link was gone, not only retrained."""
        return self.counter in AWAY

    def is_of(self, network: Network, fabric: Fabric) -> bool:
        """Check whether it is one of the node's rails, or the port below IP over InfiniBand."""
        names = {member.interface for member in network.rails_of(self.node)}
        node = fabric.node(self.node)
        if self.interface in names or network.technology != "ipoib" or isinstance(node, Skipped):
            return self.interface in names
        names.update(*map(node.below, names.copy()))
        port = next((port for port in node.rdma_ports if port.name == self.interface), None)
        if port is not None and isinstance(port.interface, str):
            return port.interface in names
        # Linux does not name an InfiniBand port's interface, only those of its PCI function.
        adapter = node.adapter_of(self.interface)
        adapter_interfaces = () if isinstance(adapter, Skipped) else adapter.interfaces
        return is_adapter_port(self.interface) and not names.isdisjoint(adapter_interfaces)


class FlapWatch:
    """Counts, while a launch runs, how often each port of its network went away or came back."""

    def __init__(self, network: Network, fabric: Fabric, nodes: Sequence[str]) -> None:
        self._network, self._fabric, self._nodes = network, fabric, nodes
        self._last: _Last = {}
        self._times: Counter[tuple[str, str]] = Counter()

    def saw(self, record: Measurement) -> None:
        """Add a record of the launch; records come in their order."""
        for counters in record.counters:
            node = self._nodes[counters.rank]
            for event in _find_events(self._last, node, (), counters, record.case):
                if event.away and event.is_of(self._network, self._fabric):
                    self._times[event.node, event.interface] += event.count

    def flapping(self) -> dict[str, str]:
        """Return a sentence by node if a single port flapped often enough, else nothing."""
        if len(self._times) != 1:
            return {}
        [((node, interface), times)] = self._times.items()
        if times < FLAPPED:
            return {}
        return {node: f"{interface} lost its link or got it back {times} times"}


def link_events(launches: Iterable[Launch]) -> tuple[LinkEvent, ...]:
    """Return events in the order of their readings: in cases, between them, between launches.

    Changes after a broken launch are in its ``changes``; the next launch begins anew then.
    """
    last: _Last = {}
    events: list[LinkEvent] = []
    for launch in launches:
        kernels = {
            placement.rank: (placement.boot_id, placement.net_namespace)
            for placement in launch.placements
        }
        readings = [(case.case, case.counters) for case in launch.measurements]
        if launch.around:
            readings.append((launch.program, launch.around.counters))
        for case, nodes_counters in readings:
            for counters in nodes_counters:
                node, kernel = node_of(launch, counters.rank), kernels.get(counters.rank, ())
                events += _find_events(last, node, kernel, counters, case)
        if launch.ended.changes:
            last.clear()
    return tuple(events)


#: Time and value by node, identity of kernel and network namespace, interface and counter.
_Last = dict[tuple[str, tuple[str, ...], str, str], tuple[float, int]]


def _find_events(
    last: _Last, node: str, kernel: tuple[str, ...], counters: NodeCounters, case: str
) -> Iterator[LinkEvent]:
    """Yield counters that rose before or in a case; none if the times of reading are unknown."""
    moments = zip((counters.before, counters.after), counters.read_utc_s, ("", case), strict=False)
    for interfaces, ended, running_case in moments:
        for interface, counter, count in _list_counts(interfaces):
            key = (node, kernel, interface, counter)
            # A counter that fell was reset: the interface was created anew.
            began, first = last.get(key, (ended, count))
            last[key] = ended, count
            if count > first and (running_case or ended - began <= MOST_GAP_S):
                yield LinkEvent(node, interface, counter, count - first, began, ended, running_case)


def _list_counts(interfaces: Mapping[str, InterfaceCounters]) -> Iterator[tuple[str, str, int]]:
    for name, counters in sorted(interfaces.items()):
        counts = {} if isinstance(counters.link, Skipped) else counters.link.counts
        for counter, count in counts.items():
            if not isinstance(count, Skipped):
                yield name, counter, count
