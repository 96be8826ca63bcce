"""Nodes of a Slurm allocation, from the shell or job script that has one.

Source: srun(1) and salloc(1) of Slurm 22.05. ``--overlap`` needs 20.11.
"""

import os
from collections.abc import Mapping

import msgspec

from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.run.environment import handed_on
from fabricgauge.run.launchers.interface import Launcher, NodesAsked
from fabricgauge.run.launchers.nodes import expand

#: For whoever sits in a step of the job, ``srun --pty bash``, whose processors a further step
#: would wait for (srun(1), ``SLURM_OVERLAP``).
BESIDE_STEPS = {"SLURM_OVERLAP": "1"}


class Allocation(msgspec.Struct, frozen=True):
    """A job that runs; ``nodes`` are in Slurm's own order."""

    job: str
    nodes: tuple[str, ...]


def allocation(environment: Mapping[str, str]) -> Allocation | None:
    """The allocation that these variables speak of, if any.

    Raises:
        UsageError: Slurm's list of nodes was not understood.
    """
    job, nodes = environment.get("SLURM_JOB_ID", ""), environment.get("SLURM_JOB_NODELIST", "")
    if not job.isdecimal() or not nodes:
        return None
    return Allocation(job, expand(nodes))


def access(of: Allocation, nodes: tuple[str, ...], starter: str) -> HostAccess:
    """Hosts through ``srun``, a step of one task for each command; it shares what others use.

    ``starter`` is who starts the ranks: ``slurm``, MPI's own launcher by way of Slurm, or ``srun``.

    Raises:
        UsageError: a node that the allocation does not have.
    """
    for node in nodes:
        if node not in of.nodes:
            raise UsageError(f"job {of.job} has no node {node!r}; it has {', '.join(of.nodes)}")
    hosts = (Host(node, _step_on(of, node)) for node in of.nodes if node in nodes)
    return HostAccess(starter, tuple(hosts))


def _step_on(of: Allocation, node: str) -> tuple[str, ...]:
    return (
        "srun", f"--jobid={of.job}", "--overlap", "--nodes=1", "--ntasks=1",
        f"--nodelist={node}", "--mpi=none", "--cpu-bind=none", "--quiet",
        f"--export={','.join(handed_on(os.environ))}",
    )  # fmt: skip


def reach(asked: NodesAsked, starter: str = "slurm") -> HostAccess:
    """As ``access``, of the allocation that this program runs in.

    Raises:
        UsageError: there is none, or it does not have a node.
    """
    there = allocation(asked.environment)
    if there is None:
        raise UsageError(
            f"--launcher {starter} needs a Slurm allocation; start it in one (salloc,"
            " sbatch), or let it ask for its own: fabricgauge submit"
        )
    return access(there, asked.nodes(there.nodes), starter)


def _is_usual(asked: NodesAsked) -> bool:
    """Nodes of another than our own allocation are reached by ssh."""
    there = allocation(asked.environment)
    return there is not None and set(asked.nodes()) <= set(there.nodes)


LAUNCHER = Launcher(reach, _is_usual, environment=BESIDE_STEPS)
