"""Where to measure and with what: from a request, and as the run directory keeps it."""

import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from fabricgauge import __version__
from fabricgauge.app.programs import Suite
from fabricgauge.app.progress import Progress
from fabricgauge.discover.interface import discover
from fabricgauge.files.reading import read_text, shown
from fabricgauge.judge.thresholds import Thresholds, thresholds_from
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.topology import Topology
from fabricgauge.parse.topology import topology_of
from fabricgauge.run.launchers.nodes import expand
from fabricgauge.settings import Settings
from fabricgauge.sim.platform import simulated_fabric
from fabricgauge.sim.simulation import Simulation, simulation
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About

#: What ibnetdiscover prints of 10,000 nodes has a tenth of it.
MOST_BYTES = 1 << 28

#: Variables that change what an MPI measures; a launcher hands them on to the ranks.
TELLING_VARIABLES = (
    "UCX_", "FI_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "I_MPI_",
    "HYDRA_", "PSM2_", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOADEDMODULES", "SLURM_JOB_", "SLURM_MPI_",
    "SLURM_CLUSTER_NAME",
)  # fmt: skip


class Target(msgspec.Struct, frozen=True):
    """Where to measure, what, and with which programs.

    ``topology`` is what a file states; ``simulation`` is the simulated cluster that stands for the
    nodes, if one does. ``engine`` is None where another suite measures, which is ``suite`` then,
    and until it is known which of them does.
    """

    access: HostAccess
    request: MeasurementRequest
    thresholds: Thresholds
    command: tuple[str, ...]
    declared: tuple[DeclaredNetwork, ...] = ()
    topology: Topology = Topology()
    simulation: Simulation | None = None
    engine: Engine | None = None
    suite: Suite | None = None

    @property
    def ranks(self) -> tuple[str, ...]:
        """The node of each rank."""
        return ranks_of(self.request, self.access.nodes)


def target_of(
    request: MeasurementRequest,
    access: HostAccess,
    declared: tuple[DeclaredNetwork, ...],
    settings: Settings,
) -> Target:
    """Where to measure: only nodes that have a rank are looked at, if each has one.

    Ranks that share a node would be alone there, and a network has two nodes at least.

    Raises:
        UsageError: a node or a platform that there is not, or a topology that is not understood.
    """
    ranks = ranks_of(request, access.nodes)
    shared = len(set(ranks)) < len(ranks)
    chosen = tuple(host for host in access.hosts if shared or host.node in ranks)
    simulation = simulation_of(request)
    return Target(
        access=msgspec.structs.replace(access, hosts=chosen),
        request=request,
        thresholds=thresholds_from(settings.thresholds, settings.thresholds_origin),
        command=tuple(map(shown, sys.argv)),
        declared=(*declared, *settings.networks),
        topology=simulation.platform.topology if simulation else stated_topology(request),
        simulation=simulation,
    )


def ranks_of(request: MeasurementRequest, nodes: tuple[str, ...]) -> tuple[str, ...]:
    """The node of each rank: in the order that was asked for, or all; one node alone has two.

    Raises:
        UsageError: a node that is none of ``nodes``, or not a pair of them for another suite.
    """
    for node in request.rank_order:
        if node not in nodes:
            raise UsageError(f"{node!r} is none of the nodes: {', '.join(nodes[:8])}")
    chosen = request.rank_order or nodes
    if len(chosen) == request.ppn == 1 and not request.rank_order:
        chosen *= 2
    if request.tool and len(chosen) != 2:
        raise UsageError(
            f"a suite of --tool measures two nodes, not {len(chosen)}; name them with -w or"
            f" --rank-order, e.g. --rank-order {','.join(nodes[:2])}"
        )
    return tuple(node for node in chosen for _ in range(request.ppn))


def stated_topology(request: MeasurementRequest) -> Topology:
    """That of the file; an empty one where there is none.

    Raises:
        UsageError: the file cannot be read or understood.
    """
    if not request.topology:
        return Topology()
    try:
        text = read_text(Path(request.topology), most_bytes=MOST_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {request.topology}: {error.strerror}") from error
    return topology_of(text, request.topology, expand)


def simulation_of(request: MeasurementRequest) -> Simulation | None:
    """The simulated cluster, None where a real or virtual one is measured.

    Raises:
        UsageError: no such platform, or a fault that it cannot have.
    """
    if not request.sim:
        return None
    return simulation(
        request.sim, request.sim_fault, seed=request.sim_seed, noise=request.sim_noise
    )


def about(target: Target) -> About:
    told = {k: shown(v) for k, v in os.environ.items() if k.startswith(TELLING_VARIABLES)}
    environment = {
        "fabricgauge": __version__,
        **_measured_with(target),
        "launcher": target.access.launcher,
        "head": platform.node(),
        "head kernel": platform.release(),
        "python": platform.python_version(),
        "user id": str(os.getuid()),
        **dict(sorted(told.items())),
    }
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return About(now, target.command, environment, target.request)


def _measured_with(target: Target) -> dict[str, str]:
    if target.engine is None:
        return {} if target.suite is None else dict(sorted(target.suite.described().items()))
    simulated = {} if target.simulation is None else {"simulated": _described(target.simulation)}
    return {
        **simulated,
        "engine": str(target.engine.path),
        "engine identity": target.engine.identity,
        "engine compiler": f"{target.engine.compiler} {' '.join(target.engine.flags)}",
        "MPI compiler wrapper": str(target.engine.mpi.mpicxx),
        "MPI": f"{target.engine.mpi.kind} {target.engine.mpi.version}",
    }


def _described(simulation: Simulation) -> str:
    faults = "".join(f", {fault}" for fault in simulation.faults)
    return (
        f"SimGrid, {simulation.platform.name}, seed {simulation.seed},"
        f" noise {simulation.noise:g}{faults}"
    )


def discovered(target: Target, directory: RunDirectory, progress: Progress, folder: str) -> Fabric:
    """What the nodes are now; their raw answers are kept in ``raw/<folder>``."""
    if target.simulation is not None:
        found = simulated_fabric(target.simulation.platform)
        here = set(target.access.nodes)
        chosen = tuple(node for node in found.nodes if node.name in here)
        return msgspec.structs.replace(found, nodes=chosen, simulated=True)
    nodes = target.access.nodes
    told = ", ".join(nodes) if len(nodes) <= 8 else f"{len(nodes):,} nodes"
    progress.stage(f"discovering {told}")

    def keep(node: str, raw: str) -> None:
        directory.keep_raw(folder, node, raw)

    return discover(target.access, target.declared, keep=keep)
