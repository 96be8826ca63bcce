"""Run `check` itself in a Slurm job, for suites and campaigns, which our job script cannot start.

The job's first node runs this program: it needs the same Python there, such as one on a shared
file system. A check of the engine alone needs no Python in its job: see ``job``.
"""

import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
import msgspec

from fabricgauge.check.conclude import conclude
from fabricgauge.cli.show import Printing, show
from fabricgauge.features.jobs.numbers import wait_for_jobs
from fabricgauge.features.jobs.options import Submission
from fabricgauge.features.jobs.slurm import slurm
from fabricgauge.features.jobs.slurm.slurm import build_options
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.batch import Request
from fabricgauge.model.errors import CannotRun, UsageError
from fabricgauge.model.features import load_all
from fabricgauge.model.request import MeasurementRequest, asks_for, option
from fabricgauge.model.verdict import exit_status
from fabricgauge.store import settings
from fabricgauge.store.files import writing
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load

#: Time limit of a job whose time nobody stated, in minutes: a suite's programs set their own pace.
MINUTES = 60
#: Fields of the request that the job's `check` gets as options.
HANDED_ON = (
    "tool", "tool_path", "parallel", "mpi", "network", "unpinned", "profile", "launches", "ppn",
)  # fmt: skip
#: The folder below the runs' root with the scripts and outputs of such jobs.
JOBS = "check-jobs"
FOLDER_FORM = "{:04}"
#: The root of the runs of one such job, in its folder: a check beside it does not write there.
OWN_ROOT = "runs"


def check_words(request: MeasurementRequest, campaign: str, root: Path) -> tuple[str, ...]:
    """Return the argv that the job runs on its first node.

    Raises:
        UsageError: the request has an option that the job's check does not get.
    """
    for field in request.__struct_fields__:
        if asks_for(request, field) and field not in (*HANDED_ON, "nodelist", "exclude"):
            raise UsageError(f"{option(field)} has no effect on a job that runs check itself")
    words = [sys.executable, "-m", "fabricgauge", "check", "--launcher", "slurm"]
    for field in HANDED_ON:
        value = getattr(request, field)
        if not asks_for(request, field):
            continue
        if isinstance(value, bool):
            words.append(option(field))
            continue
        for part in value if isinstance(value, tuple) else (value,):
            words += (option(field), str(Path(part).resolve() if field == "tool_path" else part))
    if campaign:
        is_file = Path(campaign).is_file()
        words += ("--campaign", str(Path(campaign).resolve()) if is_file else campaign)
    return (*words, "--output", str(root), "--quiet")


def script_of(argv: Sequence[str], folder: Path) -> str:
    """Return the job's script, for /bin/sh; it keeps the directory of its run in ``folder``."""
    return "\n".join((
        "#!/bin/sh",
        "# fabricgauge: this job runs check on its first node, which needs the same Python.",
        f"exec {shlex.join(argv)} >{shlex.quote(str(folder / 'report.txt'))} 2>&1",
        "",
    ))  # fmt: skip


def submit_check(
    request: MeasurementRequest, campaign: str, job: Request, root: Path, submission: Submission
) -> int:
    """Submit a job that runs `check`, wait for it, show its run; return the exit status.

    Raises:
        CannotRun: Slurm did not take the job, or its check left no run.
    """

    def files_of(folder: Path) -> tuple[str, tuple[str, ...]]:
        argv = check_words(request, campaign, folder / OWN_ROOT)
        return script_of(argv, folder), build_options(job, MINUTES, folder)

    folder = writing.next_folder(root / JOBS, FOLDER_FORM)
    script, options = files_of(folder)  # before anything is made: it may refuse the request
    if submission.dry_run:
        command = shlex.join(("sbatch", *options, str(folder / "job.sh")))
        click.echo(f"# {command}\n{script}", nl=False)
        return 0
    folder = writing.claim_folder(root / JOBS, FOLDER_FORM)
    script, options = files_of(folder)
    runs = folder / OWN_ROOT
    writing.write_whole(folder / "job.sh", script.encode(), root)
    submitted = slurm.submit(options, folder / "job.sh")
    click.echo(f"job {submitted.number} was submitted; its output is in {folder}", err=True)
    if submission.no_wait:
        command = shlex.join(("fabricgauge", "report", "--output", str(runs)))
        click.echo(f"Show its run later with: {command}", err=True)
        return 0
    ask = partial(slurm.states, cluster=submitted.cluster)
    wait_for_jobs((submitted.number,), ask, submission.progress)
    submission.progress.close()
    left = take_runs(runs, root)
    if not left:
        raise CannotRun(f"job {submitted.number} left no run; its output is {folder}/report.txt")
    return show_stored_run(left[-1], submission.printing)


def take_runs(runs: Path, root: Path) -> tuple[RunDirectory, ...]:
    """Move a job's runs to the root, where other verbs list them; return them, oldest first.

    A requeued job has several. A run that cannot be moved stays.
    """
    moved = []
    for path in sorted(runs.glob("2*-*")):
        if not any((path / file).exists() for file in ("run.json", "campaign.json")):
            continue
        place = path
        with suppress(OSError):
            place = path.rename(root / path.name)
        moved.append(RunDirectory(place))
    with suppress(OSError):
        runs.rmdir()
    return tuple(moved)


def show_stored_run(directory: RunDirectory, printing: Printing) -> int:
    """Show a stored run or campaign; return the exit status of its outcome."""
    for show_stored in load_all("stored", directory.has):
        outcome = show_stored(directory, printing.format, printing.to)
        if outcome is not None:
            return exit_status(outcome, printing.fail_on)
    configured = settings.load()
    thresholds = thresholds_from(configured.thresholds, configured.thresholds_origin)
    return show(conclude(load(directory), thresholds), directory.path, printing)


def with_nodes(job: Request, request: MeasurementRequest, nodes: tuple[str, ...]) -> Request:
    """Return the job's request with its nodes and ranks; two nodes unless others are stated."""
    count = job.nodes or len(nodes) or 2
    return msgspec.structs.replace(job, nodes=count, ppn=request.ppn, nodelist=nodes)
