"""Which nodes can be measured together although some of them cannot, and the plan of each group."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from fabricgauge.app.networks import targets
from fabricgauge.app.progress import Progress
from fabricgauge.app.run_context import RunContext
from fabricgauge.app.target import Target
from fabricgauge.doctor.reachability import Dead, left_out, partner
from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Network
from fabricgauge.model.plan import Plan, PlannedLaunch
from fabricgauge.model.run import Run
from fabricgauge.plan.outlook import estimated_s
from fabricgauge.plan.plan import Targets, plan
from fabricgauge.plan.profiles import Profile
from fabricgauge.words.sentences import listed

#: What is measured of a pair whose node was left out of the launch of all: what all pairs are.
_OF_A_PAIR = ("all_pairs_latency", "all_pairs_bandwidth")

Culprits = Mapping[str, Sequence[Dead]]


def culprits_among(ranks: Sequence[str], culprits: Culprits, network: Network | None) -> bool:
    """Whether some of these ranks cannot be measured together on the network."""
    found = culprits.get(network.name, ()) if network else ()
    return bool(left_out(tuple(dict.fromkeys(ranks)), found))


def plan_without(
    target: Target,
    ranks: tuple[str, ...],
    chosen: Targets,
    culprits: Culprits,
    profile: Profile | None = None,
) -> Plan:
    """The plan of those that work together, and of the others with one good partner each.

    A culprit would stop a launch in which it is. A time budget is for all of them together. Two
    that are left of many are measured as all pairs are: the sweep of two nodes takes longer.
    """
    request, virtual = target.request, target.access.virtual
    groups = _groups(ranks, chosen, culprits)
    of_pairs = msgspec.structs.replace(request, patterns=request.patterns or _OF_A_PAIR, budget=0.0)
    beside = [
        plan(of_pairs, one.ranks, one.targets, virtual=virtual, profile=profile)
        for one in groups
        if one.beside
    ]
    mains = [one for one in groups if not one.beside]
    left_s = max(1.0, request.budget - sum(map(estimated_s, beside))) if request.budget else 0.0
    shares = sum(len(one.targets) for one in mains)
    plans = [
        plan(
            msgspec.structs.replace(
                of_pairs if len(one.ranks) == 2 < len(ranks) else request,
                budget=left_s * len(one.targets) / shares,
            ),
            one.ranks, one.targets, virtual=virtual, profile=profile,
        )
        for one in mains
    ]  # fmt: skip
    if not (plans or beside):
        empty = plan(request, ranks, chosen, virtual=virtual, profile=profile)
        return msgspec.structs.replace(empty, launches=())
    launches = [launch for one in (*plans, *beside) for launch in one.launches]
    numbered = (
        msgspec.structs.replace(launch, number=number) for number, launch in enumerate(launches, 1)
    )
    return msgspec.structs.replace((*plans, *beside)[0], launches=tuple(numbered))


class _JointRanks(msgspec.Struct, frozen=True):
    """Ranks that can be measured together on some networks; ``beside`` the launch of most."""

    ranks: tuple[str, ...]
    targets: Targets
    beside: bool


def _groups(ranks: tuple[str, ...], chosen: Targets, culprits: Culprits) -> list[_JointRanks]:
    """First most of them; then each that was left out for a pair, with a partner of its own."""
    nodes = tuple(dict.fromkeys(ranks))
    together: dict[tuple[tuple[str, ...], bool], list[tuple[Network | None, Ceiling | Skipped]]]
    together = {}
    for network, ceiling in chosen:
        found = culprits.get(network.name, ()) if network else ()
        out = left_out(nodes, found)
        groups = [(tuple(one for one in ranks if one not in out), False)]
        # A partner that all others measure with as well can be told from the one beside it.
        best = sorted(nodes, key=lambda one: one in out)
        mates = dict.fromkeys(frozenset((one, partner(one, best, found))) for one in out)
        groups += [(tuple(one for one in nodes if one in pair), True) for pair in mates]
        for group in groups:
            if len(set(group[0])) > 1 or len(nodes) == 1:
                together.setdefault(group, []).append((network, ceiling))
    return [_JointRanks(group, tuple(of), beside) for (group, beside), of in together.items()]


def further(context: RunContext, progress: Progress) -> tuple[PlannedLaunch, ...]:
    """What can be measured on networks where a launch just broke, by those who do not break it.

    Launches without a culprit are made as planned. For each of the others some join the plan that
    have none; what was measured by then is not measured again. Those that broke stay in the plan:
    once their culprits are mended, a resumption makes what is left of them.
    """
    broken, context.broken = context.broken, set()
    left = [one for one in context.left() if one.network in broken]
    bad = [one for one in left if holds_culprit(one, context.culprits)]
    context.given_up |= {one.number for one in bad}
    made: list[PlannedLaunch] = []
    for network, ranks in dict.fromkeys((one.network, one.nodes) for one in bad):
        try:
            made += _instead(context, network, ranks)
        except UsageError as error:
            progress.trouble(f"{listed(ranks)} were not measured without culprits: {error}")
    first = 1 + max((launch.number for launch in context.plan.launches), default=0)
    launches = [
        msgspec.structs.replace(launch, number=number) for number, launch in enumerate(made, first)
    ]
    for one in launches:
        context.plan_further(one)
    return (*(one for one in left if one not in bad), *launches)


def holds_culprit(launch: PlannedLaunch, culprits: Culprits) -> bool:
    """Whether somebody would break the launch, as far as is known."""
    nodes = tuple(dict.fromkeys(launch.nodes))
    return bool(left_out(nodes, culprits.get(launch.network or "", ())))


def _instead(
    context: RunContext, network: str | None, ranks: tuple[str, ...]
) -> Iterator[PlannedLaunch]:
    """Launches of those of ``ranks`` that do not break one, within what is left of the budget."""
    target = context.target
    every = targets(target.request, context.fabric, ranks)
    chosen = tuple(one for one in every if (one[0].name if one[0] else None) == network)
    spent_s = sum(launch.ended.wall_s for launch in context.run.launches)
    budget_s = target.request.budget and max(1.0, target.request.budget - spent_s)
    request = msgspec.structs.replace(target.request, budget=budget_s)
    own = msgspec.structs.replace(target, request=request)
    return _unmeasured(plan_without(own, ranks, chosen, context.culprits), context.run)


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
