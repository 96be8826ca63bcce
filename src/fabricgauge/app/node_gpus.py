"""Copies between the GPUs of each node, by the vendors' own programs, and what joins the GPUs.

Nothing crosses a network, so that there is no path to prove: the outputs are read and judged as
imported ones are, each beside what the driver's tool printed on the same node.
"""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fabricgauge import process
from fabricgauge.app.import_logs import Source, import_logs, sources_of
from fabricgauge.app.progress import Progress
from fabricgauge.app.target import reached
from fabricgauge.model.errors import ToolMissing
from fabricgauge.model.host_access import Host
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.run import Run
from fabricgauge.parse.nccl.troubles import meaning
from fabricgauge.process import Completed
from fabricgauge.store.run_directory import RunDirectory

#: The driver may wake its GPUs for the first question; eight of them are measured in minutes.
PRINTOUT_S, PROGRAM_S = 60.0, 900.0

#: What a shell says where there is no such program.
_NOT_FOUND = 127


class GpuProgram(msgspec.Struct, frozen=True):
    """A program that copies between GPUs; ``printouts`` tell what joins them, by a file's name."""

    argv: tuple[str, ...]
    printouts: dict[str, tuple[str, ...]]


#: The READMEs of nvbandwidth 0.8 and rocm_bandwidth_test 2.6; nvidia-smi(1), rocm-smi --help.
PROGRAMS: dict[str, GpuProgram] = {
    "nvbandwidth": GpuProgram(
        ("nvbandwidth", "-t", *(f"device_to_device_memcpy_{way}_ce" for way in ("read", "write"))),
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
    """What would be started on each node; nothing is started."""
    with reached(request) as (access, _):
        for host in access.hosts:
            words = (_argv(request), *PROGRAMS[request.tool].printouts.values())
            yield from (shlex.join(host.through(argv)) for argv in words)


def measure_gpus(
    request: MeasurementRequest, directory: RunDirectory, command: tuple[str, ...],
    progress: Progress,
) -> Run:  # fmt: skip
    """Start the program that ``--tool`` names on one node after the other, and read all of it.

    Raises:
        UsageError: no such node.
        CannotRun: not one node gave a figure; the message says what each gave instead.
    """
    with reached(request) as (access, _), TemporaryDirectory() as folder:
        sources: list[Source] = []
        for host in access.hosts:
            progress.stage(f"{host.node}: {request.tool}")
            sources += _of_node(request, host, Path(folder, host.node), progress)
        return import_logs(sources, directory, command, progress)


def _argv(request: MeasurementRequest) -> tuple[str, ...]:
    name, *words = PROGRAMS[request.tool].argv
    return (str(Path(request.tool_path, name).absolute()) if request.tool_path else name, *words)


def _of_node(
    request: MeasurementRequest, host: Host, folder: Path, progress: Progress
) -> Sequence[Source]:
    """What one node printed, as files of its own name."""
    folder.mkdir()
    for name, argv in PROGRAMS[request.tool].printouts.items():
        told = _run(host, argv, PRINTOUT_S)
        if told.exit_code == 0:
            (folder / name).write_text(told.stdout, errors="replace")
    done = _run(host, _argv(request), PROGRAM_S)
    output = f"{done.stdout}\n{done.stderr}"
    (folder / f"{request.tool}.out").write_text(output, errors="replace")
    if done.exit_code:
        said = output.strip().splitlines()
        why = next(filter(None, map(meaning, said)), "")
        last = f"; it said: {said[-1][:200]}" if said else ""
        status = f"{request.tool} broke off (exit status {done.exit_code})"
        progress.trouble(f"{host.node}: {status}{last}{f'; {why}' if why else ''}")
    return [
        msgspec.structs.replace(one, hosts=(host.node,)) for one in sources_of(folder, network=None)
    ]


def _run(host: Host, argv: Sequence[str], timeout_s: float) -> Completed:
    """A program's end on a node; one that is not there ends as a shell says it."""
    words = host.through(argv)
    try:
        return process.run(words, timeout_s=timeout_s)
    except ToolMissing as error:
        return Completed(tuple(words), _NOT_FOUND, "", str(error), 0.0)
