"""Show the result of a preflight: findings, the worst first, then checks that could not run."""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.model.finding import THEREFORE, Diagnosis, Finding, Severity
from fabricgauge.model.words.sentences import command, counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.inventory import folded, merge_sentences
from fabricgauge.report.interface import Kind, Setting

#: The version of the JSON document; readers check it.
VERSION = 1
#: Most nodes in a list; of more, only the first and the last are named.
MOST_NAMED = 16
#: Most findings in a headline, and most letters of a finding's place.
MOST_IN_HEADLINE, LONGEST_PLACE = 2, 60
#: Most unread files on a page.
MOST_UNREAD = 50

TONES: dict[Severity, doc.Tone] = {
    Severity.FAIL: "fail",
    Severity.WARN: "warn",
    Severity.NOTE: "skipped",
}
_MEANINGS = {
    Severity.FAIL: "breaks the network or its figures",
    Severity.WARN: "may break the network or its figures",
    Severity.NOTE: "is worth knowing",
}
_VIRTUAL = "Virtual nodes share one machine; its clock, kernel and adapters were not checked."


def document(diagnosis: Diagnosis, _setting: Setting) -> doc.Report:
    """Show the worst severity, each finding with its remedy, sound checks, and skipped checks."""
    word, tone = _verdict(diagnosis)
    return doc.Report(
        word=word, tone=tone, headline=conclusion(diagnosis), title="fabricgauge doctor",
        about="fabricgauge doctor",
        under=(*_first_step(diagnosis), doc.Paragraph(looked_at(diagnosis))),
        provisos=(_VIRTUAL,) if diagnosis.virtual else (),
        sections=(
            *_finding_sections(diagnosis), *_unread(diagnosis), _sound(diagnosis),
            *_missing(diagnosis),
        ),
        closing="No node was changed. Only remedies without a choice have commands; settings that"
        " are configured elsewhere must be changed there as well.",
    )  # fmt: skip


def data(diagnosis: Diagnosis, _setting: Setting) -> dict[str, object]:
    """Return everything; ``findings`` are worst first."""
    checks = [
        {
            "check": checked.check, "title": checked.title, "findings": len(checked.findings),
            **({"skipped": checked.skipped.reason} if checked.skipped else {}),
        }
        for checked in diagnosis.checked
    ]  # fmt: skip
    return {
        "doctor": VERSION, "conclusion": conclusion(diagnosis), "nodes": diagnosis.nodes,
        "networks": diagnosis.networks, "seconds": diagnosis.seconds,
        "findings": diagnosis.findings, "checks": checks, "untried": diagnosis.untried,
        "unread": diagnosis.unread, "troubles": diagnosis.troubles,
    }  # fmt: skip


KIND = Kind("preflight", document, data)


def conclusion(diagnosis: Diagnosis) -> str:
    """Return the worst findings with their places, and the number of others.

    Without a single check that ran, it is never ``no finding``.
    """
    if all(checked.skipped for checked in diagnosis.checked):
        return "nothing could be checked"
    findings = diagnosis.findings
    if not findings:
        return f"no finding: {looks(diagnosis)}"
    first = findings[:MOST_IN_HEADLINE]
    worst = [finding for finding in first if finding.severity is findings[0].severity]
    counts = Counter(finding.severity for finding in findings[len(worst) :])
    severities = ", ".join(f"{counts[key]} {key.value}" for key in Severity if counts[key])
    more = f"; {counted(counts.total(), 'more finding')} ({severities})" if counts else ""
    return "; ".join(f"{place(finding)} {finding.what}" for finding in worst) + more


def looks(diagnosis: Diagnosis) -> str:
    """Return ``12 checks ran, 3 more could not run``."""
    looked = sum(checked.skipped is None for checked in diagnosis.checked)
    missing = len(diagnosis.checked) - looked
    skipped = f", {missing} more could not run" if missing else ""
    return f"{counted(looked, 'check')} ran{skipped}"


def place(finding: Finding) -> str:
    """Return the place with a colon; for many places the nodes' folded names."""
    place = finding.where
    if len(place) > LONGEST_PLACE:
        place = folded(finding.nodes)
    return f"{place if len(place) <= LONGEST_PLACE else f'{len(finding.nodes):,} nodes'}:"


def looked_at(diagnosis: Diagnosis) -> str:
    """Return nodes, networks, the number of checks, and how long counters were watched."""
    nodes = ", ".join(diagnosis.nodes) or "no node"
    if len(diagnosis.nodes) > MOST_NAMED:
        nodes = f"{len(diagnosis.nodes):,} nodes, {diagnosis.nodes[0]} to {diagnosis.nodes[-1]}"
    networks = ", ".join(diagnosis.networks) or "no network"
    watched = f"; counters watched for {diagnosis.seconds:g} s" if diagnosis.seconds else ""
    looked = f"; {looks(diagnosis)}" if diagnosis.findings else ""
    return f"{nodes}; {networks}{watched}{looked}"


def _first_step(diagnosis: Diagnosis) -> Iterator[doc.Paragraph]:
    for finding in diagnosis.findings[:1]:
        if finding.severity is not Severity.NOTE:
            yield doc.Paragraph(f"First: {finding.remedy}")


def _unread(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Yield files and lines that nothing reads: no check covers them."""
    troubles = [
        (node, trouble) for node, troubles in diagnosis.troubles.items() for trouble in troubles
    ]
    lines = (*diagnosis.unread, *merge_sentences(troubles))
    if lines:
        blocks: list[doc.Block] = [doc.Items(lines[:MOST_UNREAD])]
        if (more := len(lines) - MOST_UNREAD) > 0:
            blocks.append(doc.Paragraph(f"{more:,} more are in the JSON report."))
        yield doc.Section("unread", "Not read", tuple(blocks), nav=f"Not read ({len(lines)})")


def _verdict(diagnosis: Diagnosis) -> tuple[str, doc.Tone]:
    if all(checked.skipped for checked in diagnosis.checked):
        return "NOT CHECKED", "inconclusive"
    findings = diagnosis.findings
    if not findings:
        return "SOUND", "pass"
    return findings[0].severity.value, TONES[findings[0].severity]


def _finding_sections(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    for severity in Severity:
        chosen = (finding for finding in diagnosis.findings if finding.severity is severity)
        findings, word = tuple(map(_finding, chosen)), severity.value
        title, nav = f"{word}: {_MEANINGS[severity]}", f"{word} ({len(findings)})"
        yield doc.Section(word.lower(), title, findings, nav=nav)


def _finding(finding: Finding) -> doc.Judgement:
    """Return a finding; its commands can be pasted, each with its node."""
    place = f"{finding.where} ({finding.network})" if finding.network else finding.where
    mends = (
        f"{f'on {mend.node}' if mend.node else 'here'}: {command(mend.argv)}"
        for mend in finding.mends
    )
    reasons: tuple[tuple[str, doc.Block], ...] = (
        ("Evidence", doc.Items(tuple(e for e in finding.evidence if not e.startswith(THEREFORE)))),
        ("Consequences", doc.Items(_follows(finding))),
        ("Why it matters", doc.Paragraph(finding.why)),
        ("Remedy", doc.Paragraph(finding.remedy)),
        ("Commands", doc.Lines(tuple(mends))),
    )
    return doc.Judgement(
        finding.severity.value, TONES[finding.severity], finding.check, place, finding.what,
        tuple(doc.Entry(label, (block,)) for label, block in reasons),
    )  # fmt: skip


def _follows(finding: Finding) -> tuple[str, ...]:
    lines = (line for line in finding.evidence if line.startswith(THEREFORE))
    return tuple(line.removeprefix(THEREFORE) for line in lines)


def _sound(diagnosis: Diagnosis) -> doc.Section:
    elsewhere = {
        line.partition(":")[0] for finding in diagnosis.findings for line in _follows(finding)
    }
    note = ": failed as a consequence of a finding above"
    rows = tuple(
        (checked.check, checked.title + note * (checked.check in elsewhere))
        for checked in diagnosis.checked
        if not checked.skipped and not checked.findings
    )
    title, nav = "Checks without a finding", f"No finding ({len(rows)})"
    return doc.Section("sound", title, (doc.FactList(rows),), nav=nav, on=doc.PAGE)


def _missing(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Yield checks and trials that could not run, each with the reason.

    A trial is left out if a check has the same reason.
    """
    skipped = ((checked.check, checked.skipped) for checked in diagnosis.checked)
    reasons = {check: absence.reason for check, absence in skipped if absence}
    untried = diagnosis.untried.items()
    trials = {f"part of {trial}": why for trial, why in untried if why not in reasons.values()}
    if rows := tuple((reasons | trials).items()):
        intro = doc.Paragraph("An unchecked item is neither sound nor a finding.", on=doc.PAGE)
        nav = f"Not checked ({len(rows)})"
        yield doc.Section("missing", "Not checked", (intro, doc.FactList(rows)), nav)
