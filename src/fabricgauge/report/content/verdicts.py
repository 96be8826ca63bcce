"""The verdicts of a run, what to do about them, and what was not measured."""

from collections.abc import Iterator

import msgspec

from fabricgauge.model.judged import Judged
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.report.content.conclusion import next_steps, tally, worst_first
from fabricgauge.report.content.omissions import omissions, unmeasured
from fabricgauge.report.document import (
    PAGE,
    SCREEN,
    TEXT,
    TRACKER,
    Block,
    Cell,
    Column,
    Entry,
    Finding,
    Items,
    Limit,
    Paragraph,
    Section,
    Table,
    Tone,
)
from fabricgauge.words.figures import of_unit

TONES: dict[Outcome, Tone] = {
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
MOST_EVIDENCE = 8
MOST_OMISSIONS = 6
CALM = frozenset({Outcome.PASS, Outcome.SKIPPED})
#: Rules whose figures a reader wants to see also when all is well.
TELLING = frozenset({"placement", "path", "fraction"})


def to_do(judged: Judged) -> Iterator[Section]:
    """Each remedy once, by the worst verdict that asks for it."""
    steps = next_steps(judged)
    if steps:
        told = Items(tuple(_step(one) for one in steps), ordered=True, on=TEXT)
        shown = Items(tuple(_shown_step(one) for one in steps), ordered=True, on=PAGE)
        yield Section("next", "What to do", (told, shown), nav="What to do", urgent=True)
    elif judged.overall is not Outcome.PASS:
        said = "Read the evidence in the HTML report; no rule names a remedy."
        yield Section("next", "What to do", (Paragraph(said),), on=SCREEN)


def _step(one: Verdict) -> str:
    cause = f" Likely cause: {one.cause}." if one.cause else ""
    return f"{one.remedy} ({one.rule}, {one.subject}.{cause})"


def _shown_step(one: Verdict) -> tuple[Cell | str, ...]:
    cause = f": {one.cause}" if one.cause else ""
    badge = Cell(one.outcome.value, tone=TONES[one.outcome])
    return badge, " ", Cell(one.subject, strong=True), f"{cause}. {one.remedy}"


def verdicts(judged: Judged) -> Section:
    """Worst first: on a screen calm ones share a row when they are many, a page has all of each."""
    ordered = worst_first(judged.verdicts)
    title = f"Verdicts: {tally(ordered) or 'none'}"
    opened = "Worst first. Each opens to its figure, the threshold and where that comes from, and"
    blocks: tuple[Block, ...] = (
        _brief(ordered),
        _tabled(ordered),
        *_evidence(ordered),
        Paragraph(f"{opened} the evidence.", on=PAGE),
        *(_whole(judged, number, one) for number, one in enumerate(ordered, 1)),
    )
    nothing = (Paragraph("No rule was applied."),)
    return Section("verdicts", title, blocks if ordered else nothing, nav="Verdicts")


def _brief(ordered: tuple[Verdict, ...]) -> Table:
    columns = (Column("outcome", whole=True), Column("rule"), Column("subject"),
               Column("what was found"))  # fmt: skip
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
    return Table(columns, tuple(rows), on=SCREEN)


def _of(one: Verdict) -> VerdictSubject:
    """What verdicts in one row share: the nodes, whichever pattern showed it."""
    bare = msgspec.structs.replace(one.about, series="")
    both = one.about.kind == "directions"
    return msgspec.structs.replace(bare, variant="", program="") if both else bare


def _tells(verdict: Verdict) -> bool:
    """Whether a verdict needs a row of its own: a skipped rule may still have named something."""
    skipped = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
    return verdict.outcome not in CALM or verdict.rule in TELLING or skipped


def _outcome(outcome: Outcome) -> Cell:
    return Cell(outcome.value, tone=TONES[outcome])


def _tabled(ordered: tuple[Verdict, ...]) -> Table:
    heads = ("outcome", "rule", "subject", "figure", "threshold", "finding")
    rows = tuple(
        (
            _outcome(one.outcome), one.rule, one.subject, _figure(one.figure),
            _threshold(one.threshold), one.summary,
        )
        for one in ordered
    )  # fmt: skip
    return Table(tuple(map(Column, heads)), rows, on=TRACKER)


def _figure(figure: Figure | None) -> str:
    return of_unit(figure.value, figure.unit) if figure else ""


def _threshold(threshold: Threshold | None) -> str:
    if threshold is None:
        return ""
    limit = of_unit(threshold.value, threshold.unit)
    return f"{threshold.relation} {limit} ({threshold.origin})"


def _evidence(ordered: tuple[Verdict, ...]) -> Iterator[Finding]:
    """The evidence of what is not well, in an issue tracker."""
    limit = Limit("and {count} more", {TRACKER: MOST_EVIDENCE})
    for one in ordered:
        if one.outcome not in CALM and one.evidence:
            entry = Entry("Evidence", (Items(one.evidence, limit=limit),))
            yield Finding(
                one.outcome.value, TONES[one.outcome], one.rule, one.subject, "", (entry,),
                on=TRACKER,
            )  # fmt: skip


def _whole(judged: Judged, number: int, one: Verdict) -> Finding:
    return Finding(
        one.outcome.value, TONES[one.outcome], one.rule, one.subject, one.summary,
        tuple(Entry(label, (block,)) for label, block in _reasons(judged, one)),
        open=one.outcome not in CALM, ident=f"verdict-{number}", on=PAGE,
    )  # fmt: skip


def _reasons(judged: Judged, one: Verdict) -> Iterator[tuple[str, Block]]:
    if one.figure is not None:
        yield "Figure", Paragraph(f"{_figure(one.figure)}: {one.figure.what}")
    if one.threshold is not None:
        limit = of_unit(one.threshold.value, one.threshold.unit)
        said = f"{one.threshold.relation} {limit}; origin: {one.threshold.origin}"
        yield "Threshold", Paragraph(said)
    if one.evidence:
        yield "Evidence", Items(one.evidence)
    if one.cause:
        yield "Likely cause", Paragraph(one.cause)
    if one.remedy:
        yield "Remedy", Paragraph(one.remedy, kind="remedy")
    where = f"docs/reference/rules/{one.rule}.md"
    yield "Rule", Paragraph(f"{one.rule}, rules {judged.rules_version}; described in {where}")


def missing(judged: Judged) -> Iterator[Section]:
    """What was not measured; on a page also which rules judged nothing."""
    lacking = unmeasured(judged)
    if lacking:
        limit = Limit("and {count} more; the HTML report lists all", {SCREEN: MOST_OMISSIONS})
        told = Items(tuple(f"{one.what}: {one.why}" for one in lacking), limit=limit)
        yield Section("unmeasured", "Not measured", (told,), on=TEXT)
    every = omissions(judged)
    if every:
        table = Table((Column("what"), Column("why")), every)
        title = "Not measured, not judged"
        yield Section("omissions", title, (table,), nav="Not measured", on=PAGE)
