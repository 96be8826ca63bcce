"""Store the state of a lab: a directory with one file, which is always replaced as a whole."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from fabricgauge.model.errors import LabError, UsageError
from fabricgauge.store.files.writing import write_whole

_FILE = "lab.json"


class NodeHolder(msgspec.Struct, frozen=True):
    """The process that keeps a node's namespaces.

    ``start_ticks``, field 22 of /proc/PID/stat, distinguishes it from a later process with the same
    id. ``net_inode`` is the inode number of its network namespace.
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
    """A network; nodes reach it through ``interface``. Its rate is per direction.

    ``subnet`` is one of IPv6 on RDMA ports beside a management network.
    """

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
        """Return the switch's interface at the other end of a node's cable."""
        return f"p{node.index}e{self.index}"


_T = TypeVar("_T", LabNode, LabNetwork)


class LabFault(msgspec.Struct, frozen=True):
    """One fault of a node's link in ``network``, or of the node itself.

    ``amount`` is in the kind's unit: bit/s, bytes, a share from 0 to 1, frames per second. Kinds of
    addresses and names have a ``text`` instead.
    """

    kind: str
    node: str
    network: str = ""
    amount: float = 0.0
    text: str = ""

    @property
    def where(self) -> str:
        return f"{self.node} in {self.network}" if self.network else self.node


class LabState(msgspec.Struct, frozen=True):
    """A lab and its active faults.

    ``nodes`` begins with the head. ``token`` marks the lab's processes in their environment.
    ``net_inodes`` are the network namespaces made until now. ``complete`` is false while ``up``
    works, and stays false if ``up`` is killed. ``slurm`` is empty for a lab without Slurm.
    ``senders`` run while faults of stray frames are active. ``rdma`` is empty, ``roce`` or
    ``iwarp``; with it the nodes are virtual machines, held by QEMU. They have a
    head only with Slurm; ``switch`` then is the process that joins them with it.
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

    def _named(self, name: str, kind: str, items: tuple[_T, ...]) -> _T:
        for item in items:
            if item.name == name:
                return item
        existing_names = ", ".join(item.name for item in items)
        raise UsageError(f"lab {self.name!r} has no {kind} {name!r}; it has {existing_names}")


class Marks(msgspec.Struct, frozen=True):
    """The part of a lab's file that ``down`` needs, in every version of the file."""

    token: str
    boot_id: str
    net_inodes: tuple[int, ...] = ()


_S = TypeVar("_S", LabState, Marks)


def load(name: str) -> LabState:
    """Return the state of a lab. Name and directory never come from the file.

    Raises:
        LabError: no such lab, others can write its directory, or its file is not valid.
    """
    directory = find_directory(name)
    remedy = f"remove the lab with 'fabricgauge lab down {name}'"
    state = _read_file(directory, LabState, remedy) if directory else None
    if directory is None or state is None:
        raise LabError(
            f"no lab named {name!r} exists; bring it up with 'fabricgauge lab up {name}'"
        )
    return msgspec.structs.replace(state, name=name, directory=str(directory))


def _read_file(directory: Path, kind: type[_S], remedy: str) -> _S | None:
    path = directory / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise LabError(f"cannot read {path}: {error}; {remedy}") from error


def load_complete(name: str) -> LabState:
    """Return the state of a lab that came up; LabError for an incomplete lab."""
    state = load(name)
    if not state.complete:
        raise LabError(
            f"lab {name!r} did not come up completely; remove it with "
            f"'fabricgauge lab down {name}' and bring it up again"
        )
    return state


def load_marks(directory: Path) -> Marks | None:
    """Return the marks of a lab's processes; None if its file was never written.

    Raises:
        LabError: the file exists and is not valid.
    """
    remedy = (
        "end the lab's processes by hand (their environment has FABRICGAUGE_LAB_HOLDER) and "
        f"remove {directory}"
    )
    return _read_file(directory, Marks, remedy)


def save(state: LabState) -> None:
    """Replace the lab's file; a reader gets the old or the new file, never a part."""
    content = msgspec.json.format(msgspec.json.encode(state)) + b"\n"
    write_whole(Path(state.directory) / _FILE, content, sync=False)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def lab_directory(name: str) -> Path:
    """Return the directory of a lab, which may not exist.

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
    """Return the directory that holds all labs of this user.

    It is below the first usual directory that belongs to this user and allows execution: the agent
    runs from it, so a file system mounted noexec is not possible.
    """
    uid = os.getuid()
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"):
        is_private = base.startswith("/") and _is_private(Path(base))
        if is_private and not os.statvfs(base).f_flag & os.ST_NOEXEC:
            return Path(base) / "fabricgauge" / "labs"
    return Path(f"/tmp/fabricgauge-{uid}/labs")  # noqa: S108 -- its owner is checked


def find_directory(name: str) -> Path | None:
    """Return the directory of a lab; None if there is no such lab.

    Raises:
        LabError: others can write the directory or a parent of it, so that its list of processes
            cannot be trusted.
    """
    directory = lab_directory(name)
    for folder in (*_parents_of_labs(), directory):
        if not os.path.lexists(folder):
            return None
        _require_private(folder)
    return directory


def names() -> tuple[str, ...]:
    """Return the names of all labs of this user, complete or broken; none if others can write."""
    if not all(_is_private(folder) for folder in _parents_of_labs()):
        return ()
    return tuple(sorted(entry.name for entry in labs_root().iterdir() if _is_private(entry)))


def create(name: str) -> Path:
    """Make the directory of a new lab, for this user only.

    Raises:
        LabError: the lab exists, or others can write the directory.
    """
    directory = lab_directory(name)
    try:
        for folder in _parents_of_labs():
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            _require_private(folder)
        directory.mkdir(mode=0o700)
    except FileExistsError as error:
        raise LabError(
            f"a lab named {name!r} exists in {directory}; remove it with "
            f"'fabricgauge lab down {name}', or choose another name"
        ) from error
    except OSError as error:
        raise LabError(f"cannot make {directory}: {error.strerror}; make room there") from error
    return directory


def _parents_of_labs() -> tuple[Path, Path]:
    """Return the parent directories of a lab. Under /tmp any user may have made them."""
    root = labs_root()
    return root.parent, root


def _require_private(directory: Path) -> None:
    if not _is_private(directory):
        raise LabError(
            f"{directory} is not a directory that only this user can write, so no lab uses it; "
            "remove it, or set XDG_RUNTIME_DIR to a directory of your own"
        )


def _is_private(directory: Path) -> bool:
    """Check that it is a directory, no link, of this user, which no other user can write."""
    try:
        status = directory.lstat()
    except OSError:
        return False
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return is_ours and not status.st_mode & 0o022
