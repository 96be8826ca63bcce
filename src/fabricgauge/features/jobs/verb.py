"""``fabricgauge submit`` and ``collect``: run a check in Slurm jobs, and judge their results."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from fabricgauge.cli import options as cli_options
from fabricgauge.cli.options import combine_options
from fabricgauge.cli.overview import HELP_OPTIONS
from fabricgauge.cli.progress import progress_shown
from fabricgauge.cli.show import Printing, refuse_report_file
from fabricgauge.features.jobs.check_job import submit_check, with_nodes
from fabricgauge.features.jobs.options import (
    Submission,
    lab_outside,
    resume_run,
    run_on_head,
    show_when_complete,
    submit_run,
)
from fabricgauge.features.jobs.request import make_batch, resumed_batch
from fabricgauge.features.jobs.slurm.slurm import check_options
from fabricgauge.lab.host_access import nodes_are_machines
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import UsageError
from fabricgauge.nodes.launch.launchers.nodes import expand
from fabricgauge.store import settings
from fabricgauge.store.run_directory import find, run_lock

#: The directory of all runs, and how a run is shown.
result_options = combine_options(
    cli_options.output_option(
        "Directory of all runs; the nodes must share it. Default: $XDG_DATA_HOME/fabricgauge/runs."
    ),
    cli_options.format_option(),
    cli_options.fail_on_option,
    cli_options.quiet_option(),
    cli_options.verbose_option,
)


@click.command(context_settings=HELP_OPTIONS)
@click.argument("run", default="latest")
@click.option("--lab", metavar="NAME", help="Lab whose Slurm has the jobs.")
@result_options
@click.pass_context
def collect(
    ctx: click.Context, /, run: str, lab: str | None, output: Path | None, quiet: bool,
    **printing: Any,
) -> None:  # fmt: skip
    """Take the results of a submitted run's jobs, judge them and report.

    Waits until all jobs have ended. RUN is a run directory, the beginning of its name, or `latest`.
    """
    if lab is not None and not lab_outside():
        ctx.exit(run_on_head(lab))
    directory = find(output or settings.run_root(), run)
    if directory.complete:
        raise UsageError(
            f"{directory.identity} is complete: see fabricgauge report {directory.path}"
        )
    with run_lock(directory), progress_shown(quiet) as progress:
        ctx.exit(show_when_complete(directory, Printing(**printing), progress, most_jobs=0))


@click.command(context_settings=HELP_OPTIONS)
@cli_options.lab_option("Submit to the Slurm of a lab: NAME, or a new one for this check.")
@click.option(
    "-p", "--partition", default="", metavar="NAME", help="Partition. Default: the site's."
)
@click.option(
    "-N", "--nodes", type=click.IntRange(2, 1 << 20), metavar="N", help="Number of nodes."
)
@cli_options.nodelist_option("Slurm chooses")
@cli_options.exclude_option
@click.option(
    "-t", "--time", default="", metavar="TIME",
    help="Time limit of the job, as sbatch reads it. Default: the longest time of the plan.",
)  # fmt: skip
@click.option("--reservation", default="", metavar="NAME", help="Reservation to run in.")
@click.option("-A", "--account", default="", metavar="NAME", help="Account to charge.")
@click.option("--qos", default="", metavar="NAME", help="Quality of service.")
@click.option(
    "-C", "--constraint", default="", metavar="FEATURES", help="Features that nodes must have."
)
@click.option("--exclusive", is_flag=True, help="Share the nodes with no other job.")
@click.option(
    "-J", "--job-name", default="fabricgauge", show_default=True, metavar="NAME",
    help="Name of the job.",
)  # fmt: skip
@click.option(
    "--sbatch", multiple=True, metavar="OPTION",
    help="Another option of sbatch, e.g. --sbatch=--mem=0. May be repeated.",
)  # fmt: skip
@click.option(
    "--launcher", type=click.Choice(["slurm", "srun"]), default="slurm", show_default=True,
    help="Program that starts the ranks: MPI's own launcher through Slurm (slurm), or srun.",
)  # fmt: skip
@click.option(
    "--pair-jobs", is_flag=False, flag_value=0, type=click.IntRange(0), metavar="[PARTNERS]",
    help="Submit one job for each pair of the nodes of -w, so that no pair waits for other nodes."
    " Each node gets this number of partners. Default: all.",
)  # fmt: skip
@click.option(
    "--at-once", type=click.IntRange(1), metavar="JOBS",
    help="Maximum number of pair jobs in Slurm's queue. Default: 50, in a lab 1.",
)  # fmt: skip
@cli_options.network_options
@cli_options.memory_options
@cli_options.measure_options()
@cli_options.tool_options
@cli_options.fabric_options
@click.option(
    "--carry",
    is_flag=True,
    help="Carry the engine in the job, for nodes that share no folder with this machine. The nodes'"
    " own MPI is used.",
)
@click.option(
    "--campaign", default="", metavar="NAME|FILE",
    help="Measure a campaign in the job. Like --tool, it runs this program on the job's first"
    " node.",
)  # fmt: skip
@click.option("--no-wait", is_flag=True, help="Submit and return at once. `collect` does the rest.")
@click.option("--resume", metavar="RUN", help="Submit the measurements that a run still lacks.")
@result_options
@click.option("--dry-run", is_flag=True, help="Print the job script; submit nothing.")
@click.pass_context
def submit(ctx: click.Context, /, lab: str | None, resume: str | None, **options: Any) -> None:
    """Run a check in a Slurm job: write the job, submit it, wait, judge.

    The job needs a shell, srun and the engine, but no Python. It surveys its nodes, launches the
    measurements on each network of the nodes, and writes all results into the run directory. A
    second job on the same nodes measures suspects again.

    With --tool or --campaign, the job runs `check` on its first node, which needs the same Python.

    The job finds the networks on its nodes: IPv4 and IPv6 subnets, and RDMA ports of InfiniBand,
    Omni-Path, EFA and Slingshot; --network roce-v2 measures RoCE's.
    """
    nodes, at_once = options["nodes"] or 0, options["at_once"] or 0
    if lab is not None and not lab_outside():
        ctx.exit(run_on_head(lab, nodes, options["no_wait"]))
    for option in ("no_wait", "dry_run"):
        if options[option]:
            refuse_report_file(f"--{option.replace('_', '-')}")
    root = (options["output"] or settings.run_root()).absolute()
    printing = Printing(options["format"], options["fail_on"])
    if resume:
        reason = "--resume takes {} from the run; leave it out"
        cli_options.refuse_without_effect(ctx, _WITH_RESUME, reason)
    request = cli_options.build_request({**options, "nodes": None, "launcher": None})
    job_options = {name: options[name] for name in _SBATCH_OPTIONS}
    job = Request(
        nodes=nodes, further=check_options(options["sbatch"]), carried=options["carry"],
        **job_options,
    )  # fmt: skip
    if nodes_are_machines() and not job.carried:
        raise UsageError(
            "the nodes of this lab are virtual machines, which share no folder with the head: add"
            " --carry (suites and campaigns need such a folder)"
        )
    starter = options["launcher"]
    with progress_shown(options["quiet"]) as progress:
        submission = Submission(printing, progress, options["dry_run"], options["no_wait"])
        if resume:
            directory = find(root, resume)
            update = partial(
                resumed_batch, request=request, job=job, starter=starter, run=directory.path
            )
            with run_lock(directory):
                ctx.exit(resume_run(directory, update, at_once, submission))
        if request.tool or options["campaign"]:
            reason = "{} has no effect on a job that runs check itself"
            cli_options.refuse_without_effect(ctx, _WITH_CHECK, reason)
            nodes_named = expand(request.nodelist, request.exclude) if request.nodelist else ()
            job = with_nodes(job, request, nodes_named)
            ctx.exit(submit_check(request, options["campaign"], job, root, submission))
        batch = make_batch(request, job, starter, settings.load(), at_once)
        ctx.exit(submit_run(batch, options["pair_jobs"], root, submission))


#: Options that sbatch has under the same name.
_SBATCH_OPTIONS = (
    "partition", "time", "reservation", "account", "qos", "constraint", "exclusive", "job_name",
)  # fmt: skip

#: Options that have an effect with ``--tool`` and ``--campaign``.
_WITH_CHECK = frozenset({
    *_SBATCH_OPTIONS, "nodes", "nodelist", "exclude", "sbatch", "tool", "tool_path", "parallel",
    "campaign", "mpi", "network", "unpinned", "profile", "launches", "ppn", "lab", "no_wait",
    "dry_run", "output", "format", "to", "quiet", "verbose", "fail_on",
})  # fmt: skip

#: Options that have an effect with ``--resume``; the run determines all others.
_WITH_RESUME = frozenset({
    *_SBATCH_OPTIONS, "nodelist", "exclude", "sbatch", "launcher", "mpi",
    "resume", "lab", "no_wait", "carry", "at_once", "output", "format", "quiet", "verbose",
    "fail_on",
})  # fmt: skip
