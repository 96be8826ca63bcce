"""The verdicts of a run, what to do about them, and what was not measured, with the reasons."""

from collections.abc import Iterator, Set

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import Judged
from fabricgauge.model.plan import PlannedLaunch
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import follow_on, next_steps, tally, worst_first
from fabricgauge.words.figures import of_unit

TONES: dict[Outcome, doc.Tone] = {
    Outcome.INVALID: "invalid",
    Outcome.FAIL: "fail",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.WARN: "warn",
    Outcome.PASS: "pass",
    Outcome.SKIPPED: "skipped",
}

#: More verdicts than this would push the figures off the screen.
MOST_ROWS = 16
#: More skipped rules than this share a row.
MOST_SKIPPED = 3
#: Verdicts that a page shows whole.
MOST_WHOLE = 500
#: Of these, the first ones that are not calm stand open: an archive of logs has hundreds.
MOST_OPEN = 16
MOST_EVIDENCE = 8
MOST_OMISSIONS = 6
CALM = frozenset({Outcome.PASS, Outcome.SKIPPED})
#: Rules whose figures a reader wants to see also when all is well.
TELLING = frozenset({"placement", "path", "fraction"})


def badge(outcome: Outcome) -> doc.Cell:
    return doc.Cell(outcome.value, tone=TONES[outcome])


def to_do(judged: Judged) -> doc.Section:
    """Each remedy once, by the worst verdict that asks for it."""
    steps = next_steps(judged)
    after = ", ".join(dict.fromkeys(one.rule for one in follow_on(judged)))
    said = f"{AFTER} ({after})." if after else ""
    if not steps and judged.overall is not Outcome.PASS:
        said = "Read the evidence in the HTML report; no rule names a remedy."
    blocks = (
        doc.Items(tuple(map(_step, steps)), ordered=True, on=doc.TEXT),
        doc.Items(tuple(map(_shown_step, steps)), ordered=True, on=doc.PAGE),
        *((doc.Paragraph(said, on=doc.ALL if steps else doc.SCREEN),) if said else ()),
    )
    return doc.Section("next", "What to do", blocks, nav="What to do", urgent=True)


AFTER = "Then measure again: remedies that follow from the above are left out"


def _step(one: Verdict) -> str:
    cause = f" Likely cause: {one.cause}." if one.cause else ""
    return f"{one.remedy} ({one.rule}, {one.subject}.{cause})"


def _shown_step(one: Verdict) -> tuple[doc.Said, ...]:
    cause = f": {one.cause}" if one.cause else ""
    return badge(one.outcome), " ", doc.Cell(one.subject, strong=True), f"{cause}. {one.remedy}"


def verdicts(judged: Judged, on: doc.Medium = doc.ALL) -> doc.Section:
    """Worst first: on a screen calm ones share a row when they are many, a page has all of each.

    A page with thousands would take seconds to open: what does not fit is in the JSON report.
    """
    ordered = worst_first(judged.verdicts)
    opened = "Worst first. Each opens to its figure, the threshold and where that comes from, and"
    heads = doc.heads("outcome", "rule", "subject", "figure", "threshold", "finding")
    whole = tuple(_whole(judged, number, one) for number, one in enumerate(ordered, 1))
    blocks = (
        _brief(ordered), doc.Table(heads, tuple(map(_row, ordered)), on=doc.TRACKER),
        *_evidence(ordered), doc.Paragraph(f"{opened} the evidence.", on=doc.PAGE),
        *doc.first(whole, MOST_WHOLE, "and {count} more; the JSON report has them all", doc.PAGE),
    )  # fmt: skip
    title = f"Verdicts: {tally(ordered) or 'none'}"
    nothing = (doc.Paragraph("No rule was applied."),)
    return doc.Section("verdicts", title, blocks if ordered else nothing, nav="Verdicts", on=on)


def _brief(ordered: tuple[Verdict, ...]) -> doc.Table:
    """A row for each; calm ones of one subject share a row when there are many."""
    skipped = [one for one in ordered if one.outcome is Outcome.SKIPPED]
    room = len(ordered) <= MOST_ROWS
    shown = {Outcome.PASS: room, Outcome.SKIPPED: room and len(skipped) <= MOST_SKIPPED}
    rows, calm = [], dict[tuple[Outcome, VerdictSubject], list[Verdict]]()
    for one in ordered:
        if _tells(one) or shown.get(one.outcome, True):
            rows.append((badge(one.outcome), one.rule, one.subject, one.summary))
        else:
            calm.setdefault((one.outcome, _of(one)), []).append(one)
    rows += [
        (badge(outcome), "", alike[0].subject, ", ".join(one.rule for one in alike))
        for (outcome, _), alike in calm.items()
    ]
    heads = doc.heads("=outcome", "rule", "subject", "what was found")
    return doc.Table(heads, tuple(rows), on=doc.SCREEN)


def _of(one: Verdict) -> VerdictSubject:
    """What verdicts in one row share: the nodes, whichever pattern showed it."""
    bare = msgspec.structs.replace(one.about, series="")
    both = one.about.kind == "directions"
    return msgspec.structs.replace(bare, variant="", program="") if both else bare


def _tells(verdict: Verdict) -> bool:
    """Whether a verdict needs a row of its own: a skipped rule may still have named something."""
    skipped = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
    return verdict.outcome not in CALM or verdict.rule in TELLING or skipped


def _row(one: Verdict) -> tuple[doc.Said, ...]:
    threshold = f"{_limit(one.threshold)} ({one.threshold.origin})" if one.threshold else ""
    return badge(one.outcome), one.rule, one.subject, _figure(one.figure), threshold, one.summary


def _figure(figure: Figure | None) -> str:
    return of_unit(figure.value, figure.unit) if figure else ""


def _limit(threshold: Threshold) -> str:
    return f"{threshold.relation} {of_unit(threshold.value, threshold.unit)}"


def _evidence(ordered: tuple[Verdict, ...]) -> Iterator[doc.Judgement]:
    """The evidence of what is not well, in an issue tracker."""
    limit = doc.RowLimit("and {count} more", {doc.TRACKER: MOST_EVIDENCE})
    for one in ordered:
        if one.outcome not in CALM and one.evidence:
            entry = doc.Entry("Evidence", (doc.Items(one.evidence, limit=limit),))
            yield doc.Judgement(
                one.outcome.value, TONES[one.outcome], one.rule, one.subject, "", (entry,),
                on=doc.TRACKER,
            )  # fmt: skip


def _whole(judged: Judged, number: int, one: Verdict) -> doc.Judgement:
    return doc.Judgement(
        one.outcome.value, TONES[one.outcome], one.rule, one.subject, one.summary,
        tuple(doc.Entry(label, (block,)) for label, block in _reasons(judged, one)),
        open=one.outcome not in CALM and number <= MOST_OPEN, ident=f"verdict-{number}",
        on=doc.PAGE,
    )  # fmt: skip


def _reasons(judged: Judged, one: Verdict) -> Iterator[tuple[str, doc.Block]]:
    if one.figure:
        yield "Figure", doc.Paragraph(f"{_figure(one.figure)}: {one.figure.what}")
    if one.threshold:
        said = f"{_limit(one.threshold)}; origin: {one.threshold.origin}"
        yield "Threshold", doc.Paragraph(said)
    yield "Evidence", doc.Items(one.evidence)
    if one.cause:
        yield "Likely cause", doc.Paragraph(one.cause)
    if one.remedy:
        yield "Remedy", doc.Paragraph(one.remedy, kind="remedy")
    where = f"docs/reference/rules/{one.rule}.md"
    yield "Rule", doc.Paragraph(f"{one.rule}, rules {judged.rules_version}; described in {where}")


def missing(judged: Judged) -> Iterator[doc.Section]:
    """What was not measured; on a page also which rules judged nothing."""
    limit = doc.RowLimit(
        "and {count} more; the HTML report lists all", {doc.SCREEN: MOST_OMISSIONS}
    )
    told = doc.Items(tuple(f"{what}: {why}" for what, why in unmeasured(judged)), limit=limit)
    yield doc.Section("unmeasured", "Not measured", (told,), on=doc.TEXT)
    table = doc.Table(doc.heads("what", "why"), omissions(judged))
    title = "Not measured, not judged"
    yield doc.Section("omissions", title, (table,), nav="Not measured", on=doc.PAGE)


#: What is missing, and why.
Omission = tuple[str, str]


def omissions(judged: Judged) -> tuple[Omission, ...]:
    """Everything that a reader might take for measured or judged although it was not."""
    skipped = (one for one in judged.verdicts if one.outcome is Outcome.SKIPPED)
    rules = ((f"rule {one.rule} on {one.subject}", one.summary) for one in skipped)
    return (*unmeasured(judged), *rules)


def unmeasured(judged: Judged) -> tuple[Omission, ...]:
    """What is missing of the run itself; rules that were skipped are not among it."""
    launches = (_of_launch(judged.run, launch) for launch in judged.run.plan.launches)
    return (*_of_run(judged), *(one for each in launches for one in each))


def _of_run(judged: Judged) -> Iterator[Omission]:
    run, fabric = judged.run, judged.run.fabric
    if not run.complete:
        yield "the rest of the run", "it was broken off before its end"
    yield from (("a part of the stored run", note) for note in run.notes)
    yield from ((f"node {node.name}", node.reason) for node in fabric.unreached)
    yield from (("a network that was meant", sentence) for sentence in fabric.unjoined)
    measured = {launch.network for launch in run.plan.launches}
    measured |= {launch.network for launch in run.launches if launch.imported}
    for network in fabric.networks:
        if network.name not in measured:
            asked = f"; --network {network.name} measures it" if network.of_ports else ""
            yield f"network {network.name}", f"no launch of the plan was pinned to it{asked}"
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Skipped):
            yield f"the ceiling of {name}", ceiling.reason


def _of_launch(run: Run, planned: PlannedLaunch) -> Iterator[Omission]:
    name = f"launch {planned.number}"
    done = [launch for launch in run.launches if launch.number == planned.number]
    if not done:
        yield name, "it was never started"
        return
    sound = {one.case for launch in done for one in launch.completed}
    whole = sound >= {case.name for case in planned.cases}
    for launch in done:
        yield from _of_ended(launch, sound, made_up_for=whole and launch is not done[-1])
    measured = {one.case for launch in done for one in launch.measurements}
    missing = [case.name for case in planned.cases if case.name not in measured]
    if missing:
        why = f"{len(missing)} of {len(planned.cases)} planned cases left no record"
        yield f"{name}: {_some(missing)}", why


def _of_ended(launch: Launch, sound: Set[str], made_up_for: bool) -> Iterator[Omission]:
    """What an attempt lacks that no other one of the same launch has: ``sound`` are their cases."""
    name = f"launch {launch.number}"
    if launch.ended.exit_code != 0 and not made_up_for:
        status = launch.ended.message or f"ended with status {launch.ended.status}"
        yield f"{name} did not end well", status
    reasons: dict[str, list[str]] = {}
    for one in launch.measurements:
        if one.status != "ok" and one.case not in sound:
            reasons.setdefault(f"{one.status}: {one.reason}", []).append(one.case)
    yield from ((f"{name}: {_some(cases)}", reason) for reason, cases in reasons.items())
    if launch.not_understood:
        what = f"{name}: {len(launch.not_understood)} lines of output"
        yield what, f"not understood, the first reads: {launch.not_understood[0]}"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
