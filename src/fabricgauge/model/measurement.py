"""The engine's measurements: one value for each record of its output.

docs/development/engine-output.md describes the output format. These structs mirror it field by
field, so that msgspec decodes and checks it in one pass.
"""

from typing import Annotated, Literal, NamedTuple

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.memory import MemoryKind, describe_memory
from fabricgauge.model.pattern import GET_PATTERNS, Buffers, Epoch, Load, Pattern, variant

FORMAT_VERSION = "2.10"

#: A rank's number, or a number of ranks; it sets the size of tables. A record with a larger one is
#: rejected as damaged. The largest machines have some 10 million cores.
Rank = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]

NO_SEGMENTS = Skipped("records before format 2.1 do not count segments")
NO_DUPLICATES = Skipped("records before format 2.8 do not count duplicate segments")
NO_QUOTA = Skipped("records before format 2.9 have no quota of processor time")
NO_LINK = Skipped("loopback has no link, and records before format 2.2 have no links")


class EndsMemory(msgspec.Struct, frozen=True):
    """The kind of memory at each end of a launch."""

    origin: MemoryKind
    target: MemoryKind

    def __str__(self) -> str:
        return describe_memory(f"{self.origin},{self.target}")


class RankMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """The memory of one rank's buffers in a case.

    ``device`` is the driver's name of the GPU and ``number`` its number on that node; host memory
    has neither.
    """

    rank: Rank
    kind: MemoryKind
    device: str = ""
    number: int | None = None

    def __str__(self) -> str:
        device = f"{self.device} (device {self.number})" if self.device else "host memory"
        return f"rank {self.rank}: {device}"


class CopyTimes(msgspec.Struct, frozen=True):
    """Median seconds of a copy of ``bytes`` between a rank's host and its GPU, by direction."""

    bytes: int
    to_device_s: float
    to_host_s: float


class Timer(msgspec.Struct, frozen=True):
    """The clock of the samples, as measured at start-up."""

    name: str
    resolution_s: float
    overhead_s: float


class UsedPort(msgspec.Struct, frozen=True):
    """The RDMA port that a rank used, and the address that it used there."""

    rank: Rank
    device: str
    port: int
    link_layer: str
    gid_index: int
    gid: str
    gid_type: str
    lid: int
    active_mtu_bytes: int
    firmware: str


class UsedSockets(msgspec.Struct, frozen=True, tag_field="name", tag="sockets"):
    """The addresses of a launch's TCP connections, one for each rank.

    ``traffic_class`` is the TOS byte that was asked for.
    """

    addresses: tuple[str, ...]
    traffic_class: int = 0

    def __str__(self) -> str:
        in_class = f" in traffic class {self.traffic_class}" if self.traffic_class else ""
        return f"TCP sockets between {' and '.join(self.addresses)}{in_class}"


class UsedOfi(msgspec.Struct, frozen=True, tag_field="name", tag="ofi"):
    """The provider that libfabric reports, with the domain (device name) of each rank.

    ``completion`` is the guarantee of a put's completion: ``delivery``, or only ``transmit``.
    """

    library: str
    version: str
    provider: str
    endpoint: Literal["RDM", "MSG"]
    messages: Literal["tagged", "plain"]
    completion: Literal["delivery", "transmit"]
    inject_bytes: int
    domains: tuple[str, ...]

    def __str__(self) -> str:
        domains = ", ".join(dict.fromkeys(self.domains))
        return f"libfabric {self.version}, provider {self.provider} by {domains}"


class UsedVerbs(msgspec.Struct, frozen=True, tag_field="name", tag="verbs"):
    """A launch's use of verbs, with its ranks' ports; MPI was the control plane.

    Messages of up to ``inline_bytes`` were copied when they were posted. One of ``signal_interval``
    sends signalled its completion. ``messages_by`` is ``send``, ``write-imm`` or ``write``.
    """

    library: str
    queue_pair: str
    path_mtu_bytes: int
    inline_bytes: int
    signal_interval: int
    traffic_class: int
    service_level: int
    ports: tuple[UsedPort, ...]
    messages_by: str = "send"
    shared_receives: bool = False

    def __str__(self) -> str:
        ports = dict.fromkeys(f"{p.device}:{p.port} (GID {p.gid_index})" for p in self.ports)
        by = f", messages by {self.messages_by}" if self.messages_by != "send" else ""
        shared = ", receives shared" if self.shared_receives else ""
        route = f"{', '.join(ports)}, path MTU {self.path_mtu_bytes} B"
        return f"verbs {self.queue_pair.upper()} by {route}{by}{shared}"


class Header(msgspec.Struct, frozen=True, tag_field="record", tag="header"):
    """First record of a launch: its engine, MPI and clock.

    ``simulated`` is true if a simulator supplied the figures and no network carried data.
    ``libraries`` are the real paths of the libraries that rank 0 had loaded after MPI's start.
    ``transport`` carried the data, None for MPI. ``memory`` holds the buffers of a pair's ends,
    None for host memory.
    """

    format: str
    version: str
    engine: str
    mpi_library: str
    mpi_standard: str
    compiler: str
    ranks: Rank
    started_utc: str
    timer: Timer
    simulated: bool = False
    libraries: tuple[str, ...] = ()
    transport: UsedSockets | UsedOfi | UsedVerbs | None = None
    memory: EndsMemory | None = None


class Placement(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="record", tag="placement"
):
    """The node and processors of a rank, as the rank reported them.

    ``interface`` is the interface with an address in the subnet that the launch was pinned to,
    empty if it was not pinned. ``copies`` are the times of copies between host and GPU by size, for
    a rank with buffers on a GPU; they are measured before the cases.
    """

    rank: Rank
    host: str
    pid: int
    boot_id: str
    net_namespace: str
    cpus_allowed: str
    cpu: int | Skipped
    numa_node: int | Skipped
    interface: str
    copies: tuple[CopyTimes, ...] = ()


class LinkReading(msgspec.Struct, frozen=True, tag="link"):
    """The link of an interface or an adapter's port, as the kernel reports it.

    ``counts`` are since boot, by the kernel's names: ``carrier_changes`` of a netdev, which
    counts both losses and returns; ``link_downed`` and ``link_error_recovery`` (retraining) of
    an InfiniBand port.
    """

    state: str | Skipped
    speed_bit_s: float | Skipped
    counts: dict[str, int | Skipped]


class InterfaceCounters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counters of one interface, in octets and packets, since boot.

    Some adapters' ports do not count errors and drops.
    """

    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    rx_errors: int | Skipped
    tx_errors: int | Skipped
    rx_dropped: int | Skipped
    tx_dropped: int | Skipped
    link: LinkReading | Skipped = NO_LINK


class Rise(NamedTuple):
    """Increases of an interface's counters; negative if they were reset."""

    sent_bytes: int = 0
    sent_packets: int = 0
    received_bytes: int = 0
    received_packets: int = 0


class NodeCounters(msgspec.Struct, frozen=True):
    """All interfaces of one node before and after a case; keys are interface names.

    ``absent`` are interfaces, or the kernel's table of them, that could not be read, each
    with the reason. ``read_utc_s`` are the times of both readings, in seconds since 1970 by the
    node's clock; empty in records before format 2.2. ``ports`` are the increases of the counters of
    each adapter's port, under the kernel's names; none in records before format 2.3.
    """

    rank: Rank
    host: str
    before: dict[str, InterfaceCounters]
    after: dict[str, InterfaceCounters]
    absent: dict[str, str] = {}
    read_utc_s: tuple[float, ...] = ()
    ports: dict[str, dict[str, int]] = {}

    def rise(self, name: str) -> Rise | None:
        """Return the increases of an interface; None if it was not read twice."""
        before, after = self.before.get(name), self.after.get(name)
        if before is None or after is None:
            return None
        return Rise(
            after.tx_bytes - before.tx_bytes, after.tx_packets - before.tx_packets,
            after.rx_bytes - before.rx_bytes, after.rx_packets - before.rx_packets,
        )  # fmt: skip


class Socket(msgspec.Struct, frozen=True):
    """One TCP connection of a rank over one case, from the kernel's TCP_INFO.

    Byte and time fields are differences over the case. ``busy_s`` is the time with unacknowledged
    data. In ``rwnd_limited_s`` of it the receiver's window was the limit, in ``sndbuf_limited_s``
    the sender's buffer. An empty ``remote`` means all connections of a local address.
    ``data_segments`` were sent with payload, ``acknowledgements`` without; records before format
    2.1 have neither. ``spurious_segments`` were sent again although they had arrived, as the
    receiver reported (DSACK). This happens if a busy host answers late.
    """

    local: str
    remote: str
    sent_bytes: int
    received_bytes: int
    retransmitted_segments: int
    segment_bytes: int
    rtt_s: float
    busy_s: float
    rwnd_limited_s: float
    sndbuf_limited_s: float
    congestion: str
    data_segments: int | Skipped = NO_SEGMENTS
    acknowledgements: int | Skipped = NO_SEGMENTS
    spurious_segments: int | Skipped = NO_DUPLICATES

    @property
    def lost_segments(self) -> int:
        """Segments that were lost and sent again; negative if those of an earlier case arrived."""
        spurious = self.spurious_segments
        return self.retransmitted_segments - (0 if isinstance(spurious, Skipped) else spurious)

    @property
    def segments(self) -> float:
        """Segments with payload; before format 2.1 the least number for ``sent_bytes``."""
        counted = self.data_segments
        return self.sent_bytes / self.segment_bytes if isinstance(counted, Skipped) else counted


class ProcessorUse(msgspec.Struct, frozen=True):
    """One rank's processor use over a case, and its node's.

    ``run_delay_s`` is the sum over the rank's threads of the time that they were ready to run but
    waited for a processor. Shares are of all processors of the node, 0 to 1;
    ``busiest_softirq_share`` is that of the processor with the longest time in interrupts' bottom
    halves. ``quota_processors`` is the control group's limit for the rank, ``throttled_s`` the time
    that it throttled the tasks. In records of format 1 a ``run_delay_s`` of 0 may also mean that
    the kernel did not report it, and only the rank's first thread counts.
    """

    rank: Rank
    user_s: float | Skipped
    system_s: float | Skipped
    run_delay_s: float | Skipped
    node_idle_share: float | Skipped
    node_softirq_share: float | Skipped
    node_steal_share: float | Skipped
    busiest_softirq_share: float | Skipped
    throttled_s: float | Skipped = NO_QUOTA
    quota_processors: float | Skipped = NO_QUOTA


class DataCheck(msgspec.Struct, frozen=True):
    """The comparison of the received bytes with the sent pattern.

    ``samples`` is the number of compared samples: the case's first one unless all were
    ``requested``. It is 0 in records before format 2.9, and if no sample could be compared.
    """

    requested: bool
    ok: bool
    first_bad_offset_bytes: int | None = None
    detail: str = ""
    samples: int = 0


class Times(msgspec.Struct, frozen=True):
    """Statistics over the samples of one case, in seconds.

    The interval is non-parametric (order statistics over block medians) at
    ``confidence``; minimum and maximum are exact, percentiles come from the histogram.
    """

    minimum_s: float
    median_s: float
    low_s: float
    high_s: float
    confidence: float
    mean_s: float
    p90_s: float
    p99_s: float
    p999_s: float
    maximum_s: float


class VerbsConnection(msgspec.Struct, frozen=True):
    """One rank's time to make the queue pairs of a case, and to register and release its memory.

    ``resident_bytes`` is the growth of the process, without memory of kernel and adapter.
    ``register_s`` and ``release_s`` are medians of ``registrations`` readings; the bounds are the
    least and the most. Earlier engines took one reading and have no bounds.
    """

    rank: Rank
    queue_pairs: int
    create_s: float
    connect_s: float
    resident_bytes: int
    registered_bytes: int
    register_s: float
    release_s: float
    registrations: int = 1
    register_bounds_s: tuple[float, ...] = ()
    release_bounds_s: tuple[float, ...] = ()


class ConcurrentResult(msgspec.Struct, frozen=True):
    """Additional values in the record of a case of many ranks.

    ``clock`` is the source of an iteration's time: ``synchronised`` is the last exit minus the
    first start on one clock that is right within ``clock_error_s``; ``barrier`` is the slowest
    rank's time after a barrier, biased by the barrier's exit; ``origin`` is the clock of each
    measuring rank. ``late_starts`` counts iterations that some rank began after the agreed moment;
    the times exclude them. ``rank_medians_s`` are the medians of the measuring ranks, in rank
    order. ``overlap`` is the share of a non-blocking operation's time that computation hid, 0 to 1,
    None for other operations; ``compute_s`` is the time of that computation. ``messages_per_s`` is
    the sum over pairs if messages are counted, ``load_bytes_per_s`` the sum of the rates that the
    loading ranks sent; otherwise 0.
    """

    ranks: Rank
    pairs: Rank
    clock: Literal["synchronised", "barrier", "origin"]
    clock_error_s: float
    late_starts: int
    rank_medians_s: tuple[float, ...]
    overlap: float | None = None
    compute_s: float = 0.0
    messages_per_s: float = 0.0
    load_bytes_per_s: float = 0.0


class Round(msgspec.Struct, frozen=True, tag_field="record", tag="round"):
    """One round of a round robin: disjoint pairs of ranks, by parallel arrays.

    A time is a half round trip of ``all_pairs_latency`` (one entry for each pair, origin is
    the lower rank), or one window of ``all_pairs_bandwidth`` from origin to target (an entry
    for each direction). ``one_way_ps`` is, per latency entry, half the time from origin to target
    minus the time back, right within ``clock_error_s``; empty without a synchronised clock. Times
    are whole picoseconds; ``quartile_ps`` is the interquartile range of the samples.
    """

    case: str
    round: int
    rounds: int
    message_bytes: int
    window: int
    origins: tuple[Rank, ...]
    targets: tuple[Rank, ...]
    samples: tuple[int, ...]
    minimum_ps: tuple[int, ...]
    median_ps: tuple[int, ...]
    quartile_ps: tuple[int, ...]
    wall_s: float
    one_way_ps: tuple[int, ...] = ()
    clock_error_s: float = 0.0


class Measurement(msgspec.Struct, frozen=True, tag_field="record", tag="case"):
    """One case of one launch.

    ``sample_payload_bytes`` is the payload per sample and direction. ``payload_sent_bytes`` are all
    bytes that each rank sent in the case, with warm-up and control; rules compare the counters with
    them. In cases of many ranks they are only bytes to ranks of other nodes, and 0 for collectives,
    whose algorithm decides how much is sent. ``sockets`` are the connections of each rank, in rank
    order. Cases of many ranks have ``together``, cases over verbs ``connections``, and cases with
    an end in device memory ``memory`` (of the pair's ranks). ``losing`` is true if connections of
    the launch had lost frames, so that a quarter of the budget was used. ``waiting`` is true if
    waits for a processor determine the median: it is then not the network's. ``buffers`` are those
    of its messages at each end; records before format 2.10 have no choice.
    """

    case: str
    pattern: Pattern
    message_bytes: int
    window: int
    origin: Rank
    target: Rank
    status: Literal["ok", "failed", "timeout", "skipped"]
    reason: str
    stop: Literal["interval", "budget", "iterations", ""]
    warmup_samples: int
    samples: int
    batch: int
    wall_s: float
    sample_payload_bytes: int
    payload_sent_bytes: tuple[int, ...]
    times: Times | None
    histogram_resolution: float
    histogram_ps: tuple[tuple[int, int], ...]
    block_medians_s: tuple[float, ...]
    data_check: DataCheck
    counters: tuple[NodeCounters, ...]
    sockets: tuple[tuple[Socket, ...] | Skipped, ...]
    processors: tuple[ProcessorUse, ...]
    together: ConcurrentResult | None = None
    load: Load = "none"
    epoch: Epoch = "flush"
    threads: int = 1
    connections: tuple[VerbsConnection, ...] = ()
    memory: tuple[RankMemory, ...] = ()
    losing: bool = False
    waiting: bool = False
    buffers: Buffers = "fewest"

    @property
    def variant(self) -> str:
        """The variant of the pattern: ``fence``, ``4 threads``; usually empty."""
        return variant(self.pattern, self.epoch, self.threads)

    @property
    def sender(self) -> int:
        """The rank that the bytes of a stream of one direction leave."""
        return self.target if self.pattern in GET_PATTERNS else self.origin

    @property
    def all_sockets(self) -> tuple[Socket, ...]:
        """The known connections of all ranks, in rank order."""
        return tuple(
            socket
            for sockets in self.sockets
            if not isinstance(sockets, Skipped)
            for socket in sockets
        )

    def sockets_of(self, rank: int) -> tuple[Socket, ...]:
        """Return the known connections of a rank."""
        sockets = self.sockets[rank] if 0 <= rank < len(self.sockets) else ()
        return () if isinstance(sockets, Skipped) else sockets


class Footer(msgspec.Struct, frozen=True, tag_field="record", tag="footer"):
    """Last record of a complete launch."""

    cases: int
    wall_s: float


Record = Header | Placement | Round | Measurement | Footer
