"""Ranks that srun starts, without MPI's own launcher, for MPIs that speak one of Slurm's PMIs.

Source: srun(1) of Slurm 22.05; ``srun --mpi=list``.
"""

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Mpi
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.run.stacks.interface import Stack, anywhere, has_own_cores, ranks_per_node


def command(
    stack: Stack, mpi: Mpi, launch: PlannedLaunch, reach: Reach, program: tuple[str, ...]
) -> Command:
    """``srun`` with one rank per entry of ``launch.nodes``, in that order."""
    argv = (
        *reach.head_prefix,
        "srun",
        f"--mpi={stack.pmi}",
        f"--nodes={len(set(launch.nodes))}",
        f"--ntasks={len(launch.nodes)}",
        *_places(launch, reach),
        f"--cpu-bind={'cores' if has_own_cores(launch, reach) else 'none'}",
        "--input=0",
        "--kill-on-bad-exit=1",
        *program,
    )
    return Command(argv, {**mpi.env, **stack.transport(launch, reach, mpi)})


def _places(launch: PlannedLaunch, reach: Reach) -> tuple[str, ...]:
    if anywhere(reach):
        return (f"--ntasks-per-node={ranks_per_node(launch)}", "--distribution=block")
    # Arbitrary: the list is taken as it stands, where else srun would sort it.
    return ("--distribution=arbitrary", f"--nodelist={','.join(launch.nodes)}")
