"""The main job: measure what is planned, and suspects again; judge, report."""

from collections.abc import Iterator

from fabricgauge.app.groups import further, holds_culprit, rechecks, so_far
from fabricgauge.app.measure import measure, planned_command
from fabricgauge.app.measure_tool import measure_with_tool, suite_launch
from fabricgauge.app.run_context import RunContext
from fabricgauge.judge.judging import below_pass, doubtful, losing
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import StoreError
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.plan.plan import host_reference
from fabricgauge.words import sentences
from fabricgauge.words.networks import named

#: After a launch broke, the other nodes are measured at most this often: once for each culprit.
MOST_FURTHER = 3


def commands(context: RunContext) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
    """What each launch of the plan would start; nothing is started."""
    for launch in context.plan.launches:
        if context.target.suite is None:
            yield launch, (planned_command(context, launch),)
        else:
            work = suite_launch(context, launch)
            yield launch, (work.client,) if work.server is None else (work.server, work.client)


def finish(context: RunContext, against: tuple[SuiteCurve, ...] = ()) -> tuple[Judged, bool]:
    """Measure what is left, judge, report; the judged run, and whether it was interrupted.

    A disk that fills up or an interruption ends the measuring, not the judging: what
    was measured until then is judged and reported, and the run can be resumed.
    """
    interrupted = False
    try:
        _measure(context)
    except KeyboardInterrupt:
        interrupted = True
    except StoreError as error:
        context.progress.trouble(str(error))
    complete = not interrupted and not context.left()
    return context.concluded(complete, against), interrupted


def _measure(context: RunContext) -> None:
    """One launch that breaks does not end the others."""
    if context.target.suite is not None:
        measure_with_tool(context, context.left())
        _measure_suspects(context)
        return
    launches = context.left()
    for _ in range(1 + MOST_FURTHER):
        measure(context, launches)
        launches = further(context)
        if not launches:
            break
    _measure_suspects(context)
    if context.run.fabric.simulated or context.run.fabric.emulated:
        return  # nothing disturbs a simulator's hosts, and no speed of emulated ones is judged
    _measure_doubtful(context)
    _explain_low_figures(context)


def _measure_suspects(context: RunContext) -> None:
    """Measure suspects alone, with good partners, before a node is named."""
    if (
        not context.run.launches
        or any(one.number not in context.given_up for one in context.left())
        or any(one.purpose == "again" for one in context.plan.launches)
    ):
        return
    for network, launch in rechecks(context):
        if not isinstance(launch, Skipped) and holds_culprit(launch, context.culprits):
            launch = Skipped("not all suspects can be in one launch")
        if isinstance(launch, Skipped):
            why = f"nobody is measured again: {launch.reason}"
            context.progress.stage(f"{named(network)}: {why}")
            continue
        _also(context, launch, f"{named(network)}: measuring suspects again, one pair at a time")


def _also(context: RunContext, launch: PlannedLaunch, why: str) -> None:
    """Make a launch that the first plan does not have."""
    context.progress.stage(why)
    context.plan_further(launch)
    make = measure if context.target.suite is None else measure_with_tool
    make(context, (launch,))


def _measure_doubtful(context: RunContext) -> None:
    """Measure doubtful cases once more: what disturbed a single case does not come back."""
    if context.left():
        return
    judged = so_far(context)
    lossy = losing(context.run)
    for launch in doubtful(judged):
        if launch.network in lossy:
            continue
        many = sentences.counted(len(launch.cases), "case")
        where = named(launch.network)
        why = "a curve dips, or one direction is slower"
        _also(context, launch, f"{where}: {why}: measuring {many} again")


def _explain_low_figures(context: RunContext) -> None:
    """Where a network stays below its ceiling, measure what its host does without one."""
    run = context.run
    of_ports = {network.name for network in run.fabric.networks if network.of_ports}
    judged = so_far(context)
    known = of_ports | losing(run)  # loopback is TCP's: it says nothing of an adapter
    for name in below_pass(judged):
        if name in known:
            continue
        why = "is below its ceiling: measuring what the host does without it"
        context.progress.stage(f"{name} {why}")
        first = run.plan.launches[0].nodes[0]
        launch = host_reference(run.plan.last + 1, first, name, run.plan)
        if launch.network not in {made.network for made in run.launches}:
            measure(context, (launch,))
            return  # one node's word serves all its networks
