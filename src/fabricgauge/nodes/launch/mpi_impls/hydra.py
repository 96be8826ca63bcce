"""Build commands of Hydra, the launcher of MPICH and of Intel MPI.

Sources: ``mpiexec -help`` of MPICH 4.0.2 and 5.0.2; Intel MPI Library Developer Reference 2021.13,
"Hydra Environment Variables".
"""

from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.launch.mpi_impls import lets_slurm_place, ranks_per_node


def hydra(
    mpi: Mpi,
    launch: PlannedLaunch,
    access: HostAccess,
    program: tuple[str, ...],
    hosts: tuple[str, ...],
    env: dict[str, str],
    agent_variable: str,
) -> LaunchCommand:
    """Return ``mpiexec`` with one rank per entry of ``launch.nodes``, in that order.

    ``hosts`` are the words that name the nodes. All ranks get ``env``. ``agent_variable`` takes the
    options of the program that reaches a node.
    """
    argv = (
        *access.head_prefix,
        str(mpi.mpiexec),
        *_launcher(access, launch, hosts),
        "-n", str(len(launch.nodes)),
        *program,
    )  # fmt: skip
    variables = dict(env)
    if access.agent_options:
        variables[agent_variable] = " ".join(access.agent_options)
    if access.launcher == "slurm":
        # Hydra starts the ranks, so its proxies, which srun starts, need no PMI of Slurm. A site's
        # default of ``pmix`` would set variables with which MPICH 5 finds two PMIs and ends.
        variables["SLURM_MPI_TYPE"] = "none"
    return LaunchCommand(argv, variables)


def _launcher(access: HostAccess, launch: PlannedLaunch, hosts: tuple[str, ...]) -> tuple[str, ...]:
    if access.launcher == "local":
        return ("-launcher", "fork")
    if lets_slurm_place(access):
        return ("-launcher", "slurm", "-ppn", str(ranks_per_node(launch)))
    if access.launcher == "slurm":
        names = tuple(dict.fromkeys(launch.nodes))
        if names != tuple(node for node in access.nodes if node in names):
            raise CannotRun(
                f"this MPI's launcher starts ranks in Slurm's order of nodes, not in the order"
                f" {', '.join(names)}: leave --rank-order out, or use --launcher srun"
            )
        return ("-launcher", "slurm", *hosts)
    agent = ("-launcher-exec", access.agent) if access.agent and access.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, *hosts)
