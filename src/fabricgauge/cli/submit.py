"""``fabricgauge submit``: checks that Slurm runs, by one job or a job for each pair of nodes."""

from functools import partial
from typing import Any

import click

from fabricgauge import settings
from fabricgauge.cli import options as of
from fabricgauge.cli.collect import where_options
from fabricgauge.cli.options import Printing
from fabricgauge.model.batch import Request
from fabricgauge.run.batch.options import further
from fabricgauge.store.run_directory import find


@click.command()
@of.lab_option("Submit to the Slurm of a lab: NAME, or one made for this check.")
@click.option("-p", "--partition", default="", help="Partition; default: the site's.")
@click.option("-N", "--nodes", type=click.IntRange(2, 1 << 20), help="How many nodes.")
@of.nodelist_option
@of.exclude_option
@click.option("-t", "--time", default="", help="Time limit; default: what the plan can take.")
@click.option("--reservation", default="", help="Reservation to run in.")
@click.option("-A", "--account", default="", help="Account to charge.")
@click.option("--qos", default="", help="Quality of service.")
@click.option("-C", "--constraint", default="", help="Features that the nodes must have.")
@click.option("--exclusive", is_flag=True, help="Share the nodes with no other job.")
@click.option(
    "-J", "--job-name", default="fabricgauge", show_default=True, help="What the job is called."
)  # fmt: skip
@click.option(
    "--sbatch", multiple=True, metavar="OPTION",
    help="A further option of sbatch, e.g. --sbatch=--mem=0; may be repeated.",
)  # fmt: skip
@click.option(
    "--launcher", type=click.Choice(["slurm", "srun"]), default="slurm", show_default=True,
    help="What starts the ranks: MPI's own launcher through Slurm, or srun.",
)  # fmt: skip
@click.option(
    "--pair-jobs", is_flag=False, flag_value=0, type=click.IntRange(0), metavar="[PARTNERS]",
    help="A job for each pair of nodes of -w, so that no pair waits for other nodes;"
    " PARTNERS for each node, default all.",
)  # fmt: skip
@click.option(
    "--at-once", type=click.IntRange(1), metavar="JOBS",
    help="Maximum number of pair jobs in Slurm's queue.  [default: 50, in a lab 1]",
)  # fmt: skip
@of.network_options
@of.memory_options
@of.measure_options
@of.fabric_options
@click.option("--no-wait", is_flag=True, help="Submit and return; `collect` does the rest.")
@click.option("--resume", metavar="RUN", help="Submit what a run has left to measure.")
@where_options
@click.option("--dry-run", is_flag=True, help="Print the job script, submit nothing.")
@click.pass_context
def submit(ctx: click.Context, /, lab: str | None, resume: str | None, **asked: Any) -> None:
    """Have Slurm run a check: write its job, submit, wait, judge.

    The job needs a shell, srun and the engine, no Python. It asks its nodes what they have, makes
    the launches on each network that it finds, and leaves everything in the run directory. A second
    job on the same nodes measures suspects again.

    Networks are found by their IPv4 addresses only. For others: salloc … fabricgauge check.
    """
    from fabricgauge.app.batch.on_head import lab_outside, on_head
    from fabricgauge.app.batch.request import batch_of, resumed_batch
    from fabricgauge.cli.jobs import Submission, resumed, submitted
    from fabricgauge.cli.progress import bar
    from fabricgauge.store.holding import held

    nodes, most = asked["nodes"] or 0, asked["at_once"] or 0
    if lab is not None and not lab_outside():
        ctx.exit(on_head(lab, nodes, asked["no_wait"]))
    root = (asked["output"] or settings.run_root()).absolute()
    printing = Printing(asked["format"], asked["fail_on"])
    if resume:
        of.require_heeded(ctx, _RESUMED_WITH, "--resume takes {} from the run; leave it out")
    request = of.request_of({**asked, "nodes": None, "launcher": None})
    said = {name: asked[name] for name in _SAID_TO_SLURM}
    job = Request(nodes=nodes, further=further(asked["sbatch"]), **said)
    with bar(asked["quiet"]) as progress:
        how = Submission(printing, progress, asked["dry_run"], asked["no_wait"])
        if resume:
            directory = find(root, resume)
            with held(directory):
                batch_now = partial(
                    resumed_batch, request=request, job=job, starter=asked["launcher"],
                    run=directory.path,
                )  # fmt: skip
                ctx.exit(resumed(directory, batch_now, most, how))
        batch = batch_of(request, job, asked["launcher"], settings.load(), most)
        ctx.exit(submitted(batch, asked["pair_jobs"], root, how))


#: Options of the job that are sbatch's own.
_SAID_TO_SLURM = (
    "partition", "time", "reservation", "account", "qos", "constraint", "exclusive", "job_name",
)  # fmt: skip

#: Options that a resumption heeds; the run has everything else.
_RESUMED_WITH = frozenset({
    *_SAID_TO_SLURM, "nodelist", "exclude", "sbatch", "launcher", "mpi",
    "resume", "lab", "no_wait", "at_once", "output", "format", "quiet", "fail_on",
})  # fmt: skip
