"""The MPI stacks that ranks can be started with: one row each."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from fabricgauge.model.command import Command
from fabricgauge.model.engine import Engine, Mpi
from fabricgauge.model.errors import CannotRun
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.reach import Reach
from fabricgauge.run.stacks import intelmpi, mpich, openmpi, srun
from fabricgauge.run.stacks.interface import Stack, is_pinned

#: Each rank says some ten lines: thousands would fill logs.
MOST_TELLING = 16

STACKS: dict[str, Stack] = {
    "mpich": mpich.STACK,
    "openmpi": openmpi.STACK,
    "intelmpi": intelmpi.STACK,
}


def stack_of(mpi: Mpi) -> Stack:
    """The module that knows this MPI.

    Raises:
        CannotRun: none does.
    """
    stack = STACKS.get(mpi.kind)
    if stack is None:
        raise CannotRun(
            f"the MPI at {mpi.mpiexec} is {mpi.kind!r}, which cannot be started; "
            f"known are {', '.join(sorted(STACKS))}: build the engine with one of them"
        )
    return stack


def command(
    engine: Engine, mpi: Mpi, launch: PlannedLaunch, reach: Reach, engine_options: tuple[str, ...]
) -> Command:
    """The command that starts ``launch`` of the engine with the MPI that it was built with.

    Raises:
        CannotRun: no module knows this MPI.
    """
    stack = stack_of(mpi)
    told = {**_telling(stack, launch), **dict(reach.variables)}
    without = [name for name in _contrary(stack, launch) if name not in told]
    program = (*_variables(told, without), str(engine.path), *_pin(stack, launch), *engine_options)
    if reach.launcher == "srun":
        return _beside_steps(srun.command(stack, mpi, launch, reach, program))
    made = stack.command(mpi, launch, reach, program)
    return _beside_steps(made) if reach.launcher == "slurm" else made


def _beside_steps(made: Command) -> Command:
    """The same for whoever sits in a step of the job, ``srun --pty bash``, whose processors a
    further step would wait for (srun(1), ``SLURM_OVERLAP``).
    """
    return msgspec.structs.replace(made, env={**made.env, "SLURM_OVERLAP": "1"})


def _contrary(stack: Stack, launch: PlannedLaunch) -> tuple[str, ...]:
    return stack.contrary if launch.network is not None else ()


def _telling(stack: Stack, launch: PlannedLaunch) -> dict[str, str]:
    """What makes the MPI say what it uses, unless somebody has set that, or ranks are many."""
    if len(launch.nodes) > MOST_TELLING:
        return {}
    return {name: value for name, value in stack.tells.items() if name not in os.environ}


def _variables(variables: Mapping[str, str], without: Sequence[str]) -> tuple[str, ...]:
    """``env`` and the variables to set and to unset, in front of each rank's own program."""
    unset = [word for name in without for word in ("-u", name)]
    words = (*unset, *(f"{name}={value}" for name, value in variables.items()))
    return ("env", *words) if words else ()


def _pin(stack: Stack, launch: PlannedLaunch) -> tuple[str, ...]:
    """Words that make the engine find its interface, and name it to the MPI's variables."""
    if not is_pinned(launch) or launch.subnet is None:
        return ()
    names = [word for name in stack.interface_variables for word in ("--interface-env", name)]
    return ("--pin", launch.subnet, *names)
