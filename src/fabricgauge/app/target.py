"""Where a check measures and with what, and what is written down about it."""

import os
import platform
from datetime import datetime, timezone

import msgspec

from fabricgauge import __version__
from fabricgauge.app.preflight import note_preflight
from fabricgauge.app.progress import Progress
from fabricgauge.discover.interface import discover
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.engine import Engine
from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.topology import Topology
from fabricgauge.sim.platform import simulated_fabric
from fabricgauge.sim.simulation import Simulation
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import About

#: Variables that change what an MPI measures; a launcher hands them on to the ranks.
TELLING_VARIABLES = (
    "UCX_", "FI_", "MPIR_CVAR_", "MPICH_", "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "I_MPI_",
    "HYDRA_", "PSM2_", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOADEDMODULES", "SLURM_JOB_", "SLURM_MPI_",
    "SLURM_CLUSTER_NAME",
)  # fmt: skip


#: The folder of the nodes' first answers: a resumption keeps what the run was begun on.
FIRST = "discover"


class Target(msgspec.Struct, frozen=True):
    """Where to measure and with what.

    ``networks`` are names or subnets to measure, empty for all that join the nodes;
    ``unpinned`` leaves MPI its own choice of network instead. ``asked`` are the options
    by which the nodes were reached, for a resumption. ``engine`` is None where another
    suite measures; ``programs`` are its programs then. ``topology`` is what a file states;
    ``simulation`` is the simulated cluster that stands for the nodes, if one does.
    """

    access: HostAccess
    engine: Engine | None
    declared: tuple[DeclaredNetwork, ...]
    networks: tuple[str, ...]
    unpinned: bool
    thresholds: Thresholds
    command: tuple[str, ...]
    asked: dict[str, str]
    programs: dict[str, str] = {}
    topology: Topology = Topology()
    simulation: Simulation | None = None


def about(target: Target) -> About:
    told = {k: v for k, v in os.environ.items() if k.startswith(TELLING_VARIABLES)}
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
    return About(now, target.command, environment, target.asked)


def _measured_with(target: Target) -> dict[str, str]:
    if target.engine is None:
        return dict(sorted(target.programs.items()))
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

    fabric = discover(target.access, target.declared, keep=keep)
    if folder == FIRST:
        note_preflight(directory, fabric, progress)
    return fabric
