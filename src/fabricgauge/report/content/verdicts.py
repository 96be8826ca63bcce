"""The verdicts of a run, what to do about them, and what was not measured."""

from collections.abc import Iterator

import msgspec

from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import next_steps, tally, worst_first
from fabricgauge.report.content.omissions import omissions, unmeasured
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
MOST_EVIDENCE = 8
MOST_OMISSIONS = 6
CALM = frozenset({Outcome.PASS, Outcome.SKIPPED})
#: Rules whose figures a reader wants to see also when all is well.
TELLING = frozenset({"placement", "path", "fraction"})


def to_do(judged: Judged) -> Iterator[doc.Section]:
    """Each remedy once, by the worst verdict that asks for it."""
    steps = next_steps(judged)
    if steps:
        told = doc.Items(tuple(_step(one) for one in steps), ordered=True, on=doc.TEXT)
        shown = doc.Items(tuple(_shown_step(one) for one in steps), ordered=True, on=doc.PAGE)
        yield doc.Section("next", "What to do", (told, shown), nav="What to do", urgent=True)
    elif judged.overall is not Outcome.PASS:
        said = "Read the evidence in the HTML report; no rule names a remedy."
        yield doc.Section("next", "What to do", (doc.Paragraph(said),), on=doc.SCREEN)


def _step(one: Verdict) -> str:
    cause = f" Likely cause: {one.cause}." if one.cause else ""
    return f"{one.remedy} ({one.rule}, {one.subject}.{cause})"


def _shown_step(one: Verdict) -> tuple[doc.Cell | str, ...]:
    cause = f": {one.cause}" if one.cause else ""
    badge = doc.Cell(one.outcome.value, tone=TONES[one.outcome])
    return badge, " ", doc.Cell(one.subject, strong=True), f"{cause}. {one.remedy}"


def verdicts(judged: Judged, on: doc.Medium = doc.ALL) -> doc.Section:
    """Worst first: on a screen calm ones share a row when they are many, a page has all of each.

    A page with thousands would take seconds to open: what does not fit is in the JSON report.
    """
    ordered = worst_first(judged.verdicts)
    title = f"Verdicts: {tally(ordered) or 'none'}"
    opened = "Worst first. Each opens to its figure, the threshold and where that comes from, and"
    more = len(ordered) - MOST_WHOLE
    rest = f"and {more:,} more; the JSON report has them all"
    blocks: tuple[doc.Block, ...] = (
        _brief(ordered),
        _tabled(ordered),
        *_evidence(ordered),
        doc.Paragraph(f"{opened} the evidence.", on=doc.PAGE),
        *(_whole(judged, number, one) for number, one in enumerate(ordered[:MOST_WHOLE], 1)),
        *((doc.Paragraph(rest, kind="caution", on=doc.PAGE),) if more > 0 else ()),
    )
    nothing = (doc.Paragraph("No rule was applied."),)
    return doc.Section("verdicts", title, blocks if ordered else nothing, nav="Verdicts", on=on)


def _brief(ordered: tuple[Verdict, ...]) -> doc.Table:
    columns = (*doc.heads("outcome", whole=True), *doc.heads("rule", "subject", "what was found"))
    skipped = [one for one in ordered if one.outcome is Outcome.SKIPPED]
    room = len(ordered) <= MOST_ROWS
    shown = {Outcome.PASS: room, Outcome.SKIPPED: room and len(skipped) <= MOST_SKIPPED}
    apart = [one for one in ordered if _tells(one) or shown.get(one.outcome, True)]
    rows = [(_outcome(one.outcome), one.rule, one.subject, one.summary) for one in apart]
    rules: dict[tuple[Outcome, VerdictSubject], list[Verdict]] = {}
    for one in ordered:
        if one not in apart:
            rules.setdefault((one.outcome, _of(one)), []).append(one)
    rows += [
        (_outcome(outcome), "", alike[0].subject, ", ".join(one.rule for one in alike))
        for (outcome, _), alike in rules.items()
    ]
    return doc.Table(columns, tuple(rows), on=doc.SCREEN)


def _of(one: Verdict) -> VerdictSubject:
    """What verdicts in one row share: the nodes, whichever pattern showed it."""
    bare = msgspec.structs.replace(one.about, series="")
    both = one.about.kind == "directions"
    return msgspec.structs.replace(bare, variant="", program="") if both else bare


def _tells(verdict: Verdict) -> bool:
    """Whether a verdict needs a row of its own: a skipped rule may still have named something."""
    skipped = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
    return verdict.outcome not in CALM or verdict.rule in TELLING or skipped


def _outcome(outcome: Outcome) -> doc.Cell:
    return doc.Cell(outcome.value, tone=TONES[outcome])


def _tabled(ordered: tuple[Verdict, ...]) -> doc.Table:
    heads = ("outcome", "rule", "subject", "figure", "threshold", "finding")
    rows = tuple(
        (
            _outcome(one.outcome), one.rule, one.subject, _figure(one.figure),
            _threshold(one.threshold), one.summary,
        )
        for one in ordered
    )  # fmt: skip
    return doc.Table(doc.heads(*heads), rows, on=doc.TRACKER)


def _figure(figure: Figure | None) -> str:
    return of_unit(figure.value, figure.unit) if figure else ""


def _threshold(threshold: Threshold | None) -> str:
    if threshold is None:
        return ""
    limit = of_unit(threshold.value, threshold.unit)
    return f"{threshold.relation} {limit} ({threshold.origin})"


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
        open=one.outcome not in CALM, ident=f"verdict-{number}", on=doc.PAGE,
    )  # fmt: skip


def _reasons(judged: Judged, one: Verdict) -> Iterator[tuple[str, doc.Block]]:
    if one.figure is not None:
        yield "Figure", doc.Paragraph(f"{_figure(one.figure)}: {one.figure.what}")
    if one.threshold is not None:
        limit = of_unit(one.threshold.value, one.threshold.unit)
        said = f"{one.threshold.relation} {limit}; origin: {one.threshold.origin}"
        yield "Threshold", doc.Paragraph(said)
    if one.evidence:
        yield "Evidence", doc.Items(one.evidence)
    if one.cause:
        yield "Likely cause", doc.Paragraph(one.cause)
    if one.remedy:
        yield "Remedy", doc.Paragraph(one.remedy, kind="remedy")
    where = f"docs/reference/rules/{one.rule}.md"
    yield "Rule", doc.Paragraph(f"{one.rule}, rules {judged.rules_version}; described in {where}")


def missing(judged: Judged) -> Iterator[doc.Section]:
    """What was not measured; on a page also which rules judged nothing."""
    lacking = unmeasured(judged)
    if lacking:
        limit = doc.RowLimit(
            "and {count} more; the HTML report lists all", {doc.SCREEN: MOST_OMISSIONS}
        )
        told = doc.Items(tuple(f"{one.what}: {one.why}" for one in lacking), limit=limit)
        yield doc.Section("unmeasured", "Not measured", (told,), on=doc.TEXT)
    every = omissions(judged)
    if every:
        table = doc.Table(doc.heads("what", "why"), every)
        title = "Not measured, not judged"
        yield doc.Section("omissions", title, (table,), nav="Not measured", on=doc.PAGE)
