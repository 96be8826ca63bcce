"""Reach the nodes of a Slurm allocation from a shell or job script inside it.

Source: srun(1) and salloc(1) of Slurm 22.05. ``--overlap`` needs 20.11.
"""

import os
from collections.abc import Mapping

from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes.launch.environment import forwarded_names
from fabricgauge.nodes.launch.launchers import Launcher
from fabricgauge.nodes.launch.launchers.nodes import expand, select_nodes, select_of_job

#: A user may work inside a step of the job (``srun --pty bash``). Without this variable, another
#: step would wait for that step's processors (srun(1), ``SLURM_OVERLAP``).
STEP_ENVIRONMENT = {"SLURM_OVERLAP": "1"}


def allocation(environment: Mapping[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the job that these variables name and its nodes in Slurm's order; None without one.

    Raises:
        UsageError: Slurm's list of nodes could not be parsed.
    """
    job, nodes = environment.get("SLURM_JOB_ID", ""), environment.get("SLURM_JOB_NODELIST", "")
    return (job, expand(nodes)) if job.isdecimal() and nodes else None


def access(job: str, nodes: tuple[str, ...], starter: str) -> HostAccess:
    """Return hosts reached by ``srun``, one step of one task for each command.

    A step shares the resources of other steps. ``starter`` starts the ranks: ``slurm`` is MPI's own
    launcher through Slurm, ``srun`` is srun.
    """
    export = f"--export={','.join(forwarded_names(os.environ))}"
    step = ("srun", f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1")
    unbound = ("--mpi=none", "--cpu-bind=none", "--quiet", export)
    hosts = (Host(node, (*step, f"--nodelist={node}", *unbound)) for node in nodes)
    return HostAccess(starter, tuple(hosts))


def reach(request: MeasurementRequest, starter: str = "slurm") -> HostAccess:
    """Return ``access`` to the nodes of the allocation in which this program runs.

    Raises:
        UsageError: no allocation, or it does not contain a requested node.
    """
    job_nodes = allocation(os.environ)
    if job_nodes is None:
        raise UsageError(
            f"--launcher {starter} needs a Slurm allocation; start it inside one (salloc, sbatch),"
            " or submit a job: fabricgauge submit"
        )
    job, nodes = job_nodes
    return access(job, select_of_job(request, nodes, f"job {job}"), starter)


def _is_usual(request: MeasurementRequest) -> bool:
    """Check that this program's allocation contains all requested nodes; else ssh reaches them."""
    job_nodes = allocation(os.environ)
    return job_nodes is not None and set(select_nodes(request)) <= set(job_nodes[1])


LAUNCHER = Launcher(reach, _is_usual, environment=STEP_ENVIRONMENT)
