"""Bring the engine, and the MPI that came with this program, to nodes that lack them."""

import platform
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from fabricgauge.check.target import Target
from fabricgauge.model.engine import Engine
from fabricgauge.model.fabric import Unreached
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.words.sentences import listed
from fabricgauge.nodes.engines.ready_made import sha256_of
from fabricgauge.nodes.launch.carrying import (
    MpiOfHead,
    Parcel,
    Placed,
    ask_nodes,
    drop,
    find_mpi_faults,
    place,
    read_versions,
    usual_bases,
)

#: Programs beside ``mpiexec`` that an MPI's launcher starts on each node: Hydra's proxy; the
#: daemons of Open MPI 4 (ORTE) and 5 (PRRTE).
HELPERS = {
    "mpich": ("hydra_pmi_proxy",),
    "intelmpi": ("hydra_bstrap_proxy", "hydra_pmi_proxy"),
    "openmpi": ("orted", "prted"),
}

#: Launchers whose ranks need no helper of the MPI, and those whose hosts are this machine.
_WITHOUT_HELPER, _HERE = ("srun",), ("local", "simulated")

#: The files of the MPI that came with this program, below its prefix (PyPI's mpich 5.0).
MPI_FILES = (
    "bin/mpiexec.hydra", "bin/hydra_pmi_proxy", "lib/libmpi.so.12", "lib/mpich/**/*.so*",
)  # fmt: skip
#: The file that stands for the unpacked MPI.
MPI_MARK = "mpi"


@contextmanager
def engine_on_nodes(target: Target) -> Iterator[Target]:
    """Yield the target with an engine that all its nodes have; remove copies at the end.

    Nodes that cannot hold it, or that have another MPI, are ``left_out`` with their reasons.
    """
    engine = target.engine
    if engine is None or target.simulation or target.access.launcher in _HERE:
        yield target
        return
    hosts, keep = target.access.hosts, target.request.keep_programs
    bases = usual_bases(str(Path.home()))
    parcel = Parcel(engine.path, engine.path.name, engine.sha256 or sha256_of(engine.path))
    mpi = mpi_of_head(engine, target.access.launcher)
    answers = ask_nodes(hosts, parcel, bases, mpi)
    with ExitStack() as at_end:
        nodes = [answers[host.node] for host in hosts]
        lacking = any(
            node.answered and not (node.has_library and node.has_helper) for node in nodes
        )
        carried_mpi = None
        home = engine.mpi.mpiexec.parent.parent
        if lacking and engine.mpi.embedded and all(any(home.glob(files)) for files in MPI_FILES):
            target.progress.stage(f"carrying the MPI to {_nodes_in_words(hosts)}")
            carried_mpi = at_end.enter_context(_mpi_on_nodes(target.access, bases, keep))
        moved = [] if carried_mpi is None else [host.node for host in hosts]
        faults = find_mpi_faults(answers, mpi, platform.machine(), moved)
        if carried_mpi is not None:
            faults |= carried_mpi.failures
            engine = _with_carried_mpi(engine, carried_mpi)
        fitting = [host for host in hosts if host.node not in faults]
        if any(str(parcel.file) not in answers[host.node].files for host in fitting):
            target.progress.stage(f"carrying the engine to {_nodes_in_words(fitting)}")
        placed = place(fitting, parcel, bases, answers, keep=keep)
        if not keep:
            at_end.callback(drop, hosts, placed, parcel)
        faults |= placed.failures
        for node, reason in faults.items():
            target.progress.trouble(f"{node} is left out: {reason}")
        yield msgspec.structs.replace(
            target,
            engine=msgspec.structs.replace(engine, path=Path(placed.path)),
            left_out=tuple(
                Unreached(node, f"{node} cannot measure: {reason}", answers=True)
                for node, reason in faults.items()
            ),
            carried=placed.carried,
        )


def mpi_of_head(engine: Engine, launcher: str) -> MpiOfHead:
    """Return what a node's MPI must be like; empty if the MPI's library was not found."""
    helpers = () if launcher in _WITHOUT_HELPER else HELPERS.get(engine.mpi.kind, ())
    paths = (engine.mpi.mpiexec.parent / name for name in helpers)
    helper = next((str(path) for path in paths if path.exists()), "")
    if not engine.library:
        return MpiOfHead(helper=helper)
    library = Path(engine.library)
    return MpiOfHead(engine.library, sha256_of(library), read_versions(library), helper)


@contextmanager
def _mpi_on_nodes(access: HostAccess, bases: Sequence[str], keep: bool) -> Iterator[Placed]:
    """Carry the embedded MPI to all nodes and to the machine that starts it; yield where it is."""
    from fabricgauge.nodes.engines.find import embedded_mpi

    home = embedded_mpi().mpiexec.parent.parent
    hosts = (*access.hosts, Host("", access.head_prefix))
    with tempfile.TemporaryDirectory(prefix="fabricgauge-mpi-") as folder:
        archive = Path(folder) / "mpi.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
            for pattern in MPI_FILES:
                for file in sorted(home.glob(pattern)):
                    packed.add(file, str(file.relative_to(home)))
        parcel = Parcel(archive, MPI_MARK, sha256_of(archive), archive=True)
        asked = ask_nodes(hosts, parcel, bases)
        placed = place(hosts, parcel, bases, asked, keep=keep)
        try:
            yield placed
        finally:
            if not keep:
                drop(hosts, placed, parcel)


def _with_carried_mpi(engine: Engine, placed: Placed) -> Engine:
    home = Path(placed.path).parent
    mpi = msgspec.structs.replace(engine.mpi, mpiexec=home / "bin" / "mpiexec.hydra")
    library = home / "lib" / "libmpi.so.12"
    folders = (str(library.parent), *engine.library_path)
    return msgspec.structs.replace(
        engine, mpi=mpi, library=str(library), library_path=tuple(dict.fromkeys(folders))
    )


def _nodes_in_words(hosts: Sequence[Host]) -> str:
    names = [host.node for host in hosts]
    return listed(names) if len(names) <= 8 else f"{len(names):,} nodes"
