"""Build the program of a soak, once for each MPI and each state of the sources; carry it."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import Host
from fabricgauge.nodes.engines.build import DEFINITIONS, compile_core, first_line
from fabricgauge.nodes.engines.cache import cached_files
from fabricgauge.nodes.engines.ready_made import sha256_of
from fabricgauge.nodes.engines.sources import (
    FLAGS,
    LIBRARIES,
    digest,
    identity_of,
    run_all,
    source_folder,
)
from fabricgauge.nodes.launch.carrying import Parcel, ask_nodes, drop, place, usual_bases

#: Its first 15 letters are the engine's: the kernel shows no more, and ranks are found by them.
PROGRAM = "fabricgauge-engine-soak"


def soak_program(engine: Engine) -> Engine:
    """Return the soak's program as an engine of the same MPI.

    Raises:
        CannotRun: this machine has no compiler, or it could not build the sources.
    """
    try:
        return _build(engine)
    except CannotRun as error:
        raise CannotRun(
            f"--soak compiles its own program on this machine, with the C++ wrapper of the MPI"
            f" ({engine.mpi.mpicxx}): {error}"
        ) from error


def _build(engine: Engine) -> Engine:
    mpi, sources = engine.mpi, source_folder()
    files = sorted((sources / "soak").glob("*.?pp"))
    content = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    version = first_line(mpi.mpicxx, "--version", mpi.env)
    compiler = [str(mpi.mpicxx.resolve()), str(mpi.mpicxx), mpi.kind, mpi.version, version]
    identity = identity_of([*compiler, *FLAGS, *DEFINITIONS, content, digest(sources)])

    def build(folder: Path) -> None:
        _, core = compile_core(mpi, mpi.env, version)
        units = map(str, sorted((sources / "soak").glob("*.cpp")))
        words = [f"-I{sources / 'include'}", f"-I{sources / 'soak'}", *map(str, core), *LIBRARIES]
        command = [str(mpi.mpicxx), *FLAGS, *DEFINITIONS, *units, *words]
        run_all([[*command, "-o", str(folder / PROGRAM)]], mpi.env)

    (path,) = cached_files(f"soak-{identity}", (PROGRAM,), build)
    return msgspec.structs.replace(engine, path=path, identity=identity)


@contextmanager
def program_on_nodes(
    engine: Engine, hosts: Sequence[Host], bases: Sequence[str] = ()
) -> Iterator[Engine]:
    """Yield the program at a path that all nodes have; remove the copies at the end.

    Raises:
        CannotRun: a node cannot hold it.
    """
    parcel = Parcel(engine.path, engine.path.name, sha256_of(engine.path))
    bases = bases or usual_bases(str(Path.home()))
    placed = place(hosts, parcel, bases, ask_nodes(hosts, parcel, bases))
    try:
        for node, reason in placed.failures.items():
            raise CannotRun(f"{node} cannot hold the program of --soak: {reason}")
        yield msgspec.structs.replace(engine, path=Path(placed.path))
    finally:
        drop(hosts, placed, parcel)
