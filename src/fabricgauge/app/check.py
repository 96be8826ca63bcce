"""The main job: measure what is planned and whoever is suspected, judge, report."""

from collections.abc import Iterator

from fabricgauge.app.begin import begin, take_up, with_programs
from fabricgauge.app.conclude import CheckOutcome, concluded
from fabricgauge.app.groups import further, holds_culprit
from fabricgauge.app.measure import measure, planned_command
from fabricgauge.app.measure_tool import measure_with_tool, suite_launch
from fabricgauge.app.pairs import rechecks
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.judge.judging import below_pass, doubtful
from fabricgauge.model.absence import Skipped
from fabricgauge.model.command import LaunchCommand
from fabricgauge.model.errors import StoreError, ToolMissing, UsageError
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.plan.plan import host_reference
from fabricgauge.store.run_directory import RunDirectory
from fabricgauge.words import sentences
from fabricgauge.words.networks import named

#: How often those who are left are measured after a launch broke: as often as there are culprits.
MOST_FURTHER = 3


def prepared(
    target: Target, directory: RunDirectory, progress: Progress, dry_run: bool = False
) -> RunContext:
    """A run that is planned now, or taken up again; nothing is left of one that cannot begin.

    Raises:
        UsageError: what is asked for cannot be measured there.
        ToolMissing: a program is not installed.
        CannotRun: no network joins the nodes, or a stored run's nodes have changed.
    """
    try:
        ready = with_programs(target, progress)
        if target.request.resume:
            return take_up(ready, directory, progress)
        return begin(ready, directory, progress, dry_run=dry_run)
    except BaseException as error:
        if directory.empty or isinstance(error, KeyboardInterrupt | UsageError | ToolMissing):
            discard(target, directory)
        raise


def discard(target: Target, directory: RunDirectory) -> None:
    """Remove the directory of a run that measured nothing; one that is taken up again stays."""
    if not target.request.resume:
        directory.discard()


def commands(context: RunContext) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
    """What each launch of the plan would start; nothing is started."""
    for launch in context.plan.launches:
        if context.target.suite is None:
            yield launch, (planned_command(context, launch),)
        else:
            work = suite_launch(context, launch)
            yield launch, (work.client,) if work.server is None else (work.server, work.client)


def finish(
    context: RunContext, progress: Progress, against: tuple[SuiteCurve, ...] = ()
) -> CheckOutcome:
    """Measure what is left, judge, report; a broken-off run stays resumable.

    A disk that fills up or an interruption ends the measuring, not the judging: what
    was measured until then is judged and reported.
    """
    interrupted = False
    try:
        _measure(context, progress)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        progress.trouble(str(error))
    complete = not interrupted and not context.left()
    judged = concluded(context, complete, progress, against)
    return CheckOutcome(judged, context.directory.path, interrupted)


def _measure(context: RunContext, progress: Progress) -> None:
    """One launch that breaks does not end the others."""
    if context.target.suite is not None:
        measure_with_tool(context, context.left(), progress)
        return
    launches = context.left()
    for _ in range(1 + MOST_FURTHER):
        measure(context, launches, progress)
        launches = further(context, progress)
        if not launches:
            break
    _measure_suspects(context, progress)
    _measure_dips(context, progress)
    _explain_low_figures(context, progress)


def _measure_suspects(context: RunContext, progress: Progress) -> None:
    """Alone and with good partners, before anybody is named."""
    if (
        not context.run.launches
        or any(one.number not in context.given_up for one in context.left())
        or any(one.purpose == "again" for one in context.plan.launches)
    ):
        return
    for one in rechecks(context.run, context.fabric_result()):
        where = named(one.network)
        if not isinstance(one.launch, Skipped) and holds_culprit(one.launch, context.culprits):
            progress.stage(
                f"{where}: nobody is measured again: not all suspects can be in one launch"
            )
            continue
        if isinstance(one.launch, Skipped):
            progress.stage(f"{where}: nobody is measured again: {one.launch.reason}")
            continue
        progress.stage(f"{where}: measuring suspects again, one pair at a time")
        context.plan_further(one.launch)
        measure(context, (one.launch,), progress)


def _measure_dips(context: RunContext, progress: Progress) -> None:
    """Once more before one is believed: what disturbed a single case does not come back."""
    if context.left() or context.run.fabric.simulated:
        return
    limits = ceilings(context.fabric.networks)
    thresholds, fabric = context.target.thresholds, context.fabric_result()
    for launch in doubtful(context.run, limits, thresholds, fabric):
        many = sentences.counted(len(launch.cases), "case")
        progress.stage(f"{named(launch.network)}: a curve dips: measuring {many} around it again")
        context.plan_further(launch)
        measure(context, (launch,), progress)


def _explain_low_figures(context: RunContext, progress: Progress) -> None:
    """Where a network stays below its ceiling, measure what its host does without one."""
    run = context.run
    if run.fabric.simulated:
        return  # its hosts cost nothing
    limits, thresholds = ceilings(run.fabric.networks), context.target.thresholds
    for name in below_pass(run, limits, thresholds, context.fabric_result()):
        progress.stage(f"{name} is below its ceiling: measuring what the host does without it")
        number = 1 + max(launch.number for launch in run.plan.launches)
        launch = host_reference(number, run.plan.launches[0].nodes[0], name, run.plan)
        if launch.network not in {made.network for made in run.launches}:
            measure(context, (launch,), progress)
            return  # one node's word serves all its networks
