"""Nodes of a Slurm allocation, from the shell or job script that has one.

Source: srun(1) and salloc(1) of Slurm 22.05. ``--overlap`` needs 20.11.
"""

import os
from collections.abc import Mapping

from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.run.environment import handed_on
from fabricgauge.run.launchers.interface import Launcher
from fabricgauge.run.launchers.nodes import chosen, expand

#: A user may work inside a step of the job (``srun --pty bash``). Without this a further step would
#: wait for that step's processors (srun(1), ``SLURM_OVERLAP``).
BESIDE_STEPS = {"SLURM_OVERLAP": "1"}


def allocation(environment: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """The job that these variables name, and its nodes in Slurm's own order, if any.

    Raises:
        UsageError: Slurm's list of nodes was not understood.
    """
    job, nodes = environment.get("SLURM_JOB_ID", ""), environment.get("SLURM_JOB_NODELIST", "")
    return (job, expand(nodes)) if job.isdecimal() and nodes else None


def access(job: str, nodes: tuple[str, ...], starter: str) -> HostAccess:
    """Hosts through ``srun``, a step of one task for each command; it shares what others use.

    ``starter`` is who starts the ranks: ``slurm``, MPI's own launcher by way of Slurm, or ``srun``.
    """
    handed = f"--export={','.join(handed_on(os.environ))}"
    step = ("srun", f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1")
    unbound = ("--mpi=none", "--cpu-bind=none", "--quiet", handed)
    hosts = (Host(node, (*step, f"--nodelist={node}", *unbound)) for node in nodes)
    return HostAccess(starter, tuple(hosts))


def reach(request: MeasurementRequest, starter: str = "slurm") -> HostAccess:
    """As ``access``, of the allocation that this program runs in.

    Raises:
        UsageError: there is none, or it does not have a node.
    """
    there = allocation(os.environ)
    if there is None:
        raise UsageError(
            f"--launcher {starter} needs a Slurm allocation; start it in one (salloc,"
            " sbatch), or let it ask for its own: fabricgauge submit"
        )
    job, nodes = there
    wanted = chosen(request, nodes)
    for node in wanted:
        if node not in nodes:
            raise UsageError(f"job {job} has no node {node!r}; it has {', '.join(nodes)}")
    return access(job, tuple(node for node in nodes if node in wanted), starter)


def _is_usual(request: MeasurementRequest) -> bool:
    """Nodes of another than our own allocation are reached by ssh."""
    there = allocation(os.environ)
    return there is not None and set(chosen(request)) <= set(there[1])


LAUNCHER = Launcher(reach, _is_usual, environment=BESIDE_STEPS)
