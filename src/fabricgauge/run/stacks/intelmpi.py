"""Intel MPI 2019 and later (libfabric only) and its Hydra.

Sources: Intel MPI Library Developer Reference 2021.13, "Hydra Environment Variables",
"Fabrics Control" and "Process Pinning"; fi_tcp(7).
"""

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Mpi
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.run.stacks.interface import Stack, has_own_cores, is_loopback, is_pinned


def command(mpi: Mpi, launch: PlannedLaunch, reach: Reach, program: tuple[str, ...]) -> Command:
    """``mpiexec.hydra`` with one rank per entry of ``launch.nodes``, in that order."""
    argv = (
        *reach.head_prefix,
        str(mpi.mpiexec),
        *_launcher(reach, launch),
        "-n", str(len(launch.nodes)),
        *program,
    )  # fmt: skip
    return Command(argv, {**mpi.env, **_transport(launch, reach)})


def _launcher(reach: Reach, launch: PlannedLaunch) -> tuple[str, ...]:
    if reach.launcher == "local":
        return ("-launcher", "fork")
    agent = ("-launcher-exec", reach.agent) if reach.agent and reach.agent != "ssh" else ()
    return ("-launcher", "ssh", *agent, *_hosts(launch))


def _hosts(launch: PlannedLaunch) -> tuple[str, ...]:
    """``-hosts c1,c2 -ppn 1``: unlike MPICH's, this Hydra takes ``c1:1`` for two slots.

    With MPICH's words both ranks land on c1 and measure shared memory (seen with 2021.17).
    """
    names = tuple(dict.fromkeys(launch.nodes))
    return ("-hosts", ",".join(names), "-ppn", str(len(launch.nodes) // len(names)))


def _transport(launch: PlannedLaunch, reach: Reach) -> dict[str, str]:
    pin = {} if has_own_cores(launch, reach) else {"I_MPI_PIN": "0"}
    extra = {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": " ".join(reach.agent_options)}
    chosen = {**pin, **(extra if reach.agent_options else {})}
    if is_loopback(launch):
        return {**chosen, "I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
    if is_pinned(launch):
        return {**chosen, "I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}
    return chosen


STACK = Stack(command, ("FI_TCP_IFACE",))
