"""What is asked of Slurm on the command line of ``submit``."""

import click

from fabricgauge.cli.measuring import Decorated, added

_PAIRS = (
    click.option(
        "--pair-jobs", is_flag=False, flag_value=0, type=click.IntRange(0), metavar="[PARTNERS]",
        help="A job of its own for each pair of -w, so that no two nodes wait for a third;"
        " PARTNERS for each node, default all.",
    ),
    click.option(
        "--at-once", type=click.IntRange(1), metavar="JOBS",
        help="Of --pair-jobs, so many are in Slurm's queue.  [default: 50, of a lab 1]",
    ),
)  # fmt: skip

_JOB = (
    click.option("-p", "--partition", default="", help="Partition; default: the site's."),
    click.option("-N", "--nodes", type=click.IntRange(2, 1 << 20), help="How many nodes."),
    click.option("-w", "--nodelist", metavar="NODES", help="These nodes, e.g. c[1-2], @group."),
    click.option("-x", "--exclude", metavar="NODES", help="Nodes that the job must not get."),
    click.option("-t", "--time", default="", help="Time limit; default: what the plan can take."),
    click.option("--reservation", default="", help="Reservation to run in."),
    click.option("-A", "--account", default="", help="Account to charge."),
    click.option("--qos", default="", help="Quality of service."),
    click.option("-C", "--constraint", default="", help="Features that the nodes must have."),
    click.option("--exclusive", is_flag=True, help="Share the nodes with no other job."),
    click.option(
        "-J", "--job-name", default="fabricgauge", show_default=True, help="What the job is called."
    ),
    click.option(
        "--sbatch", multiple=True, metavar="OPTION",
        help="A further option of sbatch, e.g. --sbatch=--mem=0; may be repeated.",
    ),
    click.option(
        "--launcher", type=click.Choice(["slurm", "srun"]), default="slurm", show_default=True,
        help="Who starts the ranks: MPI's own launcher by way of Slurm, or srun.",
    ),
)  # fmt: skip


def slurm_options(command: Decorated) -> Decorated:
    """Add nodes, partition, limits, and whether each pair is a job of its own."""
    return added(command, (*_JOB, *_PAIRS))
