"""NCCL's or RCCL's report of the path of bytes: its messages, and its dumps of a node."""

from typing import Literal

import msgspec

#: Suites of collectives that use the library. In the collectives that fabricgauge starts, each rank
#: sends the message at least once.
SUITES = ("nccl-tests", "rccl-tests")
#: The variable that gives adapters to the library, and the setting of its curves.
ADAPTERS = "NCCL_IB_HCA"


class NcclAdapter(msgspec.Struct, frozen=True):
    """A network device that the library found on a node; channels refer to its ``index``.

    ``link`` is ``IB`` or ``RoCE``, empty for an interface that it uses by sockets.
    """

    node: str
    index: int
    name: str
    link: str = ""


class NcclWay(msgspec.Struct, frozen=True):
    """One node's connections by the same transport and adapter.

    ``via`` is the library's word without the adapter: ``NET/IB``, ``COLLNET/SHARP``, ``P2P/IPC``,
    ``SHM``. ``adapter`` is None inside a node. ``direct`` is true for GPUDirect RDMA. ``first`` is
    the first of the connections: channel, and rank to rank.
    """

    node: str
    via: str
    adapter: int | None
    direct: bool
    connections: int
    first: str

    @property
    def crosses(self) -> bool:
        """True if the connections leave the node by an adapter."""
        return self.adapter is not None

    @property
    def sockets(self) -> bool:
        return self.via.startswith("NET/Socket")


class NcclChoice(msgspec.Struct, frozen=True):
    """Algorithm and protocol of a collective, and the range of sizes that use them."""

    function: str
    algorithm: str
    protocol: str
    least_bytes: int
    most_bytes: int


class NcclRank(msgspec.Struct, frozen=True):
    """A rank's node and GPU: the device's number, and its ``bus_id`` as the library prints it."""

    rank: int
    gpu: int
    bus_id: str
    node: str = ""


class NcclDevice(msgspec.Struct, frozen=True):
    """A GPU or an adapter in a dump of the topology; ``numa`` is -1 if unknown.

    ``rate_bit_s`` is an adapter's, 0 if the dump has none. ``links`` counts a GPU's links to other
    GPUs (NVLink, xGMI). ``pcie`` is the slot's link, e.g. ``16.0 GT/s PCIe x16``.
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
    """One graph of a dump: its channels, and the adapters by which they enter and leave."""

    identity: int
    channels: int
    intra_bytes_per_s: float
    inter_bytes_per_s: float
    intra: str
    inter: str
    adapters: tuple[int, ...]


class NcclDump(msgspec.Struct, frozen=True):
    """One node's view, from a file of ``NCCL_TOPO_DUMP_FILE`` or ``NCCL_GRAPH_DUMP_FILE``."""

    source: str
    devices: tuple[NcclDevice, ...] = ()
    graphs: tuple[NcclGraph, ...] = ()


class NcclEvidence(msgspec.Struct, frozen=True):
    """All values that the library reported; empty if it printed nothing.

    ``network`` is its plugin's name (``IB``, ``Socket``, ``AWS Libfabric``), ``provider`` that of
    libfabric below it. ``nodes`` and ``local_ranks`` are its counts, ``ring`` is the order of ranks
    in its first channel. ``rates_bit_s`` are adapters' rates by index. ``reasons`` are its messages
    on transports that it could not use, ``warnings`` its warnings, ``variables`` the environment
    variables that it found set. ``multi_node_nvlink`` is true if NVLink joins the nodes.
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
    def has_values(self) -> bool:
        return self != NcclEvidence()

    @property
    def crossing(self) -> tuple[NcclWay, ...]:
        """The connections that leave a node."""
        return tuple(connection for connection in self.ways if connection.crosses)

    @property
    def sockets(self) -> bool:
        """True if bytes left a node by the kernel's sockets."""
        if self.crossing:
            return any(connection.sockets for connection in self.crossing)
        return self.network.startswith("Socket")

    @property
    def offloaded(self) -> str:
        """The network's unit that reduces data (``SHARP``, ``NVLS``); empty if none.

        The result is then larger than the bytes that the wire carried.
        """
        transports = [connection.via for connection in self.ways]
        if self.collnet_channels and any(via.startswith("COLLNET/") for via in transports):
            return "SHARP"
        used = {choice.algorithm for choice in self.choices}
        if any(algorithm.startswith(("NVLS", "COLLNET")) for algorithm in used):
            has_nvls = any(algorithm.startswith("NVLS") for algorithm in used)
            return "NVLS" if has_nvls else "SHARP"
        return "NVLS" if self.nvls_channels and not used else ""
