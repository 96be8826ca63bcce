"""Did every rank run on the node that it was meant for?"""

from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.judge.interface import Context, verdict_on, worst
from fabricgauge.judge.subject import Subject
from fabricgauge.model.evidence import Placed
from fabricgauge.model.measurement import Placement
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.words import sentences

ID = "placement"
TITLE = "Ranks ran on different nodes, as planned"

_ONE_NODE = (
    "both ranks were started on one node, so memory was measured: typically the placement flag"
    " of another MPI, or a host list whose first host has two slots"
)
_OTHER_NODE = "the launcher did not keep the order or the choice of the nodes"
_ONE_MACHINE = "the nodes are containers or namespaces of one machine"
_CUT_SHORT = "the engine's output was cut short"
_REMEDY = (
    "start one rank per node in the planned order: MPICH and Intel MPI: -hosts A,B -ppn 1;"
    " Open MPI: --host A:1,B:1 --map-by node; Slurm: srun -N 2 --ntasks-per-node=1"
)


class _Sign(msgspec.Struct, frozen=True):
    """What one launch's ranks show, and the cause if it is no pass."""

    outcome: Outcome
    sentence: str
    cause: str = ""


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        return _said(subject)
    measured = [launch.placed for launch in subject.evidence.launches if launch.figures]
    if not measured:
        return verdict_on(
            ID, Outcome.INCONCLUSIVE, subject.about, "no launch measured anything",
            remedy="see how the launches ended, and measure again",
        )  # fmt: skip
    virtual = context.run.fabric.virtual
    signs = [sign for placed in measured for sign in _signs(placed, virtual=virtual)]
    outcome = worst([sign.outcome for sign in signs], empty=Outcome.INCONCLUSIVE)
    decisive = next((sign for sign in signs if sign.outcome is outcome), None)
    fine = outcome is Outcome.PASS
    said = "every rank ran on the node that it was meant for" if fine or not decisive else ""
    return verdict_on(
        rule=ID,
        outcome=outcome,
        about=subject.about,
        summary=said or (decisive.sentence if decisive else ""),
        evidence=tuple(dict.fromkeys(sign.sentence for sign in signs)),
        cause=decisive.cause if decisive else "",
        remedy="" if fine else _REMEDY,
    )


def _said(subject: Subject) -> Verdict:
    """What others' logs, or whoever imported them, say of the hosts; nobody proves it."""
    named = [(one, one.hosts or one.evidence.rank_hosts) for one in subject.curves]
    lonely = [
        (one, one.evidence.one_end or f"the log itself names {hosts[0]} for both ends")
        for one, hosts in named
        if one.evidence.one_end or (len(hosts) > 1 and len(set(hosts)) == 1)
    ]
    nodes = tuple(dict.fromkeys(node for launch in subject.launches for node in launch.nodes))
    if lonely or len(nodes) == 1:
        said = f"whoever imported the logs named {nodes[0]} for all ranks" if nodes else ""
        if lonely:
            curve, why = lonely[0]
            said = f"{curve.source}:{curve.first_line}: {why}"
        return verdict_on(
            ID, Outcome.INVALID if subject.claimed else Outcome.WARN, subject.about, said,
            cause=_ONE_NODE, remedy=_REMEDY,
        )  # fmt: skip
    apart = [hosts for _, hosts in named if len(set(hosts)) > 1]
    if apart and len(apart) == len(subject.curves):
        hosts = sentences.listed(tuple(dict.fromkeys(host for one in apart for host in one)))
        summary = f"the logs name different hosts ({hosts}); they are believed, not proved"
        return verdict_on(ID, Outcome.PASS, subject.about, summary)
    if len(nodes) > 1:
        summary = f"stated when the logs were imported, not proved: {sentences.listed(nodes)}"
        return verdict_on(ID, Outcome.PASS, subject.about, summary)
    return verdict_on(
        ID, Outcome.SKIPPED, subject.about,
        "not known: the logs do not say on which hosts the ranks ran, and nobody stated it",
    )  # fmt: skip


def _signs(placed: Placed, *, virtual: bool) -> Iterator[_Sign]:
    at = f"launch {placed.launch}"
    if len(placed.ranks) < placed.expected:
        told = f"{at}: only {len(placed.ranks)} of {placed.expected} ranks said where they ran"
        yield _Sign(Outcome.INCONCLUSIVE, told, _CUT_SHORT)
        return
    for ranks in placed.shared:
        one, other = ranks[0], ranks[1]
        more = f" ({len(ranks)} ranks in all)" if len(ranks) > 2 else ""
        yield _Sign(
            Outcome.INVALID,
            f"{at}: ranks {one.rank} and {other.rank} both ran on {one.host}{more}: the same"
            f" boot id {one.boot_id}, network namespaces {one.net_namespace} and"
            f" {other.net_namespace}",
            _ONE_NODE,
        )
    if len(placed.machines) > 1 and all(len(same) == 1 for same in placed.machines):
        firsts = [same[0] for same in placed.machines]
        yield _Sign(Outcome.PASS, f"{at}: {_told(firsts)}, with different boot ids")
    for same in placed.machines:
        if len(same) > 1:
            yield _one_machine(f"{at}: {_told(same)}", same[0].boot_id, virtual=virtual)
    for away in placed.misplaced:
        told = f"{at}: rank {away.rank} ran on {away.host} but was meant for {away.meant}"
        yield _Sign(Outcome.INVALID, told, _OTHER_NODE)


def _one_machine(ranks: str, boot_id: str, *, virtual: bool) -> _Sign:
    if virtual:
        told = f"{ranks}, in network namespaces of one kernel: a virtual cluster"
        return _Sign(Outcome.PASS, told)
    return _Sign(Outcome.WARN, f"{ranks}, but all have boot id {boot_id}: one kernel", _ONE_MACHINE)


def _told(placements: Sequence[Placement]) -> str:
    return sentences.listed([f"rank {one.rank} ran on {one.host}" for one in placements], 4)
