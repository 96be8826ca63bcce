"""What the engine measured: one value per record of its output.

The engine's output format is described in docs/development/engine-output.md; these
structs mirror it field by field, so msgspec decodes and checks it in one pass.
"""

from typing import Literal

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.memory import CopyTimes, EndsMemory, RankMemory
from fabricgauge.model.pattern import GET_PATTERNS, Epoch, Load, Pattern, variant
from fabricgauge.model.together import ConcurrentResult, Rank, Round

FORMAT_VERSION = "2.9"

NO_SEGMENTS = Skipped("records before format 2.1 do not count segments")
NO_DUPLICATES = Skipped("records before format 2.8 do not count what arrived twice")
NO_QUOTA = Skipped("records before format 2.9 tell of no quota of processor time")
NO_LINK = Skipped("loopback has no link, and records before format 2.2 tell of none")


class Timer(msgspec.Struct, frozen=True):
    """The clock that the samples were taken with, as measured at start-up."""

    name: str
    resolution_s: float
    overhead_s: float


class UsedPort(msgspec.Struct, frozen=True):
    """The RDMA port that a rank used, and by which of its addresses."""

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
    """Between which addresses, one of each rank, a launch's TCP connections went."""

    addresses: tuple[str, ...]

    def __str__(self) -> str:
        return f"TCP sockets between {' and '.join(self.addresses)}"


class UsedOfi(msgspec.Struct, frozen=True, tag_field="name", tag="ofi"):
    """What libfabric says itself that it used, by which domain (its name of a device) of each rank.

    ``completion`` is what a put's completion tells: ``delivery``, or no more than ``transmit``.
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
    """How a launch used verbs, by which ports of its ranks; MPI was its control plane then.

    Messages of up to ``inline_bytes`` were copied as they were posted. One of ``signal_interval``
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
        way = f"{', '.join(ports)}, path MTU {self.path_mtu_bytes} B"
        return f"verbs {self.queue_pair.upper()} by {way}{by}{shared}"


class Header(msgspec.Struct, frozen=True, tag_field="record", tag="header"):
    """First record of a launch: who measured, with which MPI and clock.

    ``simulated`` says that no network carried anything: the figures are a simulator's.
    ``libraries`` are the real paths of what rank 0 had loaded once MPI had started. ``transport``
    is what carried the data where that was not MPI, ``memory`` where the buffers of a pair's ends
    lay where that was not host memory alone.
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
    """Where a rank ran, as the rank itself saw it.

    ``interface`` is the one whose address lies in the subnet that the launch was pinned to; empty
    when it was not pinned. ``copies`` are those between host and GPU of a rank whose buffers lie on
    one, by size; timed before the cases.
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
    """The link behind an interface or an adapter's port, as the kernel tells of it.

    ``counts`` are since boot, by the kernel's names: ``carrier_changes`` of a netdev, which
    counts losses and returns alike; ``link_downed`` and ``link_error_recovery`` (retraining) of
    an InfiniBand port.
    """

    state: str | Skipped
    speed_bit_s: float | Skipped
    counts: dict[str, int | Skipped]


class InterfaceCounters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counters of one interface, in octets and packets, since boot.

    Not every adapter's port keeps errors and drops.
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


class NodeCounters(msgspec.Struct, frozen=True):
    """All interfaces of one node before and after a case; keys are interface names.

    ``absent`` are interfaces, or the kernel's table of them, that could not be read, each
    with the reason. ``read_utc_s`` is when both were read, in seconds since 1970 by the node's
    clock; empty in records before format 2.2. ``ports`` are by how much the counters of each
    adapter's port rose, under the kernel's names; none in records before format 2.3.
    """

    rank: Rank
    host: str
    before: dict[str, InterfaceCounters]
    after: dict[str, InterfaceCounters]
    absent: dict[str, str] = {}
    read_utc_s: tuple[float, ...] = ()
    ports: dict[str, dict[str, int]] = {}


class Socket(msgspec.Struct, frozen=True):
    """One TCP connection of a rank over one case, from the kernel's TCP_INFO.

    Byte and time fields are differences over the case. ``busy_s`` is time with data waiting to be
    acknowledged. In ``rwnd_limited_s`` of it the receiver's window was the limit, in
    ``sndbuf_limited_s`` the sender's buffer. An empty ``remote`` stands for all connections of a
    local address. ``data_segments`` were sent with payload, ``acknowledgements`` without; records
    before format 2.1 tell neither. ``spurious_segments`` were sent again although they had arrived:
    the other end said so (DSACK). That happens where a busy host answers late.
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
        """Sent again since they did not arrive; below 0 where those of an earlier case had."""
        told = self.spurious_segments
        return self.retransmitted_segments - (0 if isinstance(told, Skipped) else told)

    @property
    def segments(self) -> float:
        """Sent with payload; before format 2.1 the least number that carries ``sent_bytes``."""
        counted = self.data_segments
        return self.sent_bytes / self.segment_bytes if isinstance(counted, Skipped) else counted


class ProcessorUse(msgspec.Struct, frozen=True):
    """One rank's processor use over a case, and its node's.

    ``run_delay_s`` is time that the rank's threads, in sum, were ready to run but had to wait for a
    processor. Shares are of all processors of the node, 0 to 1; ``busiest_softirq_share`` is that
    of the single one that spent most time in interrupts' bottom halves. ``quota_processors`` is
    what a control group allows the rank, ``throttled_s`` how long one held its tasks back. In
    records of format 1 a ``run_delay_s`` of 0 may also mean that the kernel did not tell, and only
    the rank's first thread counts.
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
    """Outcome of comparing the received bytes with the pattern that was sent.

    ``samples`` were compared: the first of the case unless all were ``requested``. 0 in records
    before format 2.9, and where nothing could be compared.
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
    """What one rank's queue pairs of a case took to make, and its memory to register and release.

    ``resident_bytes`` is by how much the process grew; what kernel and adapter keep is not in it.
    ``register_s`` and ``release_s`` are medians of ``registrations`` readings, whose least and most
    are their bounds. Earlier engines took one reading and told no bounds.
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


class Measurement(msgspec.Struct, frozen=True, tag_field="record", tag="case"):
    """One case of one launch.

    ``sample_payload_bytes`` is the payload per sample and direction. ``payload_sent_bytes`` is
    everything each rank sent in the case, warm-up and control included, which the counters are held
    against. It counts only what goes to other nodes' ranks in the cases of many ranks, and is 0 for
    collectives, whose algorithm decides what is sent. ``sockets`` are the connections of each rank,
    in rank order. ``together`` is what a case of many ranks adds, ``connections`` what one over
    verbs does, ``memory`` what one with an end in device memory does, of the pair's ranks.
    ``losing`` says that connections of the launch had lost frames, so that a quarter of the budget
    was used. ``waiting`` says that waits for a processor made the median: it is no network's.
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

    @property
    def variant(self) -> str:
        """What tells the case from others of its pattern: ``fence``, ``4 threads``."""
        return variant(self.pattern, self.epoch, self.threads)

    @property
    def sender(self) -> int:
        """The rank that the bytes of a stream of one direction leave."""
        return self.target if self.pattern in GET_PATTERNS else self.origin

    def sockets_of(self, rank: int) -> tuple[Socket, ...]:
        """The connections that were seen of that rank."""
        seen = self.sockets[rank] if 0 <= rank < len(self.sockets) else ()
        return () if isinstance(seen, Skipped) else seen


class Footer(msgspec.Struct, frozen=True, tag_field="record", tag="footer"):
    """Last record of a launch that came to its proper end."""

    cases: int
    wall_s: float


Record = Header | Placement | Round | Measurement | Footer
