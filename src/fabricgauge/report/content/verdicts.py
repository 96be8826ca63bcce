"""Show the verdicts of a run and of others' tables, what to do, and what was not measured."""

from collections.abc import Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.model.words.figures import percent, with_unit
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import (
    consequences,
    count_tables,
    next_steps,
    tally,
    tally_tables,
    worst_first,
)
from fabricgauge.report.interface import Records, Setting

TONES: dict[Outcome, doc.Tone] = {
    Outcome.INVALID: "invalid",
    Outcome.FAIL: "fail",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.WARN: "warn",
    Outcome.PASS: "pass",
    Outcome.SKIPPED: "skipped",
}

#: Most verdicts with a row each: more would push the figures off the screen.
MOST_ROWS = 16
#: Most skipped rules with a row each.
MOST_SKIPPED = 3
#: Most verdicts that a page shows with all details.
MOST_WHOLE = 500
#: Most of them that stand open: an archive of logs has hundreds.
MOST_OPEN = 16
MOST_EVIDENCE = 8
MOST_OMISSIONS = 6
#: Most tables of others' logs in each medium; a page with more takes seconds to open.
MOST_TABLES = {doc.SCREEN: 40, doc.TRACKER: 100, doc.PAGE: 5000}
CALM = frozenset({Outcome.PASS, Outcome.SKIPPED})
#: Rules with a row of their own even if they pass.
ALWAYS_SHOWN = frozenset({"placement", "path", "fraction"})


def badge(outcome: Outcome) -> doc.Cell:
    return doc.Cell(outcome.value, tone=TONES[outcome])


def to_do(judged: Judged) -> doc.Section:
    """Return each remedy once, by the worst verdict that asks for it."""
    steps = next_steps(judged)
    rules = ", ".join(dict.fromkeys(verdict.rule for verdict in consequences(judged)))
    remark = f"{AFTER} ({rules})." if rules else ""
    if not steps and judged.overall is not Outcome.PASS:
        remark = "Read the evidence in the HTML report; no rule names a remedy."
    items = []
    for step in steps:
        cause = f". Likely cause: {step.cause}." if step.cause else ""
        subject = doc.Cell(step.subject, strong=True)
        items.append((badge(step.outcome), " ", subject, f": {step.remedy} ({step.rule}){cause}"))
    blocks: list[doc.Block] = [doc.Items(tuple(items), ordered=True)]
    if remark:
        blocks.append(doc.Paragraph(remark, on=doc.ALL if steps else doc.SCREEN))
    return doc.Section("next", "What to do", tuple(blocks), nav="What to do", urgent=True)


AFTER = "Then measure again. Verdicts that only follow from the above have no step of their own"


def verdicts(judged: Judged) -> doc.Section:
    """Return verdicts worst first, causes before consequences.

    A screen joins many calm ones in a row, a page has all of each. Beside several tables only pages
    have them. A page with thousands would take seconds to open: the JSON report has the rest.
    """
    ordered = tuple(sorted(
        judged.verdicts, key=lambda verdict: (verdict.outcome.rank, verdict.id in judged.follows)
    ))  # fmt: skip
    intro = (
        "Worst first, causes before their consequences. Each opens to its figure, its threshold"
        " with the origin, and the evidence."
    )
    numbered = enumerate(ordered[:MOST_WHOLE], 1)
    judgements = tuple(_full_judgement(judged, number, verdict) for number, verdict in numbered)
    words, more = "and {count} more; the JSON report has all", len(ordered) - len(judgements)
    blocks = (
        doc.Deferred(lambda: (_brief(ordered),), on=doc.SCREEN),
        doc.Deferred(lambda: (_rows(ordered), *_evidence(ordered)), on=doc.TRACKER),
        doc.Paragraph(intro, on=doc.PAGE),
        *doc.limit_blocks(judgements, MOST_WHOLE, words, doc.PAGE, more),
    )
    title, on = f"Verdicts: {tally(ordered) or 'none'}", doc.PAGE | doc.PAPER
    on = on if has_several_tables(judged) else doc.ALL
    nothing = (doc.Paragraph("No rule was applied."),)
    return doc.Section("verdicts", title, blocks if ordered else nothing, nav="Verdicts", on=on)


def _brief(ordered: tuple[Verdict, ...]) -> doc.Table:
    """Return a row for each; calm ones of one subject share a row if there are many.

    A skipped rule may still name something: a verdict with evidence needs a row of its own.
    """
    skipped = sum(verdict.outcome is Outcome.SKIPPED for verdict in ordered)
    room = len(ordered) <= MOST_ROWS
    own_row = {Outcome.PASS: room, Outcome.SKIPPED: room and skipped <= MOST_SKIPPED}
    rows, calm = [], dict[tuple[Outcome, VerdictSubject], list[Verdict]]()
    for verdict in ordered:
        named = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
        if own_row.get(verdict.outcome, True) or verdict.rule in ALWAYS_SHOWN or named:
            rows.append((badge(verdict.outcome), verdict.rule, verdict.subject, verdict.summary))
        else:
            calm.setdefault((verdict.outcome, _shared_subject(verdict.about)), []).append(verdict)
    for (outcome, _), calm_verdicts in calm.items():
        rules = ", ".join(verdict.rule for verdict in calm_verdicts)
        rows.append((badge(outcome), "", calm_verdicts[0].subject, rules))
    heads = doc.heads("=outcome", "rule", "subject", "finding")
    return doc.Table(heads, tuple(rows), on=doc.SCREEN)


def _rows(ordered: tuple[Verdict, ...]) -> doc.Table:
    rows = tuple(
        (
            badge(verdict.outcome), verdict.rule, verdict.subject,
            _figure(verdict.figure) if verdict.figure else "",
            _limit(verdict.threshold) if verdict.threshold else "", verdict.summary,
        )
        for verdict in ordered
    )  # fmt: skip
    heads = doc.heads("outcome", "rule", "subject", "figure", "threshold", "finding")
    return doc.Table(heads, rows)


def _shared_subject(about: VerdictSubject) -> VerdictSubject:
    """Return what verdicts in one row share: the nodes, in any pattern."""
    settings = {"variant": "", "program": ""} if about.kind == "directions" else {}
    return msgspec.structs.replace(about, series="", **settings)


def _figure(figure: Figure) -> str:
    return with_unit(figure.value, figure.unit)


def _limit(threshold: Threshold) -> str:
    return f"{threshold.relation} {with_unit(threshold.value, threshold.unit)} ({threshold.origin})"


def _evidence(ordered: tuple[Verdict, ...]) -> Iterator[doc.Judgement]:
    limit = doc.RowLimit("and {count} more", {doc.TRACKER: MOST_EVIDENCE})
    for verdict in ordered:
        if verdict.outcome not in CALM and verdict.evidence:
            entry = doc.Entry("Evidence", (doc.Items(verdict.evidence, limit=limit),))
            yield doc.Judgement(
                verdict.outcome.value, TONES[verdict.outcome], verdict.rule, verdict.subject, "",
                (entry,), on=doc.TRACKER,
            )  # fmt: skip


def reasons(verdict: Verdict | TableVerdict) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the figure, threshold, evidence, likely cause and remedy, each with its label, if
    known.
    """
    if isinstance(verdict, Verdict):
        if verdict.figure:
            yield "Figure", (f"{_figure(verdict.figure)}: {verdict.figure.what}",)
        if verdict.threshold:
            yield "Threshold", (_limit(verdict.threshold),)
        yield "Evidence", verdict.evidence
    if verdict.cause:
        yield "Likely cause", (verdict.cause,)
    if verdict.remedy:
        yield "Remedy", (verdict.remedy,)


def _full_judgement(judged: Judged, number: int, verdict: Verdict) -> doc.Judgement:
    entries = [
        doc.Entry(label, (
            doc.Items(texts) if label == "Evidence"
            else doc.Paragraph(texts[0], kind="remedy" if label == "Remedy" else "plain"),
        ))
        for label, texts in reasons(verdict)
    ]  # fmt: skip
    cause_id = judged.follows.get(verdict.id) if verdict.id else None
    causes = (other for other in judged.verdicts if other.id == cause_id)
    if cause_id and (cause := next(causes, None)):
        cause_words = f"{cause.rule}, {cause.subject}: {cause.summary}"
        entries.append(doc.Entry("Follows from", (doc.Paragraph(cause_words),)))
    rule = f"{verdict.rule}, rules {judged.rules_version}; described in docs/reference/rules.md"
    entries.append(doc.Entry("Rule", (doc.Paragraph(rule),)))
    return doc.Judgement(
        verdict.outcome.value, TONES[verdict.outcome], verdict.rule, verdict.subject,
        verdict.summary, tuple(entries),
        open=verdict.outcome not in CALM and number <= MOST_OPEN, ident=f"verdict-{number}",
        on=doc.PAGE,
    )  # fmt: skip


def has_several_tables(judged: Judged) -> bool:
    """Check whether there are several tables or files of others' logs: each then has a row."""
    return len(judged.tables) > 1


def tables(judged: Judged) -> Iterator[doc.Section]:
    """Yield the table of several tables; its title counts them.

    ``12 tables of 9 files, 2 files without one: 1 FAIL, 11 PASS, 2 SKIPPED``.
    """
    if not has_several_tables(judged):
        return
    read = [table.source for table in judged.tables if table.line > 0]
    bare = len(judged.tables) - len(read)
    files = f", {counted(bare, 'file')} without one" if bare else ""
    total = count_tables(judged).total() - bare
    counts = f"{counted(total, 'table')} of {counted(len(set(read)), 'file')}"
    shown = worst_first(judged.tables)[: MOST_TABLES[doc.PAGE]]
    rows = tuple(
        (
            badge(table.outcome), table.where, table.network or "not stated",
            "" if table.share is None else percent(table.share), table.rule, table.summary,
        )
        for table in shown
    )  # fmt: skip
    heads = doc.heads("=outcome", "~source", "network", ">of ceiling", "rule", "finding")
    limit = doc.RowLimit("and {count} more; `--format tables` writes them all", MOST_TABLES)
    more = len(judged.tables) - len(shown)
    table = doc.Table(heads, rows, limit=limit, filtered=True, more=more)
    intro = "Each table is judged by itself. SKIPPED: nothing in it can pass or fail."
    if judged.families:
        intro += " Only those of a family that stand out, or are typical of it, have a row."
    title = f"{counts}{files}: {tally_tables(judged)}"
    yield doc.Section("tables", title, (table,), nav="Each table", intro=intro)


TABLE_COLUMNS = (
    "outcome", "source", "line", "suite", "benchmark", "network", "hosts", "share_of_ceiling",
    "rule", "summary", "cause", "remedy",
)  # fmt: skip


def table_records(judged: Judged, _setting: Setting) -> Records:
    """Return verdicts on tables for other programs: a row each."""
    rows = (
        (
            table.outcome.value, table.source, table.line or None, table.suite, table.benchmark,
            table.network or None, " ".join(table.hosts), table.share, table.rule, table.summary,
            table.cause,
            table.remedy,
        )
        for table in worst_first(judged.tables)
    )  # fmt: skip
    return Records(TABLE_COLUMNS, rows)


#: An unmeasured item, and the reason.
Omission = tuple[str, str]


def missing(judged: Judged) -> Iterator[doc.Section]:
    """Yield what was not measured; a page also has the rules that judged nothing."""
    more = "and {count} more; the HTML report lists all"
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_OMISSIONS})
    lines = tuple(f"{subject}: {why}" for subject, why in unmeasured(judged))
    yield doc.Section("unmeasured", "Not measured", (doc.Items(lines, limit=limit),), on=doc.TEXT)
    table = doc.Table(doc.heads("what", "why"), omissions(judged))
    title = "Not measured, not judged"
    yield doc.Section("omissions", title, (table,), nav="Not measured", on=doc.PAGE)


def omissions(judged: Judged) -> tuple[Omission, ...]:
    """Return everything that a reader might wrongly take for measured or judged."""
    skipped = (verdict for verdict in judged.verdicts if verdict.outcome is Outcome.SKIPPED)
    rules = ((f"rule {verdict.rule} on {verdict.subject}", verdict.summary) for verdict in skipped)
    return (*unmeasured(judged), *rules)


def unmeasured(judged: Judged) -> tuple[Omission, ...]:
    """Return what the run itself lacks, without skipped rules."""
    return (*_unmeasured_parts(judged), *_unmeasured_cases(judged))


def _unmeasured_parts(judged: Judged) -> Iterator[Omission]:
    run, fabric = judged.run, judged.run.fabric
    if not run.complete:
        yield "the rest of the run", "the run was interrupted"
    yield from (("a part of the stored run", note) for note in run.notes)
    yield from (("a part of the usual cases", why) for why in run.plan.left_out)
    yield from ((f"node {node.name}", node.reason) for node in fabric.unreached)
    yield from (("a requested network", sentence) for sentence in fabric.unjoined)
    measured = {launch.network for launch in run.plan.launches}
    measured |= {launch.network for launch in run.launches if launch.imported}
    for network in fabric.networks:
        if network.name not in measured:
            option = f"; --network {network.name} measures it" if network.has_rdma_ports else ""
            yield f"network {network.name}", f"no launch of the plan was pinned to it{option}"
    for name, ceiling in judged.ceilings.items():
        if isinstance(ceiling, Skipped):
            yield f"the ceiling of {name}", ceiling.reason


def _unmeasured_cases(judged: Judged) -> Iterator[Omission]:
    for planned in judged.run.plan.launches:
        name, cases = f"launch {planned.number}", [case.name for case in planned.cases]
        launches = [launch for launch in judged.run.launches if launch.number == planned.number]
        if not launches:
            yield name, "it was never started"
            continue
        sound = {case.case for launch in launches for case in launch.completed}
        for launch in launches:
            # A failed attempt does not count if another one has measured everything.
            forgiven = sound.issuperset(cases) and launch is not launches[-1]
            yield from _launch_omissions(launch, sound, forgiven)
        measured = {measurement.case for launch in launches for measurement in launch.measurements}
        missing = [case for case in cases if case not in measured]
        if missing:
            why = f"{len(missing)} of {len(cases)} planned cases left no record"
            yield f"{name}: {_shorten(missing)}", why


def _launch_omissions(launch: Launch, sound: set[str], forgiven: bool) -> Iterator[Omission]:
    """Yield what an attempt lacks; ``sound`` are the cases that any attempt of the launch
    completed.
    """
    name = f"launch {launch.number}"
    if launch.ended.exit_code != 0 and not forgiven:
        status = launch.ended.message or f"ended with status {launch.ended.status}"
        yield f"{name} failed", status
    bad = (case for case in launch.measurements if case.status != "ok" and case.case not in sound)
    by_reason = group_by(bad, lambda case: f"{case.status}: {case.reason}")
    for reason, cases in by_reason.items():
        yield f"{name}: {_shorten([case.case for case in cases])}", reason
    if launch.not_understood:
        subject = f"{name}: {len(launch.not_understood)} lines of output"
        yield subject, f"not understood; the first: {launch.not_understood[0]}"


def _shorten(names: list[str]) -> str:
    shown_names = ", ".join(names[:3])
    return f"{shown_names} and {len(names) - 3} more" if len(names) > 3 else shown_names
