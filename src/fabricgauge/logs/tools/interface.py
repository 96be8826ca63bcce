"""The interface of a suite: its programs, and the starts of a profile."""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

#: Words that stand for the addresses of server and client in the measured network.
SERVER = "@server"
CLIENT = "@client"
#: Words that stand for the RDMA device on a node's interface in that network, and its port.
DEVICE = "@device"
PORT = "@port"
#: Word that stands for the folder of a start's raw output.
FOLDER = "@folder"


class Effort(msgspec.Struct, frozen=True):
    """How much one start measures, by profile.

    ``stream_s`` is for programs that stream for a fixed time, ``iterations`` for programs that
    repeat each size. ``streams`` is the largest number of parallel connections. ``verbs`` holds the
    values after the suite's name, by the keys of ``--transport verbs``. ``tests`` are the named
    tests of an MPI suite; if empty, the suite starts its usual ones. With ``only_streams`` iperf3
    makes its test of parallel connections alone.
    """

    stream_s: int
    iterations: int
    streams: int
    largest_bytes: int
    verbs: Mapping[str, str] = {}
    tests: tuple[str, ...] = ()
    only_streams: bool = False


class Start(msgspec.Struct, frozen=True):
    """One start of a program; ``name`` identifies it in the plan.

    The first word of ``client`` and ``server`` is a program of the suite. For an MPI suite each
    rank runs ``client``, and ``server`` is empty. The server listens on ``port``, 0 without one.
    """

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    port: int = 0


class Tool(msgspec.Struct, frozen=True):
    """A suite that fabricgauge can run; ``pair`` programs are a client and a server without MPI.

    ``polls`` is true if they keep a processor busy while they wait, as MPI and verbs do.
    ``technology`` is their use of an Ethernet, which determines their ceiling. With ``if_device``
    that holds only if the interface has an RDMA device; otherwise they use TCP. ``keys`` are the
    keys of ``--transport verbs`` that they accept. ``variables`` are set for each rank unless the
    user has set them. ``of_pairs`` is the start that measures pairs of more than two nodes, while
    the others use all nodes; a suite without it measures two nodes.
    """

    name: str
    kind: Literal["pair", "mpi"]
    programs: tuple[str, ...]
    prefixes: tuple[str, ...]
    starts: Callable[[Effort], tuple[Start, ...]]
    package: str
    polls: bool = True
    technology: str = "ethernet"
    if_device: bool = False
    keys: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    of_pairs: str = ""
