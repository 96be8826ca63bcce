"""The main job: discover, plan, run, prove, judge, report."""

from pathlib import Path

import msgspec

from fabricgauge.app.conclude import conclude, write_reports
from fabricgauge.app.job import Job
from fabricgauge.app.libraries import note_libraries
from fabricgauge.app.progress import Progress
from fabricgauge.app.transports import note_transports
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.errors import StoreError
from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load


class Outcome(msgspec.Struct, frozen=True):
    """What a check leaves: the judged run and its directory."""

    judged: Judged
    path: Path
    interrupted: bool


def finish(
    job: Job, thresholds: Thresholds, progress: Progress, against: tuple[SuiteCurve, ...] = ()
) -> Outcome:
    """Measure what is left, judge, report; a broken-off run stays resumable.

    A disk that fills up or an interruption ends the measuring, not the judging: what
    was measured until then is judged and reported.
    """
    interrupted = False
    try:
        job.measure(thresholds, progress)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        progress.trouble(str(error))
    complete = not interrupted and not job.left()
    judged = concluded(job.directory, complete, thresholds, progress, against)
    return Outcome(judged, job.directory.path, interrupted)


def concluded(
    directory: RunDirectory,
    complete: bool,
    thresholds: Thresholds,
    progress: Progress,
    against: tuple[SuiteCurve, ...] = (),
) -> Judged:
    """Judge what was measured and leave the reports; a ``complete`` run gets its final name."""
    progress.stage("judging")
    try:
        measured = load(directory)
        note_libraries(directory, measured)
        note_transports(directory, measured)
    except StoreError as error:
        progress.trouble(str(error))
    run = msgspec.structs.replace(load(directory), complete=complete)
    judged = conclude(run, thresholds, against)
    try:
        write_reports(directory, judged)
        if complete:
            directory.finish()
    except StoreError as error:
        progress.trouble(str(error))
    return judged
