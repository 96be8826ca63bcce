"""What is known of a lab while it stands: one file, replaced as a whole at each change."""

import os
from pathlib import Path

import msgspec

from fabricgauge.lab.fault_kinds import Fault
from fabricgauge.lab.place import existing, lab_names
from fabricgauge.model.errors import LabError

_FILE = "lab.json"


class Holder(msgspec.Struct, frozen=True):
    """The process that keeps a node's namespaces; its start time tells it from a successor.

    ``start_ticks`` is field 22 of /proc/PID/stat; ``net_inode`` is the inode number of
    its network namespace.
    """

    pid: int
    start_ticks: int
    net_inode: int


class Daemon(msgspec.Struct, frozen=True):
    """A program of the lab's Slurm: munged, slurmctld or slurmd, as it was last started."""

    program: str
    node: str
    process: Holder


class Sender(msgspec.Struct, frozen=True):
    """The program that sends a node stray frames in a network, as it was started."""

    node: str
    network: str
    process: Holder


class LabNode(msgspec.Struct, frozen=True):
    """A node; ``index`` is 0 for the head and counts the nodes from 1."""

    name: str
    index: int
    holder: Holder


class LabNetwork(msgspec.Struct, frozen=True):
    """A network; nodes reach it through ``interface``. Its rate is per direction."""

    name: str
    index: int
    rate_bit_s: float
    mtu_bytes: int
    subnet: str

    @property
    def interface(self) -> str:
        return f"eth{self.index}"

    @property
    def bridge(self) -> str:
        return f"br{self.index}"

    def port(self, node: LabNode) -> str:
        """The switch's interface at the other end of a node's cable."""
        return f"p{node.index}e{self.index}"


class LabState(msgspec.Struct, frozen=True):
    """A lab as it was made, and the faults in force.

    ``nodes`` begins with the head. ``token`` marks the lab's processes in their
    environment. ``net_inodes`` are the network namespaces made so far. ``complete``
    is false while ``up`` works, and stays so if it was killed. ``slurm`` is empty for a
    lab without Slurm. ``senders`` run while there are faults of stray frames.
    """

    name: str
    directory: str
    token: str
    boot_id: str
    created_utc: str
    rootless: bool
    complete: bool = False
    congestion_control: str = ""
    switch: Holder | None = None
    net_inodes: tuple[int, ...] = ()
    nodes: tuple[LabNode, ...] = ()
    networks: tuple[LabNetwork, ...] = ()
    faults: tuple[Fault, ...] = ()
    slurm: tuple[Daemon, ...] = ()
    senders: tuple[Sender, ...] = ()

    def node(self, name: str) -> LabNode:
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise LabError(f"lab {self.name!r} has no node {name!r}; it has {known}")

    def network(self, name: str) -> LabNetwork:
        for network in self.networks:
            if network.name == name:
                return network
        known = ", ".join(network.name for network in self.networks)
        raise LabError(f"lab {self.name!r} has no network {name!r}; it has {known}")


class Marks(msgspec.Struct, frozen=True):
    """The part of a lab's file that is enough to end it, in every version of the file."""

    token: str
    boot_id: str
    net_inodes: tuple[int, ...] = ()


def load(name: str) -> LabState:
    """The state of a lab. Its place is where it was found, whatever the file says.

    Raises:
        LabError: there is no such lab, its directory is not this user's alone, or its
            file cannot be understood.
    """
    missing = f"there is no lab named {name!r}; bring it up with 'fabricgauge lab up --name {name}'"
    directory = existing(name)
    if directory is None:
        raise LabError(missing)
    path = directory / _FILE
    try:
        state = msgspec.json.decode(path.read_bytes(), type=LabState)
    except FileNotFoundError as error:
        raise LabError(missing) from error
    except (OSError, msgspec.DecodeError) as error:
        raise LabError(
            f"cannot read {path}: {error}; remove the lab with 'fabricgauge lab down --name {name}'"
        ) from error
    return msgspec.structs.replace(state, name=name, directory=str(directory))


def load_complete(name: str) -> LabState:
    """The state of a lab that came up; LabError for one that did not."""
    state = load(name)
    if not state.complete:
        raise LabError(
            f"lab {name!r} did not come up completely; remove it with "
            f"'fabricgauge lab down --name {name}' and bring it up again"
        )
    return state


def load_marks(directory: Path) -> Marks | None:
    """What is needed to end a lab; None when its file was never written.

    Raises:
        LabError: the file is there and cannot be understood.
    """
    path = directory / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Marks)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise LabError(
            f"cannot read {path}: {error}; end the lab's processes by hand (their environment "
            f"has FABRICGAUGE_LAB_HOLDER) and remove {directory}"
        ) from error


def save(state: LabState) -> None:
    """Replace the lab's file; a reader sees the old one or the new one, never a part."""
    directory = Path(state.directory)
    fresh = directory / f".{_FILE}.{os.getpid()}"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
    fresh.replace(directory / _FILE)


def names() -> tuple[str, ...]:
    """The names of all labs of this user, whole or broken; none where others may write."""
    return lab_names()
