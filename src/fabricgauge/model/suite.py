"""What another suite's output says: one curve per benchmark and quantity, in SI units.

OSU, IMB, perftest, iperf3 and the others print tables. A table with a column of times
and one of bandwidths becomes two curves; columns that say more about the same figure
(minimum, percentiles) stay with it.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from fabricgauge.model.estimate import Estimate
from fabricgauge.model.gpu_pairs import GpuPairs
from fabricgauge.model.hosts import unify_hosts
from fabricgauge.model.nccl import NcclEvidence
from fabricgauge.model.pattern import PAIR_PATTERNS, Pattern

Quantity = Literal["time", "bandwidth", "message_rate", "bus_bandwidth", "overlap"]

#: What a quantity's values are in. Overlap is a share, 0 to 1.
UNITS: dict[Quantity, str] = {
    "time": "s",
    "bandwidth": "bytes/s",
    "message_rate": "messages/s",
    "bus_bandwidth": "bytes/s",
    "overlap": "share",
}

#: Quantities where less is better; of all others more is better.
LESS_IS_BETTER: frozenset[Quantity] = frozenset({"time"})

#: What a figure is of its samples. ``single``: one sample, or the log does not say.
Statistic = Literal["mean", "median", "typical", "minimum", "maximum", "single"]

#: Further figures that a log may give of a point, each in the curve's unit.
Besides = Literal[
    "minimum", "maximum", "mean", "median", "typical", "deviation",
    "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "peak",
]  # fmt: skip

#: Why a figure is missing. ``corrupt``: the suite itself found wrong data. ``waived``: the suite
#: left the test out, since it does not apply to this machine.
Trouble = Literal["corrupt", "timeout", "memory", "not a number", "cut off", "waived", "other"]


#: Benchmarks whose first half of ranks meets the second: rank i and i + pairs (osu_mbw_mr.c and
#: osu_multi_lat.c of OSU 7.4; Uniband and Biband in the guide of IMB 2021).
_PAIRED_BY_HALVES = frozenset({"osu_mbw_mr", "osu_multi_lat", "Uniband", "Biband"})

#: Facts beside a table that were measured: no setting tells two runs by them.
RESULTS = frozenset({
    "average bus bandwidth", "retransmits", "lost", "dropped messages", "send errors",
    "congestion impact factor",
    "sum of all cells", "topology creation", "its own min", "its own max", "its own avg",
    "slowest pair", "fastest pair", "slowest hundredth",
})  # fmt: skip


class SuitePoint(msgspec.Struct, frozen=True, gc=False):
    """One row: the figure at one message size, and the line of the file that says so.

    ``message_bytes`` is None where the benchmark has no size (a barrier) or a headline
    does not tell at which size it was reached. ``estimate`` has ``confidence`` 0 and all
    three numbers alike where only a mean is known, ``samples`` 0 where no count is.
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

    ``lid`` is its port's, 0 over Ethernet; ``gid`` is 16 numbers with colons between, or empty.
    """

    lid: int
    gid: str = ""


class LogLosses(msgspec.Struct, frozen=True):
    """What a log says was lost or sent again: ``count`` of ``sent`` datagrams, or TCP's segments.

    Of TCP ``sent`` is 0, since no suite tells its segments: they are ``sent_bytes`` by the payload
    of one.
    """

    count: int
    sent: int = 0
    sent_bytes: float = 0.0

    @property
    def over_tcp(self) -> bool:
        return not self.sent


#: Beginnings of names that one technology alone has: libfabric's providers (fi_psm2(7), fi_opx(7),
#: fi_cxi(7), fi_efa(7) of 1.20) and RDMA devices (Linux' hfi1 and efa drivers).
_TECHNOLOGIES = {
    "psm2": "omni-path", "opx": "omni-path", "hfi1": "omni-path", "cxi": "slingshot", "efa": "efa",
}  # fmt: skip


#: What a message beside a table shows: TCP carried the messages; a fast transport could not be
#: used; a command or variable asked for TCP; the library connected ranks of one node, or of two;
#: the run broke; the host's clock or frequency is doubtful.
MessageKind = Literal["tcp", "fallback", "asked", "local", "remote", "broken", "clock"]


class LogMessage(msgspec.Struct, frozen=True):
    """A line beside a table that names a transport, an error or a state of the host."""

    kind: MessageKind
    line: int
    text: str


class LogEvidence(msgspec.Struct, frozen=True):
    """What a log itself says of where it was measured, and over what; empty where it is silent.

    ``rank_hosts`` are the hosts of all ranks by rank, two or more and not one left out: a name
    that stands twice is one node (Intel MPI's start-up table, Open MPI's bindings, NetPIPE,
    nccl-tests). ``addresses`` are the IP addresses of the own end and of the other one (iperf).
    ``verbs_ends`` are the local and the remote end (perftest): equal ones are one port.
    ``rank_nodes`` are the nodes of all ranks as the options of the log's own command decide them,
    by a name or a number, ``command`` is that command; both are empty where it leaves them open.
    ``link_type`` is ``Ethernet`` or ``IB``, ``mtu_bytes`` the RDMA connection's, ``devices``
    adapters or accelerators by name, ``provider`` libfabric's or NCCL's name of the transport,
    ``library`` the MPI or NCCL with its version. ``data_checked`` tells that the suite compared
    what arrived with what was sent; wrong data are failures. ``nccl`` is what NCCL or RCCL told of
    its own choice, ``gpu_pairs`` the matrix of nvbandwidth between GPUs of a node. ``losses`` is
    what its transport lost or sent again (iperf). ``messages`` are lines of the MPI, its libraries
    or the suite that name a transport, an error or the host.
    """

    rank_hosts: tuple[str, ...] = ()
    rank_nodes: tuple[str, ...] = ()
    command: str = ""
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
    losses: LogLosses | None = None
    messages: tuple[LogMessage, ...] = ()

    @property
    def technology(self) -> tuple[str, str]:
        """A provider or device that only one technology has, and that one; else both empty."""
        for name in (self.provider, *self.devices):
            for beginning, technology in _TECHNOLOGIES.items():
                if name.startswith(beginning):
                    return name, technology
        return "", ""

    @property
    def same_end_reason(self) -> str:
        """Why both ends are one, where the log shows it: the same port, or the same address."""
        verbs = self.verbs_ends
        if len(verbs) == 2 and verbs[0] == verbs[1] and (verbs[0].lid or verbs[0].gid):
            port = f"GID {verbs[0].gid}" if verbs[0].gid else f"LID {verbs[0].lid:#x}"
            return f"local and remote port have {port}"
        if len(self.addresses) == 2 and len(set(self.addresses)) == 1:
            return f"both ends have the address {self.addresses[0]}"
        return ""


class SuiteCurve(msgspec.Struct, frozen=True, tag_field="record", tag="suite_curve"):
    """One quantity of one benchmark over message sizes, as one output tells it.

    ``suite`` and ``benchmark`` are the field's names (``osu``, ``imb``, ``perftest``;
    ``osu_put_bw``, ``PingPong``, ``ib_write_lat``), ``title`` is the output's own heading.
    ``what`` says in words what one figure is (``half round trip``, ``one-way stream``).
    ``pattern`` is that of ours which moves the same bytes the same way, None if none does.
    ``directions`` is in how many directions bytes moved that the figure sums up, ``pairs``
    how many pairs of ranks it sums over; ``ranks`` is None where the log does not say.
    ``unit_rule`` is how the printed unit was read, e.g. ``MB = 10^6 bytes (OSU)``.
    ``transport`` is ``tcp`` or ``rdma`` where the log itself tells, else empty.
    ``settings`` are facts of the heading that belong to the figure (window, datatype,
    device, MTU); ``hosts`` are the hosts that the log names, in the order of ranks.
    ``origin`` and ``target`` are the ends (ranks; 0 for a client, 1 for its server) between
    which bytes moved. ``cut_off`` is empty for a table that came to its proper end, else
    the sign that it did not. ``source`` is the file or the reference that it is from.
    ``evidence`` is what the log says of nodes and network, for the rules.
    """

    suite: str
    version: str
    benchmark: str
    title: str
    what: str
    quantity: Quantity
    statistic: Statistic
    unit_rule: str
    first_line: int
    last_line: int
    points: tuple[SuitePoint, ...]
    pattern: Pattern | None = None
    directions: int = 1
    origin: int = 0
    target: int = 1
    pairs: int = 1
    ranks: int | None = None
    transport: Literal["tcp", "rdma", ""] = ""
    settings: dict[str, str] = {}
    hosts: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    cut_off: str = ""
    source: str = ""
    evidence: LogEvidence = LogEvidence()

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The ranks of each pair between which bytes moved; none where they are not known."""
        if self.pairs == 1 and self.pattern in PAIR_PATTERNS:
            return ((self.origin, self.target),)
        if self.benchmark in _PAIRED_BY_HALVES:
            return tuple((rank, rank + self.pairs) for rank in range(self.pairs))
        return ()

    def name_unplaced_ranks(self, hosts: Sequence[str]) -> str:
        """How many processes took part of more, if their nodes are not known: ``2 of 64``.

        The first ranks of many are on one node unless each node has one. ``hosts`` are those of
        the ranks in their order, as far as somebody names them.
        """
        waiting = self.settings.get("waiting processes", "")
        if not waiting.isdecimal() or self.ranks is None:
            return ""
        everybody, own = self.ranks + int(waiting), self.evidence
        known = max(len(own.rank_hosts), len(own.rank_nodes)) >= self.ranks
        return "" if known or len(hosts) >= everybody else f"{self.ranks} of {everybody}"

    @property
    def inside_node(self) -> str:
        """Why its bytes stayed inside a node, as the log shows it; empty if it does not."""
        if self.evidence.same_end_reason:
            return self.evidence.same_end_reason
        named = self.hosts if len(self.hosts) > 1 else self.evidence.rank_hosts
        if stay := self._staying(unify_hosts(named)):
            return f"the log itself names {stay[0]} for {stay[1]}"
        if stay := self._staying(self.evidence.rank_nodes):
            return f"the command starts {stay[1]} on one node: {self.evidence.command}"
        messages = {one.kind: one for one in reversed(self.evidence.messages)}
        if "local" in messages and not messages.keys() & {"remote", "tcp"} and len(self.ends) == 1:
            return f"the library connected the ranks within a node: {messages['local'].text}"
        return ""

    def _staying(self, nodes: Sequence[str]) -> tuple[str, str] | None:
        """A node, and which ranks share it: all, or two that are a pair."""
        if len(nodes) > 1 and len(set(nodes)) == 1:
            return nodes[0], "both ends" if len(nodes) == 2 else "all ranks"
        for rank, other in self.ends:
            if max(rank, other) < len(nodes) and nodes[rank] == nodes[other]:
                return nodes[rank], f"ranks {rank} and {other}, which are a pair"
        return None

    @property
    def derived_from_ping_pong(self) -> bool:
        """Whether a table worked it out of its ping-pong's times, as size or 1 over half of one."""
        return self.pattern is None and self.what.startswith("ping-pong ")

    def max_links(self, hosts: Sequence[str]) -> int:
        """How many links its pairs can have had at the most, between those hosts.

        Two hosts have one, however many pairs use it. Where nobody names hosts, each pair counts
        as if it had one of its own.
        """
        return min(self.pairs, max(1, len(set(hosts)) // 2)) if hosts else self.pairs


#: How the reason begins where a file could not be read on: broken, gone, or forbidden.
UNREADABLE = "the file cannot be read further"

#: The same where a file has more tables than a run keeps: nobody knows what the rest says.
LIMITED = f"{UNREADABLE}: a run keeps"


class UnparsedLine(msgspec.Struct, frozen=True, tag_field="record", tag="strange"):
    """Lines of a file that no reader understood: the first of them, and how many in a row.

    ``reason`` says what was expected there.
    """

    line: int
    text: str
    reason: str
    count: int = 1
    source: str = ""
