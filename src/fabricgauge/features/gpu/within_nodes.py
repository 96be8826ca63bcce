"""Measure copies between the GPUs of each node with the vendors' own programs.

Nothing crosses a network, so there is no path to prove: the outputs are read and judged like
imported ones, together with the printouts of the driver's tool on the same node.
"""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fabricgauge.check.import_logs import Source, import_logs, sources_of
from fabricgauge.check.target import reach_hosts
from fabricgauge.logs.readers.nccl.troubles import meaning
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.host_access import Host
from fabricgauge.model.progress import Progress
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.nodes import process
from fabricgauge.nodes.process import Completed
from fabricgauge.store.run_directory import RunDirectory

#: Time limits: the first query may wake the GPUs; measuring eight GPUs takes minutes.
PRINTOUT_S, PROGRAM_S = 60.0, 900.0

#: Exit status of a shell for a missing program.
_NOT_FOUND = 127


class GpuProgram(msgspec.Struct, frozen=True):
    """A program that copies between GPUs; ``printouts`` by file name show the GPUs' links."""

    argv: tuple[str, ...]
    printouts: dict[str, tuple[str, ...]]


#: The READMEs of nvbandwidth 0.8 and rocm_bandwidth_test 2.6; nvidia-smi(1), rocm-smi --help.
PROGRAMS: dict[str, GpuProgram] = {
    "nvbandwidth": GpuProgram(
        (
            "nvbandwidth", "-t", "device_to_device_memcpy_read_ce",
            "device_to_device_memcpy_write_ce", "host_to_device_memcpy_ce",
            "device_to_host_memcpy_ce",
        ),
        {
            "topo.txt": ("nvidia-smi", "topo", "-m"),
            "nvlink.txt": ("nvidia-smi", "nvlink", "-s"),
            "gpus.csv": (
                "nvidia-smi", "--format=csv",
                "--query-gpu=index,name,pci.bus_id,pcie.link.gen.max,pcie.link.width.max",
            ),
        },
    ),
    "rocm-bandwidth-test": GpuProgram(
        ("rocm-bandwidth-test", "-a"),
        {"topo.txt": ("rocm-smi", "--showtopo", "--showbus", "--showproductname")},
    ),
}  # fmt: skip


def commands(request: MeasurementRequest) -> Iterator[str]:
    """Yield the commands for each node; nothing is started."""
    with reach_hosts(request) as (access, _):
        for host in access.hosts:
            words = (_argv(request), *PROGRAMS[request.tool].printouts.values())
            yield from (shlex.join(host.through(argv)) for argv in words)


def measure_gpus(
    request: MeasurementRequest, directory: RunDirectory, command: tuple[str, ...],
    progress: Progress,
) -> Run:  # fmt: skip
    """Start the program that ``--tool`` names on one node after the other; read all outputs.

    Raises:
        UsageError: no such node.
        CannotRun: no node gave a figure; the message quotes each node's output.
    """
    with reach_hosts(request) as (access, _), TemporaryDirectory() as folder:
        sources: list[Source] = []
        for host in access.hosts:
            progress.stage(f"{host.node}: {request.tool}")
            sources += _measure_node(request, host, Path(folder, host.node), progress)
        return import_logs(sources, directory, command, progress)


def _argv(request: MeasurementRequest) -> tuple[str, ...]:
    name, *words = PROGRAMS[request.tool].argv
    return (str(Path(request.tool_path, name).absolute()) if request.tool_path else name, *words)


def _measure_node(
    request: MeasurementRequest, host: Host, folder: Path, progress: Progress
) -> Sequence[Source]:
    folder.mkdir()
    for name, argv in PROGRAMS[request.tool].printouts.items():
        printout = _run(host, argv, PRINTOUT_S)
        if printout.exit_code == 0 and printout.stdout.strip():
            (folder / name).write_text(printout.stdout, errors="replace")
    completed = _run(host, _argv(request), PROGRAM_S)
    output = f"{completed.stdout}\n{completed.stderr}"
    (folder / f"{request.tool}.out").write_text(output, errors="replace")
    if completed.exit_code:
        lines = output.strip().splitlines()
        why = next(filter(None, map(meaning, lines)), "")
        last = f"; last line: {lines[-1][:200]}" if lines else ""
        status = f"{request.tool} failed (exit status {completed.exit_code})"
        progress.trouble(f"{host.node}: {status}{last}{f'; {why}' if why else ''}")
    return [
        msgspec.structs.replace(source, hosts=(host.node,))
        for source in sources_of(folder, network=None)
    ]


def _run(host: Host, argv: Sequence[str], timeout_s: float) -> Completed:
    """Run a command on a node; a missing program ends as a shell reports it."""
    words = host.through(argv)
    try:
        return process.run(words, timeout_s=timeout_s)
    except ToolMissing as error:
        return Completed(tuple(words), _NOT_FOUND, "", str(error), 0.0)
