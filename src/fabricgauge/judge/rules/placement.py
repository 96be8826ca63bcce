"""Did every rank run on the node that it was meant for?"""

from collections.abc import Iterator, Sequence

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchPlacement
from fabricgauge.model.hosts import unify_hosts
from fabricgauge.model.measurement import Placement
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.verdict import Outcome
from fabricgauge.words import sentences

ID = "placement"

_ONE_NODE = (
    "both ranks were started on one node, so memory was measured: typically the placement flag"
    " of another MPI, or a host list whose first host has two slots"
)
_ONE_RANK = "a rank sent to itself, so memory was measured"
_OTHER_NODE = "the launcher did not keep the order or the choice of the nodes"
_ONE_MACHINE = "the nodes are containers or namespaces of one machine"
_CUT_SHORT = "the engine's output was cut short"
_REMEDY = (
    "start one rank per node in the planned order: MPICH and Intel MPI: -hosts A,B -ppn 1;"
    " Open MPI: --host A:1,B:1 --map-by node; Slurm: srun -N 2 --ntasks-per-node=1"
)

#: What one launch's ranks show, and the cause if it is no pass.
_Sign = tuple[Outcome, str, str]


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    measured = [launch.placed for launch in subject.evidence.launches if launch.figures]
    if not measured:
        mend = "see how the launches ended, and measure again"
        return Said(Outcome.INCONCLUSIVE, "no launch measured anything", remedy=mend)
    virtual = subject.run.fabric.virtual
    signs = [sign for placed in measured for sign in _signs(placed, virtual=virtual)]
    signs += _to_itself(subject)
    unknown = Outcome.INCONCLUSIVE, "nothing shows where the ranks ran", ""
    outcome, summary, cause = min(signs, key=lambda one: one[0].rank, default=unknown)
    fine = outcome is Outcome.PASS
    if fine:
        summary = "every rank ran on the node that it was meant for"
    return Said(
        outcome,
        summary,
        evidence=tuple(dict.fromkeys(sentence for _, sentence, _ in signs)),
        cause=cause,
        remedy="" if fine else _REMEDY,
    )


def _judge_logs(subject: Subject) -> Said | Skipped:
    """Judge the hosts that others' logs, or --hosts, name; nothing proves them."""
    named = [
        (
            curve,
            unify_hosts(
                curve.hosts if len(curve.hosts) > 1 else curve.evidence.rank_hosts or curve.hosts
            ),
        )
        for curve in subject.curves
    ]
    stated = [node for launch in subject.launches for node in launch.nodes]
    nodes = tuple(dict.fromkeys(unify_hosts(stated)))
    lonely = f"--hosts named {nodes[0]} for all ranks" if len(nodes) == 1 else ""
    for curve, _ in reversed(named):
        if why := curve.inside_node:
            lonely = f"{curve.source}:{curve.first_line}: {why}"
    if lonely and subject.medium == "memory":
        return Said(Outcome.PASS, f"{lonely}; {subject.name} is inside a node")
    if lonely:
        outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
        return Said(outcome, lonely, cause=_ONE_NODE, remedy=_REMEDY)
    if named and all(len(set(hosts)) > 1 for _, hosts in named):
        hosts_named = tuple(dict.fromkeys(host for _, hosts in named for host in hosts))
        summary = f"the logs name different hosts ({sentences.listed(hosts_named)})"
        return Said(Outcome.PASS, f"{summary}; they are believed, not proved")
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {sentences.listed(nodes)}"
        return Said(Outcome.PASS, summary)
    return Skipped(
        "not known: the logs do not say on which hosts the ranks ran, and nobody stated it"
    )


def _to_itself(subject: Subject) -> Iterator[_Sign]:
    """Cases of a pair in which a rank sent to itself."""
    for launch in subject.launches:
        own_cases = [
            case
            for case in launch.completed
            if case.pattern in PAIR_PATTERNS and case.origin == case.target
        ]
        if own_cases:
            sentence = f"launch {launch.number}: rank {own_cases[0].origin} is origin and target of"
            cases = sentences.counted(len(own_cases), "case")
            yield Outcome.INVALID, f"{sentence} {cases}, first {own_cases[0].case}", _ONE_RANK


def _signs(placed: LaunchPlacement, *, virtual: bool) -> Iterator[_Sign]:
    at = f"launch {placed.launch}"
    if len(placed.ranks) < placed.expected:
        told = f"{at}: only {len(placed.ranks)} of {placed.expected} ranks said where they ran"
        yield Outcome.INCONCLUSIVE, told, _CUT_SHORT
        return
    for ranks in placed.shared:
        one, other = ranks[0], ranks[1]
        more = f" ({len(ranks)} ranks in all)" if len(ranks) > 2 else ""
        told = (
            f"{at}: ranks {one.rank} and {other.rank} both ran on {one.host}{more}: the same"
            f" boot id {one.boot_id}, network namespaces {one.net_namespace} and"
            f" {other.net_namespace}"
        )
        yield Outcome.INVALID, told, _ONE_NODE
    if len(placed.machines) > 1 and all(len(same) == 1 for same in placed.machines):
        firsts = [same[0] for same in placed.machines]
        yield Outcome.PASS, f"{at}: {_list_places(firsts)}, with different boot ids", ""
    for same in placed.machines:
        ranks_of = f"{at}: {_list_places(same)}"
        if len(same) > 1 and virtual:
            told = f"{ranks_of}, in network namespaces of one kernel: a virtual cluster"
            yield Outcome.PASS, told, ""
        elif len(same) > 1:
            told = f"{ranks_of}, but all have boot id {same[0].boot_id}: one kernel"
            yield Outcome.WARN, told, _ONE_MACHINE
    for away in placed.misplaced:
        told = f"{at}: rank {away.rank} ran on {away.host} but was meant for {away.meant}"
        yield Outcome.INVALID, told, _OTHER_NODE


def _list_places(placements: Sequence[Placement]) -> str:
    return sentences.listed(
        [f"rank {placement.rank} ran on {placement.host}" for placement in placements], 4
    )
