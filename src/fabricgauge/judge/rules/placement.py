"""Did every rank run on the node that it was meant for?"""

from itertools import combinations

from fabricgauge.judge import wording
from fabricgauge.judge.interface import Context
from fabricgauge.judge.precedence import worst
from fabricgauge.judge.subject import Subject, ok
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Placement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome, Verdict

ID = "placement"
TITLE = "Ranks ran on different nodes, as planned"

_ONE_NODE = (
    "both ranks were started on one node, so memory was measured: typically the placement flag"
    " of another MPI, or a host list whose first host has two slots"
)
_OTHER_NODE = "the launcher did not keep the order or the choice of the nodes"
_REMEDY = (
    "start one rank per node in the planned order: MPICH and Intel MPI: -hosts A,B -ppn 1;"
    " Open MPI: --host A:1,B:1 --map-by node; Slurm: srun -N 2 --ntasks-per-node=1"
)

_Finding = tuple[Outcome, str]


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        return _told(subject)
    measured = [launch for launch in subject.launches if ok(launch) or launch.figures]
    if not measured:
        return Verdict(
            ID, Outcome.INCONCLUSIVE, subject.name, "no launch measured anything",
            remedy="see how the launches ended, and measure again",
        )  # fmt: skip
    findings = [finding for launch in measured for finding in _findings(context, launch)]
    outcome = worst([finding[0] for finding in findings], empty=Outcome.INCONCLUSIVE)
    return Verdict(
        rule=ID,
        outcome=outcome,
        subject=subject.name,
        summary=_summary(outcome, findings),
        evidence=tuple(dict.fromkeys(finding[1] for finding in findings)),
        cause=_cause(outcome, findings),
        remedy="" if outcome is Outcome.PASS else _REMEDY,
    )


def _told(subject: Subject) -> Verdict:
    """What others' logs, or whoever imported them, say of the hosts; nobody proves it."""
    lonely = [one for one in subject.curves if len(one.hosts) > 1 and len(set(one.hosts)) == 1]
    nodes = tuple(dict.fromkeys(node for launch in subject.launches for node in launch.nodes))
    if lonely or len(nodes) == 1:
        said = f"whoever imported the logs named {nodes[0]} for all ranks" if nodes else ""
        if lonely:
            where = f"{lonely[0].source}:{lonely[0].first_line}"
            said = f"{where}: the log itself names {lonely[0].hosts[0]} for both ends"
        return Verdict(
            ID, Outcome.INVALID if subject.claimed else Outcome.WARN, subject.name, said,
            cause=_ONE_NODE, remedy=_REMEDY,
        )  # fmt: skip
    apart = [one for one in subject.curves if len(set(one.hosts)) > 1]
    if apart and len(apart) == len(subject.curves):
        hosts = wording.listed(tuple(dict.fromkeys(host for one in apart for host in one.hosts)))
        summary = f"the logs name different hosts ({hosts}); they are believed, not proved"
        return Verdict(ID, Outcome.PASS, subject.name, summary)
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {wording.listed(nodes)}"
        return Verdict(ID, Outcome.PASS, subject.name, summary)
    return Verdict(
        ID, Outcome.SKIPPED, subject.name,
        "not known: the logs do not say on which hosts the ranks ran, and nobody stated it",
    )  # fmt: skip


def _summary(outcome: Outcome, findings: list[_Finding]) -> str:
    if outcome is Outcome.PASS:
        return "every rank ran on its own node, as planned"
    return next(sentence for found, sentence in findings if found is outcome)


def _cause(outcome: Outcome, findings: list[_Finding]) -> str:
    if outcome is Outcome.INVALID:
        summary = _summary(outcome, findings)
        return _OTHER_NODE if "was meant for" in summary else _ONE_NODE
    if outcome is Outcome.WARN:
        return "the nodes are containers or namespaces of one machine"
    return "" if outcome is Outcome.PASS else "the engine's output was cut short"


def _findings(context: Context, launch: Launch) -> list[_Finding]:
    at = f"launch {launch.number}"
    if len(launch.placements) < max(2, len(launch.nodes)):
        return [(
            Outcome.INCONCLUSIVE,
            f"{at}: only {len(launch.placements)} of {len(launch.nodes)} ranks said where they ran",
        )]  # fmt: skip
    pairs = combinations(sorted(launch.placements, key=lambda one: one.rank), 2)
    found = [_pair(context, at, one, other) for one, other in pairs]
    return found + [
        finding
        for placement in launch.placements
        for finding in _place(context, at, launch, placement)
    ]


def _pair(context: Context, at: str, one: Placement, other: Placement) -> _Finding:
    ranks = f"{at}: rank {one.rank} ran on {one.host}, rank {other.rank} on {other.host}"
    if same_node(one, other):
        return (
            Outcome.INVALID,
            f"{at}: ranks {one.rank} and {other.rank} both ran on {one.host}: the same boot id"
            f" {one.boot_id}, network namespaces {one.net_namespace} and {other.net_namespace}",
        )
    if not one.boot_id or one.boot_id != other.boot_id:
        return Outcome.PASS, f"{ranks}, with different boot ids"
    if context.run.fabric.virtual:
        return Outcome.PASS, f"{ranks}, in network namespaces of one kernel: a virtual cluster"
    return Outcome.WARN, f"{ranks}, but both have boot id {one.boot_id}: one kernel"


def same_node(one: Placement, other: Placement) -> bool:
    """Same kernel, and in it the same network stack or the same host name."""
    if not one.boot_id or not other.boot_id:
        return one.host == other.host
    same_stack = one.net_namespace == other.net_namespace
    return one.boot_id == other.boot_id and (same_stack or one.host == other.host)


def _place(context: Context, at: str, launch: Launch, placement: Placement) -> tuple[_Finding, ...]:
    if not 0 <= placement.rank < len(launch.nodes):
        return ()
    meant = launch.nodes[placement.rank]
    if _is_on(context, placement, meant):
        return ()
    sentence = f"{at}: rank {placement.rank} ran on {placement.host} but was meant for {meant}"
    return ((Outcome.INVALID, sentence),)


def _is_on(context: Context, placement: Placement, meant: str) -> bool:
    names = {meant}
    node = context.run.fabric.node(meant)
    if not isinstance(node, Skipped):
        names |= {node.name, node.hostname}
        here = (node.boot_id, node.net_namespace)
        if all(here) and here == (placement.boot_id, placement.net_namespace):
            return True
    return _short(placement.host) in {_short(name) for name in names}


def _short(name: str) -> str:
    """A host name without its domain."""
    return name.partition(".")[0]
