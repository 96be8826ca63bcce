"""Whether others' logs are whole: tables cut off, rows without a figure, lines not understood."""

from fabricgauge.judge.interface import verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.run import Launch
from fabricgauge.model.suite import UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Figure, Outcome, Verdict
from fabricgauge.words import sentences

_CAUSE = "a run or its log was ended early, or the file is none of a suite that can be read"
_REMEDY = "import the whole logs, and only logs; what was read is judged all the same"


def judge(rule: str, subject: Subject) -> Verdict:
    """A warning that names all that is missing; what was read is not the worse for it."""
    missing = (*_unread(subject), *_broken(subject), *_cut_off(subject), *_failures(subject))
    unparsed = _unparsed(subject)
    tables = {(one.source, one.first_line) for one in subject.curves}
    figure = Figure(len(tables), "", "tables were read")
    files = sentences.counted(len(subject.launches), "file")
    read = f"{sentences.counted(len(tables), 'table')} of {files} read"
    if not missing:
        return verdict_on(
            rule, Outcome.PASS, subject.about, f"{read}{unparsed[0] if unparsed else ''}",
            figure, evidence=unparsed[1:],
        )  # fmt: skip
    return verdict_on(
        rule, Outcome.WARN, subject.about, f"{read}, but {sentences.listed(missing, 3)}",
        figure, evidence=(*missing, *unparsed[1:]), cause=_CAUSE, remedy=_REMEDY,
    )  # fmt: skip


def _unread(subject: Subject) -> tuple[str, ...]:
    return tuple(_nothing(launch) for launch in subject.launches if not launch.curves)


def _nothing(launch: Launch) -> str:
    source = launch.ended.argv[-1] if launch.ended.argv else f"file {launch.number}"
    reasons = [one.reason for one in launch.unparsed]
    telling = [reason for reason in reasons if reason.startswith(UNREADABLE)] or reasons
    reason = f" ({telling[0]})" if telling else ""
    return f"{source} holds nothing that could be read{reason}"


def _broken(subject: Subject) -> tuple[str, ...]:
    """Files of which a part was read."""
    return tuple(
        f"{one.source}:{one.line}: {one.reason}"
        for launch in subject.launches
        if launch.curves
        for one in launch.unparsed
        if one.reason.startswith(UNREADABLE)
    )


def _cut_off(subject: Subject) -> tuple[str, ...]:
    told = (f"{_where(one)}: {one.cut_off}" for one in subject.curves if one.cut_off)
    return tuple(dict.fromkeys(told))


def _failures(subject: Subject) -> tuple[str, ...]:
    told = (
        f"{one.source}:{failure.line} {one.benchmark}: {failure.trouble}: {failure.text}"
        for one in subject.curves
        for failure in one.failures
    )
    return tuple(dict.fromkeys(told))


def _unparsed(subject: Subject) -> tuple[str, ...]:
    """How many lines were not understood, then each place; launchers write such lines."""
    found = [one for launch in subject.launches if launch.curves for one in launch.unparsed]
    if not found:
        return ()
    count = sum(one.count for one in found)
    lines = sentences.counted(count, "line")
    return (f"; {lines} between them not understood", *map(_line, found))


def _line(one: UnparsedLine) -> str:
    more = f" and {one.count - 1} more" if one.count > 1 else ""
    return f"{one.source}:{one.line}{more}: {one.text or '(nothing)'} ({one.reason})"


def _where(curve: SuiteCurve) -> str:
    return f"{curve.source}:{curve.first_line} {curve.benchmark}"
