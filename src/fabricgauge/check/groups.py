"""Choose the nodes to measure together: first without culprits, then suspects once more."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.check.networks import choose_targets
from fabricgauge.check.plan.plan import JointRanks, Targets, payload_rate, plan_groups
from fabricgauge.check.run_context import RunContext
from fabricgauge.check.target import Target
from fabricgauge.doctor.reachability import ConnectionFault, choose_excluded_nodes, find_partner
from fabricgauge.judge.judging import losing, unclear
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Network
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
    together: dict[tuple[tuple[str, ...], bool], list[tuple[Network | None, Ceiling | Skipped]]] = (
        defaultdict(list)
    )
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
                together[group].append((network, ceiling))
    return tuple(
        JointRanks(group, tuple(of), is_beside) for (group, is_beside), of in together.items()
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
    rest_request = msgspec.structs.replace(
        request, budget=budget_s and max(1.0, budget_s - spent_s)
    )
    for name, ranks in dict.fromkeys(
        (launch.network, launch.nodes) for launch in launches_with_culprit
    ):
        all_targets = choose_targets(request, fabric, ranks)
        chosen = tuple(
            target for target in all_targets if (target[0].name if target[0] else None) == name
        )
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
    replacements = [launch for planned in instead for launch in _unmeasured(planned, context.run)]
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
    number = run.plan.last
    networks = {network.name: network for network in run.fabric.networks}
    for recheck in wanted_rechecks:
        if isinstance(recheck.meetings, Skipped):
            yield recheck.network, recheck.meetings
            continue
        if context.target.suite is not None:
            program = context.target.suite.tool.of_pairs
            for pair in dict.fromkeys(
                (meeting.one, meeting.other) for meeting in _streams(recheck)
            ):
                number += 1
                yield (
                    recheck.network,
                    _suite_recheck(run.plan, recheck.network, number, pair, program),
                )
            continue
        from fabricgauge.check.plan.recheck import recheck_launch

        rate = payload_rate(
            rules_context.ceilings.get(recheck.network, Skipped("MPI chose the network"))
        )
        loses = recheck.network in lossy
        meetings = _streams(recheck) if loses else recheck.meetings
        launches = 0 if not meetings else 1 if loses else recheck.launches
        for _ in range(launches):
            number += 1
            network = networks.get(recheck.network)
            yield (
                recheck.network,
                recheck_launch(number, network, meetings, recheck.nodes, rate, loses).with_buffers(
                    context.target.request.buffers
                ),
            )


def _suite_recheck(
    plan: Plan, network: str, number: int, pair: tuple[str, str], program: str
) -> PlannedLaunch:
    """Return a start of a suite for one pair, on the network as it was planned."""
    first = next(launch for launch in plan.launches if (launch.network or "") == network)
    return msgspec.structs.replace(
        first, number=number, nodes=pair, program=program, purpose="again"
    )


def _streams(recheck: Recheck) -> tuple[Meeting, ...]:
    if isinstance(recheck.meetings, Skipped):
        return ()
    return tuple(meeting for meeting in recheck.meetings if meeting.quantity == "bandwidth")
