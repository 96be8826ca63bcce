"""The main job: discover, plan, run, prove, judge, report."""

from pathlib import Path

import msgspec

from fabricgauge.app.conclude import conclude, write_reports
from fabricgauge.app.measure import Bench, measure
from fabricgauge.app.progress import Progress
from fabricgauge.app.site import Site, about, discovered
from fabricgauge.app.targets import targets, unjoined
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.judge.below_pass import below_pass
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.errors import StoreError
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.plan.plan import Wanted, host_reference, plan, remaining
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.store.run_files import load, write_beginning


class Outcome(msgspec.Struct, frozen=True):
    """What a check leaves: the judged run and its directory."""

    judged: Judged
    path: Path
    interrupted: bool


def prepare(wanted: Wanted, site: Site, directory: RunDirectory, progress: Progress) -> Bench:
    """Discover and plan; the run directory then holds all that a resumption needs."""
    found = discovered(site, directory, progress, "discover")
    chosen = targets(site, found, wanted.place)
    fabric = msgspec.structs.replace(found, unjoined=unjoined(site, found, wanted.place))
    made = plan(wanted, chosen)
    write_beginning(directory, about(site), fabric, made)
    return Bench(directory, site.reach, site.engine, fabric, made, attempt=1)


def left_to_do(bench: Bench) -> tuple[PlannedLaunch, ...]:
    run = load(bench.directory)
    return remaining(
        bench.plan, tuple((la.number, m) for la in run.launches for m in la.measurements)
    )


def finish(bench: Bench, thresholds: Thresholds, progress: Progress) -> Outcome:
    """Measure what is left, judge, report; a broken-off run stays resumable.

    A disk that fills up or an interruption ends the measuring, not the judging: what
    was measured until then is judged and reported.
    """
    interrupted = False
    try:
        measure(bench, left_to_do(bench), progress)
        _explain_low_figures(bench, thresholds, progress)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        progress.trouble(str(error))
    progress.stage("judging")
    complete = not interrupted and not left_to_do(bench)
    run = msgspec.structs.replace(load(bench.directory), complete=complete)
    judged = conclude(run, thresholds)
    try:
        write_reports(bench.directory, judged)
        if complete:
            bench.directory.finish()
    except StoreError as error:
        progress.trouble(str(error))
    return Outcome(judged, bench.directory.path, interrupted)


def _explain_low_figures(bench: Bench, thresholds: Thresholds, progress: Progress) -> None:
    """Where a network stays below its ceiling, measure what its host does without one."""
    run = load(bench.directory)
    for name in below_pass(run, ceilings(run.fabric.networks), thresholds):
        progress.stage(f"{name} is below its ceiling: measuring what the host does without it")
        number = 1 + max(launch.number for launch in run.plan.launches)
        launch = host_reference(number, run.plan.launches[0].nodes[0], name, run.plan)
        if launch.network not in {made.network for made in run.launches}:
            measure(bench, (launch,), progress)
            return  # one node's word serves all its networks
