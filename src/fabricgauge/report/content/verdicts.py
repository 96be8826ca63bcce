"""The verdicts of a run and on others' tables, what to do, and what was not measured and why."""

from collections.abc import Iterator

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict, VerdictSubject
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import follow_on, next_steps, tally, worst_first
from fabricgauge.report.interface import Records, Setting
from fabricgauge.words.figures import of_unit, percent
from fabricgauge.words.sentences import counted

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
#: Tables of others' logs in each medium; a page with more takes seconds to open.
MOST_TABLES = {doc.SCREEN: 40, doc.TRACKER: 100, doc.PAGE: 5000}
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
    items = []
    for one in steps:
        cause = f". Likely cause: {one.cause}." if one.cause else ""
        subject = doc.Cell(one.subject, strong=True)
        items.append((badge(one.outcome), " ", subject, f": {one.remedy} ({one.rule}){cause}"))
    blocks = (
        doc.Items(tuple(items), ordered=True),
        *((doc.Paragraph(said, on=doc.ALL if steps else doc.SCREEN),) if said else ()),
    )
    return doc.Section("next", "What to do", blocks, nav="What to do", urgent=True)


AFTER = "Then measure again: remedies that follow from the above are left out"


def verdicts(judged: Judged, on: doc.Medium = doc.ALL) -> doc.Section:
    """Worst first: on a screen calm ones share a row when they are many, a page has all of each.

    A page with thousands would take seconds to open: what does not fit is in the JSON report.
    """
    ordered = worst_first(judged.verdicts)
    opened = "Worst first. Each opens to its figure, the threshold and where that comes from, and"
    heads = doc.heads("outcome", "rule", "subject", "figure", "threshold", "finding")
    whole = tuple(_whole(judged, number, one) for number, one in enumerate(ordered, 1))
    rows = tuple(
        (
            badge(one.outcome), one.rule, one.subject, _figure(one.figure) if one.figure else "",
            _limit(one.threshold) if one.threshold else "", one.summary,
        )
        for one in ordered
    )  # fmt: skip
    blocks = (
        _brief(ordered), doc.Table(heads, rows, on=doc.TRACKER),
        *_evidence(ordered), doc.Paragraph(f"{opened} the evidence.", on=doc.PAGE),
        *doc.first(whole, MOST_WHOLE, "and {count} more; the JSON report has them all", doc.PAGE),
    )  # fmt: skip
    title = f"Verdicts: {tally(ordered) or 'none'}"
    nothing = (doc.Paragraph("No rule was applied."),)
    return doc.Section("verdicts", title, blocks if ordered else nothing, nav="Verdicts", on=on)


def _brief(ordered: tuple[Verdict, ...]) -> doc.Table:
    """A row for each; calm ones of one subject share a row when there are many.

    A skipped rule may still have named something: what has evidence needs a row of its own.
    """
    skipped = sum(one.outcome is Outcome.SKIPPED for one in ordered)
    room = len(ordered) <= MOST_ROWS
    shown = {Outcome.PASS: room, Outcome.SKIPPED: room and skipped <= MOST_SKIPPED}
    rows, calm = [], dict[tuple[Outcome, VerdictSubject], list[Verdict]]()
    for one in ordered:
        named = one.outcome is Outcome.SKIPPED and bool(one.evidence)
        if shown.get(one.outcome, True) or one.rule in TELLING or named:
            rows.append((badge(one.outcome), one.rule, one.subject, one.summary))
        else:
            calm.setdefault((one.outcome, _shared(one.about)), []).append(one)
    rows += [
        (badge(outcome), "", alike[0].subject, ", ".join(one.rule for one in alike))
        for (outcome, _), alike in calm.items()
    ]
    heads = doc.heads("=outcome", "rule", "subject", "what was found")
    return doc.Table(heads, tuple(rows), on=doc.SCREEN)


def _shared(about: VerdictSubject) -> VerdictSubject:
    """What verdicts in one row share: the nodes, whichever pattern showed it."""
    bare = msgspec.structs.replace(about, series="")
    both = about.kind == "directions"
    return msgspec.structs.replace(bare, variant="", program="") if both else bare


def _figure(figure: Figure) -> str:
    return of_unit(figure.value, figure.unit)


def _limit(threshold: Threshold) -> str:
    return f"{threshold.relation} {of_unit(threshold.value, threshold.unit)} ({threshold.origin})"


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


def reasons(one: Verdict | TableVerdict) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What it rests on, its likely cause, and what to do, each with its label, where known."""
    if isinstance(one, Verdict):
        if one.figure:
            yield "Figure", (f"{_figure(one.figure)}: {one.figure.what}",)
        if one.threshold:
            yield "Threshold", (_limit(one.threshold),)
        yield "Evidence", one.evidence
    if one.cause:
        yield "Likely cause", (one.cause,)
    if one.remedy:
        yield "Remedy", (one.remedy,)


def _whole(judged: Judged, number: int, one: Verdict) -> doc.Judgement:
    entries = [
        doc.Entry(label, (
            doc.Items(said) if label == "Evidence"
            else doc.Paragraph(said[0], kind="remedy" if label == "Remedy" else "plain"),
        ))
        for label, said in reasons(one)
    ]  # fmt: skip
    rule = f"{one.rule}, rules {judged.rules_version}; described in docs/reference/rules.md"
    entries.append(doc.Entry("Rule", (doc.Paragraph(rule),)))
    return doc.Judgement(
        one.outcome.value, TONES[one.outcome], one.rule, one.subject, one.summary, tuple(entries),
        open=one.outcome not in CALM and number <= MOST_OPEN, ident=f"verdict-{number}",
        on=doc.PAGE,
    )  # fmt: skip


def several(judged: Judged) -> bool:
    """Whether there is more than one table or file of others' logs: each has its row then."""
    return len(judged.tables) > 1


def tables(judged: Judged) -> Iterator[doc.Section]:
    """The table of tables, where there are several; its title counts them.

    ``12 tables of 9 files, 2 files without one: 1 FAIL, 11 PASS, 2 SKIPPED``.
    """
    if not several(judged):
        return
    read = [one.source for one in judged.tables if one.line > 0]
    bare = len(judged.tables) - len(read)
    other = f", {counted(bare, 'file')} without one" if bare else ""
    whole = f"{counted(len(read), 'table')} of {counted(len(set(read)), 'file')}"
    rows = tuple(
        (
            badge(one.outcome), one.where, one.network or "not stated",
            "" if one.share is None else percent(one.share), one.rule, one.summary,
        )
        for one in worst_first(judged.tables)
    )  # fmt: skip
    heads = doc.heads("=outcome", "~where", "network", ">of ceiling", "rule", "what was found")
    limit = doc.RowLimit("and {count} more; `--format tables` writes them all", MOST_TABLES)
    table = doc.Table(heads, rows, limit=limit, filtered=True)
    said = "Each table is judged by itself. SKIPPED: nothing in it can pass or fail."
    title = f"{whole}{other}: {tally(judged.tables)}"
    yield doc.Section("tables", title, (table,), nav="Each table", intro=said)


TABLE_COLUMNS = (
    "outcome", "source", "line", "suite", "benchmark", "network", "hosts", "share_of_ceiling",
    "rule", "summary", "cause", "remedy",
)  # fmt: skip


def table_records(judged: Judged, _setting: Setting) -> Records:
    """Verdicts on tables for other programs: a row each."""
    rows = (
        (
            one.outcome.value, one.source, one.line or None, one.suite, one.benchmark,
            one.network or None, " ".join(one.hosts), one.share, one.rule, one.summary, one.cause,
            one.remedy,
        )
        for one in worst_first(judged.tables)
    )  # fmt: skip
    return Records(TABLE_COLUMNS, rows)


#: What is missing, and why.
Omission = tuple[str, str]


def missing(judged: Judged) -> Iterator[doc.Section]:
    """What was not measured; on a page also which rules judged nothing."""
    more = "and {count} more; the HTML report lists all"
    limit = doc.RowLimit(more, {doc.SCREEN: MOST_OMISSIONS})
    told = doc.Items(tuple(f"{what}: {why}" for what, why in unmeasured(judged)), limit=limit)
    yield doc.Section("unmeasured", "Not measured", (told,), on=doc.TEXT)
    table = doc.Table(doc.heads("what", "why"), omissions(judged))
    title = "Not measured, not judged"
    yield doc.Section("omissions", title, (table,), nav="Not measured", on=doc.PAGE)


def omissions(judged: Judged) -> tuple[Omission, ...]:
    """Everything that a reader might take for measured or judged although it was not."""
    skipped = (one for one in judged.verdicts if one.outcome is Outcome.SKIPPED)
    rules = ((f"rule {one.rule} on {one.subject}", one.summary) for one in skipped)
    return (*unmeasured(judged), *rules)


def unmeasured(judged: Judged) -> tuple[Omission, ...]:
    """What is missing of the run itself; rules that were skipped are not among it."""
    return (*_of_run(judged), *_of_launches(judged))


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


def _of_launches(judged: Judged) -> Iterator[Omission]:
    for planned in judged.run.plan.launches:
        name, cases = f"launch {planned.number}", [case.name for case in planned.cases]
        done = [launch for launch in judged.run.launches if launch.number == planned.number]
        if not done:
            yield name, "it was never started"
            continue
        sound = {one.case for launch in done for one in launch.completed}
        for launch in done:
            # What broke in an attempt is made up for where another one has measured all.
            forgiven = sound.issuperset(cases) and launch is not done[-1]
            yield from _of_ended(launch, sound, forgiven)
        measured = {one.case for launch in done for one in launch.measurements}
        missing = [case for case in cases if case not in measured]
        if missing:
            why = f"{len(missing)} of {len(cases)} planned cases left no record"
            yield f"{name}: {_some(missing)}", why


def _of_ended(launch: Launch, sound: set[str], forgiven: bool) -> Iterator[Omission]:
    """What an attempt lacks that no other one of the same launch has: ``sound`` are their cases."""
    name = f"launch {launch.number}"
    if launch.ended.exit_code != 0 and not forgiven:
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
