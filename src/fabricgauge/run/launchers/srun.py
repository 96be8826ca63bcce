"""Nodes of a Slurm allocation in which srun starts the ranks, without MPI's own launcher."""

from functools import partial

from fabricgauge.run.launchers import slurm
from fabricgauge.run.launchers.interface import Launcher
from fabricgauge.run.mpi_impls.srun import command

LAUNCHER = Launcher(
    partial(slurm.reach, starter="srun"), lambda _asked: False, command, slurm.BESIDE_STEPS
)
