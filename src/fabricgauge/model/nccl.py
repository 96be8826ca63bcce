"""What NCCL or RCCL says of the way that bytes took: its messages, and its dumps of a node."""

from typing import Literal

import msgspec

#: The suites of collectives that run on the library: each rank sends the message at least once in
#: those that we start.
SUITES = ("nccl-tests", "rccl-tests")


class NcclAdapter(msgspec.Struct, frozen=True):
    """A network device that the library found on a node; ``index`` is what channels call it by.

    ``link`` is ``IB`` or ``RoCE``, and empty for an interface of its sockets.
    """

    node: str
    index: int
    name: str
    link: str = ""


class NcclWay(msgspec.Struct, frozen=True):
    """Connections that one node reported and that go the same way.

    ``via`` is the library's own word without the adapter: ``NET/IB``, ``COLLNET/SHARP``,
    ``P2P/IPC``, ``SHM``. ``adapter`` is None inside a node. ``direct`` is GPUDirect RDMA.
    ``first`` is the first of the connections: channel, and rank to rank.
    """

    node: str
    via: str
    adapter: int | None
    direct: bool
    connections: int
    first: str

    @property
    def crosses(self) -> bool:
        """Whether it leaves the node by an adapter."""
        return self.adapter is not None

    @property
    def sockets(self) -> bool:
        return self.via.startswith("NET/Socket")


class NcclChoice(msgspec.Struct, frozen=True):
    """Algorithm and protocol of a collective, and the sizes that were told to have them."""

    function: str
    algorithm: str
    protocol: str
    least_bytes: int
    most_bytes: int


class NcclRank(msgspec.Struct, frozen=True):
    """Where a rank ran; ``gpu`` is its device's number, ``bus_id`` as the library prints it."""

    rank: int
    gpu: int
    bus_id: str
    node: str = ""


class NcclDevice(msgspec.Struct, frozen=True):
    """A GPU or an adapter in a dump of the topology; ``numa`` is -1 where the system tells none.

    ``rate_bit_s`` is an adapter's, 0 where the dump has none. ``links`` are a GPU's own to others
    (NVLink, xGMI). ``pcie`` is the slot's as ``16.0 GT/s PCIe x16``.
    """

    kind: Literal["gpu", "net"]
    index: int
    name: str
    numa: int
    direct: bool
    rate_bit_s: float = 0.0
    links: int = 0
    pcie: str = ""


class NcclGraph(msgspec.Struct, frozen=True):
    """One graph of a dump: its channels and the adapters that they enter and leave by."""

    identity: int
    channels: int
    intra_bytes_per_s: float
    inter_bytes_per_s: float
    intra: str
    inter: str
    adapters: tuple[int, ...]


class NcclDump(msgspec.Struct, frozen=True):
    """What a file of ``NCCL_TOPO_DUMP_FILE`` or ``NCCL_GRAPH_DUMP_FILE`` holds: one node's view."""

    source: str
    devices: tuple[NcclDevice, ...] = ()
    graphs: tuple[NcclGraph, ...] = ()


class NcclEvidence(msgspec.Struct, frozen=True):
    """Everything that the library told; empty where it was silent.

    ``network`` is its plugin's name (``IB``, ``Socket``, ``AWS Libfabric``), ``provider`` that of
    libfabric below it. ``nodes`` and ``local_ranks`` are as it counted them, ``ring`` is the order
    of ranks in its first channel. ``rates_bit_s`` are adapters' rates by index. ``reasons`` are its
    own words on what it could not use, ``warnings`` what it warned of, ``variables`` those that it
    found set. ``multi_node_nvlink`` tells that NVLink joins its nodes.
    """

    network: str = ""
    provider: str = ""
    adapters: tuple[NcclAdapter, ...] = ()
    ways: tuple[NcclWay, ...] = ()
    ranks: tuple[NcclRank, ...] = ()
    nodes: int | None = None
    local_ranks: int | None = None
    multi_node_nvlink: bool = False
    channels: int = 0
    collnet_channels: int = 0
    nvls_channels: int = 0
    ring: str = ""
    trees: int = 0
    choices: tuple[NcclChoice, ...] = ()
    rates_bit_s: dict[str, float] = {}
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    dumps: tuple[NcclDump, ...] = ()

    @property
    def told(self) -> bool:
        """Whether the library told anything at all."""
        return self != NcclEvidence()

    @property
    def crossing(self) -> tuple[NcclWay, ...]:
        """The ways that leave a node."""
        return tuple(way for way in self.ways if way.crosses)

    @property
    def sockets(self) -> bool:
        """Whether bytes left a node by the kernel's sockets."""
        if self.crossing:
            return any(way.sockets for way in self.crossing)
        return self.network.startswith("Socket")

    @property
    def offloaded(self) -> str:
        """What reduces on the way, so that more arrives than the wire carries; empty if nothing."""
        if self.collnet_channels and any(way.via.startswith("COLLNET/") for way in self.ways):
            return "SHARP"
        used = {choice.algorithm for choice in self.choices}
        if any(one.startswith(("NVLS", "COLLNET")) for one in used):
            return "NVLS" if any(one.startswith("NVLS") for one in used) else "SHARP"
        return "NVLS" if self.nvls_channels and not used else ""
