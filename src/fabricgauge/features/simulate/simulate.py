"""Prepare a simulated launch: its command line and its files."""

from collections.abc import Sequence
from pathlib import Path

from fabricgauge.model.engine import SIMULATED_LIBRARY, Engine
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.simulation import Fault, Simulation
from fabricgauge.store.files.writing import make_folder, storing, write_whole


def prepared(
    cluster: Simulation,
    engine: Engine,
    hosts: Sequence[str],
    folder: Path,
    options: Sequence[str] = (),
) -> LaunchCommand:
    """Return the command of a launch, one rank per entry of ``hosts``; its files are in ``folder``.

    Raises:
        CannotRun: a node that the cluster does not have.
        StoreError: the folder cannot be written.
    """
    place = folder.absolute()
    files = launch_files(cluster, hosts, place)
    with storing(place):
        run = place.parents[1]  # the folder is its raw/NAME
        make_folder(place, run)
        for name, text in files.items():
            write_whole(place / name, text.encode(), run, sync=False)
    return launch_command(cluster, engine, len(hosts), place, options)


PLATFORM_FILE = "platform.xml"
PLANTED_FILE = "planted.txt"
HOST_FILE = "hosts.txt"

#: SimGrid 3.32's reference, "Configuring SimGrid". CM02 without TCP's window, its reverse traffic
#: and its weight of long routes is a fabric with its own flow control; no time passes while a
#: program computes or reads the clock. Its default for a test of a request is 100 µs. The precision
#: has to be that of nanoseconds; maxmin/precision stays, as 3.32 aborts at 1e-9. A send that may
#: leave its message behind (below send-is-detached-thresh) stays in a list of its sender's for
#: ever, which takes half of the time at 128 ranks: every send is matched first instead. The cost
#: of the ends' software is planted with the noise; a non-blocking send returns after 10 ns.
#: SimGrid's own allgather has all N² messages under way at once: its waits take time that grows
#: with N³ and slow down all later cases.
SETTINGS: tuple[str, ...] = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/crosstraffic:0",
    "network/weight-S:0",
    "surf/precision:1e-12",
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    "smpi/wtime:0",
    "smpi/test:100e-9",
    "smpi/iprobe:100e-9",
    "smpi/privatization:dlopen",
    "smpi/send-is-detached-thresh:0",
    "smpi/ois:0:10e-9:0",
    "smpi/allgather:mpich",
)

#: Without them SimGrid prints every setting and the algorithm of every collective.
QUIET = ("--log=xbt_cfg.thres:warning", "--log=smpi_coll.thres:warning")


def launch_files(cluster: Simulation, hosts: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the files that a launch reads, by name; ``folder`` is their place.

    ``hosts`` has one entry per rank, in the order of ranks.

    Raises:
        CannotRun: a node that the cluster does not have, or a folder that no line can hold.
    """
    missing = [host for host in hosts if host not in cluster.platform.nodes]
    if missing or not hosts:
        problem = f"has no node {missing[0]!r:.100}" if missing else "was given no node to run on"
        raise CannotRun(f"the simulated cluster {cluster.platform.name} {problem}")
    file = cluster.platform.path or str(folder / PLATFORM_FILE)
    if "\n" in file or file != file.strip():
        raise CannotRun(f"{file!r:.200}: choose a path without a new line or blanks at its ends")
    files = {
        PLANTED_FILE: planted_text(cluster, file),
        HOST_FILE: "".join(f"{host}\n" for host in hosts),
    }
    return files if cluster.platform.path else {PLATFORM_FILE: cluster.platform.xml, **files}


def launch_command(
    cluster: Simulation, engine: Engine, ranks: int, folder: Path, options: Sequence[str] = ()
) -> LaunchCommand:
    """Return the argv and environment that start the engine; ``options`` are the engine's.

    SimGrid's own program is started, not its shell script, which joins words into one string
    and leaves files in the working directory.
    """
    settings = (
        *SETTINGS,
        f"smpi/np:{ranks}",
        f"smpi/hostfile:{folder / HOST_FILE}",
        f"smpi/tmpdir:{folder}",
    )
    argv = (
        str(engine.mpi.mpiexec),
        str(engine.path),
        *(f"--cfg={setting}" for setting in settings),
        *QUIET,
        str(engine.path.parent / SIMULATED_LIBRARY),
        *options,
    )
    return LaunchCommand(argv, {"FABRICGAUGE_PLANTED": str(folder / PLANTED_FILE)})


#: Stands for every uplink of a group, in place of a link's number.
ALL_UPLINKS = -1


def planted_text(cluster: Simulation, platform_file: str) -> str:
    """Return one line per planted fact; times in seconds, rates as factors."""
    lines = [
        f"platform {platform_file}",
        f"overhead {cluster.platform.overhead_s!r}",
        f"seed {cluster.seed}",
        f"deviation {cluster.noise!r}",
    ]
    for fault in cluster.faults:
        lines += _lines(cluster, fault)
    return "".join(f"{line}\n" for line in lines)


def _lines(cluster: Simulation, fault: Fault) -> list[str]:
    words = " ".join((*fault.names, *map(repr, fault.figures)))
    if fault.kind == "uplink":
        groups = cluster.platform.topology.groups
        nodes = " ".join(next(group.nodes for group in groups if group.name == fault.names[0]))
        number = ALL_UPLINKS if fault.uplink is None else fault.uplink
        words = f"{number} {fault.figures[0]!r} {nodes}"
    if not fault.ways:
        return [f"{fault.kind} {words}"]
    return [f"{fault.kind} {direction} {words}" for direction in fault.ways]
