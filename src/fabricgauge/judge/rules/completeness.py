"""Was everything measured that was planned? Are others' logs whole?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject, case_names, launches_of, missing
from fabricgauge.model.run import IMPORTED, Launch
from fabricgauge.model.suite import LIMITED, UNREADABLE, SuiteCurve, UnparsedLine
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.words import sentences

ID = "completeness"
TITLE = "Everything that was planned was measured"

_OF_LOGS = "a run or its log was ended early, or the file is none of a suite that can be read"
_WHOLE_LOGS = "import the whole logs, and only logs; what was read is judged all the same"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(context, subject) for subject in context.subjects)


def _judge(context: Context, subject: Subject) -> Verdict:
    if subject.imported:
        return _judge_logs(subject)
    planned = sum(len(case_names(launch)) for launch in subject.planned)
    lost = missing(subject)
    if not planned:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "nothing was planned")
    figure = Figure(1 - len(lost) / planned, "share", f"of {planned} planned cases were measured")
    threshold = Threshold(1.0, "share", "equal to", "the run's own plan")
    if not lost:
        summary = f"all {planned} planned cases were measured"
        return verdict_on(ID, Outcome.PASS, subject.about, summary, figure, threshold)
    ends = tuple(_ends(subject))
    return verdict_on(
        ID, Outcome.INCONCLUSIVE, subject.about,
        f"{len(lost)} of {planned} planned cases were not measured: {sentences.listed(lost, 3)}"
        + (f"; {ends[0]}" if ends else ""),
        figure, threshold, (*ends, *_reasons(subject)),
        ends[0] if ends else "the cases themselves failed",
        f"{_mend(context, subject)}, then measure the rest: {sentences.resume(context.run)}",
    )  # fmt: skip


def _mend(context: Context, subject: Subject) -> str:
    """Where nobody knows why a launch broke, ``doctor`` looks at its nodes."""
    broken = [one.ended for one in subject.launches if one.ended.status not in ("ok", IMPORTED)]
    if not broken or any(one.culprits or one.changes for one in broken):
        return "mend what the launch says"
    return f"look for the cause with: {sentences.doctor(context.run)}; mend it"


def _ends(subject: Subject) -> list[str]:
    """What launches that did not end well say, each once."""
    said = [
        f"launch {launch.number}: {launch.ended.message}"
        for launch in subject.launches
        if launch.ended.message
    ]
    never = [
        f"launch {planned.number} was never started"
        for planned in subject.planned
        if not launches_of(subject, planned.number)
    ]
    return [*dict.fromkeys(said), *never]


def _reasons(subject: Subject) -> list[str]:
    return [
        f"launch {launch.number} {one.case}: {one.status}, {one.reason or 'no reason given'}"
        for launch in subject.launches
        for one in launch.measurements
        if one.status != "ok"
    ]


def _judge_logs(subject: Subject) -> Verdict:
    """A warning that names all that is missing; what was read is not the worse for it.

    Where a limit was reached nobody knows what the rest says: that decides nothing.
    """
    unread = (_nothing(launch) for launch in subject.launches if not launch.curves)
    cut_off = dict.fromkeys(f"{_where(o)}: {o.cut_off}" for o in subject.curves if o.cut_off)
    missing = (*unread, *_broken(subject), *cut_off, *_failed_rows(subject))
    unparsed = _unparsed(subject)
    tables = {(one.source, one.first_line) for one in subject.curves}
    figure = Figure(len(tables), "", "tables were read")
    files = sentences.counted(len(subject.launches), "file")
    read = f"{sentences.counted(len(tables), 'table')} of {files} read"
    if not missing:
        return verdict_on(
            ID, Outcome.PASS, subject.about, f"{read}{unparsed[0] if unparsed else ''}",
            figure, evidence=unparsed[1:],
        )  # fmt: skip
    limited = any(LIMITED in one for one in missing)
    return verdict_on(
        ID, Outcome.INCONCLUSIVE if limited else Outcome.WARN, subject.about,
        f"{read}, but {sentences.listed(missing, 3)}",
        figure, evidence=(*missing, *unparsed[1:]), cause=_OF_LOGS, remedy=_WHOLE_LOGS,
    )  # fmt: skip


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


def _failed_rows(subject: Subject) -> tuple[str, ...]:
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
