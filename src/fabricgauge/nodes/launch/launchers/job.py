"""Reach the nodes of a job of PBS, LSF, Grid Engine, OAR or Flux from inside the job.

Sources: OpenPBS 23 qsub(1) and pbs_tmrsh(8); LSF 10.1 "Environment variables set for job execution"
and blaunch(1); Grid Engine 8.1.9 submit(1), sge_pe(5) and qrsh(1); OAR 2.5 oarsh(1); flux-core 0.70
flux-hostlist(1) and flux-exec(1). Slurm has a launcher of its own.

None of these ran here: the tests use stand-ins for their programs.
"""

import os
import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import msgspec

from fabricgauge.model.errors import ToolMissing, UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.nodes import process
from fabricgauge.nodes.launch.launchers import Launcher
from fabricgauge.nodes.launch.launchers.nodes import (
    MOST_BYTES,
    expand,
    require_host_names,
    select_nodes,
    select_of_job,
)
from fabricgauge.store.files.reading import read_bytes

TIMEOUT_S = 30.0


class JobManager(msgspec.Struct, frozen=True):
    """A batch system: the variable with its file of hosts, and the program that reaches a host.

    Each line of the file begins with a host; one with several slots may have several lines.
    """

    name: str
    variable: str
    program: str


MANAGERS = (
    JobManager("pbs", "PBS_NODEFILE", "pbs_tmrsh"),
    JobManager("lsf", "LSB_DJOB_HOSTFILE", "blaunch"),
    JobManager("sge", "PE_HOSTFILE", "qrsh"),
    JobManager("oar", "OAR_NODEFILE", "oarsh"),
)
FLUX = JobManager("flux", "FLUX_URI", "flux")

#: Inside an allocation of Slurm its own launcher is the usual one.
_SLURM = "SLURM_JOB_ID"


class JobNodes(msgspec.Struct, frozen=True):
    """The nodes of the job in which this program runs, in the job's order, each once."""

    manager: JobManager
    nodes: tuple[str, ...]


def find_job(environment: Mapping[str, str]) -> JobNodes | None:
    """Return the job that these variables name; None outside a job.

    Raises:
        UsageError: the list of hosts cannot be read, or holds a name that no host can have.
    """
    for manager in MANAGERS:
        if path := environment.get(manager.variable, ""):
            return JobNodes(manager, _read_hosts(manager, Path(path)))
    if environment.get(FLUX.variable) and shutil.which(FLUX.program):
        return JobNodes(FLUX, _flux_hosts())
    return None


def _read_hosts(manager: JobManager, path: Path) -> tuple[str, ...]:
    try:
        lines = read_bytes(path, most_bytes=MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}, the nodes of this job ({manager.variable}): {error.strerror};"
            " name the nodes with -w"
        ) from error
    words = (line.split() for line in lines)
    return require_host_names(dict.fromkeys(word[0] for word in words if word))


def _flux_hosts() -> tuple[str, ...]:
    """Return the hosts of the Flux instance; versions without ``hostlist`` list resources."""
    listing = ("resource", "list", "-s", "up", "-n", "-o", "{nodelist}")
    for words in (("hostlist", "instance"), listing):
        try:
            completed = process.run((FLUX.program, *words), timeout_s=TIMEOUT_S)
        except ToolMissing:
            break
        hosts = ",".join(completed.stdout.split())
        if completed.exit_code == 0 and hosts:
            return expand(hosts, option="flux")
    raise UsageError("flux lists no nodes of this instance; name the nodes with -w")


def access(job: JobNodes, nodes: tuple[str, ...]) -> HostAccess:
    """Return hosts reached by the batch system's program; by ssh where it is not installed."""
    if shutil.which(job.manager.program) is None:
        from fabricgauge.nodes.launch.launchers import ssh

        return ssh.access(nodes)
    agent = str(resources.files(__package__).joinpath("job-agent"))
    options = ("-o", f"manager={job.manager.name}")
    hosts = tuple(Host(node, (agent, *options, node), remote_shell=True) for node in nodes)
    return HostAccess("job", hosts, agent=agent, agent_options=options)


def _reach(request: MeasurementRequest) -> HostAccess:
    job = find_job(os.environ)
    if job is None:
        variables = ", ".join(manager.variable for manager in (*MANAGERS, FLUX))
        raise UsageError(
            f"--launcher job needs a job of PBS, LSF, Grid Engine, OAR or Flux; none of {variables}"
            " is set. Name the nodes with -w to reach them by ssh"
        )
    return access(job, select_of_job(request, job.nodes, "this job"))


def _is_usual(request: MeasurementRequest) -> bool:
    """Check that this program runs in a job that contains all requested nodes."""
    if os.environ.get(_SLURM):
        return False
    job = find_job(os.environ)
    return job is not None and set(select_nodes(request)) <= set(job.nodes)


LAUNCHER = Launcher(_reach, _is_usual)
