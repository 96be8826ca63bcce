"""From the options of ``submit`` to a job, and from a stored run to its next one."""

import ipaddress
import os
import sys
from typing import TYPE_CHECKING, Any

from fabricgauge.app.target import Target
from fabricgauge.cli.fabric import stated_topology
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.batch import Batch, BatchJob, Request
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.run.batch.options import further
from fabricgauge.run.launchers.nodes import expand

if TYPE_CHECKING:
    from fabricgauge.app.check import Outcome
    from fabricgauge.app.progress import Progress
    from fabricgauge.model.engine import Engine
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory

#: What a check measures when nobody says how many nodes.
USUAL_NODES = 2


def batch(options: dict[str, Any], said: "Settings") -> Batch:
    """What is to be measured on which nodes, as the options say.

    Raises:
        UsageError: options that contradict each other, or that are not understood.
    """
    return Batch(
        request=_request(options),
        starter=options["launcher"],
        mpi=options["mpi"],
        virtual="FABRICGAUGE_LAB" in os.environ,
        declared=said.networks,
        networks=tuple(options["network"]),
        unpinned=options["unpinned"],
        topology=stated_topology(options),
    )


def _request(options: dict[str, Any]) -> Request:
    chosen = expand(options["nodelist"], options["exclude"] or "") if options["nodelist"] else ()
    count = options["nodes"] or len(chosen) or USUAL_NODES
    if chosen and count != len(chosen):
        raise UsageError(f"-N {count} contradicts -w, which names {len(chosen)}; leave one out")
    if count < USUAL_NODES:
        raise UsageError(f"a network is between two nodes at least; -w names {chosen[0]} alone")
    return Request(
        nodes=count,
        ppn=options["ppn"],
        nodelist=chosen,
        exclude=expand(options["exclude"]) if options["exclude"] and not chosen else (),
        partition=options["partition"],
        time=options["time"],
        reservation=options["reservation"],
        account=options["account"],
        qos=options["qos"],
        constraint=options["constraint"],
        exclusive=options["exclusive"],
        job_name=options["job_name"],
        further=further(options["sbatch"]),
    )


def nobody_yet(batch: Batch) -> HostAccess:
    """As many nodes as were asked for, named by their places."""
    hosts = (Host(str(place), ()) for place in range(batch.request.nodes))
    return HostAccess(batch.starter, tuple(hosts), virtual=batch.virtual)


def subnets(batch: Batch) -> tuple[str, ...]:
    """Those of the networks that were asked for; none to measure all that the job finds.

    Raises:
        UsageError: neither a declared network's name nor a subnet.
    """
    declared = {one.name: one.subnet for one in batch.declared}
    return tuple(_subnet(declared.get(name, name)) for name in batch.networks)


def _subnet(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise UsageError(
            f"--network {text!r}: before a job runs a network is known by its subnet, e.g."
            " 10.0.0.0/24, or by the name that a [[network]] of a configuration file gives it"
        ) from error


def target(batch: Batch, said: "Settings", engine: "Engine | None" = None) -> Target:
    return Target(
        access=HostAccess(batch.starter, (), virtual=batch.virtual),
        engine=engine,
        declared=batch.declared,
        networks=batch.networks,
        unpinned=batch.unpinned,
        thresholds=thresholds_from(said.thresholds, said.thresholds_origin),
        command=tuple(sys.argv),
        asked={},
        topology=batch.topology,
    )


def engine(batch: Batch, options: dict[str, Any]) -> "Engine":
    from fabricgauge.app.engine import engine_for

    return engine_for(batch.mpi, progress(options))


def next_job(
    directory: "RunDirectory", batch: Batch, said: "Settings", options: dict[str, Any]
) -> BatchJob:
    """Submit what a run has left, or suspects that are to be measured again."""
    from fabricgauge.app.batch.collect import gather
    from fabricgauge.app.batch.submit import hand_over, next_job
    from fabricgauge.model.errors import CannotRun

    try:
        gather(directory, target(batch, said), {})
    except CannotRun as nothing:
        progress(options).trouble(str(nothing))
    made = next_job(directory, batch, engine(batch, options), options["time"])
    return hand_over(made, directory)


def collected(directory: "RunDirectory", said: "Settings", options: dict[str, Any]) -> "Outcome":
    """What the run's jobs have left, judged.

    Raises:
        UsageError: another program has completed the run meanwhile.
    """
    from fabricgauge.app.batch.submit import collect
    from fabricgauge.store.run_files import read_batch

    try:
        return collect(directory, target(read_batch(directory), said), progress(options))
    except StoreError:
        final = directory.path.with_name(directory.identity)
        if final.is_dir() and not directory.path.is_dir():
            raise UsageError(
                f"{directory.identity} was completed by another program meanwhile: see fabricgauge"
                f" report {final}"
            ) from None
        raise


def progress(options: dict[str, Any]) -> "Progress":
    from fabricgauge.app.progress import Silent
    from fabricgauge.cli.progress import Bar

    return Silent() if options["quiet"] else Bar()
