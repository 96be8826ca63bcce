"""Start ranks in a Slurm allocation by srun, without MPI's own launcher.

The MPI must support one of Slurm's PMIs. Source: srun(1) of Slurm 22.05; ``srun --mpi=list``.
"""

from functools import partial

from fabricgauge.model.engine import Mpi
from fabricgauge.model.host_access import HostAccess, LaunchCommand
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.nodes.launch.launchers import Launcher, slurm
from fabricgauge.nodes.launch.mpi_impls import (
    MpiImplementation,
    has_own_cores,
    lets_slurm_place,
    ranks_per_node,
)


def command(
    mpi_impl: MpiImplementation,
    mpi: Mpi,
    launch: PlannedLaunch,
    access: HostAccess,
    program: tuple[str, ...],
) -> LaunchCommand:
    """Return an ``srun`` command with one rank per entry of ``launch.nodes``, in that order."""
    argv = (
        *access.head_prefix,
        "srun",
        f"--mpi={mpi_impl.pmi}",
        f"--nodes={len(set(launch.nodes))}",
        f"--ntasks={len(launch.nodes)}",
        *_placement(launch, access),
        f"--cpu-bind={'cores' if has_own_cores(launch, access) else 'none'}",
        "--input=0",
        "--kill-on-bad-exit=1",
        *program,
    )
    return LaunchCommand(argv, {**mpi.env, **mpi_impl.transport(launch, access, mpi)})


def _placement(launch: PlannedLaunch, access: HostAccess) -> tuple[str, ...]:
    if lets_slurm_place(access):
        return (f"--ntasks-per-node={ranks_per_node(launch)}", "--distribution=block")
    # With "arbitrary" srun keeps the order of the list; otherwise it would sort it.
    return ("--distribution=arbitrary", f"--nodelist={','.join(launch.nodes)}")


LAUNCHER = Launcher(
    partial(slurm.reach, starter="srun"), lambda _request: False, command, slurm.STEP_ENVIRONMENT
)
