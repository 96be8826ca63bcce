"""The main job: from a request to verdicts, state by state.

A run passes through these states. Each function leaves one state and enters the next:

    state      holds                                  left by
    request    the user's options                     ``begin.opened``: discover, connect, plan
    plan       launches without a result              ``_make_planned_launches``
    records    results of launches, all stored        ``RunContext.context_now``
    context    ceilings, evidence, analysis of pairs  ``_recheck_suspects`` and the steps after it,
                                                      or ``RunContext.conclude``
    verdicts   the judged run and its reports         the end

New records lead back from ``context`` to ``records``: a launch broke and the sound nodes measure
without its culprit; suspects are measured again, alone and with good partners; doubtful cases are
measured once more; one host is measured without a network. Each way back is taken a bounded number
of times.

Comes in: a ``RunContext`` (``check/run_context.py``), the only value that changes. It has the
target, the run directory, the plan and the records so far. Goes out: ``Judged``, a frozen value.

Rules of this module:

- A record is in its file before it joins the run in memory, and on disk 0.2 s later. Nothing is
  read back.
- What follows from the records (``Context``) is made once for the same records and handed on.
- Measuring decides nothing about verdicts; judging starts nothing. Rules only name what they want
  measured again (``judge.judging``: ``unclear``, ``doubtful``, ``below_pass``).
- A launch that breaks, a full disk or an interruption ends no more than it must: the run is judged
  with its records, and ``--resume`` makes the rest.

To change: the order of the steps is ``_measure``; a plan's contents are in ``plan/``; a launch is
started in ``measure.py`` (engine) or ``measure_tool.py`` (another suite); culprits are found in
``breakage.py``; nodes are chosen in ``groups.py``.
"""

from collections.abc import Iterator

from fabricgauge.check.groups import holds_culprit, launches_without_culprits, rechecks
from fabricgauge.check.measure import measure, planned_command
from fabricgauge.check.plan.plan import host_reference
from fabricgauge.check.run_context import RunContext
from fabricgauge.judge.judging import below_pass, doubtful, losing
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import StoreError
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words import sentences
from fabricgauge.model.words.networks import OWN_CHOICE, named

#: How often a broken launch's other nodes are measured at most: once for each culprit.
MAX_REPLANS = 3


def list_commands(context: RunContext) -> Iterator[tuple[PlannedLaunch, tuple[LaunchCommand, ...]]]:
    """Yield each planned launch with the commands that it would start; nothing is started."""
    for launch in context.plan.launches:
        if context.target.suite is None:
            yield launch, (planned_command(context, launch),)
        else:
            from fabricgauge.check.measure_tool import suite_launch

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
    complete = not interrupted and not context.unmade_launches()
    return context.conclude(complete, against), interrupted


def _measure(context: RunContext) -> None:
    _make_planned_launches(context)
    _recheck_suspects(context)
    # A suite has no single cases, a simulator has no disturbed hosts, and no speed of emulated
    # processors is judged.
    fabric = context.fabric
    if context.target.suite is None and not (fabric.simulated or fabric.emulated):
        _recheck_doubtful_cases(context)
        _measure_reference_host(context)


def _make_planned_launches(context: RunContext) -> None:
    launches = context.unmade_launches()
    if context.target.suite is not None:
        _measure_suite(context, launches)
        return
    for _ in range(1 + MAX_REPLANS):
        measure(context, launches)
        launches = launches_without_culprits(context)
        if not launches:
            break


def _recheck_suspects(context: RunContext) -> None:
    """Measure suspects alone, with good partners, before a node is named."""
    is_made = all(launch.number in context.given_up for launch in context.unmade_launches())
    is_rechecked = any(launch.purpose == "again" for launch in context.plan.launches)
    if not context.run.launches or not is_made or is_rechecked:
        return
    for network, launch in rechecks(context):
        if not isinstance(launch, Skipped) and holds_culprit(launch, context.culprits):
            launch = Skipped("not all suspects can be in one launch")
        if isinstance(launch, Skipped):
            reason = f"suspects were not measured again: {launch.reason}"
            context.progress.stage(f"{named(network)}: {reason}")
        else:
            why = "measuring suspects again, one pair at a time"
            _measure_also(context, launch, f"{named(network)}: {why}")


def _measure_also(context: RunContext, launch: PlannedLaunch, why: str) -> None:
    context.progress.stage(why)
    context.add_to_plan(launch)
    make = measure if context.target.suite is None else _measure_suite
    make(context, (launch,))


def _recheck_doubtful_cases(context: RunContext) -> None:
    """Measure doubtful cases once more: a disturbance of a single case does not come back."""
    if context.unmade_launches():
        return
    lossy = losing(context.run)
    for launch in doubtful(context.context_now()):
        if launch.network in lossy:
            continue
        cases = sentences.counted(len(launch.cases), "case")
        network = named(launch.network)
        why = "a curve dips, or one direction is slower"
        _measure_also(context, launch, f"{network}: {why}; measuring {cases} again")


def _measure_reference_host(context: RunContext) -> None:
    """Measure a host without a network if a network stays below its ceiling."""
    run = context.run
    rdma_networks = {network.name for network in run.fabric.networks if network.has_rdma_ports}
    excluded = rdma_networks | losing(run)  # loopback is TCP: it does not show what an adapter does
    for name in below_pass(context.context_now()):
        if name in excluded:
            continue
        why = "below its ceiling; measuring one host without the network"
        context.progress.stage(f"{name}: {why}")
        first = run.plan.launches[0].nodes[0]
        network = None if name == OWN_CHOICE else name
        launch = host_reference(run.plan.last + 1, first, network, run.plan)
        if launch.network not in {made_launch.network for made_launch in run.launches}:
            measure(context, (launch,))
            return  # the figure of one node serves all its networks


def _measure_suite(context: RunContext, launches: tuple[PlannedLaunch, ...]) -> None:
    """Make the launches with another suite; its readers are loaded only now."""
    from fabricgauge.check.measure_tool import measure_with_tool

    measure_with_tool(context, launches)
