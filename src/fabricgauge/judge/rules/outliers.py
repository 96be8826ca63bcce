"""Find the node, direction, link or group that is slower than its peers.

Findings about the same part become one verdict. A second measurement confirms it, or the hosts
excuse it.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from fabricgauge.judge import causes, foreign, host
from fabricgauge.judge.interface import Subject, doubt_faults, judge_networks
from fabricgauge.judge.localise.typical import inside
from fabricgauge.judge.rules import lossy, pairs
from fabricgauge.judge.stats import median_or_zero
from fabricgauge.judge.streams import rechecked_streams
from fabricgauge.model.absence import Skipped
from fabricgauge.model.groups import group_by
from fabricgauge.model.pairs import (
    LEAST_EFFECT,
    WAYS,
    Claim,
    Ends,
    PairAnalysis,
    PairFinding,
    Quantity,
    Rechecked,
    Suspect,
    name_part,
)
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.verdict import (
    BESIDE_PEERS,
    Figure,
    Outcome,
    Verdict,
    VerdictSubject,
    finding_subject,
)
from fabricgauge.model.words import figures, sentences

ID = "outliers"

#: Suspects that the evidence lists; the others are counted.
MOST_SUSPECTS = 6

#: A level is oversubscribed as stated up to this multiple of the nodes for each uplink.
STATED = 1.1

#: Cause if no evidence points at a more precise one.
_PART = "its link, adapter or port, or other work on the node"
#: Remedies by quantity.
_REMEDIES = {
    "latency": "look for other work on the node; check the adapter's power states and interrupt"
    " moderation, and the switch port's counters; exchange cable and port one at a time",
    "bandwidth": "compare the negotiated rate and width of its link with those of the other nodes,"
    " then the error counters of both ends; exchange cable and switch port one at a time",
}
_GROUP = (
    "the path from this group to the other groups carries less than theirs",
    "check the cables and counters between this group's switch and the next level, and compare"
    " them with another group's: an uplink may be missing or slow",
)
_WAY = (
    "the path between the two nodes, a link between switches or a route: their own links carry more"
    " to others",
    "look at the switches' counters and at the route between the two (ibtracert, tracepath);"
    " measure the pair again later: a collision of routes may vanish, a bad link stays",
)
_LEVEL = (
    "there are fewer or slower links between the switches than below them",
    "if the fabric was bought as non-blocking, look for missing uplinks on all switches;"
    " otherwise keep jobs within a group",
)
_BUSY = (
    "other work on the nodes, or a quota of processor time, explains it",
    "end other work on the named nodes, then check them again",
)

#: All findings about the same part, the largest effect first.
_SlowPart = tuple[PairFinding, ...]


class Confirmation(msgspec.Struct, frozen=True):
    """A finding with its second measurement, and the hosts or other traffic that explain it."""

    finding: PairFinding
    excuse: tuple[str, ...]
    foreign: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        recheck = self.finding.rechecked
        explained = self.excuse or self.foreign
        return isinstance(recheck, Rechecked) and recheck.confirmed and not explained

    @property
    def sentence(self) -> str:
        recheck = self.finding.rechecked
        if isinstance(recheck, Skipped):
            return f"not confirmed by a second measurement: {recheck.reason}"
        latency = self.finding.quantity == "latency"
        figure, best = (figures.duration, "at best ") if latency else (figures.rate, "")
        partners = sentences.listed(recheck.partners) or "each other"
        if not recheck.own_pairs:
            return (
                f"all its pairs with {partners} at once carry {figure(recheck.own)} in the median"
                f" round; other groups carry {figure(recheck.good)}"
            )
        return (
            f"{'' if recheck.confirmed else 'not confirmed: '}measured again alone, with"
            f" {partners}: {best}{figure(recheck.own)}; {len(recheck.good_pairs)} good pairs:"
            f" {figure(recheck.good)}"
        )


@judge_networks(ID)
def judge(subject: Subject) -> Iterator[Verdict]:
    if subject.pairs:
        yield from doubt_faults(subject, _judge(subject))


def _judge(subject: Subject) -> Iterator[Verdict]:
    lossy_nodes = lossy.named(subject)
    slow_parts = _slow_parts(subject)
    faults = tuple(
        part
        for part in slow_parts
        if part[0].part not in WAYS or not lossy_nodes & {*part[0].names}
    )
    suspects = _suspects(subject, faults, lossy_nodes)
    reasons = [_explanation(subject, suspect) for suspect in suspects]
    judged_suspects = list(zip(suspects, reasons, strict=True))
    unexplained = tuple(suspect for suspect, reason in judged_suspects if not reason)
    judged_faults = [(part, *_judge_fault(subject, part, faults)) for part in faults]
    yield from (verdict for _, verdict, reason in judged_faults if not reason)
    yield from _undecided([fault for fault in judged_faults if fault[2]])
    for worst in (part[0] for part in slow_parts if part not in faults):
        # The node that loses frames is named instead of its slow directions.
        ends = sentences.listed([name for name in worst.names if name in lossy_nodes])
        summary = f"{_effect(worst)}; the frames that {ends} loses explain it (see {lossy.ID})"
        about = VerdictSubject(worst.part, subject.name, worst.names)
        yield Verdict(Outcome.SKIPPED, summary, about=about)
    for analysis in subject.pairs:
        for finding in analysis.findings:
            if finding.explanation == "oversubscription":
                yield _judge_level(subject, analysis, finding)
    if unexplained:
        yield _warn_of_suspects(unexplained)
    elif suspects:
        yield _count_suspects(suspects, reasons)
    elif not slow_parts:
        yield _judge_sound(subject)
    for suspect, reason in judged_suspects:
        if reason:
            about = VerdictSubject(suspect.part, subject.name, suspect.names)
            yield Verdict(Outcome.SKIPPED, f"{_level(suspect)}: {reason}", about=about)


def _judge_level(subject: Subject, analysis: PairAnalysis, finding: PairFinding) -> Verdict:
    """Pass an oversubscribed level if the topology states as few uplinks; else warn of it."""
    stated = min((len(group.nodes) / group.uplinks for group in analysis.groups if group.uplinks),
                 default=0.0)  # fmt: skip
    measured = 1.0 / (1.0 + finding.effect)
    sentence = f"traffic between groups has a {_effect(finding)}"
    figure = Figure(finding.effect, "share", "between groups beside within them")
    about = finding_subject(subject.name, finding)
    if measured <= STATED * stated:
        summary = f"the topology states {stated:.2g} nodes for each uplink, and {sentence}"
        return Verdict(Outcome.PASS, summary, figure, None, finding.evidence, about=about)
    kind, lines = "an oversubscribed level, or slower links between groups", list[str]()
    if alone := _cross_alone(subject, analysis):
        full = median_or_zero(alone) >= 1.0 + finding.effect / 2
        kind = "an oversubscribed level, no defect" if full else "slow links between groups"
        share = figures.percent(median_or_zero(alone))
        lines = [f"between groups, a pair alone carries {share} of what pairs within groups carry"]
    return Verdict(
        Outcome.WARN, f"{kind}: {sentence}", figure, None, (*finding.evidence, *lines), *_LEVEL,
        about,
    )  # fmt: skip


def _cross_alone(subject: Subject, analysis: PairAnalysis) -> list[float]:
    """Return what pairs between groups carry alone, as shares of what pairs within groups do."""
    values, within = analysis.matrix.values, inside(analysis)
    place = {node: number for number, node in enumerate(analysis.matrix.nodes)}
    usual = float(np.nanmedian(values[within])) if np.isfinite(values[within]).any() else np.nan
    return [
        stream.best.bandwidth.value / usual
        for stream in rechecked_streams(subject, "bandwidth", analysis.matrix.message_bytes)
        if place.keys() >= {*stream.series.ends}
        and not within[place[stream.series.origin], place[stream.series.target]]
    ]


def _undecided(faults: Sequence[tuple[_SlowPart, Verdict, str]]) -> Iterator[Verdict]:
    """Yield verdicts on the network instead of its parts if other traffic or hosts explain them."""
    for _, verdict, _ in faults:
        yield replace(verdict, outcome=Outcome.SKIPPED, remedy="")
    for reason in dict.fromkeys(reason for _, _, reason in faults):
        explained = [(part[0], verdict) for part, verdict, why in faults if why == reason]
        names = sentences.listed(
            [name_part(finding.part, finding.names) for finding, _ in explained], MOST_SUSPECTS
        )
        first = explained[0][1]
        yield Verdict(
            Outcome.INCONCLUSIVE, f"undecided if {names} is slow: {reason}", first.figure, None,
            tuple(line for _, verdict in explained for line in verdict.evidence),
            first.cause, first.remedy,
        )  # fmt: skip


def _judge_fault(
    subject: Subject, part: _SlowPart, faults: tuple[_SlowPart, ...]
) -> tuple[Verdict, str]:
    """Return the verdict on a slow part, and why the part must not be named; empty if it may be.

    The largest confirmed effect decides; if none is confirmed, the largest. Other traffic, or
    waiting on half of the nodes, keeps a part from being named.
    """
    confirmations = [Confirmation(finding, *_excuses(subject, finding)) for finding in part]
    decisive = next((recheck for recheck in confirmations if recheck.confirmed), confirmations[0])
    worst = decisive.finding
    likely_causes = _find_causes(subject, worst, faults)
    cause, remedy = _PART, _REMEDIES[worst.quantity]
    if likely_causes:
        cause, remedy = likely_causes[0].cause, likely_causes[0].remedy
    elif worst.part == "group" or worst.part in WAYS:
        cause, remedy = _GROUP if worst.part == "group" else _WAY
    judgement = "slower than its peers, and again when measured alone"
    if isinstance(worst.rechecked, Rechecked) and not worst.rechecked.own_pairs:
        judgement = "slower than its peers when all its pairs send at once"
    if decisive.foreign:
        judgement = "slower than its peers, but other traffic on its links explains it"
        cause, remedy = foreign.CAUSE, foreign.REMEDY
    elif decisive.excuse:
        judgement = "slower than its peers, but its host explains it"
        cause, remedy = _BUSY
    elif not decisive.confirmed:
        judgement = "suspected, but not confirmed"
        command = "a new check of the named nodes with others (fabricgauge check -w NODES)"
        if not subject.imported:
            command = f"{sentences.resume(subject.run)}, or a new check of the named nodes"
        remedy = f"measure it again: {command}"
    reason = "; ".join(decisive.foreign)
    if not reason and not decisive.confirmed:
        reason = host.describe_common_waiting(subject, _all_pairs(worst.quantity))
        cause, remedy = _BUSY if reason else (cause, remedy)
    verdict = Verdict(
        host.excuse_outcome(Outcome.FAIL, not decisive.confirmed),
        f"{judgement}: {_effect(worst)}",
        Figure(worst.effect, "share", f"{worst.quantity}{BESIDE_PEERS}"),
        None,
        (
            *map(_effect, part),
            *(line for finding in part for line in finding.evidence),
            decisive.sentence,
            *decisive.foreign,
            *decisive.excuse,
            *(likely.evidence for likely in likely_causes if likely.evidence),
        ),
        cause,
        remedy,
        VerdictSubject(part[0].part, subject.name, part[0].names),
    )
    return verdict, reason


def _all_pairs(quantity: Quantity) -> Pattern:
    return "all_pairs_latency" if quantity == "latency" else "all_pairs_bandwidth"


def _find_causes(
    subject: Subject, finding: PairFinding, faults: tuple[_SlowPart, ...]
) -> tuple[causes.Cause, ...]:
    """Return the causes with evidence in a rechecked pair of this part and no other slow part."""
    suspects = {*finding.names}
    other_suspects = {name for fault in faults for name in fault[0].names} - suspects
    if finding.quantity == "latency":
        return ()
    least = subject.limit("fraction.from")
    slow_streams = [
        stream
        for stream in rechecked_streams(subject, "bandwidth", least)
        if _slows(finding, stream.series.way) and not other_suspects & {*stream.series.ends}
    ]
    slowest = min(slow_streams, key=lambda stream: stream.fraction, default=None)
    likely_causes = () if slowest is None else causes.causes(slowest)
    # A partner's own trouble does not explain why the part is slow with all of them.
    near = {"", *suspects, *_nodes_of(subject, finding)}
    return tuple(cause for cause in likely_causes if cause.evidence and cause.node in near)


def _slows(finding: PairFinding, way: Ends) -> bool:
    """Check whether a part slows the streams of this way."""
    (origin, target), names = way, finding.names
    if finding.part in ("sender", "receiver"):
        return (origin if finding.part == "sender" else target) in names
    return way == names if finding.part == "direction" else not {*way}.isdisjoint(names)


def _suspects(
    subject: Subject, faults: tuple[_SlowPart, ...], lossy_nodes: frozenset[str]
) -> tuple[Suspect, ...]:
    """Return those that no fault and no loss explains, each once, the largest effect first."""
    named = {name for fault in faults for name in _nodes_of(subject, fault[0])} | lossy_nodes
    suspects: dict[tuple[str, tuple[str, ...]], Suspect] = {}
    for analysis in subject.pairs:
        for suspect in sorted(analysis.suspects, key=lambda claim: -abs(claim.effect)):
            if not named & set(suspect.names):
                suspects.setdefault((suspect.part, suspect.names), suspect)
    return tuple(sorted(suspects.values(), key=lambda claim: (-abs(claim.effect), claim.names)))


def _nodes_of(subject: Subject, claim: Claim) -> tuple[str, ...]:
    return next(filter(None, (analysis.nodes_of(claim) for analysis in subject.pairs)), ())


def _warn_of_suspects(suspects: tuple[Suspect, ...]) -> Verdict:
    first = suspects[0]
    names = [name_part(suspect.part, suspect.names) for suspect in suspects]
    return Verdict(
        Outcome.WARN,
        f"suspects, but too little evidence to name one: {sentences.listed(names, MOST_SUSPECTS)}",
        Figure(first.effect, "share", f"{first.quantity}{BESIDE_PEERS}"), None,
        tuple(
            f"{name_part(suspect.part, suspect.names)}: {_level(suspect)}; {suspect.reason}"
            for suspect in suspects[:MOST_SUSPECTS]
        ),
        first.reason, first.next_test,
    )  # fmt: skip


def _level(suspect: Suspect) -> str:
    if abs(suspect.effect) < LEAST_EFFECT:
        return f"{suspect.quantity} like that of the other pairs"
    word = "lower" if suspect.effect < 0 else "higher"
    return f"{figures.percent(abs(suspect.effect))} {word} {suspect.quantity}"


def _explanation(subject: Subject, claim: Claim) -> str:
    """Return how a suspect's host or other traffic may make it look slow; empty if neither does."""
    nodes = _nodes_of(subject, claim)
    pattern = _all_pairs(claim.quantity)
    busy = foreign.foreign_in(subject, pattern)
    limit = subject.limit("foreign-traffic.share")
    usual = median_or_zero(busy[node].share for node in busy if node not in nodes)
    for node in nodes:
        if node in busy and busy[node].share >= usual + limit:
            return foreign.sentence(busy[node], limit)
    # One pass shows little: a node that waited is no suspect, however slow it looks.
    waiting = host.waiting_nodes(subject, pattern)
    explanations = (waiting[node] for node in nodes if node in waiting)
    return next(explanations, "") or host.describe_common_waiting(subject, pattern)


def _count_suspects(suspects: Sequence[Suspect], reasons: Sequence[str]) -> Verdict:
    worst = suspects[0]
    return Verdict(
        Outcome.WARN,
        f"{sentences.counted(len(suspects), 'suspect')}, none named: other work or traffic on the"
        " nodes may explain the slow pairs",
        Figure(worst.effect, "share", f"{worst.quantity}{BESIDE_PEERS}"), None,
        tuple(dict.fromkeys(reasons)), *_BUSY,
    )  # fmt: skip


def _judge_sound(subject: Subject) -> Verdict:
    if slow := pairs.slow_nodes(subject):
        summary = f"too few good pairs to compare with: see {pairs.ID} for {sentences.listed(slow)}"
        return Verdict(Outcome.SKIPPED, summary)
    lines = []
    for analysis in subject.pairs:
        matrix = analysis.matrix
        figure = figures.duration if matrix.quantity == "latency" else figures.rate
        lines.append(
            f"{matrix.quantity} {figures.at(matrix.message_bytes)}: typical"
            f" {figure(analysis.typical)}, {figures.percent(matrix.coverage)} of the directed pairs"
            f" measured, unexplained {figures.percent(analysis.noise)}"
        )
    nodes = len(subject.pairs[0].matrix.nodes)
    summary = f"none of {nodes:,} nodes is slower than its peers"
    return Verdict(Outcome.PASS, summary, evidence=tuple(lines))


def _slow_parts(subject: Subject) -> tuple[_SlowPart, ...]:
    """Return the findings by part, the largest effect first."""
    # A node that is slow in one direction for latency and in both for bandwidth is one part.
    faults = (fault for analysis in subject.pairs for fault in analysis.faults)
    parts = group_by(
        sorted(faults, key=lambda fault: -abs(fault.effect)),
        lambda fault: VerdictSubject(fault.part, subject.name, fault.names).thing,
    )
    return tuple(sorted(parts.values(), key=lambda part: (-abs(part[0].effect), part[0].names)))


def _effect(finding: PairFinding) -> str:
    """Return e.g. ``bandwidth at 1 MiB 75.1 % lower than that of the other pairs (…)``."""
    ends = sorted((abs(finding.low), abs(finding.high)))
    word = "lower" if finding.effect < 0 else "higher"
    return (
        f"{finding.quantity} {figures.at(finding.message_bytes)}"
        f" {figures.percent(abs(finding.effect))} {word} than that of the other pairs"
        f" (interval {figures.percent(ends[0])} to {figures.percent(ends[1])};"
        f" false-discovery rate {finding.q:.2g}; {sentences.counted(finding.affected, 'pair')})"
    )


def _excuses(subject: Subject, finding: PairFinding) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hosts' waiting, and the other traffic, that explain a confirmed finding."""
    recheck = finding.rechecked
    if isinstance(recheck, Skipped) or not recheck.confirmed:
        return (), ()
    if not recheck.own_pairs:  # a group that all pairs at once show, and not single pairs
        return tuple(filter(None, [_explanation(subject, finding)])), ()
    all_streams = [*rechecked_streams(subject, finding.quantity, finding.message_bytes)]
    suspect_streams, good_streams = (
        [stream for stream in all_streams if stream.series.ends in pair_ends]
        for pair_ends in (recheck.own_pairs, recheck.good_pairs)
    )
    # Two ranks that take turns on one processor delay even the fastest messages of a latency.
    latency = finding.quantity == "latency"
    speed_share = 1.0 / (1.0 + recheck.effect) if latency else 1.0 + recheck.effect
    return (
        tuple(host.explain_by_waiting(suspect_streams, good_streams, speed_share)),
        tuple(foreign.beside_good(suspect_streams, good_streams, speed_share, latency=latency)),
    )
