"""A second measurement settles who is named: it clears some, and shows others clearly.

Who was slow among many and is not when measured alone becomes a suspect. A suspect, or a pair that
was too little conspicuous for one, is named where the second measurement shows it, and forgotten
where it shows that chance made it conspicuous.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from fabricgauge.model.pairs import ENDS, WAYS, Finding, PairAnalysis, Suspect
from fabricgauge.stats.pairs.again import Again, again
from fabricgauge.stats.pairs.confirmed import SecondLook
from fabricgauge.stats.pairs.doubted import Doubted, doubted, nodes_of
from fabricgauge.stats.pairs.naming import AGAIN, AGAIN_PAIR
from fabricgauge.stats.series import Series

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"


def settled_all(
    analyses: Sequence[PairAnalysis], series: Sequence[Series]
) -> tuple[PairAnalysis, ...]:
    """The analyses of one network as ``series``, single pairs measured again, leave them.

    They are as they were without any.
    """
    if not series:
        return tuple(analyses)
    others = doubted(analyses)
    return tuple(_promoted(_cleared(one, series, others), series, others) for one in analyses)


def _cleared(analysis: PairAnalysis, series: Sequence[Series], others: Doubted) -> PairAnalysis:
    findings, suspects = [], list(analysis.suspects)
    for one in analysis.findings:
        seen = again(analysis, one, series, others)
        cleared = isinstance(seen, Again) and not seen.confirmed
        if cleared and one.explanation == "fault":
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, _ALONE, _QUIET))
        else:
            findings.append(one)
    if len(findings) == len(analysis.findings):
        return analysis
    return msgspec.structs.replace(analysis, findings=tuple(findings), suspects=tuple(suspects))


def _promoted(analysis: PairAnalysis, series: Sequence[Series], others: Doubted) -> PairAnalysis:
    analysis = _without_members(analysis)
    ends = [one for one in analysis.suspects if one.part in ENDS]
    ways = [one for one in (*analysis.suspects, *analysis.doubtful) if one.part in WAYS]
    look = SecondLook(analysis, series, others, tests=len(ends) + len(ways))
    # What is slow about the way of a node in doubt may be that node.
    undoubted = [one for one in ways if not others.nodes & {*one.names}]
    found = _confirmed(look, (*ends, *undoubted))
    names = {one.names for one in found}
    suspects = tuple(
        one for one in analysis.suspects if not (_explained(one, names) or _answered(look, one))
    )
    if not found and len(suspects) == len(analysis.suspects):
        return analysis
    return msgspec.structs.replace(
        analysis,
        findings=(*analysis.findings, *_by_group(analysis, _joined(found))),
        suspects=suspects,
    )


def _without_members(analysis: PairAnalysis) -> PairAnalysis:
    """A named group's nodes are slow with others for its sake, and suspected for nothing else."""
    named = [one for one in analysis.findings if (one.part, one.explanation) == ("group", "fault")]
    members = {node for one in named for node in nodes_of(analysis, one)}
    kept = tuple(
        one for one in analysis.suspects if one.part not in ENDS or one.names[0] not in members
    )
    if len(kept) == len(analysis.suspects):
        return analysis
    return msgspec.structs.replace(analysis, suspects=kept)


def _answered(look: SecondLook, one: Suspect) -> bool:
    """Whether the test that would decide was made, and cleared it.

    What comes and goes is not cleared by a moment in which it was not there.
    """
    return one.next_test in (AGAIN, AGAIN_PAIR) and look.is_cleared(one)


def _confirmed(look: SecondLook, suspects: Iterable[Suspect]) -> tuple[Finding, ...]:
    seen = (look.confirmed(one) for one in suspects)
    return tuple(one for one in seen if one is not None)


def _joined(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Both directions of one node are that node."""
    joined = []
    for name in dict.fromkeys(one.names for one in found):
        same = [one for one in found if one.names == name]
        worst = max(same, key=lambda one: abs(one.effect))
        both = {one.part for one in same} >= {"sender", "receiver"}
        joined.append(msgspec.structs.replace(worst, part="node") if both else worst)
    return tuple(joined)


def _by_group(analysis: PairAnalysis, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Where half of a group's nodes or more are slow with others, it is the group's way out."""
    left = list(found)
    for group in analysis.groups:
        members = [one for one in left if one.part in ENDS and one.names[0] in group.nodes]
        if len(members) < max(2, len(group.nodes) / 2):
            continue
        effects = sorted(one.effect for one in members)
        whole = msgspec.structs.replace(
            members[0],
            part="group",
            names=(group.name,),
            effect=float(np.median(effects)),
            low=effects[0],
            high=effects[-1],
            affected=sum(one.affected for one in members),
            evidence=(
                f"{len(members)} of its {len(group.nodes)} nodes are slow with nodes of other"
                " groups, and were so again when measured alone",
            ),
        )
        left = [one for one in left if one not in members] + [whole]
    return tuple(left)


def _explained(one: Suspect, named: set[tuple[str, ...]]) -> bool:
    """A suspect that is named now, or a pair with one of them."""
    return any(set(names) <= set(one.names) for names in named)
