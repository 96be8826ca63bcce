"""Jobs that a batch system runs without supervision."""

from typing import Annotated

import msgspec

from fabricgauge.model.fabric import DeclaredNetwork, Topology
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest

#: Placeholder for the subnet of a launch that a job repeats on each subnet that it finds.
EACH_SUBNET = "{subnet}"
#: Placeholders for the RDMA ports of a launch that a job repeats on each network of ports of a
#: technology: the ports, their number of rails, their devices, and the only device and unit.
EACH_PORTS, EACH_RAILS, EACH_DEVICES = "{ports}", "{rails}", "{devices}"
ONE_DEVICE, ONE_UNIT = "{device}", "{unit}"
#: Placeholder for the launcher of the MPI that a carried job finds on its first node.
FOUND_MPIEXEC = "{mpiexec}"
#: Placeholder for the folder on each node that holds the programs of a carried job.
FOUND_BASE = "{base}"


class Request(msgspec.Struct, frozen=True):
    """Nodes, and the site's options for a job; empty if not set.

    ``nodes`` is the number of nodes, ``nodelist`` their names. ``time`` has sbatch's format.
    ``further`` are options of sbatch that are passed on unchanged. A ``carried`` job brings its
    programs along and keeps its results on its first node, for nodes that share no folder with the
    machine that submits it.
    """

    nodes: int
    ppn: int = 1
    nodelist: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    partition: str = ""
    time: str = ""
    reservation: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    exclusive: bool = False
    job_name: str = "fabricgauge"
    further: tuple[str, ...] = ()
    carried: bool = False


class Batch(msgspec.Struct, frozen=True):
    """The request behind a run of batch jobs; later jobs of the run follow it too.

    ``starter`` is the program that starts the ranks, ``mpi`` the requested MPI; the other fields
    are as in ``Target`` of ``app``. If each pair of nodes has a job, ``pairs`` is the whole plan,
    with the nodes' names, and subnets instead of networks; at most ``at_once`` such jobs are in the
    queue. ``asked`` is the measurement to make.
    """

    request: Request
    starter: str
    mpi: str | None
    virtual: bool
    declared: tuple[DeclaredNetwork, ...]
    networks: tuple[str, ...]
    unpinned: bool
    topology: Topology
    asked: MeasurementRequest = MeasurementRequest()
    pairs: Plan | None = None
    at_once: int = 0


class BatchJob(msgspec.Struct, frozen=True):
    """A job of a run in Slurm; ``number`` is Slurm's.

    ``folder`` of the run directory holds its script. ``launches`` are the launches to make. While
    the nodes are unknown their names are places, "0", "1", …, and a launch whose subnet is
    ``EACH_SUBNET`` is repeated on each subnet, and one whose ports are ``EACH_PORTS`` on each
    network of ports of its technology; the launches are numbered in that order. ``cluster`` is the
    job's cluster, empty if it is the one that it was submitted from. ``memory`` and ``device`` are
    the plan's, like ``profile``.
    """

    number: Annotated[str, msgspec.Meta(pattern=r"^[0-9]*\Z")]
    folder: Annotated[str, msgspec.Meta(pattern=r"^job-[0-9]+\Z")]
    submitted_utc: str
    launches: tuple[PlannedLaunch, ...]
    profile: str
    stopping: Stopping
    check_data: bool
    cluster: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]*\Z")] = ""
    memory: str = ""
    device: int | None = None
