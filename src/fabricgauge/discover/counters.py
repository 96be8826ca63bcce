"""Interface counters and processor times of all nodes at one moment, as counters.sh prints them.

Fields of ``/proc/stat`` are those of proc_stat(5). InfiniBand's data counters count words
of 4 octets (InfiniBand Architecture Specification, PortCounters); as the engine does, these
are handed on as octets.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing

import msgspec

from fabricgauge.discover.probe import answers
from fabricgauge.model.errors import CannotRun, ProbeError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.measurement import InterfaceCounters

TIMEOUT_S = 15.0


class ProcessorTimes(msgspec.Struct, frozen=True):
    """Ticks since boot of one processor, or of all of them together."""

    ticks: tuple[int, ...]


class Counted(msgspec.Struct, frozen=True):
    """One node's counters at one moment; the first of ``processors`` is their sum.

    ``waited_s`` is how long some process has waited for a processor since boot (pressure
    stall information, Linux 4.20 and later; 0 without), ``uptime_s`` the time since boot.
    """

    interfaces: dict[str, InterfaceCounters]
    processors: tuple[ProcessorTimes, ...]
    waited_s: float = 0.0
    uptime_s: float = 0.0


def counters(access: HostAccess, nodes: tuple[str, ...]) -> dict[str, Counted]:
    """By node; each is read where it is, all at once.

    Raises:
        CannotRun: a node cannot be asked, so the path could not be proved.
        ProbeError: a node's answer is not understood.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    found: dict[str, Counted] = {}
    with closing(answers(hosts, TIMEOUT_S, "counters.sh")) as arriving:
        for answer in arriving:
            if answer.trouble:
                raise CannotRun(f"no counters, so no path proof: {answer.trouble}")
            found[answer.node] = parse_counters(answer.node, answer.raw)
    return found


WORD_BYTES = 4
_USER, _IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 0, 3, 4, 6, 7
_FIELDS = 8


class Shares(msgspec.Struct, frozen=True):
    """What a node's processors did between two moments, each 0 to 1 of all of them.

    ``busiest_softirq`` is of the one processor that spent most in bottom halves. ``waited_s``
    of ``wall_s`` some process was ready to run and had no processor.
    """

    idle: float
    softirq: float
    steal: float
    busiest_softirq: float
    waited_s: float
    wall_s: float


def parse_counters(node: str, raw: str) -> Counted:
    """The counters of one node.

    Raises:
        ProbeError: a line is not what counters.sh prints, or its end is missing.
    """
    interfaces: dict[str, InterfaceCounters] = {}
    processors: list[ProcessorTimes] = []
    times = {"pressure": 0.0, "uptime": 0.0}
    for number, line in enumerate(raw.splitlines(), 1):
        words = line.split()
        try:
            if words[:1] == ["end"]:
                waited_s = times["pressure"] / 1e6
                return Counted(interfaces, tuple(processors), waited_s, times["uptime"])
            if words[:1] in (["net"], ["port"]):
                interfaces[words[1]] = _interface(words)
            elif words and words[0] in times:
                times[words[0]] = float(words[1])
            elif words and words[0].startswith("cpu"):
                processors.append(ProcessorTimes(tuple(map(int, words[1 : 1 + _FIELDS]))))
        except (IndexError, ValueError, TypeError) as error:
            raise ProbeError(
                f"{node}: line {number} of its counters is not understood: {line[:80]!r}"
            ) from error
    raise ProbeError(f"{node}: its counters are cut off: their last line is missing")


def _interface(words: Sequence[str]) -> InterfaceCounters:
    values = [int(word) for word in words[2:]]
    if words[0] == "port":
        values[:2] = [values[0] * WORD_BYTES, values[1] * WORD_BYTES]
    return InterfaceCounters(*values)


def shares(before: Counted, after: Counted) -> Shares:
    """What the processors did in between."""
    each = list(_differences(before, after))
    waited_s, wall_s = after.waited_s - before.waited_s, after.uptime_s - before.uptime_s
    if not each:
        return Shares(1.0, 0.0, 0.0, 0.0, waited_s, wall_s)
    total = each[0]
    return Shares(
        _share(total, _IDLE) + _share(total, _IOWAIT), _share(total, _SOFTIRQ),
        _share(total, _STEAL), max(_share(one, _SOFTIRQ) for one in each[1:] or each),
        waited_s, wall_s,
    )  # fmt: skip


def _differences(before: Counted, after: Counted) -> Iterator[tuple[int, ...]]:
    for one, other in zip(before.processors, after.processors, strict=False):
        yield tuple(max(0, b - a) for a, b in zip(one.ticks, other.ticks, strict=False))


def _share(ticks: tuple[int, ...], field: int) -> float:
    total = sum(ticks)
    return ticks[field] / total if total and field < len(ticks) else 0.0
