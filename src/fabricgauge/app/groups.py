"""Which nodes are measured together: those that break no launch, and suspects once more."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.app.networks import targets
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.doctor.reachability import ConnectionFault, choose_excluded_nodes, find_partner
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import losing, unclear
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Fabric, Network
from fabricgauge.model.pairs import Meeting, Recheck
from fabricgauge.model.plan import Plan, PlannedLaunch, numbered
from fabricgauge.model.run import Run
from fabricgauge.plan.plan import JointRanks, Targets, plan_groups, rate_of
from fabricgauge.plan.recheck import recheck_launch
from fabricgauge.words.sentences import listed

Culprits = Mapping[str, Sequence[ConnectionFault]]


def joint_ranks(
    ranks: tuple[str, ...], chosen: Targets, culprits: Culprits
) -> tuple[JointRanks, ...]:
    """First most of them; then each that was left out for a pair, with a partner of its own."""
    nodes = tuple(dict.fromkeys(ranks))
    together: dict[tuple[tuple[str, ...], bool], list[tuple[Network | None, Ceiling | Skipped]]] = (
        defaultdict(list)
    )
    for network, ceiling in chosen:
        found = culprits.get(network.name, ()) if network else ()
        out = choose_excluded_nodes(nodes, found)
        groups = [(tuple(one for one in ranks if one not in out), False)]
        # A partner that all others measure with as well can be told from the one beside it.
        best = sorted(nodes, key=lambda one: one in out)
        mates = dict.fromkeys(frozenset((one, find_partner(one, best, found))) for one in out)
        groups += [(tuple(one for one in nodes if one in pair), True) for pair in mates]
        for group in groups:
            if len(set(group[0])) > 1 or len(nodes) == 1:
                together[group].append((network, ceiling))
    return tuple(JointRanks(group, tuple(of), beside) for (group, beside), of in together.items())


def planned_instead(
    target: Target,
    fabric: Fabric,
    bad: Sequence[PlannedLaunch],
    culprits: Culprits,
    spent_s: float = 0.0,
) -> Iterator[Plan]:
    """What nodes that break no launch measure instead of ``bad`` ones, in what the budget has left.

    Where too little time is left for them, that is told.
    """
    request, budget_s = target.request, target.request.budget
    left = msgspec.structs.replace(request, budget=budget_s and max(1.0, budget_s - spent_s))
    for name, ranks in dict.fromkeys((one.network, one.nodes) for one in bad):
        every = targets(request, fabric, ranks)
        chosen = tuple(one for one in every if (one[0].name if one[0] else None) == name)
        groups = joint_ranks(ranks, chosen, culprits)
        try:
            yield plan_groups(left, ranks, groups, virtual=target.access.virtual)
        except UsageError as error:
            target.progress.trouble(f"{listed(ranks)} were not measured without culprits: {error}")


def further(context: RunContext) -> tuple[PlannedLaunch, ...]:
    """The launches that can still be made on networks where a launch just broke.

    Launches without a culprit are made as planned. Launches with a culprit are replaced: new ones
    without it join the plan. They do not repeat finished cases. The replaced launches stay in the
    plan: once the culprits are repaired, a resumed run makes what is left of them.
    """
    broken, context.broken = context.broken, set()
    left = [one for one in context.left() if one.network in broken]
    bad = [one for one in left if holds_culprit(one, context.culprits)]
    context.given_up |= {one.number for one in bad}
    # The time that a launch hung for is no time of measuring.
    done = context.run.launches
    spent_s = sum(one.wall_s for launch in done for one in launch.measurements)
    spent_s += sum(one.wall_s for launch in done for one in launch.rounds)
    instead = planned_instead(context.target, context.fabric, bad, context.culprits, spent_s)
    made = [one for planned in instead for one in _unmeasured(planned, context.run)]
    launches = numbered(made, context.plan.last)
    for one in launches:
        context.plan_further(one)
    return (*(one for one in left if one not in bad), *launches)


def holds_culprit(launch: PlannedLaunch, culprits: Culprits) -> bool:
    """Whether a known culprit would break the launch."""
    nodes = tuple(dict.fromkeys(launch.nodes))
    return bool(choose_excluded_nodes(nodes, culprits.get(launch.network or "", ())))


def _unmeasured(made: Plan, run: Run) -> Iterator[PlannedLaunch]:
    """The launches without cases that another launch on the network has brought to their end."""
    done = Counter(
        (launch.network, one.case)
        for launch in run.launches
        if launch.purpose == "measure"
        for one in launch.completed
    )
    for launch in made.launches:
        names = Counter((launch.network, case.name) for case in launch.cases)
        cases = tuple(case for case in launch.cases if not done[launch.network, case.name])
        done -= names
        if cases:
            yield msgspec.structs.replace(launch, cases=cases)


def so_far(context: RunContext) -> Context:
    """What has been measured so far, as the rules take it."""
    run, thresholds = context.run, context.target.thresholds
    limits = ceilings(run.fabric.networks, run.launches)
    return Context(run, limits, thresholds, context.fabric_result())


def rechecks(context: RunContext) -> Iterator[tuple[str, PlannedLaunch | Skipped]]:
    """Each network with suspects, and a launch that measures them again or why there is none.

    Nodes that a rule doubts are measured where no suspect's streams are measured again. Where
    small messages are lost, one launch of streams shows who loses frames. That explains the
    suspects as well.
    """
    run, suspected = context.run, context.fabric_result().rechecks
    lossy, judged = losing(run), so_far(context)
    to_recheck = {one.network: one for one in unclear(judged)}
    first = {name: to_recheck.pop(name) for name in lossy & to_recheck.keys()}
    streams = {one.network for one in suspected if _streams(one)}
    asked = (
        *first.values(),
        *(one for one in suspected if one.network not in first),
        *(one for one in to_recheck.values() if one.network not in streams),
    )
    number = run.plan.last
    networks = {one.name: one for one in run.fabric.networks}
    for one in asked:
        if isinstance(one.meetings, Skipped):
            yield one.network, one.meetings
            continue
        if context.target.suite is not None:
            program = context.target.suite.tool.of_pairs
            for pair in dict.fromkeys((each.one, each.other) for each in _streams(one)):
                number += 1
                yield one.network, _again(run.plan, one.network, number, pair, program)
            continue
        rate = rate_of(judged.ceilings.get(one.network, Skipped("MPI chose the network")))
        loses = one.network in lossy
        meetings = _streams(one) if loses else one.meetings
        launches = 0 if not meetings else 1 if loses else one.launches
        for _ in range(launches):
            number += 1
            network = networks.get(one.network)
            yield one.network, recheck_launch(number, network, meetings, one.nodes, rate, loses)


def _again(
    plan: Plan, network: str, number: int, pair: tuple[str, str], program: str
) -> PlannedLaunch:
    """A start of a suite for one pair, on the network as it was planned."""
    first = next(one for one in plan.launches if (one.network or "") == network)
    return msgspec.structs.replace(
        first, number=number, nodes=pair, program=program, purpose="again"
    )


def _streams(asked: Recheck) -> tuple[Meeting, ...]:
    if isinstance(asked.meetings, Skipped):
        return ()
    return tuple(one for one in asked.meetings if one.quantity == "bandwidth")
