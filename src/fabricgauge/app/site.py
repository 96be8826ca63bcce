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
from fabricgauge.model.reach import Reach
from fabricgauge.model.topology import Topology
from fabricgauge.sim.interface import Simulation, simulated_fabric
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


class Site(msgspec.Struct, frozen=True):
    """Where to measure and with what.

    ``networks`` are names or subnets to measure, empty for all that join the nodes;
    ``unpinned`` leaves MPI its own choice of network instead. ``asked`` are the options
    by which the nodes were reached, for a resumption. ``engine`` is None where another
    suite measures; ``programs`` are its programs then. ``topology`` is what a file states;
    ``simulation`` is the simulated cluster that stands for the nodes, if one does.
    """

    reach: Reach
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


def about(site: Site) -> About:
    told = {k: v for k, v in os.environ.items() if k.startswith(TELLING_VARIABLES)}
    environment = {
        "fabricgauge": __version__,
        **_measured_with(site),
        "launcher": site.reach.launcher,
        "head": platform.node(),
        "head kernel": platform.release(),
        "python": platform.python_version(),
        "user id": str(os.getuid()),
        **dict(sorted(told.items())),
    }
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return About(now, site.command, environment, site.asked)


def _measured_with(site: Site) -> dict[str, str]:
    if site.engine is None:
        return dict(sorted(site.programs.items()))
    simulated = {} if site.simulation is None else {"simulated": _described(site.simulation)}
    return {
        **simulated,
        "engine": str(site.engine.path),
        "engine identity": site.engine.identity,
        "engine compiler": f"{site.engine.compiler} {' '.join(site.engine.flags)}",
        "MPI compiler wrapper": str(site.engine.mpi.mpicxx),
        "MPI": f"{site.engine.mpi.kind} {site.engine.mpi.version}",
    }


def _described(simulation: Simulation) -> str:
    faults = "".join(f", {fault}" for fault in simulation.faults)
    return (
        f"SimGrid, {simulation.platform.name}, seed {simulation.seed},"
        f" noise {simulation.noise:g}{faults}"
    )


def discovered(site: Site, directory: RunDirectory, progress: Progress, folder: str) -> Fabric:
    """What the nodes are now; their raw answers are kept in ``raw/<folder>``."""
    if site.simulation is not None:
        found = simulated_fabric(site.simulation.platform)
        here = set(site.reach.nodes)
        chosen = tuple(node for node in found.nodes if node.name in here)
        return msgspec.structs.replace(found, nodes=chosen, simulated=True)
    nodes = site.reach.nodes
    told = ", ".join(nodes) if len(nodes) <= 8 else f"{len(nodes):,} nodes"
    progress.stage(f"discovering {told}")

    def keep(node: str, raw: str) -> None:
        directory.keep_raw(folder, node, raw)

    fabric = discover(site.reach, site.declared, keep=keep)
    if folder == FIRST:
        note_preflight(directory, fabric, progress)
    return fabric
