"""Show which part of a fabric of many nodes is at fault, how sure that is, and which nodes to
drain.

Findings compare peers. Failures of other rules may name a node without such a comparison.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import LEAST_EFFECT, PairAnalysis, PairFinding, Part, name_part
from fabricgauge.model.verdict import GONE, Outcome, Verdict, VerdictSubject
from fabricgauge.model.words.figures import percent, signed, size
from fabricgauge.model.words.networks import named
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.pairs import summary

Kind = Literal["FAULT", "SUSPECTED", "FOLLOWS", "PROPERTY"]

#: Most items on a screen, and the number of findings that stand open on a page.
MOST_FINDINGS, MOST_EVIDENCE, MOST_SUSPECTS = 8, 4, 4
FIRST_OPEN = 5
_TONES: dict[Kind, doc.Tone] = {
    "FAULT": "fail", "SUSPECTED": "inconclusive", "FOLLOWS": "skipped", "PROPERTY": "warn",
}  # fmt: skip
#: Kind of a finding whose verdict is below a failure.
_KINDS: dict[Outcome, Kind] = {Outcome.INCONCLUSIVE: "SUSPECTED", Outcome.SKIPPED: "FOLLOWS"}
#: Subject of a property of the level between groups.
_BETWEEN_GROUPS = "all paths between groups"
#: Remark on each kind of finding.
_REMARKS: dict[Kind, str] = {
    "FAULT": "",
    "SUSPECTED": "; suspected, but not confirmed",
    "FOLLOWS": "; a consequence of another finding: see outliers",
    "PROPERTY": "; oversubscription: concurrent traffic between groups is slower",
}
_LEAST_Q = 1e-4


def describe_findings(judged: Judged) -> tuple[doc.Judgement, ...]:
    """Return every finding, faults before oversubscription, the largest effect first."""
    ranked = [
        (analysis, finding) for analysis in judged.fabric.analyses for finding in analysis.findings
    ]
    ranked.sort(key=lambda pair: (pair[1].explanation != "fault", -abs(pair[1].effect)))
    verdict_kinds = find_kinds(judged)
    return tuple(
        _describe_finding(place, *pair, verdict_kinds) for place, pair in enumerate(ranked)
    )


def _describe_finding(
    place: int,
    analysis: PairAnalysis,
    finding: PairFinding,
    verdict_kinds: Mapping[VerdictSubject, Kind],
) -> doc.Judgement:
    word, is_fault = finding_kind(analysis, finding, verdict_kinds), finding.explanation == "fault"
    figure = f"{finding.quantity} at {size(finding.message_bytes)}"
    comparison = f"{figure} is {describe_effect(finding.effect, ' than for its peers')}"
    low, high = sorted((finding.low, finding.high))
    q = f"q < {_LEAST_Q:g}" if finding.q < _LEAST_Q else f"q = {finding.q:.2g}"
    confidence = (
        f"interval {signed(low)} to {signed(high)}; explains {counted(finding.affected, 'pair')};"
        f" {q} (false-discovery rate)"
    )
    limit = doc.RowLimit("and {count} more", {doc.SCREEN: MOST_EVIDENCE})
    entries = (
        doc.Entry("Confidence", (doc.Paragraph(confidence),)),
        doc.Entry("Evidence", (doc.Items(finding.evidence, limit=limit),)),
    )
    return doc.Judgement(
        word, _TONES[word], named(analysis.matrix.network),
        name_part(finding.part, finding.names) if is_fault else _BETWEEN_GROUPS,
        comparison + _REMARKS[word], entries,
        open=place < FIRST_OPEN, on=doc.ALL if place < MOST_FINDINGS else doc.ALL & ~doc.SCREEN,
    )  # fmt: skip


def find_kinds(judged: Judged) -> dict[VerdictSubject, Kind]:
    outcomes = ((verdict.about.thing, _KINDS.get(verdict.outcome)) for verdict in judged.verdicts)
    return {thing: kind for thing, kind in outcomes if kind}


def finding_kind(
    analysis: PairAnalysis, finding: PairFinding, verdict_kinds: Mapping[VerdictSubject, Kind]
) -> Kind:
    """Return the kind of a finding; ``verdict_kinds`` is the result of :func:`kinds`."""
    if finding.explanation != "fault":
        return "PROPERTY"
    # A node's direction is judged together with what else that node does.
    network = named(analysis.matrix.network or None)
    slow = VerdictSubject(finding.part, network, finding.names).thing
    return verdict_kinds.get(slow, "FAULT")


def describe_effect(effect: float, peers: str = "") -> str:
    """Return ``75.0 % lower``."""
    if abs(effect) < LEAST_EFFECT:
        return "as for its peers"
    return f"{percent(abs(effect))} {'lower' if effect < 0 else 'higher'}{peers}"


def named_failures(judged: Judged) -> tuple[Verdict, ...]:
    """Return failures that name a node without comparing peers: it is gone, or below the ceiling.

    Failures of the whole network count only if none names a node. Consequences are left out.
    """
    rules = (*GONE, "pairs", "lossy")
    failures = tuple(
        verdict
        for verdict in judged.verdicts
        if verdict.rule in rules and verdict.outcome is Outcome.FAIL
        if verdict.id not in judged.follows
    )
    return tuple(verdict for verdict in failures if verdict.about.names) or failures


def heading(judgements: Sequence[doc.Judgement], told_apart: bool = False) -> str:
    """Return the section's title, which shows if nothing is named or the finding is unsure."""
    kinds = {judgement.word for judgement in judgements}
    if told_apart or "FAULT" in kinds:
        return "Nodes and links at fault"
    doubt = "suspected, but not confirmed" if "SUSPECTED" in kinds else "none"
    return f"Nodes and links at fault: {doubt}"


def faults(judged: Judged) -> Iterator[doc.Section]:
    """Yield nodes that are gone, slow or suspected, and a line per matrix."""
    if not judged.fabric.analyses:
        return
    judgements = describe_findings(judged)
    apart = tuple(f"{verdict.subject}: {verdict.summary}" for verdict in named_failures(judged))
    more = "and {count} more; the HTML report lists them"
    remark = more.format(count=f"{len(judgements) - MOST_FINDINGS:,}")
    blocks = (
        doc.Items(apart, on=doc.TEXT | doc.PAGE),
        *judgements,
        *([doc.Paragraph(remark, "caution", doc.SCREEN)] * (len(judgements) > MOST_FINDINGS)),
        *_suspects(judged, more),
        doc.Items(tuple(summary(judged)), on=doc.TRACKER | doc.PAGE),
    )
    title, words = heading(judgements, bool(apart)), {judgement.word for judgement in judgements}
    urgent = bool(apart or words & {"FAULT", "SUSPECTED"})
    yield doc.Section("fault", title, blocks, nav="At fault", urgent=urgent)


def _suspects(judged: Judged, more: str) -> Iterator[doc.Block]:
    """Yield the unnamed suspects, the reason, and the test that would decide."""
    lines, rows, verdict_kinds = [], list[tuple[doc.Inline, ...]](), find_kinds(judged)
    for analysis in judged.fabric.analyses:
        network = named(analysis.matrix.network or None)
        nodes = (t for t in verdict_kinds if t.kind == "node" and t.network == network)
        explained = {name for node in nodes for name in node.names}
        for suspect in analysis.suspects:
            same = VerdictSubject(suspect.part, network, suspect.names).thing in verdict_kinds
            if same or explained & set(suspect.names):
                continue
            part, effect = name_part(suspect.part, suspect.names), describe_effect(suspect.effect)
            figure = f"{suspect.quantity} at {size(analysis.matrix.message_bytes)}"
            why, test = suspect.reason, suspect.next_test
            lines.append(
                f"suspect: {part}: {figure} is {effect}; not confirmed: {why}; next: {test}"
            )
            place = f"{named(analysis.matrix.network)}: {figure}"
            rows.append((doc.Cell(part, strong=True), place, effect, why, test))
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_SUSPECTS})
    yield doc.Items(tuple(lines), limit=limit, on=doc.SCREEN)
    if rows:
        yield doc.Heading("Suspects, not confirmed", on=doc.TRACKER | doc.PAGE)
    heads = ("part", "figure", ">effect", "why not confirmed", "test that would decide")
    yield doc.Table(doc.heads(*heads), tuple(rows), on=doc.TRACKER | doc.PAGE)


#: slurm.conf(5): node names are host names. Other signs could mean something to Slurm (brackets and
#: commas list nodes) or to a shell.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
#: Slurm's lists show only the beginning of a reason.
LONGEST_REASON = 80
_WAYS: dict[Part, str] = {"node": "", "sender": " when it sends", "receiver": " when it receives"}


def drain_commands(judged: Judged) -> doc.Section:
    """Return a Slurm command for each bad node; none for a mere suspect."""
    lines = doc.Lines(tuple(_drain_command(node, why) for node, why in bad_nodes(judged).items()))
    return doc.Section("scheduler", "For the scheduler", (lines,), nav="For the scheduler")


def bad_nodes(judged: Judged) -> dict[str, str]:
    """Return nodes with the reason, each once; failed connections come first."""
    nodes = {node.name for node in judged.run.fabric.nodes}
    nodes |= {node.name for node in judged.run.fabric.unreached}
    reasons: dict[str, str] = {}
    for verdict in named_failures(judged):
        if len(verdict.about.names) == 1 and verdict.about.names[0] in nodes:
            why = verdict.summary.partition(";")[0]
            reasons.setdefault(verdict.about.names[0], f"{verdict.network} {why}")
    verdict_kinds = find_kinds(judged)
    for analysis in judged.fabric.analyses:
        for slow in analysis.findings:
            if slow.part in _WAYS and finding_kind(analysis, slow, verdict_kinds) == "FAULT":
                figure = f"{analysis.matrix.network} {slow.quantity} at {size(slow.message_bytes)}"
                why = f"{figure} {describe_effect(slow.effect)}{_WAYS[slow.part]}"
                reasons.setdefault(slow.names[0], why)
    return reasons


def _drain_command(node: str, why: str) -> str:
    """Return the command that drains a node; the reason keeps only plain signs."""
    if not _NAME.fullmatch(node):
        return f"# no command for {node}: not a valid node name for Slurm"
    plain = " ".join(re.sub(r"[^A-Za-z0-9 .,:%/_+-]", " ", f"fabricgauge: {why}").split())
    reason = plain if len(plain) <= LONGEST_REASON else plain[:LONGEST_REASON].rpartition(" ")[0]
    return f'scontrol update nodename={node} state=drain reason="{reason}"'
