"""A second measurement settles who is named: it clears some, and shows others clearly.

Who was slow among many and is not when measured alone becomes a suspect. For a suspect to be named
more is asked. The matrices show it among thousands of pairs, where chance makes some look slow; the
second measurement asks of few: are all pairs of the suspect slower than all good pairs beside
them? By chance that happens once in as many times as the pairs can be ordered into two such groups.
"""

from collections.abc import Sequence
from math import comb

import msgspec
import numpy as np

from fabricgauge.model.pairs import Finding, PairAnalysis, Part, Suspect
from fabricgauge.stats.pairs.again import Again, again, pair_values
from fabricgauge.stats.series import Series

#: For all suspects of a matrix together (Bonferroni).
CHANCE = 0.05
#: Less than this is no fault, however clear: the least effects of the matrices' own findings.
LEAST = {"bandwidth": 0.10, "latency": 0.05}

_ALONE = "slow among many pairs, but not when measured again alone: other load on hosts or network"
_QUIET = "measure again when hosts and network are quiet: fabricgauge check --profile standard"

_SINGLE: frozenset[Part] = frozenset({"node", "sender", "receiver"})


def settled(analysis: PairAnalysis, series: Sequence[Series]) -> PairAnalysis:
    """The analysis as ``series``, single pairs measured again, leave it; as it was without any."""
    return _promoted(_cleared(analysis, series), series) if series else analysis


def _cleared(analysis: PairAnalysis, series: Sequence[Series]) -> PairAnalysis:
    accused = {name for one in analysis.findings for name in nodes_of(analysis, one)}
    findings, suspects = [], list(analysis.suspects)
    for one in analysis.findings:
        members = nodes_of(analysis, one) if one.part == "group" else ()
        seen = again(one, series, accused, members) if one.explanation == "fault" else None
        if isinstance(seen, Again) and not seen.confirmed:
            suspects.append(Suspect(one.part, one.names, one.quantity, one.effect, _ALONE, _QUIET))
        else:
            findings.append(one)
    if len(findings) == len(analysis.findings):
        return analysis
    return msgspec.structs.replace(analysis, findings=tuple(findings), suspects=tuple(suspects))


def nodes_of(analysis: PairAnalysis, one: Finding) -> tuple[str, ...]:
    """The nodes that a finding names, those of a group one by one."""
    if one.part != "group":
        return one.names[:1] if one.part == "rail" else one.names
    groups = (group.nodes for group in analysis.groups if group.name == one.names[0])
    return next(groups, ())


def _promoted(analysis: PairAnalysis, series: Sequence[Series]) -> PairAnalysis:
    tested = [one for one in analysis.suspects if one.part in _SINGLE]
    everybody: tuple[Finding | Suspect, ...] = (*analysis.findings, *tested)
    accused = {name for one in everybody for name in one.names}
    confirmed = (_confirmed(analysis, one, series, accused, len(tested)) for one in tested)
    found = tuple(one for one in confirmed if one is not None)
    if not found:
        return analysis
    names = {one.names for one in found}
    return msgspec.structs.replace(
        analysis,
        findings=(*analysis.findings, *_by_group(analysis, _joined(found))),
        suspects=tuple(one for one in analysis.suspects if not _explained(one, names)),
    )


def _confirmed(
    analysis: PairAnalysis, one: Suspect, series: Sequence[Series], accused: set[str], tests: int
) -> Finding | None:
    matrix = analysis.matrix
    claim = Finding(
        one.part, one.names, one.quantity, matrix.message_bytes, one.effect, one.effect,
        one.effect, 1.0, 0, "fault", (),
    )  # fmt: skip
    own, good = pair_values(claim, series, accused)
    if not own or not good:
        return None
    chance = tests / comb(len(own) + len(good), len(own))
    slower = min(own) > max(good) if one.effect > 0 else max(own) < min(good)
    effects = np.array(own) / float(np.median(good)) - 1.0
    effect = float(np.median(effects))
    if chance > CHANCE or not slower or abs(effect) < LEAST[one.quantity]:
        return None
    return msgspec.structs.replace(
        claim, effect=effect, low=float(effects.min()), high=float(effects.max()), q=chance,
        affected=len(own),
        evidence=(
            f"among all pairs: {one.reason}; measured again, each of its {len(own)} pairs was"
            f" slower than each of {len(good)} good ones",
        ),
    )  # fmt: skip


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
        members = [one for one in left if one.names[0] in group.nodes]
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
