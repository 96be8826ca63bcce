"""Jobs that a batch system runs without supervision."""

from typing import Annotated

import msgspec

from fabricgauge.model.fabric import DeclaredNetwork
from fabricgauge.model.plan import Plan, PlannedLaunch, Stopping
from fabricgauge.model.request import MeasurementRequest
from fabricgauge.model.topology import Topology

#: Stands for the subnet of a launch that a job makes on each subnet that it finds.
EACH_SUBNET = "{subnet}"


class Request(msgspec.Struct, frozen=True):
    """Nodes, and what a site wants to hear about a job; empty where nothing was said.

    ``nodes`` is how many, ``nodelist`` which ones. ``time`` is in sbatch's own form.
    ``further`` are options of sbatch as they stand.
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


class Batch(msgspec.Struct, frozen=True):
    """The request behind a run of batch jobs; the run's later jobs follow it too.

    ``starter`` is who starts the ranks, ``mpi`` the MPI that was asked for; the others are as in
    the wiring's ``Target``. ``pairs`` is the whole plan where each pair of nodes has a job, with
    the nodes' names and subnets for networks; at most ``at_once`` such jobs are in the queue.
    ``asked`` is what is to be measured.
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
    """A job that was handed to Slurm for a run; ``number`` is Slurm's.

    ``folder`` of the run directory holds its script. ``launches`` are what it is to make. Before
    anything is known of the nodes these are named by their places, "0", "1", …, and a launch whose
    subnet is ``EACH_SUBNET`` is made on each; their numbers follow from how many there are.
    ``cluster`` has the job, empty where that is the cluster it was submitted from. ``memory`` and
    ``device`` are the plan's, like ``profile``.
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
