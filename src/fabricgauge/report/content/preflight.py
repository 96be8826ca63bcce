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
                "check": one.check, "title": one.title, "findings": len(one.findings),
                **({"skipped": one.skipped.reason} if one.skipped else {}),
            }
            for one in diagnosis.checked
        ],
        "untried": diagnosis.untried,
        "unread": diagnosis.unread,
        "troubles": diagnosis.troubles,
    }  # fmt: skip


KIND = Kind("preflight", document, data)


def conclusion(diagnosis: Diagnosis) -> str:
    """The worst findings with their places, and how many more there are; never ``no finding`` for
    no look."""
    if all(one.skipped for one in diagnosis.checked):
        return "nothing could be checked"
    findings = diagnosis.findings
    if not findings:
        return f"no finding: {looks(diagnosis)}"
    worst = [one for one in findings if one.severity is findings[0].severity][:MOST_IN_HEADLINE]
    rest = findings[len(worst) :]
    counts = Counter(one.severity for one in rest)
    told = ", ".join(f"{counts[one]} {one.value}" for one in Severity if counts[one])
    more = f"; {counted(len(rest), 'more finding')} ({told})" if rest else ""
    return "; ".join(f"{place(one)} {one.what}" for one in worst) + more


def looks(diagnosis: Diagnosis) -> str:
    """``12 checks looked, 3 more could not look``."""
    looked = sum(one.skipped is None for one in diagnosis.checked)
    missing = len(diagnosis.checked) - looked
    rest = f", {missing} more could not look" if missing else ""
    return f"{counted(looked, 'check')} looked{rest}"


def place(finding: Finding) -> str:
    """Where it is, with a colon; of many places the nodes' folded names."""
    where = finding.where
    if len(where) > LONGEST_PLACE:
        where = folded(finding.nodes)
    return f"{where if len(where) <= LONGEST_PLACE else f'{len(finding.nodes):,} nodes'}:"


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
    for one in diagnosis.findings[:1]:
        if one.severity is not Severity.NOTE:
            yield doc.Paragraph(f"First: {one.remedy}")


def _unread(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Files and lines that nothing reads: no check has looked at them."""
    told = (
        *diagnosis.unread,
        *told_together([(node, one) for node, of in diagnosis.troubles.items() for one in of]),
    )
    if told:
        yield doc.Section(
            "unread", "Not read", (doc.Items(told[:MOST_UNREAD]), *_more(len(told) - MOST_UNREAD)),
            nav=f"Not read ({len(told)})",
        )  # fmt: skip


def _more(count: int) -> Iterator[doc.Block]:
    if count > 0:
        yield doc.Paragraph(f"{count:,} more are in the JSON report.")


def _verdict(diagnosis: Diagnosis) -> tuple[str, doc.Tone]:
    if all(one.skipped for one in diagnosis.checked):
        return "NOT CHECKED", "inconclusive"
    findings = diagnosis.findings
    if not findings:
        return "SOUND", "pass"
    return findings[0].severity.value, TONES[findings[0].severity]


def _found(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    for severity in Severity:
        found = tuple(_finding(one) for one in diagnosis.findings if one.severity is severity)
        word = severity.value
        title, nav = f"{word}: {_MEANINGS[severity]}", f"{word} ({len(found)})"
        yield doc.Section(word.lower(), title, found, nav=nav)


def _finding(one: Finding) -> doc.Judgement:
    """Commands can be pasted; each has the node that it is for."""
    place = f"{one.where} ({one.network})" if one.network else one.where
    mends = (
        f"{f'on {each.node}' if each.node else 'here'}: {command(each.argv)}" for each in one.mends
    )
    reasons: tuple[tuple[str, doc.Block], ...] = (
        ("Evidence", doc.Items(tuple(e for e in one.evidence if not e.startswith(THEREFORE)))),
        ("What follows", doc.Items(_follows(one))),
        ("Why it matters", doc.Paragraph(one.why)),
        ("Remedy", doc.Paragraph(one.remedy)),
        ("Commands", doc.Lines(tuple(mends))),
    )
    return doc.Judgement(
        one.severity.value, TONES[one.severity], one.check, place, one.what,
        tuple(doc.Entry(label, (block,)) for label, block in reasons),
    )  # fmt: skip


def _follows(one: Finding) -> tuple[str, ...]:
    """Findings of other checks that this one explains."""
    lines = (line for line in one.evidence if line.startswith(THEREFORE))
    return tuple(line.removeprefix(THEREFORE) for line in lines)


def _sound(diagnosis: Diagnosis) -> doc.Section:
    """Checks that looked and have no finding of their own."""
    silent = [one for one in diagnosis.checked if not one.skipped and not one.findings]
    elsewhere = {line.partition(":")[0] for one in diagnosis.findings for line in _follows(one)}
    note = ": not so, but it follows from a finding above"
    rows = tuple((one.check, one.title + note * (one.check in elsewhere)) for one in silent)
    title, nav = "Looked, and had nothing to say", f"Nothing to say ({len(rows)})"
    return doc.Section("sound", title, (doc.FactList(rows),), nav=nav, on=doc.PAGE)


def _missing(diagnosis: Diagnosis) -> Iterator[doc.Section]:
    """Checks that could not look, and trials that could not be made, each with the reason.

    A trial is left out where a check says the same.
    """
    reasons = {one.check: one.skipped.reason for one in diagnosis.checked if one.skipped}
    untried = {
        f"part of {what}": why
        for what, why in diagnosis.untried.items()
        if why not in reasons.values()
    }
    rows = tuple((reasons | untried).items())
    if rows:
        said = doc.Paragraph("What is not known is neither sound nor a finding.", on=doc.PAGE)
        nav = f"Could not look ({len(rows)})"
        yield doc.Section("missing", "Could not look", (said, doc.FactList(rows)), nav)
