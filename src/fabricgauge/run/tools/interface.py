"""What a suite's module provides: its programs, and what to start for a profile."""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

#: Words that stand for the addresses of the two ends in the network that is measured.
SERVER = "@server"
CLIENT = "@client"
#: Words that stand for the RDMA device on a node's own interface there, and the device's port.
DEVICE = "@device"
PORT = "@port"
#: A word that stands for the folder of a start's raw output.
FOLDER = "@folder"


class Effort(msgspec.Struct, frozen=True):
    """How much one start may take, as the profile has it.

    ``stream_s`` is for programs that stream for a set time, ``iterations`` for those that
    repeat each size; ``streams`` is how many connections share the link at most. ``verbs`` is
    what was asked for after the suite's name, by the keys of ``--transport verbs``.
    """

    stream_s: int
    iterations: int
    streams: int
    largest_bytes: int
    verbs: Mapping[str, str] = {}


class Start(msgspec.Struct, frozen=True):
    """One start of a program: ``name`` is the plan's word for it.

    The first word of ``client`` and ``server`` is a program of the suite. ``client`` is also
    what each rank runs when mpiexec starts it; ``server`` is empty then. ``port`` is where
    the server listens, 0 without one.
    """

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...] = ()
    port: int = 0


class Tool(msgspec.Struct, frozen=True):
    """A suite that can be run. ``pair`` programs are a client and a server without MPI.

    ``polls`` is whether they keep a processor busy while they wait, as MPI and verbs do.
    ``technology`` is what they make of an Ethernet: their ceiling is that one's. With
    ``if_device`` they do so where an RDMA device is on the interface, else they use TCP. ``keys``
    are those of ``--transport verbs`` that they heed. ``variables`` are set for each rank, unless
    the user has set them. ``of_pairs`` is the start that measures pairs of more than two nodes,
    while all others take all nodes; a suite without one measures two nodes.
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
