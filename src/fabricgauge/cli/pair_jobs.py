"""``fabricgauge submit --pair-jobs``: a job of its own for each pair of nodes."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from fabricgauge.cli.collect import say
from fabricgauge.model.errors import UsageError

if TYPE_CHECKING:
    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.model.batch import Batch
    from fabricgauge.model.plan import Plan
    from fabricgauge.settings import Settings
    from fabricgauge.store.run_directory import RunDirectory

#: Jobs in the queue: many sites let a user have some hundred.
USUAL_AT_ONCE = 50
_PATTERNS = "all_pairs_latency,all_pairs_bandwidth"


def submit(options: dict[str, Any], said: "Settings") -> int:
    """Begin a run whose pairs are jobs; returns the exit status."""
    import msgspec

    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.app.target import about
    from fabricgauge.cli import batch as of
    from fabricgauge.cli import request
    from fabricgauge.cli.submit import begun, printed
    from fabricgauge.store.run_files import write_batch

    batch = of.batch(options, said)
    plan = _plan(batch, options)
    batch = msgspec.structs.replace(batch, pairs=plan, at_once=_at_once(batch, options))
    engine = of.engine(batch, options)
    root = options["output"]
    directory = request.directory({**options, "output": root.absolute() if root else None})
    with begun(directory):
        queue = PairQueue(directory, batch, plan, engine)
        if options["dry_run"]:
            click.echo(f"# one of {queue.waiting} jobs")
            printed(queue.write_next())
            directory.discard()
            return 0
        write_batch(directory, about(of.target(batch, said, engine)), batch)
        _counted(directory, queue, queue.fill)
    return _awaited(directory, queue, options)


def resume(directory: "RunDirectory", batch: "Batch", options: dict[str, Any]) -> int:
    """Submit the pairs that no job has measured or is about to measure."""
    import msgspec

    from fabricgauge.app.batch.pair_queue import PairQueue
    from fabricgauge.app.batch.submit import left_of_pairs
    from fabricgauge.cli import batch as of

    at_once = options["at_once"] or batch.at_once
    changed = msgspec.structs.replace(batch, at_once=at_once)
    plan = left_of_pairs(directory, batch)
    queue = PairQueue(directory, changed, plan, of.engine(batch, options))
    _counted(directory, queue, queue.fill)
    return _awaited(directory, queue, options)


def _counted(
    directory: "RunDirectory", queue: "PairQueue", submit_some: Callable[[], None]
) -> None:
    """Do ``submit_some``, and say how many jobs Slurm has taken, however it ends."""
    try:
        submit_some()
    finally:
        total = queue.submitted + queue.unclear + queue.waiting
        said = f"{queue.submitted} of {total} jobs of run {directory.path} are submitted"
        click.echo(said, err=True)


def _at_once(batch: "Batch", options: dict[str, Any]) -> int:
    """In a lab all pairs share one machine's processors: there one measures at a time."""
    return options["at_once"] or (1 if batch.virtual else USUAL_AT_ONCE)


def _plan(batch: "Batch", options: dict[str, Any]) -> "Plan":
    """Raises:
    UsageError: no nodes, no network, or more than pairs can have.
    """
    from fabricgauge.app.batch.job import first_plan
    from fabricgauge.cli import batch as of
    from fabricgauge.cli.fabric import fabric_wanted
    from fabricgauge.model.host_access import Host, HostAccess
    from fabricgauge.plan.pair_jobs import pair_plan

    nodes = batch.request.nodelist
    if not nodes:
        raise UsageError("--pair-jobs needs the nodes by name: give them with -w")
    if options["ppn"] != 1:
        raise UsageError("--pair-jobs has one rank on each node; leave --ppn out")
    subnets = of.subnets(batch)
    if not subnets and not batch.unpinned:
        raise UsageError(
            "--pair-jobs needs --network, e.g. 10.0.0.0/24: which networks join the nodes is not"
            " known before their jobs run"
        )
    two = HostAccess(batch.starter, (Host("0", ()), Host("1", ())), virtual=batch.virtual)
    wanted = fabric_wanted({**options, "patterns": options["patterns"] or _PATTERNS}, two)
    return pair_plan(first_plan(wanted, subnets, batch.unpinned), nodes, options["pair_jobs"])


def _awaited(directory: "RunDirectory", queue: "PairQueue", options: dict[str, Any]) -> int:
    from fabricgauge.cli.batch import progress
    from fabricgauge.cli.submit import followed

    if not options["no_wait"]:
        drain = partial(queue.drain, progress(options))
        more = queue.waiting or queue.unclear
        first = partial(_counted, directory, queue, drain) if more else drain
        return followed(directory, options, first)
    if queue.unclear:
        click.echo(f"sbatch did not say whether Slurm has their jobs: {queue.unclear}", err=True)
    if queue.waiting:
        rest = ("submit", "--resume", str(directory.path))
        say(f"Not in the queue yet: {queue.waiting} of the pairs. Submit them with", *rest)
    say("Collect it later with", "collect", str(directory.path))
    return 0
