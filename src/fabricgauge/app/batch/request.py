"""From a request to what jobs are to do, on nodes that nobody knows yet."""

import ipaddress
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fabricgauge.app.progress import SILENT, Progress
from fabricgauge.app.target import USUAL_NODES, Target, ranks_of, stated_topology
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import EACH_SUBNET, Batch, Request
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, numbered
from fabricgauge.model.request import MeasurementRequest, applicable
from fabricgauge.plan.pair_jobs import pair_plan
from fabricgauge.plan.plan import OF_A_PAIR, host_reference, plan
from fabricgauge.run.launchers.nodes import expand
from fabricgauge.settings import Settings

#: Number of networks that the requested time is for, while no network is known.
NETWORKS = 2
#: What starts the ranks of a job, unless the command line says otherwise.
USUAL_STARTER = "slurm"
#: Jobs in the queue: many sites let a user have some hundred.
USUAL_AT_ONCE = 50


def batch_of(
    request: MeasurementRequest, job: Request, starter: str, settings: Settings, at_once: int
) -> Batch:
    """What is to be measured on which nodes; ``job.nodes`` and ``at_once`` may be 0: not said.

    In a lab all pairs share one machine's processors: there one measures at a time.

    Raises:
        UsageError: options that contradict each other, or that are not understood.
    """
    chosen = expand(request.nodelist, request.exclude) if request.nodelist else ()
    count = job.nodes or len(chosen) or USUAL_NODES
    if chosen and count != len(chosen):
        raise UsageError(f"-N {count} contradicts -w, which names {len(chosen)}; leave one out")
    if count < USUAL_NODES:
        raise UsageError(f"a network is between two nodes at least; -w names {chosen[0]} alone")
    applicable(request, count * request.ppn)
    exclude = expand(request.exclude) if request.exclude and not chosen else ()
    virtual = "FABRICGAUGE_LAB" in os.environ
    return Batch(
        request=msgspec.structs.replace(
            job, nodes=count, ppn=request.ppn, nodelist=chosen, exclude=exclude
        ),
        starter=starter,
        mpi=request.mpi or None,
        virtual=virtual,
        declared=settings.networks,
        networks=request.network,
        unpinned=request.unpinned,
        topology=stated_topology(request),
        at_once=at_once or (1 if virtual else USUAL_AT_ONCE),
        asked=msgspec.structs.replace(request, nodelist="", exclude=""),
    )


def place_of(batch: Batch) -> dict[str, tuple[str, ...]]:
    """Return what a batch says of nodes, sbatch and programs, as words of a command line.

    The keys are options' names; options that were not given are left out.
    """
    job, starter = batch.request, "" if batch.starter == USUAL_STARTER else batch.starter
    name = "" if job.job_name == Request(0).job_name else job.job_name
    values = {
        "nodelist": ",".join(job.nodelist), "exclude": ",".join(job.exclude),
        "partition": job.partition, "reservation": job.reservation, "account": job.account,
        "qos": job.qos, "constraint": job.constraint, "job-name": name, "launcher": starter,
        "mpi": batch.mpi or "",
    }  # fmt: skip
    words = {key: (f"--{key}", value) for key, value in values.items() if value}
    exclusive = {"exclusive": ("--exclusive",)} if job.exclusive else {}
    sbatch = {"sbatch": tuple(f"--sbatch={option}" for option in job.further)}
    return {**words, **exclusive, **(sbatch if job.further else {})}


def resumed_batch(
    stored: Batch, request: MeasurementRequest, job: Request, starter: str, run: Path
) -> Batch:
    """Return a stored batch with the nodes, programs and options of sbatch of this command line.

    Raises:
        UsageError: the command line lacks some, or names other nodes.
    """
    said = msgspec.structs.replace(
        stored,
        request=msgspec.structs.replace(
            job,
            nodes=stored.request.nodes,
            ppn=stored.request.ppn,
            nodelist=expand(request.nodelist, request.exclude) if request.nodelist else (),
            exclude=expand(request.exclude) if request.exclude and not request.nodelist else (),
        ),
        starter=starter,
        mpi=request.mpi or None,
    )
    then, now = place_of(stored), place_of(said)
    if missing := [word for key, words in then.items() if key not in now for word in words]:
        raise UsageError(
            "--resume takes nodes, programs and options of sbatch from the command line alone:"
            f" repeat them. {run} was begun with {shlex.join(missing)}"
        )
    if set(said.request.nodelist) != set(stored.request.nodelist):
        raise UsageError(f"{run} was begun with other nodes: {shlex.join(then['nodelist'])}")
    planned = {} if stored.pairs is None else {
        node: None for launch in stored.pairs.launches for node in launch.nodes}  # fmt: skip
    if strange := sorted(planned.keys() - set(said.request.nodelist)):
        raise UsageError(f"{run} is damaged: its plan names {strange[0]!r:.80}, -w does not")
    return said


def target_of_jobs(
    batch: Batch, settings: Settings, progress: Progress = SILENT, engine: Engine | None = None
) -> Target:
    """Where the jobs of a batch measure: no node is known before they run."""
    return Target(
        access=HostAccess(batch.starter, (), virtual=batch.virtual),
        request=batch.asked,
        thresholds=thresholds_from(settings.thresholds, settings.thresholds_origin),
        declared=batch.declared,
        topology=batch.topology,
        engine=engine,
        progress=progress,
    )


def plan_of_jobs(batch: Batch, partners: int | None) -> Plan:
    """The plan of one job, whose nodes are named by their places; or of a job for each pair.

    ``partners`` is how many each node meets, 0 for all, None where all are in one job.

    Raises:
        UsageError: what is asked for cannot be measured; of pairs, no nodes or no network.
    """
    nodes, request = batch.request.nodelist, batch.asked
    if partners is None:
        return _first_plan(request, batch, batch.request.nodes)
    if not nodes:
        raise UsageError("--pair-jobs needs the nodes by name: give them with -w")
    if request.ppn != 1:
        raise UsageError("--pair-jobs has one rank on each node; leave --ppn out")
    if request.memory:
        raise UsageError("--pair-jobs has host memory only; leave --memory out")
    if request.concurrent:
        raise UsageError("--concurrent has no effect on --pair-jobs, where each job is one pair")
    if not batch.networks and not batch.unpinned:
        raise UsageError(
            "--pair-jobs needs --network, e.g. 10.0.0.0/24: which networks join the nodes is not"
            " known before their jobs run"
        )
    of_two = msgspec.structs.replace(request, patterns=request.patterns or OF_A_PAIR)
    return pair_plan(_first_plan(of_two, batch, 2), nodes, partners)


def _first_plan(request: MeasurementRequest, batch: Batch, nodes: int) -> Plan:
    """What is measured on each subnet that was named.

    Without subnets a launch stands for one on each that the job finds. The last launch shows
    what one host does without a network.
    """
    subnets = tuple(_subnets(batch))
    where: tuple[str | None, ...] = (None,) if batch.unpinned else subnets or (EACH_SUBNET,)
    shares = NETWORKS if where == (EACH_SUBNET,) else len(where)  # the time is for all together
    each = msgspec.structs.replace(request, budget=request.budget / shares)
    ranks = ranks_of(each, tuple(map(str, range(nodes))))
    nobody_knows = ((None, Skipped("the nodes are not known before the job runs")),)
    made = plan(each, ranks, nobody_knows, virtual=batch.virtual)
    launches = [
        msgspec.structs.replace(launch, network=subnet, subnet=subnet)
        for launch in made.launches
        for subnet in where
    ]
    reference = host_reference(0, launches[0].nodes[0], None, made)
    with_cases = (launch for launch in (*launches, reference) if launch.cases)
    return msgspec.structs.replace(made, launches=numbered(with_cases))


def _subnets(batch: Batch) -> Iterator[str]:
    """Those of the networks that were asked for; none to measure all that the job finds.

    Raises:
        UsageError: neither a declared network's name nor a subnet.
    """
    declared = {one.name: one.subnet for one in batch.declared}
    for text in batch.networks:
        try:
            yield str(ipaddress.ip_network(declared.get(text, text), strict=False))
        except ValueError as error:
            raise UsageError(
                f"--network {text!r}: before a job runs a network is known by its subnet, e.g."
                " 10.0.0.0/24, or by the name that a [[network]] of a configuration file gives it"
            ) from error
