"""What is noted around the launches: findings of a preflight, libraries, transports, links."""

import hashlib
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec

from fabricgauge.app.progress import Progress
from fabricgauge.discover.interface import link_states
from fabricgauge.doctor.examining import examine
from fabricgauge.files.reading import opened, read_bytes
from fabricgauge.model.connectivity import Connectivity
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import Preflight
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.parse.ucx_protocols import gpu_ways
from fabricgauge.run.mpi_impls.table import MPI_IMPLS
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_libraries, write_preflight, write_ways

#: Findings that are told at once; the rest is quoted where a figure is bad.
MOST_TOLD = 5
#: An MPI says what it uses when ranks connect: at the beginning.
MOST_BYTES = 1 << 20
UNPINNED = "its own choice"

#: What carries messages: MPI itself, its transports and providers, and who starts ranks.
_CARRIERS = re.compile(
    r"lib(?:mpi|open-|pmpi|fabric|uc[mpst]|uct_|psm|ibverbs|rdmacm|mlx|efa|cxi|opx|pmi|prrte|"
    r"nccl|rccl|sharp|hcoll)|-fi\.so|mca_(?:pml|btl|mtl|osc)_",
    re.IGNORECASE,
)


def note_preflight(
    directory: RunDirectory,
    fabric: Fabric,
    connectivity: tuple[Connectivity, ...],
    progress: Progress,
) -> tuple[Finding, ...]:
    """Keep what is wrong with nodes and networks, and tell of what will break the run.

    These checks cost little time: they look at what discovery and the connections have shown.

    Raises:
        StoreError: it cannot be written.
    """
    found = quick_findings(fabric, connectivity)
    write_preflight(directory, found)
    failing = [one for one in found if one.severity is Severity.FAIL]
    for one in failing[:MOST_TOLD]:
        progress.trouble(f"{one.check}: {one.where}: {one.what}")
    if len(failing) > MOST_TOLD:
        progress.trouble(f"and {len(failing) - MOST_TOLD:,} more; see fabricgauge doctor")
    return found


def quick_findings(
    fabric: Fabric, connectivity: tuple[Connectivity, ...] = ()
) -> tuple[Finding, ...]:
    """What can be said from the quick probe and connections: no adapter is known."""
    preflight = Preflight(fabric, (), connectivity=connectivity)
    return tuple(finding for one in examine(preflight) for finding in one.findings)


def note_libraries(directory: RunDirectory, run: Run) -> dict[str, str]:
    """Write down what the launches had loaded, with hashes; returns facts of the environment.

    A file that this machine does not have, or cannot read, has no hash.
    """
    paths = sorted({path for one in run.launches if one.header for path in one.header.libraries})
    if not paths or directory.complete or directory.foreign:
        return {}  # a run that others can have written must not name files to be read
    return write_libraries(directory, {path: _hash(path) for path in paths if carries(path)})


def carries(path: str) -> bool:
    """Whether a library has to do with messages, by its name."""
    return bool(_CARRIERS.search(Path(path).name))


def _hash(path: str) -> str:
    """The beginning of its SHA-256, empty where it cannot be read."""
    try:
        return hashlib.sha256(read_bytes(Path(path))).hexdigest()[:16]
    except OSError:
        return ""


def note_transports(directory: RunDirectory, run: Run) -> dict[str, str]:
    """Write down what the launches of each network said that they used; returns the facts.

    A library that is loaded need not be used; nothing is written where nobody said it.
    """
    found: dict[str, dict[str, None]] = {}
    for launch in run.launches:
        for way in _ways(directory, launch, run.environment.get("MPI", "")):
            found.setdefault(launch.network or UNPINNED, {})[way] = None
    if not found or directory.complete:
        return {}
    return write_ways(directory, {network: ", ".join(ways) for network, ways in found.items()})


def _ways(directory: RunDirectory, launch: Launch, mpi: str) -> Iterator[str]:
    if launch.header and launch.header.transport:  # MPI only controls it
        yield str(launch.header.transport)
        return
    mpi_impl = MPI_IMPLS.get(mpi.partition(" ")[0])
    if mpi_impl is None:
        return
    folders = sorted((directory.path / "raw").glob(f"launch-{launch.number:02}-*"))
    for folder, name in product(folders, ("stderr.txt", "stdout.jsonl")):
        text = _beginning(folder / name, directory.path)
        lines = [line for line in text.splitlines() if not line.startswith("{")]
        for line in lines:
            yield from mpi_impl.ways(line)
        yield from gpu_ways(lines)


def _beginning(path: Path, run: Path) -> str:
    try:
        with opened(path, run) as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def explained(access: HostAccess, fabric: Fabric, network: str | None, ended: Ended) -> Ended:
    """A launch that broke gets the state of its network's links added to its message."""
    if ended.status == "ok":
        return ended
    networks = tuple(one for one in fabric.networks if network in (None, one.name))
    found = tuple(change for one in networks for change in link_states(access, fabric, one))
    sentences = tuple(change.sentence for change in found)
    return msgspec.structs.replace(
        ended, message="; ".join((*sentences, ended.message)), changes=sentences,
        change_kinds=tuple(change.kind for change in found),
    )  # fmt: skip
