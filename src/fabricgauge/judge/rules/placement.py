"""Check that every rank ran on its planned node."""

from collections.abc import Iterator, Sequence

from fabricgauge.judge.interface import judge_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.evidence import LaunchPlacement, MisplacedRank
from fabricgauge.model.hosts import unify_hosts
from fabricgauge.model.measurement import Placement
from fabricgauge.model.pattern import PAIR_PATTERNS
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words import sentences

ID = "placement"

_ONE_NODE = (
    "both ranks ran on one node, so memory was measured: usually the launch command has the"
    " placement option of another MPI, or the first host of its host list has two slots"
)
_ONE_RANK = "a rank sent to itself, so memory was measured"
_OTHER_NODE = "the launcher did not keep the planned nodes or their order"
_OTHER_BOOT = (
    "two nodes have this host name, the node was started again after discovery, or the records are"
    " those of another run"
)
_OWN_NAMES = (
    "give each node a host name of its own, report each run from its own directory, and measure"
    " again after a node was started again"
)
_ONE_MACHINE = "the nodes are containers or namespaces of one machine"
_CUT_SHORT = "the engine's output was cut short"
_REMEDY = (
    "start one rank per node in the planned order: MPICH and Intel MPI: -hosts A,B -ppn 1;"
    " Open MPI: --host A:1,B:1 --map-by node; Slurm: srun -N 2 --ntasks-per-node=1"
)

#: Outcome and sentence for one launch's ranks, and the cause unless it passes.
_Sign = tuple[Outcome, str, str]


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    if subject.imported:
        return _judge_logs(subject)
    measured = [launch.placed for launch in subject.evidence.launches if launch.figures]
    if not measured:
        remedy = "see how the launches ended (completeness), and measure again"
        return Verdict(Outcome.INCONCLUSIVE, "no launch measured anything", remedy=remedy)
    virtual = subject.run.fabric.virtual
    signs = [sign for placed in measured for sign in _signs(placed, virtual=virtual)]
    signs += _to_itself(subject)
    unknown = Outcome.INCONCLUSIVE, "nothing shows where the ranks ran", ""
    outcome, summary, cause = min(signs, key=lambda sign: sign[0].rank, default=unknown)
    fine = outcome is Outcome.PASS
    if fine:
        summary = "every rank ran on its planned node"
    return Verdict(
        outcome,
        summary,
        evidence=tuple(dict.fromkeys(sentence for _, sentence, _ in signs)),
        cause=cause,
        remedy="" if fine else _OWN_NAMES if cause == _OTHER_BOOT else _REMEDY,
    )


def _judge_logs(subject: Subject) -> Verdict | Skipped:
    """Judge the hosts that imported logs, or --hosts, name, without proof."""
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
    single_node = f"--hosts names {nodes[0]} for all ranks" if len(nodes) == 1 else ""
    for curve, _ in reversed(named):
        if reason := curve.inside_node:
            single_node = f"{curve.source}:{curve.first_line}: {reason}"
    if single_node and subject.medium == "memory":
        return Verdict(Outcome.PASS, f"{single_node}; {subject.name} is inside a node")
    if single_node:
        outcome = Outcome.INVALID if subject.claimed else Outcome.WARN
        return Verdict(outcome, single_node, cause=_ONE_NODE, remedy=_REMEDY)
    if named and all(len(set(hosts)) > 1 for _, hosts in named):
        hosts_named = tuple(dict.fromkeys(host for _, hosts in named for host in hosts))
        summary = f"the logs name different hosts ({sentences.listed(hosts_named)})"
        return Verdict(Outcome.PASS, f"{summary}; not proved")
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {sentences.listed(nodes)}"
        return Verdict(Outcome.PASS, summary)
    return Skipped("unknown: the logs do not name the hosts of the ranks (state them with --hosts)")


def _to_itself(subject: Subject) -> Iterator[_Sign]:
    """Yield the launches with cases of a pair in which a rank sent to itself."""
    for launch in subject.launches:
        self_cases = [
            case
            for case in launch.completed
            if case.pattern in PAIR_PATTERNS and case.origin == case.target
        ]
        if self_cases:
            first, cases = self_cases[0], sentences.counted(len(self_cases), "case")
            sentence = (
                f"launch {launch.number}: rank {first.origin} is origin and target of {cases},"
                f" first {first.case}"
            )
            yield Outcome.INVALID, sentence, _ONE_RANK


def _signs(placed: LaunchPlacement, *, virtual: bool) -> Iterator[_Sign]:
    at = f"launch {placed.launch}"
    if len(placed.ranks) < placed.expected:
        sentence = f"{at}: only {len(placed.ranks)} of {placed.expected} ranks reported their node"
        yield Outcome.INCONCLUSIVE, sentence, _CUT_SHORT
        return
    for ranks in placed.shared:
        first, second = ranks[0], ranks[1]
        more = f" ({len(ranks)} ranks in all)" if len(ranks) > 2 else ""
        sentence = (
            f"{at}: ranks {first.rank} and {second.rank} both ran on {first.host}{more}: the same"
            f" boot id {first.boot_id}, network namespaces {first.net_namespace} and"
            f" {second.net_namespace}"
        )
        yield Outcome.INVALID, sentence, _ONE_NODE
    if len(placed.machines) > 1 and all(len(machine) == 1 for machine in placed.machines):
        firsts = [machine[0] for machine in placed.machines]
        yield Outcome.PASS, f"{at}: {_list_places(firsts)}, with different boot ids", ""
    for machine in placed.machines:
        places = f"{at}: {_list_places(machine)}"
        if len(machine) > 1 and virtual:
            sentence = f"{places}, in network namespaces of one kernel: a virtual cluster"
            yield Outcome.PASS, sentence, ""
        elif len(machine) > 1:
            sentence = f"{places}, but all have boot id {machine[0].boot_id}: one kernel"
            yield Outcome.WARN, sentence, _ONE_MACHINE
    for misplaced in placed.misplaced:
        yield Outcome.INVALID, f"{at}: {_describe_misplaced(misplaced)}", _cause_of(misplaced)


def _describe_misplaced(rank: MisplacedRank) -> str:
    """Return where a rank ran, by the name that distinguishes its node from the planned one."""
    node = rank.node or rank.host
    where = f"rank {rank.rank} ran on {node}"
    if not _is_same_name(node, rank.meant):
        name = "" if _is_same_name(node, rank.host) else f" (host name {rank.host})"
        detail = f": {rank.difference}" if rank.difference and name else ""
        return f"{where}{name}, but its planned node is {rank.meant}{detail}"
    return f"{where}, but not on the {rank.meant} that discovery read: {rank.difference}"


def _cause_of(rank: MisplacedRank) -> str:
    return _OTHER_BOOT if _is_same_name(rank.host, rank.meant) else _OTHER_NODE


def _is_same_name(name: str, other_name: str) -> bool:
    return name.partition(".")[0] == other_name.partition(".")[0]


def _list_places(placements: Sequence[Placement]) -> str:
    return sentences.listed(
        [f"rank {placement.rank} ran on {placement.host}" for placement in placements], 4
    )
