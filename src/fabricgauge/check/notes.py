"""Note facts around the launches: preflight findings, libraries, transports, links."""

import hashlib
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import msgspec

from fabricgauge.doctor.checks import QUICK
from fabricgauge.doctor.examining import examine
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.preflight import Connectivity, Head, Preflight
from fabricgauge.model.progress import Progress
from fabricgauge.model.run import Ended, Launch, Run
from fabricgauge.nodes.discover.interface import find_network_changes
from fabricgauge.store.files.reading import opened, read_bytes
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import write_libraries, write_preflight, write_transports

#: Findings that are shown at once; reports quote the rest beside a bad figure.
MAX_SHOWN_FINDINGS = 5
#: An MPI prints its transports when ranks connect: at the beginning of its output.
MAX_HEAD_BYTES = 1 << 20
UNPINNED = "its own choice"

#: Libraries that carry messages: MPI, its transports and providers, and those that start ranks.
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
    head: Head | None = None,
) -> tuple[Finding, ...]:
    """Store the findings on nodes and networks; show those that will break the run.

    These checks cost little time: they use the results of discovery and of the connections.

    Raises:
        StoreError: they cannot be written.
    """
    findings = quick_findings(fabric, connectivity, head)
    write_preflight(directory, findings)
    failing = [finding for finding in findings if finding.severity is Severity.FAIL]
    for finding in failing[:MAX_SHOWN_FINDINGS]:
        progress.trouble(f"{finding.check}: {finding.where}: {finding.what}")
    if len(failing) > MAX_SHOWN_FINDINGS:
        progress.trouble(f"{len(failing) - MAX_SHOWN_FINDINGS:,} more: run fabricgauge doctor")
    return findings


def quick_findings(
    fabric: Fabric, connectivity: tuple[Connectivity, ...] = (), head: Head | None = None
) -> tuple[Finding, ...]:
    """Return the findings from the quick probe and the connections, without a survey of the
    nodes.
    """
    preflight = Preflight(fabric, (), connectivity=connectivity, head=head)
    return tuple(
        finding for diagnosis in examine(preflight, QUICK) for finding in diagnosis.findings
    )


def note_libraries(directory: RunDirectory, run: Run) -> dict[str, str]:
    """Store the libraries of the launches, with hashes; return facts of the environment.

    A file that this machine does not have, or cannot read, has no hash.
    """
    headers = [launch.header for launch in run.launches if launch.header]
    paths = sorted({path for header in headers for path in header.libraries})
    if not paths or directory.complete or directory.foreign:
        return {}  # others may change the run: it must not name files to read
    hashes = {path: _hash(path) for path in paths if carries_messages(path)}
    return write_libraries(directory, hashes)


def carries_messages(path: str) -> bool:
    """Check if a library's name belongs to one that carries messages."""
    return bool(_CARRIERS.search(Path(path).name))


def _hash(path: str) -> str:
    """Return the beginning of a file's SHA-256; empty if the file cannot be read."""
    try:
        return hashlib.sha256(read_bytes(Path(path))).hexdigest()[:16]
    except OSError:
        return ""


def note_transports(directory: RunDirectory, run: Run) -> dict[str, str]:
    """Store the transports that the launches of each network report; return the facts.

    A library that is loaded need not be used. Nothing is stored if no launch reports a transport.
    """
    transports: dict[str, dict[str, None]] = {}
    for launch in run.launches:
        for transport in _transports_of(directory, run, launch):
            transports.setdefault(launch.network or UNPINNED, {})[transport] = None
    if not transports or directory.complete:
        return {}
    return write_transports(
        directory, {network: ", ".join(names) for network, names in transports.items()}
    )


def _transports_of(directory: RunDirectory, run: Run, launch: Launch) -> Iterator[str]:
    if launch.header and launch.header.transport:  # MPI only controls the launch
        yield str(launch.header.transport)
        return
    from fabricgauge.nodes.launch.mpi_impls import find_mpi_impl

    mpi_impl = find_mpi_impl(run.environment.get("MPI", "").partition(" ")[0])
    if mpi_impl is None:
        return
    folders = sorted((directory.path / "raw").glob(f"launch-{launch.number:02}-*"))
    for folder, name in product(folders, ("stderr.txt", "stdout.jsonl")):
        text = _head_of(folder / name, directory.path)
        lines = [line for line in text.splitlines() if not line.startswith("{")]
        for line in lines:
            yield from mpi_impl.parse_transports(line)
        if run.plan.memory:
            from fabricgauge.logs.readers.ucx_protocols import gpu_ways

            yield from gpu_ways(lines)


def _head_of(path: Path, run: Path) -> str:
    try:
        with opened(path, run) as file:
            return file.read(MAX_HEAD_BYTES).decode(errors="replace")
    except OSError:
        return ""


def with_link_changes(
    access: HostAccess, fabric: Fabric, network: str | None, ended: Ended
) -> Ended:
    """Add the changes of its network's links to the message of a launch that broke."""
    if ended.status == "ok":
        return ended
    changes = [
        change
        for candidate in fabric.networks
        if network in (None, candidate.name)
        for change in find_network_changes(access, fabric, candidate)
    ]
    sentences = tuple(change.sentence for change in changes)
    return msgspec.structs.replace(
        ended, message="; ".join((*sentences, ended.message)), changes=sentences,
        change_kinds=tuple(change.kind for change in changes),
    )  # fmt: skip
