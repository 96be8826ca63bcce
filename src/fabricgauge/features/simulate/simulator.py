"""Check a simulated cluster as a whole, state the fabric that discovery would find, start launches.

The main job takes from here what the simulator does in it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fabricgauge.features.simulate.engine import simulated_engine as simulated_engine
from fabricgauge.features.simulate.faults import parse_fault
from fabricgauge.features.simulate.shipped import is_path, shipped, user_platform
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import SIMULATED_LIBRARY, Engine
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.fabric import Fabric, Interface, Member, Network, Node
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.simulation import Fault, Platform, Simulation
from fabricgauge.store.files.writing import make_folder, storing, write_whole

#: The network's technology. It has no packets, so no headers: its payload ceiling is its rate.
TECHNOLOGY = "simulated"
NETWORK = "simulated"
SUBNET = "simulated"

#: A fluid model has no packets; this stands for the largest packet.
MTU_BYTES = 4096

_NONE = Skipped("a simulated node has none")


def simulated_fabric(platform: Platform) -> Fabric:
    """Return one network of all nodes, at the rate that the platform states per direction."""
    interface = Interface(
        name=NETWORK, driver="SimGrid", operstate="up", carrier=True,
        speed_bit_s=platform.rate_bit_s, mtu_bytes=MTU_BYTES, mac="", addresses=(), shaper=_NONE,
        numa_node=_NONE,
    )  # fmt: skip
    nodes = tuple(
        Node(name, name, "", "", 1, kernel="SimGrid", interfaces=(interface,), facts={})
        for name in platform.nodes
    )
    network = Network(
        name=NETWORK, subnet=SUBNET, technology=TECHNOLOGY, rate_bit_s=platform.rate_bit_s,
        rate_origin=platform.origin, timestamps=False,
        members=tuple(Member(node, NETWORK, "", MTU_BYTES) for node in platform.nodes),
    )  # fmt: skip
    return Fabric(nodes, unreached=(), networks=(network,), virtual=True)


#: The largest noise of the whole network: half as long again is no noise any more.
MOST_NOISE = 0.5


def simulation(
    platform: str, faults: Iterable[str] = (), *, seed: int = 1, noise: float = 0.0
) -> Simulation:
    """Return the simulated cluster that a command line describes.

    ``platform`` names a shipped one, e.g. ``fat-tree:64``, or is the path of a platform file.

    Raises:
        UsageError: the platform is unknown, a fault is unknown or impossible there, or a
            seed or noise is out of range.
    """
    chosen = user_platform(platform) if is_path(platform) else shipped(platform)
    cluster = Simulation(chosen, tuple(map(parse_fault, faults)), seed, noise)
    if not 0 <= noise <= MOST_NOISE:
        raise UsageError(f"noise {noise:g} is not between 0 and {MOST_NOISE:g}")
    if not 0 <= seed < 2**64:
        raise UsageError(f"seed {seed} is not between 0 and 2^64 - 1")
    for fault in cluster.faults:
        _check_names(chosen, fault)
    flapping = [fault.nodes for fault in cluster.faults if fault.kind == "flap"]
    for nodes in flapping:
        if flapping.count(nodes) > 1:
            raise UsageError(f"{nodes[0]} is to flap twice; name it once")
    return cluster


def _check_names(platform: Platform, fault: Fault) -> None:
    for node in fault.nodes:
        if node not in platform.nodes:
            raise UsageError(
                f"{platform.name} has no node {node!r:.100}; its nodes are {platform.nodes[0]} to "
                f"{platform.nodes[-1]}"
            )
    groups = [group.name for group in platform.topology.groups]
    if fault.kind == "uplink" and fault.names[0] not in groups:
        have = f"its groups are {groups[0]} to {groups[-1]}" if groups else "it has none"
        raise UsageError(f"{platform.name} has no group {fault.names[0]!r:.100}; {have}")


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
