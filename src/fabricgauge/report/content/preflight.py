"""What a preflight came to: findings, the worst first, then what could not be looked at."""

from collections import Counter
from collections.abc import Iterator

from fabricgauge.model.finding import THEREFORE, Diagnosis, Finding, Severity
from fabricgauge.report import document as doc
from fabricgauge.report.content.inventory import folded, told_together
from fabricgauge.report.interface import Kind, Setting
from fabricgauge.words.sentences import command, counted

#: The version of the JSON document; readers check it.
VERSION = 1
#: Of more nodes the first and the last are named.
MOST_NAMED = 16
#: A headline is read at a glance: two findings, and the nodes of one in a short word.
MOST_IN_HEADLINE, LONGEST_PLACE = 2, 60
#: Files that nothing reads, in a page.
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
_VIRTUAL = (
    "Virtual nodes: they share one machine; its clock, kernel and adapters were not looked at."
)


def document(diagnosis: Diagnosis, _setting: Setting) -> doc.Report:
    """The worst severity, each finding with its remedy, what was sound, what was not looked at."""
    word, tone = _verdict(diagnosis)
    return doc.Report(
        word=word, tone=tone, headline=conclusion(diagnosis), title="fabricgauge doctor",
        about="fabricgauge doctor",
        under=(*_first_step(diagnosis), doc.Paragraph(looked_at(diagnosis))),
        provisos=(_VIRTUAL,) if diagnosis.virtual else (),
        sections=(
            *_found(diagnosis), *_unread(diagnosis), _sound(diagnosis), *_missing(diagnosis),
        ),
        closing="Nothing was changed on any node. Commands are those that need no choice; what is"
        " configured elsewhere must be changed there as well.",
    )  # fmt: skip


def data(diagnosis: Diagnosis, _setting: Setting) -> dict[str, object]:
    """Everything; ``findings`` are worst first."""
    return {
        "doctor": VERSION,
        "conclusion": conclusion(diagnosis),
        "nodes": diagnosis.nodes,
        "networks": diagnosis.networks,
        "seconds": diagnosis.seconds,
        "findings": diagnosis.findings,
        "checks": [
            {
                "check": checked.check, "title": checked.title, "findings": len(checked.findings),
                **({"skipped": checked.skipped.reason} if checked.skipped else {}),
            }
            for checked in diagnosis.checked
        ],
        "untried": diagnosis.untried,
        "unread": diagnosis.unread,
        "troubles": diagnosis.troubles,
    }  # fmt: skip


KIND = Kind("preflight", document, data)


def conclusion(diagnosis: Diagnosis) -> str:
    """The worst findings with their places, and how many more there are; never ``no finding`` for
    no look."""
    if all(checked.skipped for checked in diagnosis.checked):
        return "nothing could be checked"
    findings = diagnosis.findings
    if not findings:
        return f"no finding: {looks(diagnosis)}"
    worst = [finding for finding in findings if finding.severity is findings[0].severity][
        :MOST_IN_HEADLINE
    ]
    remaining = findings[len(worst) :]
    counts = Counter(finding.severity for finding in remaining)
    severities = ", ".join(
        f"{counts[severity]} {severity.value}" for severity in Severity if counts[severity]
    )
    more = f"; {counted(len(remaining), 'more finding')} ({severities})" if remaining else ""
    return "; ".join(f"{place(finding)} {finding.what}" for finding in worst) + more


def looks(diagnosis: Diagnosis) -> str:
    """``12 checks looked, 3 more could not look``."""
    looked = sum(checked.skipped is None for checked in diagnosis.checked)
    missing = len(diagnosis.checked) - looked
    skipped = f", {missing} more could not look" if missing else ""
    return f"{counted(looked, 'check')} looked{skipped}"


def place(finding: Finding) -> str:
    """Where it is, with a colon; of many places the nodes' folded names."""
    place = finding.where
    if len(place) > LONGEST_PLACE:
        place = folded(finding.nodes)
    return f"{place if len(place) <= LONGEST_PLACE else f'{len(finding.nodes):,} nodes'}:"


def looked_at(diagnosis: Diagnosis) -> str:
    """Nodes, networks, how many checks looked, and how long counters were watched."""
    nodes = ", ".join(diagnosis.nodes) or "no node"
    if len(diagnosis.nodes) > MOST_NAMED:
        nodes = f"{len(diagnosis.nodes):,} nodes, {diagnosis.nodes[0]} to {diagnosis.nodes[-1]}"
    networks = ", ".join(diagnosis.networks) or "no network"
    watched = f"; counters watched for {diagnosis.seconds:g} s" if diagnosis.seconds else ""
    looked = f"; {looks(diagnosis)}" if diagnosis.findings else ""
    return f"{nodes}; {networks}{watched}{looked}"


def _first_step(diagnosis: Diagnosis) -> Iterator[doc.Paragraph]:
    """What to do about the worst finding; its commands stand with it."""
    for finding in diagnosis.findings[:1]:
        if finding.severity is not Severity.NOTE:
            yield doc.Paragraph(f"First: {finding.remedy}")


def _unread(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Files and lines that nothing reads: no check has looked at them."""
    lines = (
        *diagnosis.unread,
        *told_together(
            [
                (node, trouble)
                for node, troubles in diagnosis.troubles.items()
                for trouble in troubles
            ]
        ),
    )
    if lines:
        yield doc.Section(
            "unread", "Not read",
            (doc.Items(lines[:MOST_UNREAD]), *_more(len(lines) - MOST_UNREAD)),
            nav=f"Not read ({len(lines)})",
        )  # fmt: skip


def _more(count: int) -> Iterator[doc.Block]:
    if count > 0:
        yield doc.Paragraph(f"{count:,} more are in the JSON report.")


def _verdict(diagnosis: Diagnosis) -> tuple[str, doc.Tone]:
    if all(checked.skipped for checked in diagnosis.checked):
        return "NOT CHECKED", "inconclusive"
    findings = diagnosis.findings
    if not findings:
        return "SOUND", "pass"
    return findings[0].severity.value, TONES[findings[0].severity]


def _found(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    for severity in Severity:
        findings = tuple(
            _finding(finding) for finding in diagnosis.findings if finding.severity is severity
        )
        word = severity.value
        title, nav = f"{word}: {_MEANINGS[severity]}", f"{word} ({len(findings)})"
        yield doc.Section(word.lower(), title, findings, nav=nav)


def _finding(finding: Finding) -> doc.Judgement:
    """Commands can be pasted; each has the node that it is for."""
    place = f"{finding.where} ({finding.network})" if finding.network else finding.where
    mends = (
        f"{f'on {mend.node}' if mend.node else 'here'}: {command(mend.argv)}"
        for mend in finding.mends
    )
    reasons: tuple[tuple[str, doc.Block], ...] = (
        ("Evidence", doc.Items(tuple(e for e in finding.evidence if not e.startswith(THEREFORE)))),
        ("What follows", doc.Items(_follows(finding))),
        ("Why it matters", doc.Paragraph(finding.why)),
        ("Remedy", doc.Paragraph(finding.remedy)),
        ("Commands", doc.Lines(tuple(mends))),
    )
    return doc.Judgement(
        finding.severity.value, TONES[finding.severity], finding.check, place, finding.what,
        tuple(doc.Entry(label, (block,)) for label, block in reasons),
    )  # fmt: skip


def _follows(finding: Finding) -> tuple[str, ...]:
    """Findings of other checks that this one explains."""
    lines = (line for line in finding.evidence if line.startswith(THEREFORE))
    return tuple(line.removeprefix(THEREFORE) for line in lines)


def _sound(diagnosis: Diagnosis) -> doc.Section:
    """Checks that looked and have no finding of their own."""
    silent = [
        checked for checked in diagnosis.checked if not checked.skipped and not checked.findings
    ]
    elsewhere = {
        line.partition(":")[0] for finding in diagnosis.findings for line in _follows(finding)
    }
    note = ": not so, but it follows from a finding above"
    rows = tuple(
        (checked.check, checked.title + note * (checked.check in elsewhere)) for checked in silent
    )
    title, nav = "Looked, and had nothing to say", f"Nothing to say ({len(rows)})"
    return doc.Section("sound", title, (doc.FactList(rows),), nav=nav, on=doc.PAGE)


def _missing(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Checks that could not look, and trials that could not be made, each with the reason.

    A trial is left out where a check says the same.
    """
    reasons = {
        checked.check: checked.skipped.reason for checked in diagnosis.checked if checked.skipped
    }
    untried = {
        f"part of {trial}": why
        for trial, why in diagnosis.untried.items()
        if why not in reasons.values()
    }
    rows = tuple((reasons | untried).items())
    if rows:
        intro = doc.Paragraph("What is not known is neither sound nor a finding.", on=doc.PAGE)
        nav = f"Could not look ({len(rows)})"
        yield doc.Section("missing", "Could not look", (intro, doc.FactList(rows)), nav)
