"""Plan jobs from a request, on nodes that are not known yet."""

import ipaddress
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from fabricgauge.check.networks import ON_REQUEST
from fabricgauge.check.plan.plan import SEPARATE_PATTERNS, host_reference, plan
from fabricgauge.check.plan.round_robin import pair_plan
from fabricgauge.check.target import DEFAULT_NODES, Target, place_ranks, read_topology
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.lab.host_access import nodes_share_kernel
from fabricgauge.model.absence import Skipped
from fabricgauge.model.batch import EACH_PORTS, EACH_SUBNET, Batch, Request
from fabricgauge.model.engine import Engine
from fabricgauge.model.errors import UsageError
from fabricgauge.model.host_access import HostAccess
from fabricgauge.model.plan import Plan, renumber
from fabricgauge.model.progress import SILENT, Progress
from fabricgauge.model.request import MeasurementRequest, keep_applicable
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.nodes.launch.mpi_impls.native import PROVIDERS
from fabricgauge.store.settings import Settings

#: Assumed number of networks that share the requested time while no network is known.
ASSUMED_NETWORKS = 2
#: Names by which `check` knows ports of several technologies.
_ALIASES = {"roce": ("roce-v1", "roce-v2")}
#: Default launcher of a job's ranks.
USUAL_STARTER = "slurm"
#: Jobs in the queue: many sites allow a user some hundred.
DEFAULT_QUEUED_JOBS = 50


def make_batch(
    request: MeasurementRequest, job: Request, starter: str, settings: Settings, at_once: int
) -> Batch:
    """Make the batch from a request; ``job.nodes`` and ``at_once`` are 0 if they are not given.

    In a lab of namespaces all pairs share one machine's processors: there one pair measures at a
    time.

    Raises:
        UsageError: options that contradict each other, or that are not understood.
    """
    chosen = expand(request.nodelist, request.exclude) if request.nodelist else ()
    count = job.nodes or len(chosen) or DEFAULT_NODES
    if chosen and count != len(chosen):
        raise UsageError(f"-N {count} contradicts -w, which names {len(chosen)}; leave one out")
    if count < DEFAULT_NODES:
        raise UsageError(f"a network needs two nodes or more; -w names only {chosen[0]}")
    keep_applicable(request, count * request.ppn)
    exclude = expand(request.exclude) if request.exclude and not chosen else ()
    virtual = nodes_share_kernel()
    return Batch(
        request=replace(job, nodes=count, ppn=request.ppn, nodelist=chosen, exclude=exclude),
        starter=starter,
        mpi=request.mpi or None,
        virtual=virtual,
        declared=settings.networks,
        networks=request.network,
        unpinned=request.unpinned,
        topology=read_topology(request),
        at_once=at_once or (1 if virtual else DEFAULT_QUEUED_JOBS),
        asked=replace(request, nodelist="", exclude=""),
    )


def place_of(batch: Batch) -> dict[str, tuple[str, ...]]:
    """Return a batch's nodes, programs and options of sbatch as words of a command line.

    The keys are the names of the given options.
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
    exclusive |= {"carry": ("--carry",)} if job.carried else {}
    sbatch = {"sbatch": tuple(f"--sbatch={option}" for option in job.further)}
    return {**words, **exclusive, **(sbatch if job.further else {})}


def resumed_batch(
    stored: Batch, request: MeasurementRequest, job: Request, starter: str, run: Path
) -> Batch:
    """Return a stored batch with the nodes, programs and options of sbatch of this command line.

    Raises:
        UsageError: the command line lacks some, or names other nodes.
    """
    resumed = replace(
        stored,
        request=replace(
            job,
            nodes=stored.request.nodes,
            ppn=stored.request.ppn,
            nodelist=expand(request.nodelist, request.exclude) if request.nodelist else (),
            exclude=expand(request.exclude) if request.exclude and not request.nodelist else (),
        ),
        starter=starter,
        mpi=request.mpi or None,
    )
    then, now = place_of(stored), place_of(resumed)
    if missing := [word for key, words in then.items() if key not in now for word in words]:
        raise UsageError(
            "--resume takes nodes, programs and options of sbatch only from the command line:"
            f" repeat them. {run} began with {shlex.join(missing)}"
        )
    if set(resumed.request.nodelist) != set(stored.request.nodelist):
        raise UsageError(f"{run} began with other nodes: {shlex.join(then['nodelist'])}")
    planned = {} if stored.pairs is None else {
        node: None for launch in stored.pairs.launches for node in launch.nodes}  # fmt: skip
    if unnamed := sorted(planned.keys() - set(resumed.request.nodelist)):
        raise UsageError(f"{run} is damaged: its plan names {unnamed[0]!r:.80}, -w does not")
    return resumed


def target_of_jobs(
    batch: Batch, settings: Settings, progress: Progress = SILENT, engine: Engine | None = None
) -> Target:
    """Return the target of a batch's jobs: no node is known before they run."""
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
    """Plan one job, whose nodes are named by their places; or a job for each pair.

    ``partners`` is how many other nodes each node meets, 0 for all, None if all are in one job.

    Raises:
        UsageError: the request cannot be measured; or pairs have no nodes or no network.
    """
    nodes, request = batch.request.nodelist, batch.asked
    if partners is None:
        return _first_plan(request, batch, batch.request.nodes)
    if not nodes:
        raise UsageError("--pair-jobs needs the nodes by name: give -w")
    if _technologies(batch) and batch.networks:
        raise UsageError("--pair-jobs measures subnets; name one with --network, e.g. 10.0.0.0/24")
    if request.ppn != 1:
        raise UsageError("--pair-jobs has one rank on each node; leave --ppn out")
    if request.memory:
        raise UsageError("--pair-jobs has host memory only; leave --memory out")
    if request.concurrent:
        raise UsageError("--concurrent has no effect on --pair-jobs, where each job is one pair")
    if not batch.networks and not batch.unpinned:
        raise UsageError(
            "--pair-jobs needs --network, e.g. 10.0.0.0/24: the nodes' networks are unknown before"
            " their jobs run"
        )
    of_two = replace(request, patterns=request.patterns or SEPARATE_PATTERNS)
    return pair_plan(_first_plan(of_two, batch, 2), nodes, partners)


def _first_plan(request: MeasurementRequest, batch: Batch, nodes: int) -> Plan:
    """Plan what is measured on each named subnet.

    Without subnets a launch stands for one on each subnet that the job finds. The last launch shows
    what one host does without a network.
    """
    subnets, technologies = tuple(_subnets(batch)), _technologies(batch)
    any_subnet = not subnets and not batch.networks
    subnets_or_any: tuple[str | None, ...] = (
        (None,) if batch.unpinned else subnets or ((EACH_SUBNET,) if any_subnet else ())
    )
    # All networks share the time.
    shares = ASSUMED_NETWORKS if any_subnet else len(subnets_or_any) + len(technologies)
    share_request = replace(request, budget=request.budget / shares)
    ranks = place_ranks(share_request, tuple(map(str, range(nodes))))
    unknown_target = ((None, Skipped("the nodes are unknown before the job runs")),)
    template = plan(share_request, ranks, unknown_target, virtual=batch.virtual)
    launches = [
        repeated
        for launch in template.launches
        for repeated in (
            *(replace(launch, network=subnet, subnet=subnet) for subnet in subnets_or_any),
            *(
                replace(
                    launch,
                    network=technology,
                    subnet=None,
                    ports=(EACH_PORTS,),
                    technology=technology,
                )
                for technology in technologies
            ),
        )
    ]
    reference = host_reference(0, launches[0].nodes[0], None, template)
    with_cases = (launch for launch in (*launches, reference) if launch.cases)
    return replace(template, launches=renumber(with_cases))


def _technologies(batch: Batch) -> tuple[str, ...]:
    """Return the technologies of RDMA ports to measure: the requested, else the usual ones."""
    if batch.unpinned:
        return ()
    if batch.networks:
        asked = [
            technology for name in batch.networks for technology in _ALIASES.get(name, (name,))
        ]
        return tuple(name for name in dict.fromkeys(asked) if name in PROVIDERS)
    return tuple(name for name in PROVIDERS if name not in ON_REQUEST)


def _subnets(batch: Batch) -> Iterator[str]:
    """Yield the requested subnets; none to measure all that the job finds."""
    declared = {network.name: network.subnet for network in batch.declared}
    for text in batch.networks:
        if text in PROVIDERS or text in _ALIASES:
            continue
        try:
            yield str(ipaddress.ip_network(declared.get(text, text), strict=False))
        except ValueError as error:
            raise UsageError(
                f"--network {text!r}: before a job runs, name a network by its subnet, e.g."
                " 10.0.0.0/24, by the name in a [[network]] of a configuration file, or by the"
                f" technology of its RDMA ports: {', '.join((*PROVIDERS, *_ALIASES))}"
            ) from error
