"""Did every rank run on the node that it was meant for?"""

from collections.abc import Iterator, Sequence

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.precedence import worst
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Placement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.words import sentences

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
        return _said(subject)
    measured = [launch for launch in subject.launches if launch.completed or launch.figures]
    if not measured:
        return verdict_on(
            ID, Outcome.INCONCLUSIVE, subject.about, "no launch measured anything",
            remedy="see how the launches ended, and measure again",
        )  # fmt: skip
    findings = [finding for launch in measured for finding in _findings(context, launch)]
    outcome = worst([finding[0] for finding in findings], empty=Outcome.INCONCLUSIVE)
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=_summary(outcome, findings),
        evidence=tuple(dict.fromkeys(finding[1] for finding in findings)),
        cause=_cause(outcome, findings),
        remedy="" if outcome is Outcome.PASS else _REMEDY,
    )


def _said(subject: Subject) -> Verdict:
    """What others' logs, or whoever imported them, say of the hosts; nobody proves it."""
    lonely = [one for one in subject.curves if len(one.hosts) > 1 and len(set(one.hosts)) == 1]
    nodes = tuple(dict.fromkeys(node for launch in subject.launches for node in launch.nodes))
    if lonely or len(nodes) == 1:
        said = f"whoever imported the logs named {nodes[0]} for all ranks" if nodes else ""
        if lonely:
            where = f"{lonely[0].source}:{lonely[0].first_line}"
            said = f"{where}: the log itself names {lonely[0].hosts[0]} for both ends"
        return verdict_on(
            ID, Outcome.INVALID if subject.claimed else Outcome.WARN, subject.about, said,
            cause=_ONE_NODE, remedy=_REMEDY,
        )  # fmt: skip
    apart = [one for one in subject.curves if len(set(one.hosts)) > 1]
    if apart and len(apart) == len(subject.curves):
        hosts = sentences.listed(tuple(dict.fromkeys(host for one in apart for host in one.hosts)))
        summary = f"the logs name different hosts ({hosts}); they are believed, not proved"
        return verdict_on(ID, Outcome.PASS, subject.about, summary)
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {sentences.listed(nodes)}"
        return verdict_on(ID, Outcome.PASS, subject.about, summary)
    return verdict_on(
        ID, Outcome.SKIPPED, subject.about,
        "not known: the logs do not say on which hosts the ranks ran, and nobody stated it",
    )  # fmt: skip


def _summary(outcome: Outcome, findings: list[_Finding]) -> str:
    if outcome is Outcome.PASS:
        return "every rank ran on the node that it was meant for"
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
    nodes = by_node(launch.placements)
    return [
        *_shared(at, launch, nodes),
        *_apart(context, at, [ranks[0] for ranks in nodes]),
        *(one for placement in launch.placements for one in _place(context, at, launch, placement)),
    ]


def by_node(placements: Sequence[Placement]) -> tuple[tuple[Placement, ...], ...]:
    """Ranks that ran on the same node, in rank order: one kernel, and in it one network stack
    or one host name; where a boot id is not known, one host name.
    """
    node_of: dict[tuple[str, str, str], int] = {}
    nodes: dict[int, list[Placement]] = {}
    for one in sorted(placements, key=lambda one: one.rank):
        signs = _signs(one)
        known = [node_of[sign] for sign in signs if sign in node_of]
        node = min(known, default=one.rank)
        for other in set(known) - {node}:  # this rank shows that two nodes are one
            nodes[node] += nodes.pop(other)
            node_of = {sign: node if at == other else at for sign, at in node_of.items()}
        node_of.update(dict.fromkeys(signs, node))
        nodes.setdefault(node, []).append(one)
    return tuple(tuple(ranks) for ranks in nodes.values())


def _signs(one: Placement) -> tuple[tuple[str, str, str], ...]:
    if not one.boot_id:
        return (("host", "", one.host),)
    return ("stack", one.boot_id, one.net_namespace), ("host", one.boot_id, one.host)


def _shared(at: str, launch: Launch, nodes: Sequence[tuple[Placement, ...]]) -> Iterator[_Finding]:
    """Ranks on one node that were meant for several, or all of them on the only one."""
    for ranks in nodes:
        meant = {launch.nodes[one.rank] for one in ranks if 0 <= one.rank < len(launch.nodes)}
        if len(ranks) > 1 and (len(meant) > 1 or len(nodes) == 1):
            one, other = ranks[0], ranks[1]
            more = f" ({len(ranks)} ranks in all)" if len(ranks) > 2 else ""
            yield (
                Outcome.INVALID,
                f"{at}: ranks {one.rank} and {other.rank} both ran on {one.host}{more}: the same"
                f" boot id {one.boot_id}, network namespaces {one.net_namespace} and"
                f" {other.net_namespace}",
            )


def _apart(context: Context, at: str, firsts: Sequence[Placement]) -> Iterator[_Finding]:
    """Whether different nodes are different machines."""
    machines: dict[str, list[Placement]] = {}
    for one in firsts:
        machines.setdefault(one.boot_id or f"unknown, {one.host}", []).append(one)
    if len(machines) == len(firsts) > 1:
        yield Outcome.PASS, f"{at}: {_told(firsts)}, with different boot ids"
    for boot_id, same in machines.items():
        if len(same) < 2:
            continue
        ranks = f"{at}: {_told(same)}"
        if context.run.fabric.virtual:
            yield Outcome.PASS, f"{ranks}, in network namespaces of one kernel: a virtual cluster"
        else:
            yield Outcome.WARN, f"{ranks}, but all have boot id {boot_id}: one kernel"


def _told(placements: Sequence[Placement]) -> str:
    return sentences.listed([f"rank {one.rank} ran on {one.host}" for one in placements], 4)


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
