"""What is known of a lab while it stands: its directory, and one file, replaced as a whole."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from fabricgauge.lab.fault_kinds import LabFault
from fabricgauge.model.errors import LabError, UsageError

_FILE = "lab.json"


class NodeHolder(msgspec.Struct, frozen=True):
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
    process: NodeHolder


class LabNode(msgspec.Struct, frozen=True):
    """A node; ``index`` is 0 for the head and counts the nodes from 1."""

    name: str
    index: int
    holder: NodeHolder


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


_T = TypeVar("_T", LabNode, LabNetwork)


class LabState(msgspec.Struct, frozen=True):
    """A lab as it was made, and the faults in force.

    ``nodes`` begins with the head. ``token`` marks the lab's processes in their
    environment. ``net_inodes`` are the network namespaces made so far. ``complete``
    is false while ``up`` works, and stays so if it was killed. ``slurm`` is empty for a
    lab without Slurm. ``senders`` run while there are faults of stray frames. ``rdma`` is
    empty, ``roce`` or ``iwarp``; with it nodes are virtual machines, held by QEMU, and no head.
    """

    name: str
    directory: str
    token: str
    boot_id: str
    created_utc: str
    rootless: bool
    complete: bool = False
    congestion_control: str = ""
    switch: NodeHolder | None = None
    net_inodes: tuple[int, ...] = ()
    nodes: tuple[LabNode, ...] = ()
    networks: tuple[LabNetwork, ...] = ()
    faults: tuple[LabFault, ...] = ()
    slurm: tuple[Daemon, ...] = ()
    senders: tuple[NodeHolder, ...] = ()
    rdma: str = ""

    def node(self, name: str) -> LabNode:
        return self._named(name, "node", self.nodes)

    def network(self, name: str) -> LabNetwork:
        return self._named(name, "network", self.networks)

    def _named(self, name: str, what: str, those: tuple[_T, ...]) -> _T:
        for one in those:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in those)
        raise UsageError(f"lab {self.name!r} has no {what} {name!r}; it has {known}")


class Marks(msgspec.Struct, frozen=True):
    """The part of a lab's file that is enough to end it, in every version of the file."""

    token: str
    boot_id: str
    net_inodes: tuple[int, ...] = ()


_S = TypeVar("_S", LabState, Marks)


def load(name: str) -> LabState:
    """The state of a lab. Its place is where it was found, whatever the file says.

    Raises:
        LabError: there is no such lab, its directory is not this user's alone, or its
            file cannot be understood.
    """
    directory = existing(name)
    remedy = f"remove the lab with 'fabricgauge lab down --name {name}'"
    state = _stored(directory, LabState, remedy) if directory else None
    if directory is None or state is None:
        raise LabError(
            f"there is no lab named {name!r}; bring it up with 'fabricgauge lab up --name {name}'"
        )
    return msgspec.structs.replace(state, name=name, directory=str(directory))


def _stored(directory: Path, kind: type[_S], remedy: str) -> _S | None:
    path = directory / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise LabError(f"cannot read {path}: {error}; {remedy}") from error


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
    remedy = (
        "end the lab's processes by hand (their environment has FABRICGAUGE_LAB_HOLDER) and "
        f"remove {directory}"
    )
    return _stored(directory, Marks, remedy)


def save(state: LabState) -> None:
    """Replace the lab's file; a reader sees the old one or the new one, never a part."""
    directory = Path(state.directory)
    fresh = directory / f".{_FILE}.{os.getpid()}"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
    fresh.replace(directory / _FILE)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def lab_directory(name: str) -> Path:
    """The directory of one lab; it need not exist.

    Raises:
        LabError: the name cannot be a directory's name.
    """
    if not _NAME.fullmatch(name):
        raise LabError(
            f"{name!r} cannot name a lab: use up to 64 letters, digits, dots, underscores "
            "and hyphens, beginning with a letter or digit"
        )
    return labs_root() / name


def labs_root() -> Path:
    """The directory that holds all labs of this user, below the first of the usual places that is
    this user's and lets programs run.

    The agent is executed from there, so a file system mounted noexec does not serve.
    """
    uid = os.getuid()
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"):
        is_ours = place.startswith("/") and _ours(Path(place))
        if is_ours and not os.statvfs(place).f_flag & os.ST_NOEXEC:
            return Path(place) / "fabricgauge" / "labs"
    return Path(f"/tmp/fabricgauge-{uid}/labs")  # noqa: S108 -- whose it is, is checked


def existing(name: str) -> Path | None:
    """The directory of a lab; None when there is no such lab.

    Raises:
        LabError: the directory, or one that it is in, is not ours alone: what it says of
            processes must not be believed.
    """
    directory = lab_directory(name)
    for place in (*_way_to_labs(), directory):
        if not os.path.lexists(place):
            return None
        _assert_ours(place)
    return directory


def names() -> tuple[str, ...]:
    """The names of all labs of this user, whole or broken; none where others may write."""
    if not all(_ours(place) for place in _way_to_labs()):
        return ()
    return tuple(sorted(entry.name for entry in labs_root().iterdir() if _ours(entry)))


def create(name: str) -> Path:
    """Make the directory of a new lab, for this user alone.

    Raises:
        LabError: the lab exists, or the directory is not ours alone.
    """
    directory = lab_directory(name)
    try:
        for place in _way_to_labs():
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
            _assert_ours(place)
        directory.mkdir(mode=0o700)
    except FileExistsError as error:
        raise LabError(
            f"a lab named {name!r} exists in {directory}; remove it with "
            f"'fabricgauge lab down --name {name}', or choose another --name"
        ) from error
    except OSError as error:
        raise LabError(f"cannot make {directory}: {error.strerror}; make room there") from error
    return directory


def _way_to_labs() -> tuple[Path, Path]:
    """The directories to go through to a lab. Anyone may have made them under /tmp."""
    root = labs_root()
    return root.parent, root


def _assert_ours(directory: Path) -> None:
    if not _ours(directory):
        raise LabError(
            f"{directory} is not a directory that belongs to this user alone, so it is not "
            "used; remove it, or set XDG_RUNTIME_DIR to a directory of your own"
        )


def _ours(directory: Path) -> bool:
    """Whether it is a real directory, no link, that no other user may write."""
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
