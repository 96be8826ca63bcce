"""What carried the messages by the MPI's own word: the BTL, provider or transport that it used."""

from collections.abc import Iterator
from pathlib import Path

from fabricgauge.model.run import Run
from fabricgauge.run.mpi_impls.table import MPI_IMPLS
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_ways

#: An MPI says it when ranks connect: at the beginning.
MOST_BYTES = 1 << 20
UNPINNED = "its own choice"


def note_transports(directory: RunDirectory, run: Run) -> None:
    """Write down what the launches of each network said that they used.

    A library that is loaded need not be used; nothing is written where nobody said it.
    """
    found: dict[str, dict[str, None]] = {}
    for launch in run.launches:
        for folder in sorted((directory.path / "raw").glob(f"launch-{launch.number:02}-*")):
            for way in _ways(folder, run.environment.get("MPI", "")):
                found.setdefault(launch.network or UNPINNED, {})[way] = None
    if found and not directory.complete:
        write_ways(directory, {network: ", ".join(ways) for network, ways in found.items()})


def _ways(folder: Path, mpi: str) -> Iterator[str]:
    mpi_impl = MPI_IMPLS.get(mpi.partition(" ")[0])
    if mpi_impl is None:
        return
    for name in ("stderr.txt", "stdout.jsonl"):
        for line in _beginning(folder / name).splitlines():
            if not line.startswith("{"):
                yield from mpi_impl.ways(line)


def _beginning(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
