"""The output of another suite: one curve per benchmark and quantity, in SI units.

Suites such as OSU, IMB, perftest and iperf3 print tables. A table with a column of times and one of
bandwidths becomes two curves; further columns on the same figure (minimum, percentiles) stay with
it.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.host_access import unify_hosts
from fabricgauge.model.inventory import Gpu, GpuLink
from fabricgauge.model.nccl import SUITES as NCCL_SUITES
from fabricgauge.model.nccl import NcclEvidence
from fabricgauge.model.pattern import PAIR_PATTERNS, Pattern

Quantity = Literal["time", "bandwidth", "message_rate", "bus_bandwidth", "overlap"]

#: Units by quantity. Overlap is a share, 0 to 1.
UNITS: dict[Quantity, str] = {
    "time": "s",
    "bandwidth": "bytes/s",
    "message_rate": "messages/s",
    "bus_bandwidth": "bytes/s",
    "overlap": "share",
}

#: Quantities for which less is better; for all other quantities more is better.
LESS_IS_BETTER: frozenset[Quantity] = frozenset({"time"})

#: The statistic of a figure over its samples. ``single``: one sample, or unknown.
Statistic = Literal["mean", "median", "typical", "minimum", "maximum", "single"]

#: Further statistics of a point that a log may have, each in the curve's unit.
Besides = Literal[
    "minimum", "maximum", "mean", "median", "typical", "deviation",
    "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "peak",
]  # fmt: skip

#: The reason for a missing figure. ``corrupt``: the suite detected wrong data. ``waived``: the
#: suite skipped the test because it does not apply to this machine.
Trouble = Literal[
    "corrupt", "timeout", "memory", "not a number", "cut off", "repeated", "waived", "other",
]  # fmt: skip


#: Benchmarks whose first half of ranks meets the second: rank i and i + pairs (osu_mbw_mr.c and
#: osu_multi_lat.c of OSU 7.4; Uniband and Biband in the guide of IMB 2021).
_PAIRED_BY_HALVES = frozenset({"osu_mbw_mr", "osu_multi_lat", "Uniband", "Biband"})

#: Measured facts next to a table: they are results, not settings that distinguish two runs.
RESULTS = frozenset({
    "average bus bandwidth", "retransmits", "lost", "dropped messages", "duplicated messages",
    "send errors", "silent streams",
    "congestion impact factor",
    "sum of all cells", "topology creation", "its own min", "its own max", "its own avg",
    "slowest pair", "fastest pair", "slowest hundredth",
})  # fmt: skip


class SuitePoint(msgspec.Struct, frozen=True, gc=False):
    """One row: the figure at one message size, and its line in the file.

    ``message_bytes`` is None if the benchmark has no size (a barrier) or the size of a headline
    figure is unknown. ``estimate`` has ``confidence`` 0 and three equal numbers if only a mean is
    known, ``samples`` 0 if the count is unknown.
    """

    message_bytes: int | None
    estimate: Estimate
    line: int
    besides: dict[Besides, float] = {}


class Failure(msgspec.Struct, frozen=True):
    """A row without a usable figure. ``message_bytes`` as in ``SuitePoint``."""

    message_bytes: int | None
    line: int
    trouble: Trouble
    text: str


class VerbsEnd(msgspec.Struct, frozen=True):
    """One end of an RDMA connection as perftest prints it.

    ``lid`` is its port's, 0 over Ethernet; ``gid`` are 16 numbers with colons between, or empty.
    """

    lid: int
    gid: str = ""


#: Payload of a TCP segment at an MTU of 1500 with timestamps; a smaller MTU needs more segments.
SEGMENT_BYTES = 1448


class LogLosses(msgspec.Struct, frozen=True):
    """Losses in a log: ``count`` of ``sent`` datagrams lost, or TCP segments sent again.

    ``repeated`` datagrams arrived twice. For TCP ``sent`` is 0, since suites do not print the
    number of segments: it is ``sent_bytes`` divided by the payload of a segment.
    """

    count: int
    sent: int = 0
    sent_bytes: float = 0.0
    repeated: int = 0

    @property
    def over_tcp(self) -> bool:
        return not self.sent

    def find_share(self, payload_bytes: int = SEGMENT_BYTES) -> float:
        """Return the share of what was sent; ``payload_bytes`` are those of a TCP segment."""
        sent = self.sent or self.sent_bytes / payload_bytes
        return max(self.count, self.repeated) / sent if sent > 0 else 0.0


#: Prefixes of names that only one technology has: libfabric's providers (fi_psm2(7), fi_opx(7),
#: fi_cxi(7), fi_efa(7) of 1.20) and RDMA devices (Linux' hfi1 and efa drivers).
_TECHNOLOGIES = {
    "psm2": "omni-path", "opx": "omni-path", "hfi1": "omni-path", "cxi": "slingshot", "efa": "efa",
}  # fmt: skip


#: The meaning of a message next to a table: TCP carried the messages; a fast transport could not be
#: used; a command or variable requested TCP, or only shared memory; the library connected ranks of
#: one node, or of two; the run failed; the host's clock or frequency is unreliable.
MessageKind = Literal[
    "tcp", "fallback", "asked", "memory", "local", "remote", "broken", "clock",
]  # fmt: skip


class LogMessage(msgspec.Struct, frozen=True):
    """A line next to a table that names a transport, an error or a state of the host."""

    kind: MessageKind
    line: int
    text: str


class RankPairs(msgspec.Struct, frozen=True):
    """A matrix of one quantity, in the unit of its curve.

    ``values`` are (ranks, ranks), row by row: from each rank to each rank, 0 if not measured. Each
    pair was measured alone, or ``at_once`` with others, which may share its links.
    """

    ranks: int
    values: tuple[float, ...]
    at_once: bool = False


class GpuTopology(msgspec.Struct, frozen=True):
    """One node's GPUs and links by nvidia-smi or rocm-smi; ``source`` names the files read."""

    source: str
    gpus: tuple[Gpu, ...]
    links: tuple[GpuLink, ...]


class GpuPairs(msgspec.Struct, frozen=True):
    """A matrix of bytes/s between GPUs, one copy at a time, as nvbandwidth numbers them.

    A row is the sending GPU, a column the receiving GPU; None was not measured. With ``host``, the
    copies are between each GPU and the host's memory, in one row: ``to`` or ``from`` the GPUs.
    ``buses`` are the GPUs' PCI addresses by number (``00000000:1b:00``), ``products`` the product
    names of the node's GPUs; both are empty if the log lacks them.
    """

    bytes_per_s: tuple[tuple[float | None, ...], ...]
    buses: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    topology: GpuTopology | None = None
    host: Literal["", "to", "from"] = ""


class LogEvidence(msgspec.Struct, frozen=True):
    """A log's facts on its hosts, network and transport; empty if the log lacks them.

    ``rank_hosts`` are the hosts of all ranks by rank, at least two and complete: a repeated name is
    one node (Intel MPI's start-up table, Open MPI's bindings, NetPIPE, nccl-tests). ``addresses``
    are the IP addresses of the local and the remote end (iperf). ``verbs_ends`` are the local and
    the remote end (perftest): equal ends are one port. ``rank_nodes`` are the nodes of all ranks,
    by name or number, as the options of the log's ``command`` determine them, or without a command
    the latencies of all pairs; both are empty if neither does. ``command_hosts`` are the hosts that
    a command names, used or not. ``link_type`` is ``Ethernet`` or
    ``IB``, ``mtu_bytes`` the RDMA connection's, ``devices`` are adapters or accelerators by name,
    ``provider`` is libfabric's or NCCL's name of the transport, ``library`` the MPI or NCCL with
    its version. ``data_checked`` is true if the suite compared the received data with the sent
    data; wrong data are failures.
    ``nccl`` is NCCL's or RCCL's report on its transports, ``gpu_pairs`` the matrix of nvbandwidth
    between GPUs of a node, ``rank_pairs`` those between all ranks. ``losses`` are the data that its
    transport lost or sent again, ``intervals`` seconds and bytes/s of each report within the test
    (iperf). ``messages`` are lines of the MPI, its libraries or the
    suite that name a transport, an error or the host.
    """

    rank_hosts: tuple[str, ...] = ()
    rank_nodes: tuple[str, ...] = ()
    command: str = ""
    command_hosts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    verbs_ends: tuple[VerbsEnd, ...] = ()
    link_type: str = ""
    mtu_bytes: int | None = None
    devices: tuple[str, ...] = ()
    provider: str = ""
    library: str = ""
    data_checked: bool = False
    nccl: NcclEvidence | None = None
    gpu_pairs: GpuPairs | None = None
    rank_pairs: RankPairs | None = None
    losses: LogLosses | None = None
    intervals: tuple[tuple[float, float], ...] = ()
    messages: tuple[LogMessage, ...] = ()

    @property
    def technology(self) -> tuple[str, str]:
        """A provider or device of only one technology, and the technology; else both empty."""
        for name in (self.provider, *self.devices):
            for prefix, technology in _TECHNOLOGIES.items():
                if name.startswith(prefix):
                    return name, technology
        return "", ""

    @property
    def same_end_reason(self) -> str:
        """The proof that both ends are the same port or address; empty if the log has none."""
        verbs = self.verbs_ends
        if len(verbs) == 2 and verbs[0] == verbs[1] and (verbs[0].lid or verbs[0].gid):
            port = f"GID {verbs[0].gid}" if verbs[0].gid else f"LID {verbs[0].lid:#x}"
            return f"local and remote port have {port}"
        if len(self.addresses) == 2 and len(set(self.addresses)) == 1:
            return f"both ends have the address {self.addresses[0]}"
        return ""


class SuiteHeading(msgspec.Struct, frozen=True):
    """Facts above a table that hold for all its curves.

    ``suite`` and ``benchmark`` are the usual names (``osu``, ``imb``, ``perftest``;
    ``osu_put_bw``, ``PingPong``, ``ib_write_lat``), ``title`` is the output's heading. A figure is
    the sum over ``pairs`` of ranks; ``ranks`` is None if unknown. ``transport`` is ``tcp`` or
    ``rdma`` if the log names it, else empty. ``settings`` are facts of the heading that belong to
    the figures (window, datatype, device, MTU); ``hosts`` are the hosts in the log, in the order of
    ranks. ``evidence`` are the log's facts on nodes and network, for the rules.
    """

    suite: str
    version: str
    benchmark: str
    title: str
    first_line: int
    pairs: int = 1
    ranks: int | None = None
    transport: Literal["tcp", "rdma", ""] = ""
    settings: dict[str, str] = {}
    hosts: tuple[str, ...] = ()
    evidence: LogEvidence = LogEvidence()


class SuiteCurve(SuiteHeading, frozen=True, kw_only=True, tag_field="record", tag="suite_curve"):
    """One quantity of one benchmark over message sizes, from one output.

    ``what`` describes a figure (``half round trip``, ``one-way stream``). ``pattern`` is the
    engine's pattern that moves the same bytes in the same way, None if none does. The figure is the
    sum over ``directions`` too. ``unit_rule`` is the meaning of the printed unit, e.g. ``MB = 10^6
    bytes (OSU)``. Bytes moved between ``origin`` and ``target`` (ranks; 0 for a client, 1 for its
    server). ``cut_off`` is empty for a complete table, else the sign that its end is missing.
    ``source`` is the file or the reference of the curve.
    """

    what: str
    quantity: Quantity
    statistic: Statistic
    unit_rule: str
    last_line: int
    points: tuple[SuitePoint, ...]
    pattern: Pattern | None = None
    directions: int = 1
    origin: int = 0
    target: int = 1
    failures: tuple[Failure, ...] = ()
    cut_off: str = ""
    source: str = ""

    @property
    def place(self) -> str:
        """``FILE:LINE`` of its table."""
        return f"{self.source}:{self.first_line}"

    @property
    def name(self) -> str:
        return self.name_at(self.first_line)

    def name_at(self, line: int) -> str:
        """Return ``FILE:LINE BENCHMARK``, by which verdicts name a figure of a log."""
        return f"{self.source}:{line} {self.benchmark}"

    @property
    def processes(self) -> str:
        """Return ``4 processes`` of a suite's test that any number of ranks can run, else empty."""
        is_pair = self.pairs > 1 or (self.ranks == 2 and self.pattern in PAIR_PATTERNS)
        return "" if is_pair or self.ranks is None else f"{self.ranks} processes"

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The ranks of each pair between which bytes moved; none if unknown."""
        if self.pairs == 1 and self.pattern in PAIR_PATTERNS:
            return ((self.origin, self.target),)
        if self.benchmark in _PAIRED_BY_HALVES:
            return tuple((rank, rank + self.pairs) for rank in range(self.pairs))
        return ()

    def name_unplaced_ranks(self, hosts: Sequence[str]) -> str:
        """Return the measuring and all processes (``2 of 64``) if their nodes are unknown.

        It is empty if the nodes are known, or no processes waited. The first ranks of many are on
        one node unless each node has one rank. ``hosts`` are the known hosts, in order of ranks.
        """
        waiting = self.settings.get("waiting processes", "")
        if not waiting.isdecimal() or self.ranks is None:
            return ""
        processes, evidence = self.ranks + int(waiting), self.evidence
        are_known = max(len(evidence.rank_hosts), len(evidence.rank_nodes)) >= self.ranks
        return "" if are_known or len(hosts) >= processes else f"{self.ranks} of {processes}"

    @property
    def inside_node(self) -> str:
        """The proof that its bytes stayed inside a node; empty if the log has none."""
        if self.evidence.same_end_reason:
            return self.evidence.same_end_reason
        log_hosts = self.hosts if len(self.hosts) > 1 else self.evidence.rank_hosts
        if shared := self.find_shared_node(unify_hosts(log_hosts)):
            return f"the log itself names {shared[0]} for {shared[1]}"
        if shared := self.find_shared_node(self.evidence.rank_nodes):
            return f"the command starts {shared[1]} on one node: {self.evidence.command}"
        messages = {message.kind: message for message in reversed(self.evidence.messages)}
        if messages.keys() & {"remote", "tcp"}:
            return ""
        if "memory" in messages and not self.transport and self.suite not in NCCL_SUITES:
            return f"the settings allow only shared memory: {messages['memory'].text}"
        if "local" in messages and len(self.ends) == 1:
            return f"the library connected the ranks within a node: {messages['local'].text}"
        return ""

    def find_shared_node(self, nodes: Sequence[str]) -> tuple[str, str] | None:
        """Return a node and the ranks that share it: all ranks, or two that are a pair."""
        if len(nodes) > 1 and len(set(nodes)) == 1:
            return nodes[0], "both ends" if len(nodes) == 2 else "all ranks"
        for origin, target in self.ends:
            if max(origin, target) < len(nodes) and nodes[origin] == nodes[target]:
                return nodes[origin], f"ranks {origin} and {target}, which are a pair"
        return None

    @property
    def derived_from_ping_pong(self) -> bool:
        """True if the suite derived it from ping-pong times: size, or 1, over half a round trip."""
        return self.pattern is None and self.what.startswith("ping-pong ")

    def max_links(self, hosts: Sequence[str]) -> int:
        """Return the largest number of links that its pairs can use between ``hosts``.

        Two hosts have one link, for any number of pairs. Without hosts, the nodes by the command
        count; without these, each pair counts as one link.
        """
        hosts = hosts or self.evidence.rank_nodes
        return min(self.pairs, max(1, len(set(hosts)) // 2)) if hosts else self.pairs


#: The start of the reason for a file that could not be read further: broken, gone, or forbidden.
UNREADABLE = "the file cannot be read further"

#: The start of the reason for a file with more tables than a run keeps; the rest is unknown.
LIMITED = f"{UNREADABLE}: a run keeps"


class UnparsedLine(msgspec.Struct, frozen=True, tag_field="record", tag="strange"):
    """Consecutive lines of a file that no reader understood: the first line, and their count.

    ``reason`` names the expected content.
    """

    line: int
    text: str
    reason: str
    count: int = 1
    source: str = ""


class TableFamily(msgspec.Struct, frozen=True, tag_field="record", tag="table_family"):
    """Tables of a file that differ in nothing but their figures; ``model/families.py`` reads them.

    ``curves`` are one of the ``tables``. ``first_lines`` are their first lines, 64-bit integers.
    ``figures`` are 64-bit floating-point numbers in SI units, table by table: of each curve each
    point's value and the figures beside it. Both are little-endian, and empty in a report.
    """

    curves: tuple[SuiteCurve, ...]
    tables: int
    first_lines: bytes = b""
    figures: bytes = b""


#: An item that reading a log gives.
LogContent = SuiteCurve | UnparsedLine | TableFamily
