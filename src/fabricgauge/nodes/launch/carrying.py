"""Carry programs to nodes that lack them, into a private folder of the user.

Each node is asked first, so a shared folder is used where there is one. A program has the same path
on all nodes, since a launcher starts it by one path. The folder is named after the user and the
program's digest; a node checks the digest before it uses the program. A file beside the program
marks each run that uses it, and the last of them removes it.
"""

import hashlib
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from fabricgauge.model.errors import CannotRun, ToolMissing
from fabricgauge.model.host_access import Host
from fabricgauge.nodes import process

#: Logins at the same time: more would meet the limit of one machine's ssh clients and of sshd
#: (sshd_config(5), MaxStartups, counts per server, so it does not apply).
AT_ONCE = 64
#: A login, a copy of 10 MB at 10 MB/s, and a slow disk.
TIMEOUT_S = 60.0

#: Digits of the digest in the name of a program's folder.
DIGITS = 16

#: Who uses a program that stays on the nodes; carry.sh knows this name.
KEPT = "kept"


class Parcel(msgspec.Struct, frozen=True):
    """A program to carry. An ``archive`` is unpacked beside an empty file ``name``."""

    file: Path
    name: str
    sha256: str
    archive: bool = False

    def path_in(self, base: str) -> str:
        return f"{base}/{self.sha256[:DIGITS]}/{self.name}"


class MpiOfHead(msgspec.Struct, frozen=True):
    """The MPI's library on the head, its digest and version, and what its launcher needs on nodes.

    ``helper`` is the program that the launcher starts on each node; empty if there is none.
    """

    library: str = ""
    sha256: str = ""
    version: str = ""
    helper: str = ""


class NodeAnswer(msgspec.Struct, frozen=True):
    """A node's answer: its files that are the program, its processor, and its MPI's library.

    ``failure`` is the reason why it cannot hold the program. ``answered`` is false if the node was
    not reached: who discovers it will report that.
    """

    node: str
    answered: bool
    files: frozenset[str] = frozenset()
    machine: str = ""
    library: str = ""
    has_library: bool = True
    version: str = ""
    has_helper: bool = True
    failure: str = ""


class Placed(msgspec.Struct, frozen=True):
    """The program's path on all nodes, where it was carried to, and the nodes that cannot hold it.

    ``base`` is empty if the head's path is used. ``user`` marks the copies on ``marked`` nodes:
    those that got one, and those that had one.
    """

    path: str
    base: str = ""
    carried: tuple[str, ...] = ()
    failures: dict[str, str] = {}
    marked: tuple[str, ...] = ()
    user: str = ""


def usual_bases(home: str) -> tuple[str, ...]:
    """Return the folders to try, one after the other: on disk, in the user's home, in memory."""
    folder = f"fabricgauge-{os.getuid()}"
    return (f"/tmp/{folder}", f"{home}/.cache/fabricgauge/carried", f"/dev/shm/{folder}")  # noqa: S108


def ask_nodes(
    hosts: Iterable[Host], parcel: Parcel, bases: Sequence[str], mpi: MpiOfHead | None = None
) -> dict[str, NodeAnswer]:
    """Ask each node, by name, if it has the program at the head's path or in one of the folders."""
    paths, mpi = (str(parcel.file), *map(parcel.path_in, bases)), mpi or MpiOfHead()
    words = ("ask", parcel.sha256, mpi.sha256, mpi.library, mpi.helper, *paths)
    return _on_all(hosts, words)


def place(
    hosts: Sequence[Host], parcel: Parcel, bases: Sequence[str], answers: Mapping[str, NodeAnswer],
    *, keep: bool = False,
) -> Placed:  # fmt: skip
    """Carry the program to all nodes that lack it; the first folder that suits all nodes is used.

    If none does, the folder that suits most nodes is used, and ``failures`` are of its other nodes.
    With ``keep`` no run removes it.
    """
    user = KEPT if keep else secrets.token_hex(8)
    asked = [host for host in hosts if answers[host.node].answered]
    if all(str(parcel.file) in answers[host.node].files for host in asked):
        return Placed(str(parcel.file))
    best: Placed | None = None
    for base in bases:
        path = parcel.path_in(base)
        holders = [host for host in asked if path in answers[host.node].files]
        held = _on_all(holders, ("hold", parcel.sha256, base, parcel.name, user))
        holding = tuple(node for node, answer in held.items() if path in answer.files)
        lacking = [host for host in asked if host.node not in holding]
        kind = "archive" if parcel.archive else "file"
        stored = _on_all(
            lacking, ("put", parcel.sha256, base, parcel.name, kind, user), parcel.file
        )
        failures = {
            node: answer.failure or "the copy of the program was broken off"
            for node, answer in stored.items()
            if path not in answer.files
        }
        carried = tuple(node for node in stored if node not in failures)
        placed = Placed(path, base, carried, failures, (*holding, *carried), user)
        if best is not None and len(failures) >= len(best.failures):
            drop(hosts, placed, parcel)
        else:
            if best is not None:
                drop(hosts, best, parcel)
            best = placed
        if not best.failures:
            break
    return best or Placed(str(parcel.file))


def drop(hosts: Iterable[Host], placed: Placed, parcel: Parcel) -> None:
    """Remove a carried program from the nodes on which no other run uses it."""
    if placed.marked:
        wanted = [host for host in hosts if host.node in placed.marked]
        _on_all(wanted, ("drop", placed.base, parcel.sha256[:DIGITS], placed.user))


@contextmanager
def on_nodes(file: Path, hosts: Sequence[Host]) -> Iterator[Placed]:
    """Yield where the nodes have a program, with those that cannot hold it.

    Removes the copies at the end.
    """
    parcel = Parcel(file, file.name, hashlib.sha256(file.read_bytes()).hexdigest())
    bases = usual_bases(str(Path.home()))
    placed = place(hosts, parcel, bases, ask_nodes(hosts, parcel, bases))
    try:
        yield placed
    finally:
        drop(hosts, placed, parcel)


@contextmanager
def required_on_nodes(file: Path, hosts: Sequence[Host]) -> Iterator[Path]:
    """Yield a path at which all nodes have a program; remove the copies at the end.

    Raises:
        CannotRun: a node cannot hold it.
    """
    with on_nodes(file, hosts) as placed:
        for node, reason in placed.failures.items():
            raise CannotRun(f"{node} cannot hold {file.name}: {reason}")
        yield Path(placed.path)


@cache
def script() -> str:
    return resources.files(__package__).joinpath("carry.sh").read_text("utf-8")


def _on_all(
    hosts: Iterable[Host], words: Sequence[str], file: Path | None = None
) -> dict[str, NodeAnswer]:
    group, listed = process.ChildGroup(), list(hosts)

    def call(host: Host) -> NodeAnswer:
        argv = host.through(("sh", "-c", script(), "sh", *words))
        try:
            with file.open("rb") if file else nullcontext() as content:
                stdin = content.fileno() if content else ""
                completed = process.run(argv, timeout_s=TIMEOUT_S, group=group, stdin=stdin)
        except (ToolMissing, OSError):
            return NodeAnswer(host.node, answered=False)
        return parse_node_answer(host.node, completed.stdout)

    with ThreadPoolExecutor(max(1, min(AT_ONCE, len(listed)))) as pool:
        try:
            return {answer.node: answer for answer in pool.map(call, listed)}
        finally:
            group.end()


def parse_node_answer(node: str, text: str) -> NodeAnswer:
    """Parse the lines of carry.sh; a site's profile may print others before them."""
    facts: dict[str, str] = {}
    files: set[str] = set()
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "have":
            files.add(rest)
        elif word in _WORDS:
            facts[word] = rest.strip()
    kind, _, library = facts.get("library", "").partition(" ")
    return NodeAnswer(
        node, "end" in facts or "fail" in facts, frozenset(files), facts.get("machine", ""),
        library, kind != "none", facts.get("version", "") if kind == "other" else "",
        facts.get("helper") != "none", facts.get("fail", ""),
    )  # fmt: skip


_WORDS = frozenset({"machine", "version", "library", "helper", "fail", "end"})


def read_versions(library: Path) -> str:
    """Return the family of an MPI's library and the texts in it that its version may be."""
    head = Host("head", ("env",))
    return _on_all([head], ("library", "", str(library)))[head.node].version


def _may_be_alike(version: str, wanted: str) -> bool:
    """Check whether two libraries share a family and a possible version, if both are known."""
    words, wanted_words = version.split(), wanted.split()
    numbers = {word for word in words if word[0].isdigit()}
    wanted_numbers = {word for word in wanted_words if word[0].isdigit()}
    if not numbers or not wanted_numbers:
        return True
    family = [word for word in words if word not in numbers]
    wanted_family = [word for word in wanted_words if word not in wanted_numbers]
    return family == wanted_family and not numbers.isdisjoint(wanted_numbers)


def find_mpi_faults(
    answers: Mapping[str, NodeAnswer], mpi: MpiOfHead, machine: str, exempt: Collection[str] = ()
) -> dict[str, str]:
    """Return why a node's MPI does not fit that of the head; ``exempt`` nodes get the head's.

    The same file is alike, and so is another file that may have the same version. Where a version
    is unknown, the launch decides.
    """
    faults: dict[str, str] = {}
    for node, answer in answers.items():
        if not answer.answered:
            continue
        name = Path(mpi.library).name
        if answer.machine and answer.machine != machine:
            faults[node] = f"its processor is {answer.machine}, the head's is {machine}"
        elif node in exempt:
            continue
        elif mpi.library and not answer.has_library:
            faults[node] = f"it lacks the MPI's library {name} (on the head {mpi.library})"
        elif not _may_be_alike(answer.version, mpi.version):
            faults[node] = (
                f"its MPI is {answer.version} ({answer.library}), the head's is {mpi.version}"
            )
        elif mpi.helper and not answer.has_helper:
            faults[node] = f"it lacks {mpi.helper}, which the MPI's launcher starts on each node"
    return faults
