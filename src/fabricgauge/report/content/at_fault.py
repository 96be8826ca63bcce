"""Who is at fault in a fabric of many nodes, how sure that is, and who is to leave the scheduler.

Findings compare peers. Failures of other rules may name a node without such a comparison.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import LEAST_EFFECT, PairAnalysis, PairFinding, Part, called
from fabricgauge.model.verdict import GONE, Outcome, Verdict, VerdictSubject
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import headline
from fabricgauge.report.content.pairs import summary
from fabricgauge.words.figures import percent, signed, size
from fabricgauge.words.networks import named
from fabricgauge.words.sentences import counted

Kind = Literal["FAULT", "SUSPECTED", "FOLLOWS", "PROPERTY"]

#: What a screen has at most, and how many findings stand open on a page.
MOST_FINDINGS, MOST_EVIDENCE, MOST_SUSPECTS = 8, 4, 4
FIRST_OPEN = 5
_TONES: dict[Kind, doc.Tone] = {
    "FAULT": "fail", "SUSPECTED": "inconclusive", "FOLLOWS": "skipped", "PROPERTY": "warn",
}  # fmt: skip
#: What a finding is where its verdict has an outcome below a failure.
_KINDS: dict[Outcome, Kind] = {Outcome.INCONCLUSIVE: "SUSPECTED", Outcome.SKIPPED: "FOLLOWS"}
#: Whom a property of the level between groups concerns: nobody in particular.
_CROSSING = "all ways between groups"
#: What is to be known of other kinds than faults.
_REMARKS: dict[Kind, str] = {
    "FAULT": "",
    "SUSPECTED": "; suspected, but not confirmed",
    "FOLLOWS": "; that follows from something else: see outliers",
    "PROPERTY": "; oversubscription: all that crosses at once is slower, which is no defect",
}
_LEAST_Q = 1e-4


def findings(judged: Judged) -> tuple[doc.Judgement, ...]:
    """Everything that is named, faults before oversubscription, the largest effect first."""
    ranked = [
        (analysis, finding) for analysis in judged.fabric.analyses for finding in analysis.findings
    ]
    ranked.sort(key=lambda pair: (pair[1].explanation != "fault", -abs(pair[1].effect)))
    verdict_kinds = kinds(judged)
    return tuple(
        _told(place, analysis, finding, verdict_kinds)
        for place, (analysis, finding) in enumerate(ranked)
    )


def _told(
    place: int,
    analysis: PairAnalysis,
    finding: PairFinding,
    verdict_kinds: Mapping[VerdictSubject, Kind],
) -> doc.Judgement:
    word = kind(analysis, finding, verdict_kinds)
    part = called(finding.part, finding.names) if finding.explanation == "fault" else _CROSSING
    figure = f"{finding.quantity} at {size(finding.message_bytes)}"
    comparison = f"{figure} is {compared(finding.effect)} than the others'"
    low, high = sorted((finding.low, finding.high))
    q = f"q < {_LEAST_Q:g}" if finding.q < _LEAST_Q else f"q = {finding.q:.2g}"
    confidence = (
        f"interval {signed(low)} to {signed(high)}; explains {counted(finding.affected, 'pair')};"
    )
    confidence += f" {q} (false-discovery rate)"
    limit = doc.RowLimit("and {count} more", {doc.SCREEN: MOST_EVIDENCE})
    entries = (
        doc.Entry("How sure", (doc.Paragraph(confidence),)),
        doc.Entry("Evidence", (doc.Items(finding.evidence, limit=limit),)),
    )
    return doc.Judgement(
        word, _TONES[word], named(analysis.matrix.network), part, comparison + _REMARKS[word],
        entries,
        open=place < FIRST_OPEN, on=doc.ALL if place < MOST_FINDINGS else doc.ALL & ~doc.SCREEN,
    )  # fmt: skip


def kinds(judged: Judged) -> dict[VerdictSubject, Kind]:
    """What those are whom verdicts do not fail."""
    outcomes = ((verdict.about.thing, _KINDS.get(verdict.outcome)) for verdict in judged.verdicts)
    return {thing: kind for thing, kind in outcomes if kind}


def kind(
    analysis: PairAnalysis, finding: PairFinding, verdict_kinds: Mapping[VerdictSubject, Kind]
) -> Kind:
    """What a finding is, where ``known`` is what :func:`kinds` tells."""
    if finding.explanation != "fault":
        return "PROPERTY"
    # A node's direction is judged together with what else that node does.
    network = named(analysis.matrix.network or None)
    slow = VerdictSubject(finding.part, network, finding.names).thing
    return verdict_kinds.get(slow, "FAULT")


def compared(effect: float) -> str:
    """``75.0 % lower``."""
    if abs(effect) < LEAST_EFFECT:
        return "like the others'"
    return f"{percent(abs(effect))} {'lower' if effect < 0 else 'higher'}"


def told_apart(judged: Judged) -> tuple[Verdict, ...]:
    """Failures that name a node without comparing peers: it is gone, or below the ceiling.

    One on the network as a whole stands only where none names a node. Consequences are left out.
    """
    rules = (*GONE, "pairs", "lossy")
    failures = [
        verdict
        for verdict in judged.verdicts
        if verdict.rule in rules
        and verdict.outcome is Outcome.FAIL
        and verdict.id not in judged.follows
    ]
    return tuple(verdict for verdict in failures if verdict.about.names) or tuple(failures)


def heading(judgements: Sequence[doc.Judgement], told_apart: bool = False) -> str:
    """``Who is at fault``, and that it is nobody, or not sure."""
    kinds = {judgement.word for judgement in judgements}
    if told_apart or "FAULT" in kinds:
        return "Who is at fault"
    unsure = "suspected, but not confirmed" if "SUSPECTED" in kinds else "nobody is named"
    return f"Who is at fault: {unsure}"


def faults(judged: Judged) -> Iterator[doc.Section]:
    """Who is gone, who is slow, who is suspected, and a line per matrix."""
    if not judged.fabric.analyses:
        return
    judgements = findings(judged)
    apart = tuple(f"{verdict.subject}: {verdict.summary}" for verdict in told_apart(judged))
    sentence = headline(judged)
    more = "and {count} more; the HTML report lists them"
    remark = more.format(count=f"{len(judgements) - MOST_FINDINGS:,}")
    blocks = (
        doc.Items(apart, on=doc.TEXT),
        # A page has its headline in sight.
        doc.Items(tuple(line for line in apart if not sentence.startswith(line)), on=doc.PAGE),
        *judgements,
        *([doc.Paragraph(remark, "caution", doc.SCREEN)] * (len(judgements) > MOST_FINDINGS)),
        *_suspects(judged, more),
        doc.Items(tuple(summary(judged)), on=doc.TRACKER | doc.PAGE),
    )  # fmt: skip
    title = heading(judgements, bool(apart))
    urgent = bool(apart) or any(
        judgement.word in ("FAULT", "SUSPECTED") for judgement in judgements
    )
    yield doc.Section("fault", title, blocks, nav="Who is at fault", urgent=urgent)


def _suspects(judged: Judged, more: str) -> Iterator[doc.Block]:
    """What is not named, why not, and the test that would decide."""
    lines, rows, verdict_kinds = [], list[tuple[doc.Said, ...]](), kinds(judged)
    for analysis in judged.fabric.analyses:
        network = named(analysis.matrix.network or None)
        explained = {
            name
            for thing in verdict_kinds
            if thing.kind == "node" and thing.network == network
            for name in thing.names
        }
        for suspect in analysis.suspects:
            same = VerdictSubject(suspect.part, network, suspect.names).thing in verdict_kinds
            if same or explained & set(suspect.names):
                continue
            part, effect = called(suspect.part, suspect.names), compared(suspect.effect)
            figure = f"{suspect.quantity} at {size(analysis.matrix.message_bytes)}"
            lines.append(
                f"suspect: {part}: {figure} is {effect}, not named: {suspect.reason};"
                f" next: {suspect.next_test}"
            )
            cells = (
                f"{named(analysis.matrix.network)}: {figure}",
                effect,
                suspect.reason,
                suspect.next_test,
            )
            rows.append((doc.Cell(part, strong=True), *cells))
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_SUSPECTS})
    yield doc.Items(tuple(lines), limit=limit, on=doc.SCREEN)
    if rows:
        yield doc.Heading("Suspects, not named", on=doc.TRACKER | doc.PAGE)
    heads = ("what", "figure", ">effect", "why it is not named", "the test that would decide")
    yield doc.Table(doc.heads(*heads), tuple(rows), on=doc.TRACKER | doc.PAGE)


#: slurm.conf(5): node names are host names. What else is in a name could mean something to Slurm
#: (brackets and commas list nodes) or to a shell.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
#: Slurm's lists show the beginning of a reason.
LONGEST_REASON = 80
_WAYS: dict[Part, str] = {"node": "", "sender": " when it sends", "receiver": " when it receives"}


def drained(judged: Judged) -> doc.Section:
    """A line for each bad node that takes it out of Slurm; none for one that is only suspected."""
    lines = doc.Lines(tuple(_line(node, why) for node, why in bad_nodes(judged).items()))
    return doc.Section("scheduler", "For the scheduler", (lines,), nav="For the scheduler")


def bad_nodes(judged: Judged) -> dict[str, str]:
    """Nodes with the reason, each once: what could not connect comes first."""
    nodes = {node.name for node in judged.run.fabric.nodes}
    nodes |= {node.name for node in judged.run.fabric.unreached}
    reasons: dict[str, str] = {}
    for verdict in told_apart(judged):
        if len(verdict.about.names) == 1 and verdict.about.names[0] in nodes:
            why = verdict.summary.partition(";")[0]
            reasons.setdefault(verdict.about.names[0], f"{verdict.network} {why}")
    verdict_kinds = kinds(judged)
    for analysis in judged.fabric.analyses:
        for slow in analysis.findings:
            if slow.part in _WAYS and kind(analysis, slow, verdict_kinds) == "FAULT":
                comparison = (
                    f"{slow.quantity} at {size(slow.message_bytes)} {compared(slow.effect)}"
                )
                why = f"{analysis.matrix.network} {comparison}{_WAYS[slow.part]}"
                reasons.setdefault(slow.names[0], why)
    return reasons


def _line(node: str, why: str) -> str:
    """Nothing in the reason can end its quotes: only plain signs are kept."""
    if not _NAME.fullmatch(node):
        return f"# no line for {node}: Slurm has no node of such a name"
    plain = " ".join(re.sub(r"[^A-Za-z0-9 .,:%/_+-]", " ", f"fabricgauge: {why}").split())
    reason = plain if len(plain) <= LONGEST_REASON else plain[:LONGEST_REASON].rpartition(" ")[0]
    return f'scontrol update nodename={node} state=drain reason="{reason}"'
