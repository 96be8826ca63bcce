"""Hydra, the launcher of MPICH and of Intel MPI.

Sources: ``mpiexec -help`` of MPICH 4.0.2 and 5.0.2; Intel MPI Library Developer Reference 2021.13,
"Hydra Environment Variables".
"""

from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.run.mpi_impls.interface import anywhere, ranks_per_node


def hydra(
    mpi: Mpi,
    launch: PlannedLaunch,
    access: HostAccess,
    program: tuple[str, ...],
    hosts: tuple[str, ...],
    env: dict[str, str],
    agent_variable: str,
) -> LaunchCommand:
    """``mpiexec`` with one rank per entry of ``launch.nodes``, in that order.

    ``hosts`` are the words that name the nodes; what ``env`` holds goes to all ranks.
    ``agent_variable`` takes the options of the program that reaches a node.
    """
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        *_launcher(access, launch, hosts),
        "-n", str(len(launch.nodes)),
        *program,
    )  # fmt: skip
    told = {agent_variable: " ".join(access.agent_options)} if access.agent_options else {}
    if access.launcher == "slurm":
        # Ranks are Hydra's, so its proxies, which srun starts, need no PMI of Slurm's. A site's
        # default of ``pmix`` would leave variables by which MPICH 5 finds two PMIs and ends.
        told["SLURM_MPI_TYPE"] = "none"
    return LaunchCommand(argv, {**env, **told})


def _launcher(access: HostAccess, launch: PlannedLaunch, hosts: tuple[str, ...]) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("-launcher", "fork")
    if anywhere(access):
        return ("-launcher", "slurm", "-ppn", str(ranks_per_node(launch)))
    if access.launcher == "slurm":
        _require_slurms_order(launch, access)
        return ("-launcher", "slurm", *hosts)
    agent = ("-launcher-exec", access.agent) if access.agent and access.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, *hosts)


def _require_slurms_order(launch: PlannedLaunch, access: HostAccess) -> None:
    """Refuse ranks in another order than that in which srun starts the proxies."""
    names = tuple(dict.fromkeys(launch.nodes))
    if names != tuple(node for node in access.nodes if node in names):
        raise CannotRun(
            f"this MPI's launcher starts ranks in Slurm's order of nodes, not as"
            f" {', '.join(names)}: leave --rank-order out, or let srun start them (--launcher srun)"
        )
