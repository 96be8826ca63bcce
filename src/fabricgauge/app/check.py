"""The main job: measure the plan, measure suspects again, judge, report."""

from collections.abc import Iterator

from fabricgauge.app.groups import context_now, holds_culprit, launches_without_culprits, rechecks
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

#: How often a broken launch's other nodes are measured at most: once for each culprit.
MOST_FURTHER = 3


def commands(context: RunContext) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
    """Yield each planned launch with the commands that it would start; nothing is started."""
    for launch in context.plan.launches:
        if context.target.suite is None:
            yield launch, (planned_command(context, launch),)
        else:
            work = suite_launch(context, launch)
            yield launch, (work.client,) if work.server is None else (work.server, work.client)


def measure_and_judge(
    context: RunContext, against: tuple[SuiteCurve, ...] = ()
) -> tuple[Judged, bool]:
    """Measure the rest of the plan, judge, report; return the judged run and if it was interrupted.

    A full disk or an interruption ends the measuring, not the judging: the results so far are
    judged and reported, and the run can be resumed.
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
    """Make the launches. One that breaks does not end the others."""
    if context.target.suite is not None:
        measure_with_tool(context, context.left())
        _measure_suspects(context)
        return
    launches = context.left()
    for _ in range(1 + MOST_FURTHER):
        measure(context, launches)
        launches = launches_without_culprits(context)
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
        or any(launch.number not in context.given_up for launch in context.left())
        or any(launch.purpose == "again" for launch in context.plan.launches)
    ):
        return
    for network, launch in rechecks(context):
        if not isinstance(launch, Skipped) and holds_culprit(launch, context.culprits):
            launch = Skipped("not all suspects can be in one launch")
        if isinstance(launch, Skipped):
            context.progress.stage(
                f"{named(network)}: suspects were not measured again: {launch.reason}"
            )
            continue
        _measure_also(
            context, launch, f"{named(network)}: measuring suspects again, one pair at a time"
        )


def _measure_also(context: RunContext, launch: PlannedLaunch, why: str) -> None:
    """Add a launch to the plan and make it."""
    context.progress.stage(why)
    context.plan_further(launch)
    make = measure if context.target.suite is None else measure_with_tool
    make(context, (launch,))


def _measure_doubtful(context: RunContext) -> None:
    """Measure doubtful cases once more: a disturbance of a single case does not come back."""
    if context.left():
        return
    judged = context_now(context)
    lossy = losing(context.run)
    for launch in doubtful(judged):
        if launch.network in lossy:
            continue
        cases = sentences.counted(len(launch.cases), "case")
        network = named(launch.network)
        why = "a curve dips, or one direction is slower"
        _measure_also(context, launch, f"{network}: {why}; measuring {cases} again")


def _explain_low_figures(context: RunContext) -> None:
    """Measure a host without a network if a network stays below its ceiling."""
    run = context.run
    of_ports = {network.name for network in run.fabric.networks if network.of_ports}
    judged = context_now(context)
    excluded = of_ports | losing(run)  # loopback is TCP: it does not show what an adapter does
    for name in below_pass(judged):
        if name in excluded:
            continue
        why = "below its ceiling; measuring one host without the network"
        context.progress.stage(f"{name}: {why}")
        first = run.plan.launches[0].nodes[0]
        launch = host_reference(run.plan.last + 1, first, name, run.plan)
        if launch.network not in {made_launch.network for made_launch in run.launches}:
            measure(context, (launch,))
            return  # the figure of one node serves all its networks
