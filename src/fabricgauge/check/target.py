"""Resolve a request: its nodes, how to reach them, and what the nodes answer before a run."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fabricgauge import __version__
from fabricgauge.check.programs import Suite
from fabricgauge.judge.thresholds import Thresholds, thresholds_from
from fabricgauge.lab.host_access import (
    access,
    declared_networks,
    lab_in_use,
    nodes_share_kernel,
)
from fabricgauge.lab.spec import LabSpec, numbered_nodes
from fabricgauge.lab.state import load_complete, names
from fabricgauge.lab.up import down, up
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric, Network, Topology, Unreached
from fabricgauge.model.features import load_role
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.preflight import Connectivity
from fabricgauge.model.progress import SILENT, Progress
from fabricgauge.model.request import OWN_LAB, MeasurementRequest, keep_applicable, merge_resumed
from fabricgauge.nodes.connectivity import connectivity
from fabricgauge.nodes.discover.interface import discover
from fabricgauge.nodes.launch.launchers import LAUNCHERS, launcher_of
from fabricgauge.store.files.reading import read_text, shown
from fabricgauge.store.run_directory import RunDirectory, now_utc
from fabricgauge.store.run_files import About
from fabricgauge.store.settings import Settings

if TYPE_CHECKING:
    from fabricgauge.model.simulation import Simulation

#: Largest topology file. The output of ibnetdiscover for 10,000 nodes is a tenth of this.
MAX_TOPOLOGY_BYTES = 1 << 28
#: Nodes of a lab that is made for one run.
DEFAULT_NODES = 2
_OWN_LAB_PREFIX = "check-"
#: The folder of the nodes' answers about connections; later rounds add a number to the name.
CONNECTIONS = "connect"

#: Variables that change what an MPI measures; a launcher passes them to the ranks.
MPI_VARIABLES = (
    "UCX_", "FI_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "I_MPI_",
    "HYDRA_", "PSM2_", "NCCL_", "RCCL_", "CUDA_", "HIP_", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "LOADEDMODULES", "SLURM_JOB_", "SLURM_MPI_", "SLURM_CLUSTER_NAME",
)  # fmt: skip

Reached = tuple[HostAccess, tuple[DeclaredNetwork, ...]]


class StatedRequest(msgspec.Struct, frozen=True):
    """Hold a request as it was stated, with the settings beside it, and who watches the progress.

    ``from_files`` are fields of the request that configuration files set.
    """

    request: MeasurementRequest
    settings: Settings
    progress: Progress
    from_files: Collection[str] = ()


class Target(msgspec.Struct, frozen=True):
    """Say where to measure, what, with which programs, and who watches the progress.

    ``topology`` comes from a file. ``simulation`` is the simulated cluster that stands for the
    nodes, if there is one. ``engine`` is None if another suite measures, which is ``suite`` then,
    and until the programs are known. ``left_out`` are nodes that cannot run it, ``carried`` those
    that got a copy of it.
    """

    access: HostAccess
    request: MeasurementRequest
    thresholds: Thresholds
    declared: tuple[DeclaredNetwork, ...] = ()
    topology: Topology = Topology()
    simulation: "Simulation | None" = None
    engine: Engine | None = None
    suite: Suite | None = None
    left_out: tuple[Unreached, ...] = ()
    carried: tuple[str, ...] = ()
    progress: Progress = SILENT

    @property
    def ranks(self) -> tuple[str, ...]:
        return place_ranks(self.request, self.access.nodes)


@contextmanager
def locate_target(
    stated_request: StatedRequest, stored: MeasurementRequest | None = None
) -> Iterator[Target]:
    """Yield the target of a request in which every option has an effect; its lab exists meanwhile.

    ``stored`` is the request of the run to resume. If each node has one rank, only nodes with a
    rank are looked at. Ranks that share a node would be alone there, and a network has two nodes at
    least.

    Raises:
        UsageError: options contradict each other or have no effect; there are no nodes, or no such
            node or platform; the topology is not understood.
    """
    stated, from_files = stated_request.request, stated_request.from_files
    settings = stated_request.settings
    if stored is None:
        # The nodes of another place are known only later.
        lab_nodes = len(stated.rank_order) or stated.nodes or DEFAULT_NODES
        ranks_of_lab = lab_nodes * stated.ppn if stated.lab == OWN_LAB else 0
        request = keep_applicable(stated, ranks_of_lab, from_files)
    else:
        request = merge_resumed(keep_applicable(stated, from_files=from_files), stored)
    named = request.lab not in ("", OWN_LAB)
    with (
        lab_in_use(request.lab) if named else nullcontext(),
        reach_hosts(request) as (access, declared),
    ):
        ranks = place_ranks(request, access.nodes)
        if stored is None:
            request = keep_applicable(request, len(ranks), from_files, access.launcher)
        shared = len(set(ranks)) < len(ranks)
        hosts = tuple(host for host in access.hosts if shared or host.node in ranks)
        simulation = make_simulation(request)
        yield Target(
            access=msgspec.structs.replace(access, hosts=hosts),
            request=request,
            thresholds=thresholds_from(settings.thresholds, settings.thresholds_origin),
            declared=(*declared, *settings.networks),
            topology=simulation.platform.topology if simulation else read_topology(request),
            simulation=simulation,
            progress=stated_request.progress,
        )


@contextmanager
def reach_hosts(request: MeasurementRequest) -> Iterator[Reached]:
    """Yield the hosts, and the networks that their launcher declares.

    Raises:
        UsageError: there are no nodes, or no such node, lab or platform.
    """
    if simulated := make_simulation(request):  # nothing but the simulator reaches its nodes
        nodes = _chosen(request, simulated.platform.nodes, request.sim)
        yield HostAccess("simulated", tuple(Host(node, ()) for node in nodes), virtual=True), ()
    elif not request.lab:
        # On a node of a lab, all hosts share one machine.
        access_now = _without_lab(request)
        yield msgspec.structs.replace(access_now, virtual=nodes_share_kernel()), ()
    else:
        with own_lab(request.nodes) if request.lab == OWN_LAB else nullcontext(request.lab) as name:
            state = load_complete(name)
            lab_access = access(state)
            hosts = {host.node: host for host in lab_access.hosts}
            nodes = _chosen(request, lab_access.nodes, f"lab {name}")
            used_hosts = tuple(hosts[node] for node in nodes)
            yield msgspec.structs.replace(lab_access, hosts=used_hosts), declared_networks(state)


def _chosen(
    request: MeasurementRequest, known_nodes: tuple[str, ...], place: str
) -> tuple[str, ...]:
    if not (request.nodelist or request.exclude):
        return known_nodes
    from fabricgauge.nodes.launch.launchers.nodes import select_nodes

    nodes = select_nodes(request, known_nodes)
    if unknown := [node for node in nodes if node not in known_nodes]:
        few = ", ".join(known_nodes) if len(known_nodes) <= 8 else ""
        examples = few or f"{known_nodes[0]} to {known_nodes[-1]}"
        raise UsageError(f"{place} has no node {unknown[0]!r}; it has {examples}")
    return nodes


def _without_lab(request: MeasurementRequest) -> HostAccess:
    if request.launcher:
        return launcher_of(request.launcher).reach(request)
    launchers = map(launcher_of, reversed(LAUNCHERS))
    return next(launcher for launcher in launchers if launcher.is_usual(request)).reach(request)


@contextmanager
def own_lab(nodes: int, with_slurm: bool = False) -> Iterator[str]:
    """Bring up a lab for this check alone, and use it."""
    with made_lab(nodes, with_slurm) as name, lab_in_use(name):
        yield name


@contextmanager
def made_lab(nodes: int, with_slurm: bool = False) -> Iterator[str]:
    """Bring up a lab that several runs use in turn. Labs of killed checks are removed first."""
    for name in names():
        owner = name.removeprefix(_OWN_LAB_PREFIX)
        is_own = name.startswith(_OWN_LAB_PREFIX) and owner.isdigit()
        if is_own and not Path(f"/proc/{owner}").exists():
            down(name)
    name = f"{_OWN_LAB_PREFIX}{os.getpid()}"
    up(LabSpec(name, numbered_nodes(nodes or DEFAULT_NODES), slurm=with_slurm))
    try:
        yield name
    finally:
        down(name)


def place_ranks(request: MeasurementRequest, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the node of each rank: in the requested order, or all nodes; a single node has two.

    Raises:
        UsageError: a node that is not in ``nodes``, or more nodes than the suite measures.
    """
    for node in request.rank_order:
        if node not in nodes:
            raise UsageError(f"{node!r} is not among the nodes: {', '.join(nodes[:8])}")
    chosen = request.rank_order or nodes
    if len(chosen) == request.ppn == 1 and not request.rank_order:
        chosen *= 2
    if request.tool:
        _require_few_ranks(request, chosen, nodes)
    return tuple(node for node in chosen for _ in range(request.ppn))


def _require_few_ranks(
    request: MeasurementRequest, chosen: tuple[str, ...], nodes: tuple[str, ...]
) -> None:
    """Refuse more nodes or ranks than the tests of a suite have."""
    from fabricgauge.logs.tools.table import TOOLS, measures_many

    suite = TOOLS.get(request.tool.partition(":")[0])  # an unknown suite is reported later
    of_two = suite is not None and not suite.of_pairs
    if len(chosen) > 2 and of_two and not measures_many(request.tool):
        raise UsageError(
            f"{request.tool} measures two nodes, not {len(chosen)}; name two with -w or"
            f" --rank-order, e.g. --rank-order {','.join(nodes[:2])}"
        )
    many = measures_many(request.tool)
    if request.ppn > 1 and not many:
        raise UsageError(f"--ppn has no effect on {request.tool}: its tests are of two ranks")
    if not many and len(set(chosen)) < len(chosen) > 2:
        raise UsageError(f"{request.tool} has one rank on each node; name each node once")


def read_topology(request: MeasurementRequest) -> Topology:
    """Return the topology of the request's file; an empty one if there is no file.

    Raises:
        UsageError: the file cannot be read or understood.
    """
    if not request.topology:
        return Topology()
    from fabricgauge.logs.readers.topology import topology_of
    from fabricgauge.nodes.launch.launchers.nodes import expand

    try:
        text = read_text(Path(request.topology), most_bytes=MAX_TOPOLOGY_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {request.topology}: {error.strerror}") from error
    return topology_of(text, request.topology, expand)


def make_simulation(request: MeasurementRequest) -> "Simulation | None":
    """Return the simulated cluster; None if a real or virtual one is measured.

    Raises:
        UsageError: no such platform, or a fault that it cannot have.
    """
    if not request.sim:
        return None
    simulated: Simulation = load_role("simulator").simulation(
        request.sim, request.sim_fault, seed=request.sim_seed, noise=request.sim_noise
    )
    return simulated


def describe_run(target: Target) -> About:
    """Return the facts that run.json keeps about a run that begins now."""
    variables = {k: shown(v) for k, v in os.environ.items() if k.startswith(MPI_VARIABLES)}
    environment = {
        "fabricgauge": __version__,
        **_measured_with(target),
        "launcher": target.access.launcher,
        "head": platform.node(),
        "head kernel": platform.release(),
        "python": platform.python_version(),
        "user id": str(os.getuid()),
        **dict(sorted(variables.items())),
    }
    return About(now_utc(), tuple(map(shown, sys.argv)), environment, target.request)


def _measured_with(target: Target) -> dict[str, str]:
    facts: dict[str, str] = {}
    if target.suite is not None:
        facts |= dict(sorted(target.suite.described().items()))
    if simulation := target.simulation:
        faults = "".join(f", {fault}" for fault in simulation.faults)
        chance = f"seed {simulation.seed}, noise {simulation.noise:g}"
        facts["simulated"] = f"SimGrid, {simulation.platform.name}, {chance}{faults}"
    if engine := target.engine:
        facts |= {
            "engine": str(engine.path),
            "engine origin": "ready-made" if engine.ready_made else "built on the head",
            "engine identity": engine.identity,
            "engine compiler": f"{engine.compiler} {' '.join(engine.flags)}",
            "engine target": engine.target,
            "engine sha256": engine.sha256,
            "engine carried to": ", ".join(target.carried),
            "MPI compiler wrapper": "" if engine.ready_made else str(engine.mpi.mpicxx),
            "MPI": f"{engine.mpi.kind} {engine.mpi.version}",
            "MPI library": engine.library,
        }
        facts = {name: fact for name, fact in facts.items() if fact}
    return facts


def discover_nodes(target: Target, directory: RunDirectory, folder: str) -> Fabric:
    """Discover the nodes; their raw answers are kept in ``raw/<folder>``."""
    nodes = target.access.nodes
    if target.simulation is not None:
        fabric: Fabric = load_role("simulator").simulated_fabric(target.simulation.platform)
        wanted_nodes = set(nodes)
        simulated_nodes = tuple(node for node in fabric.nodes if node.name in wanted_nodes)
        return msgspec.structs.replace(fabric, nodes=simulated_nodes, simulated=True)
    node_words = ", ".join(nodes) if len(nodes) <= 8 else f"{len(nodes):,} nodes"
    target.progress.stage(f"discovering {node_words}")
    keep = partial(directory.keep_raw, folder)
    by_rail = target.suite is not None and bool(target.suite.tool.of_pairs)
    lost = {node.name for node in target.left_out}
    hosts = tuple(host for host in target.access.hosts if host.node not in lost)
    access = msgspec.structs.replace(target.access, hosts=hosts)
    fabric = discover(access, target.declared, keep=keep, by_rail=by_rail)
    return msgspec.structs.replace(fabric, unreached=(*fabric.unreached, *target.left_out))


def try_connections(
    target: Target, networks: Sequence[Network], directory: RunDirectory
) -> tuple[Connectivity, ...]:
    """Find which nodes can connect over ``networks``; keep each answer. Empty if none can try."""
    if target.simulation or len(target.access.hosts) < 2 or not networks:
        return ()
    target.progress.stage("every node connects to every other node")
    rounds = Counter[str]()
    before = sum(1 for _ in (directory.path / "raw").glob(f"{CONNECTIONS}*"))

    def keep(node: str, raw: str) -> None:
        rounds[node] += 1
        number = before + rounds[node]
        directory.keep_raw(CONNECTIONS if number == 1 else f"{CONNECTIONS}-{number}", node, raw)

    connectivities = connectivity(target.access, networks, keep)
    if isinstance(connectivities, Skipped):
        target.progress.trouble(
            f"connections were not tried: {connectivities.reason}; two nodes that cannot connect"
            " are found only when a launch breaks"
        )
        return ()
    return connectivities
