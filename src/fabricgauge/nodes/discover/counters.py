"""Interface counters and processor times of all nodes at one moment, as counters.sh prints them.

Fields of ``/proc/stat`` are those of proc_stat(5). The data counters of a port are converted to
octets, as in the engine.
"""

import time
from collections.abc import Sequence
from contextlib import closing

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import CannotRun, ProbeError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import NO_LINK, InterfaceCounters, LinkReading
from fabricgauge.model.words.port_counters import octets_per_unit
from fabricgauge.nodes.discover.probe import ask_nodes

TIMEOUT_S = 15.0


#: Ticks since boot of one processor, or of all of them together.
ProcessorTimes = tuple[int, ...]


class CounterReading(msgspec.Struct, frozen=True):
    """One node's counters at one moment; the first of ``processors`` is their sum.

    ``waited_s`` is how long some process has waited for a processor since boot (pressure
    stall information, Linux 4.20 and later), ``uptime_s`` the time since boot. ``absent`` are
    interfaces whose counters could not be read, with the reason. ``read_utc_s`` is when the
    answer came, in seconds since 1970 by this machine's clock. ``ports`` are the counters of
    adapters' ports under the kernel's names.
    """

    interfaces: dict[str, InterfaceCounters]
    absent: dict[str, str]
    processors: tuple[ProcessorTimes, ...]
    waited_s: float | Skipped
    uptime_s: float
    read_utc_s: float = 0.0
    ports: dict[str, dict[str, int]] = {}

    def compute_rises(self, after: "CounterReading") -> dict[str, dict[str, int]]:
        """Return by how much each port's counters rose, in the engine's form.

        Of a port without the standard's octets, counters that did not rise are included.
        """
        return {
            port: {
                name: value - before
                for name, value in counters.items()
                if (before := self.ports[port].get(name)) is not None
                and (before < value or (before == value and port not in after.interfaces))
            }
            for port, counters in after.ports.items()
            if port in self.ports
        }


def read_counters(access: HostAccess, nodes: tuple[str, ...]) -> dict[str, CounterReading]:
    """Read the counters of all nodes at once, each on the node itself.

    Raises:
        CannotRun: a node cannot be asked, so the path could not be proved.
        ProbeError: a node's answer is not understood.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    counters: dict[str, CounterReading] = {}
    with closing(ask_nodes(hosts, TIMEOUT_S, "counters.sh")) as answers:
        for answer in answers:
            if answer.trouble:
                raise CannotRun(f"no counters, so no path proof: {answer.trouble}")
            parsed = parse_counters(answer.node, answer.raw)
            counters[answer.node] = msgspec.structs.replace(parsed, read_utc_s=time.time())
    return counters


NO_PRESSURE = Skipped("/proc/pressure/cpu could not be read; Linux 4.20 with psi=1 has it")
NO_COUNTER = Skipped("the kernel has no such counter for this interface")
NO_TICKS = Skipped("/proc/stat lists no processor")
#: counters.sh prints this for a counter that it cannot read.
_UNREAD = "-"
#: Counts that counters.sh prints after the state and rate of a link.
_LINKS = {"net": ("carrier_changes",), "port": ("link_downed", "link_error_recovery")}
_RATE_UNITS = {"net": 1e6, "port": 1e9}
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 3, 4, 6, 7
_FIELDS = 8


class Shares(msgspec.Struct, frozen=True):
    """The use of a node's processors between two moments, each 0 to 1 of all of them.

    ``busiest_softirq`` is the share of the one processor that spent most in bottom halves.
    ``waited_s`` of ``wall_s`` some process was ready to run and had no processor.
    """

    idle: float | Skipped
    softirq: float | Skipped
    steal: float | Skipped
    busiest_softirq: float | Skipped
    waited_s: float | Skipped
    wall_s: float


def parse_counters(node: str, raw: str) -> CounterReading:
    """Read the counters of one node.

    Raises:
        ProbeError: a line is not in the form of counters.sh, or its end is missing.
    """
    interfaces: dict[str, InterfaceCounters] = {}
    absent: dict[str, str] = {}
    processors: list[ProcessorTimes] = []
    ports: dict[str, dict[str, int]] = {}
    uptime_s = 0.0
    waited_s: float | Skipped = NO_PRESSURE
    for number, line in enumerate(raw.splitlines(), 1):
        words = line.split()
        try:
            if words[:1] == ["end"]:
                return CounterReading(
                    interfaces, absent, tuple(processors), waited_s, uptime_s, ports=ports
                )
            if words[:1] in (["net"], ["port"]):
                if _UNREAD in words[2:6]:
                    absent[words[1]] = "its octets or packets could not be read"
                else:
                    unit = octets_per_unit(ports.get(words[1], ())) if words[0] == "port" else 1
                    interfaces[words[1]] = _parse_interface(words, unit)
            elif words[:1] == ["names"]:
                pairs = (word.rpartition("=") for word in words[2:])
                ports[words[1]] = {
                    name: int(value) for name, _, value in pairs if name != "lifespan"
                }
            elif words[:1] == ["pressure"]:
                waited_s = float(words[1]) / 1e6
            elif words[:1] == ["uptime"]:
                uptime_s = float(words[1])
            elif words and words[0].startswith("cpu"):
                processors.append(tuple(map(int, words[1 : 1 + _FIELDS])))
        except (IndexError, ValueError, TypeError) as error:
            raise ProbeError(
                f"{node}: line {number} of its counters is not understood: {line[:80]!r}"
            ) from error
    raise ProbeError(f"{node}: its counters are cut off: their last line is missing")


def _parse_interface(words: Sequence[str], unit: int) -> InterfaceCounters:
    """``unit`` is the number of octets that its data counters count as one."""
    kind, name, *values = words
    rx_data, tx_data, rx_packets, tx_packets = map(int, values[:4])
    rx_errors, tx_errors, rx_dropped, tx_dropped = map(_parse_counter, values[4:8])
    return InterfaceCounters(
        rx_data * unit, tx_data * unit, rx_packets, tx_packets, rx_errors, tx_errors, rx_dropped,
        tx_dropped, NO_LINK if name == "lo" else _parse_link(kind, values[8:]),
    )  # fmt: skip


def _parse_counter(word: str) -> int | Skipped:
    return NO_COUNTER if word == _UNREAD else int(word)


def _parse_link(kind: str, words: Sequence[str]) -> LinkReading:
    """The driver does not know a rate of -1 (sysfs-class-net)."""
    state, rate, *counts = words
    is_known = rate != _UNREAD and float(rate) > 0
    return LinkReading(
        state=NO_COUNTER if state == _UNREAD else state,
        speed_bit_s=float(rate) * _RATE_UNITS[kind] if is_known else Skipped("it reports no rate"),
        counts=dict(zip(_LINKS[kind], map(_parse_counter, counts), strict=True)),
    )


def compute_shares(before: CounterReading, after: CounterReading) -> Shares:
    """Return the use of the processors between two readings."""
    wall_s, waited_s = after.uptime_s - before.uptime_s, after.waited_s
    if isinstance(waited_s, Skipped) or isinstance(before.waited_s, Skipped):
        waited_s = NO_PRESSURE
    else:
        waited_s -= before.waited_s
    ticks = [
        [max(0, end - start) for start, end in zip(times_before, times_after, strict=False)]
        for times_before, times_after in zip(before.processors, after.processors, strict=False)
    ]
    if not ticks:
        return Shares(NO_TICKS, NO_TICKS, NO_TICKS, NO_TICKS, waited_s, wall_s)
    total = ticks[0]
    return Shares(
        _compute_share(total, _IDLE) + _compute_share(total, _IOWAIT),
        _compute_share(total, _SOFTIRQ), _compute_share(total, _STEAL),
        max(_compute_share(processor, _SOFTIRQ) for processor in ticks[1:] or ticks),
        waited_s, wall_s,
    )  # fmt: skip


def _compute_share(ticks: Sequence[int], field: int) -> float:
    total = sum(ticks)
    return ticks[field] / total if total and field < len(ticks) else 0.0
