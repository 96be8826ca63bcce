"""Choose the nodes to measure together: first without culprits, then suspects once more."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import msgspec

from fabricgauge.check.networks import choose_targets
from fabricgauge.check.plan.plan import (
    JointRanks,
    Targets,
    payload_rate,
    plan_groups,
    recheck_launch,
)
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.doctor.reachability import ConnectionFault, choose_excluded_nodes, find_partner
from fabricgauge.judge.judging import losing, unclear
from fabricgauge.model.absence import Skipped
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric
from fabricgauge.model.pairs import Meeting, Recheck
from fabricgauge.model.plan import Plan, PlannedLaunch, renumber
from fabricgauge.model.run import Run
from fabricgauge.model.words.sentences import listed

Culprits = Mapping[str, Sequence[ConnectionFault]]


def joint_ranks(
    ranks: tuple[str, ...], chosen: Targets, culprits: Culprits
) -> tuple[JointRanks, ...]:
    """Group the ranks: first most of them; then each node of a failed pair, with a partner."""
    nodes = tuple(dict.fromkeys(ranks))
    together: dict[tuple[tuple[str, ...], bool], Targets] = defaultdict(tuple)
    for network, ceiling in chosen:
        unreachable = culprits.get(network.name, ()) if network else ()
        out = choose_excluded_nodes(nodes, unreachable)
        groups = [(tuple(rank for rank in ranks if rank not in out), False)]
        # Prefer a partner that is in the launch of most: its own faults show there.
        best = sorted(nodes, key=lambda node: node in out)
        mates = dict.fromkeys(
            frozenset((node, find_partner(node, best, unreachable))) for node in out
        )
        groups += [(tuple(node for node in nodes if node in pair), True) for pair in mates]
        for group in groups:
            if len(set(group[0])) > 1 or len(nodes) == 1:
                together[group] += ((network, ceiling),)
    return tuple(
        JointRanks(group, targets, is_beside) for (group, is_beside), targets in together.items()
    )


def planned_instead(
    target: Target,
    fabric: Fabric,
    launches_with_culprit: Sequence[PlannedLaunch],
    culprits: Culprits,
    spent_s: float = 0.0,
) -> Iterator[Plan]:
    """Plan what the sound nodes measure instead, within the rest of the budget.

    If the rest is too short for them, the progress reports it.
    """
    request, budget_s = target.request, target.request.budget
    rest_s = budget_s and max(1.0, budget_s - spent_s)
    rest_request = msgspec.structs.replace(request, budget=rest_s)
    places = dict.fromkeys((launch.network, launch.nodes) for launch in launches_with_culprit)
    for name, ranks in places:
        targets = choose_targets(request, fabric, ranks)
        chosen = tuple(pair for pair in targets if (pair[0].name if pair[0] else None) == name)
        groups = joint_ranks(ranks, chosen, culprits)
        try:
            yield plan_groups(rest_request, ranks, groups, virtual=target.access.virtual)
        except UsageError as error:
            target.progress.trouble(f"{listed(ranks)}: not measured without the culprits: {error}")


def launches_without_culprits(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """Return the launches that can still be made on networks where a launch just broke.

    Launches without a culprit are made as planned. Launches with a culprit are replaced: new ones
    without it join the plan. They do not repeat finished cases. The replaced launches stay in the
    plan: once the culprits are repaired, a resumed run makes the rest of them.
    """
    broken, context.broken = context.broken, set()
    unmade = [launch for launch in context.unmade_launches() if launch.network in broken]
    launches_with_culprit = [launch for launch in unmade if holds_culprit(launch, context.culprits)]
    context.given_up |= {launch.number for launch in launches_with_culprit}
    # The time for which a launch hung does not count as measuring.
    run_launches = context.run.launches
    spent_s = sum(case.wall_s for launch in run_launches for case in launch.measurements)
    spent_s += sum(pair_round.wall_s for launch in run_launches for pair_round in launch.rounds)
    instead = planned_instead(
        context.target, context.fabric, launches_with_culprit, context.culprits, spent_s
    )
    replacements = [launch for plan in instead for launch in _unmeasured(plan, context.run)]
    launches = renumber(replacements, context.plan.last)
    for launch in launches:
        context.add_to_plan(launch)
    return (*(launch for launch in unmade if launch not in launches_with_culprit), *launches)


def holds_culprit(launch: PlannedLaunch, culprits: Culprits) -> bool:
    """Check if a known culprit would break the launch."""
    nodes = tuple(dict.fromkeys(launch.nodes))
    return bool(choose_excluded_nodes(nodes, culprits.get(launch.network or "", ())))


def _unmeasured(planned: Plan, run: Run) -> Iterator[PlannedLaunch]:
    """Yield the launches without cases that another launch on the network has finished."""
    done_cases = Counter(
        (launch.network, case.case)
        for launch in run.launches
        if launch.purpose == "measure"
        for case in launch.completed
    )
    for launch in planned.launches:
        names = Counter((launch.network, case.name) for case in launch.cases)
        cases = tuple(case for case in launch.cases if not done_cases[launch.network, case.name])
        done_cases -= names
        if cases:
            yield msgspec.structs.replace(launch, cases=cases)


def rechecks(context: RunContext) -> Iterator[tuple[str, PlannedLaunch | Skipped]]:
    """Yield each network with suspects, and a launch that measures them again or why there is none.

    Nodes that a rule doubts are measured if no suspect's streams are measured again. If small
    messages are lost, one launch of streams shows who loses frames; that explains the suspects as
    well.
    """
    run, rules_context = context.run, context.context_now()
    lossy, suspected = losing(run), rules_context.fabric.rechecks
    to_recheck = {recheck.network: recheck for recheck in unclear(rules_context)}
    first = {name: to_recheck.pop(name) for name in lossy & to_recheck.keys()}
    streams = {recheck.network for recheck in suspected if _streams(recheck)}
    wanted_rechecks = (
        *first.values(),
        *(recheck for recheck in suspected if recheck.network not in first),
        *(recheck for recheck in to_recheck.values() if recheck.network not in streams),
    )
    suite, buffers = context.target.suite, context.target.request.buffers
    numbers = count(run.plan.last + 1)
    networks = {network.name: network for network in run.fabric.networks}
    for recheck in wanted_rechecks:
        name, meetings, loses = recheck.network, recheck.meetings, recheck.network in lossy
        if isinstance(meetings, Skipped):
            yield name, meetings
        elif suite is not None:  # each pair is a start, on the network as it was planned
            for pair in dict.fromkeys((meet.one, meet.other) for meet in _streams(recheck)):
                yield name, msgspec.structs.replace(
                    next(launch for launch in run.plan.launches if (launch.network or "") == name),
                    number=next(numbers), nodes=pair, program=suite.tool.of_pairs, purpose="again",
                )  # fmt: skip
        else:
            ceiling = rules_context.ceilings.get(name, Skipped("MPI chose the network"))
            meetings = _streams(recheck) if loses else meetings
            for _ in range(0 if not meetings else 1 if loses else recheck.launches):
                launch = recheck_launch(
                    next(numbers), networks.get(name), meetings, recheck.nodes,
                    payload_rate(ceiling), loses,
                )  # fmt: skip
                yield name, launch.with_buffers(buffers)


def _streams(recheck: Recheck) -> tuple[Meeting, ...]:
    if isinstance(recheck.meetings, Skipped):
        return ()
    return tuple(meeting for meeting in recheck.meetings if meeting.quantity == "bandwidth")
