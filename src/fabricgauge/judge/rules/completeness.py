"""Was everything measured that was planned? Are others' logs whole?"""

from collections.abc import Iterator

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject, case_names, launches_of
from fabricgauge.model.absence import Skipped
from fabricgauge.model.run import IMPORTED, INTERRUPTED, UNSTORED, Launch
from fabricgauge.model.suite import LIMITED, UNREADABLE
from fabricgauge.model.verdict import Figure, Outcome, Threshold
from fabricgauge.words import sentences

ID = "completeness"

_OF_LOGS = "a run or its log was ended early, or the file is none of a suite that can be read"
_WHOLE_LOGS = "import the whole logs, and only logs; what was read is judged all the same"


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    planned = sum(len(case_names(launch)) for launch in subject.planned)
    if subject.imported:
        return _of_logs(subject)
    if not planned:
        return Skipped("nothing was planned")
    lost = subject.missing
    figure = Figure(1 - len(lost) / planned, "share", f"of {planned} planned cases were measured")
    threshold = Threshold(1.0, "share", "equal to", "the run's own plan")
    if not lost:
        return Said(Outcome.PASS, _whole(subject, planned), figure, threshold)
    ends = _ends(subject)
    reasons = [
        f"launch {launch.number} {case.case}: {case.status}, {case.reason or 'no reason given'}"
        for launch in subject.launches
        for case in launch.measurements
        if case.status != "ok"
    ]
    cause = "the cases themselves failed" if reasons else "the stored records are not whole"
    return Said(
        Outcome.INCONCLUSIVE,
        f"{len(lost)} of {planned} planned cases were not measured: {sentences.listed(lost, 3)}"
        + (f"; {ends[0]}" if ends else ""),
        figure, threshold, (*ends, *reasons),
        ends[0] if ends else cause,
        f"{_mend(subject, bool(reasons))}measure the rest: {sentences.resume(subject.run)}",
    )  # fmt: skip


def _whole(subject: Subject, planned: int) -> str:
    """Judge a run's own cases; a case left out with a reason is a result, but no measurement."""
    cases = [case for launch in subject.launches for case in launch.measurements]
    left = [case for case in cases if case.status == "skipped"]
    if not left:
        return f"all {planned} planned cases were measured"
    return f"{len(left)} of {planned} planned cases were left out: {left[0].reason}"


def _mend(subject: Subject, failed: bool) -> str:
    """Return the remedy; ``doctor`` looks at the nodes if the cause of a broken launch is unknown.

    Nothing is to be mended where it was interrupted, or its records alone are lost.
    """
    broken = [
        launch.ended for launch in subject.launches if launch.ended.status not in ("ok", IMPORTED)
    ]
    if not failed and all(one.status == INTERRUPTED for one in broken):
        return ""
    if subject.run.fabric.simulated:
        return "look at what the simulator wrote (raw/*/stderr.txt of the run), then "
    known = (one.culprits or one.changes or one.status == UNSTORED for one in broken)
    if not broken or any(known):
        return "mend what the launch says, then "
    return f"look for the cause with: {sentences.doctor(subject.run)}; mend it, then "


def _ends(subject: Subject) -> list[str]:
    """Return the messages of launches that ended badly, and launches that never began."""
    told = (f"launch {launch.number}: {launch.ended.message}" for launch in subject.launches
            if launch.ended.message)  # fmt: skip
    never = (f"launch {one.number} was never started" for one in subject.planned
             if not launches_of(subject, one.number))  # fmt: skip
    return [*dict.fromkeys(told), *never]


def _of_logs(subject: Subject) -> Said:
    """Return a warning that names all missing parts; figures that were read stay valid.

    Where a limit was reached, the rest is not known: that decides nothing.
    """
    missing = tuple(_missing(subject))
    unparsed = tuple(_unparsed(subject))
    tables = {(curve.source, curve.first_line) for curve in subject.curves}
    figure = Figure(len(tables), "", "tables were read")
    files = sentences.counted(len(subject.launches), "file")
    read = f"{sentences.counted(len(tables), 'table')} of {files} read"
    waived = {
        (curve.source, curve.first_line)
        for curve in subject.curves
        for failure in curve.failures
        if failure.trouble == "waived"
    }
    if waived:
        tests = sentences.counted(len(waived), "test")
        read += f", {tests} of them waived by the suite as not for this machine"
    if not missing:
        return Said(Outcome.PASS, f"{read}{''.join(unparsed[:1])}", figure, None, unparsed[1:])
    limited = any(LIMITED in one for one in missing)
    return Said(
        Outcome.INCONCLUSIVE if limited else Outcome.WARN,
        f"{read}, but {sentences.listed(missing, 3)}",
        figure, None, (*missing, *unparsed[1:]), _OF_LOGS, _WHOLE_LOGS,
    )  # fmt: skip


def _missing(subject: Subject) -> Iterator[str]:
    """Files that hold nothing, files and tables that were read in part, rows without a figure."""
    read = [launch for launch in subject.launches if launch.curves]
    yield from (_nothing(launch) for launch in subject.launches if not launch.curves)
    for launch in read:
        for line in launch.unparsed:
            if line.reason.startswith(UNREADABLE):
                yield f"{line.source}:{line.line}: {line.reason}"
    curves = subject.curves
    yield from dict.fromkeys(
        f"{one.source}:{one.first_line} {one.benchmark}: {one.cut_off}"
        for one in curves
        if one.cut_off
    )
    yield from dict.fromkeys(
        f"{one.source}:{said.line} {one.benchmark}: the run broke: {said.text}"
        for one in curves
        for said in one.evidence.messages
        if said.kind == "broken"
    )
    yield from dict.fromkeys(
        f"{one.source}:{failure.line} {one.benchmark}: {failure.trouble}: {failure.text}"
        for one in curves
        for failure in one.failures
        if failure.trouble != "waived"
    )


def _nothing(launch: Launch) -> str:
    source = launch.ended.argv[-1] if launch.ended.argv else f"file {launch.number}"
    reasons = [one.reason for one in launch.unparsed]
    telling = [reason for reason in reasons if reason.startswith(UNREADABLE)] or reasons
    reason = f" ({telling[0]})" if telling else ""
    return f"{source} holds nothing that could be read{reason}"


def _unparsed(subject: Subject) -> Iterator[str]:
    """Yield how many lines were not understood, then each place; launchers write such lines."""
    found = [one for launch in subject.launches if launch.curves for one in launch.unparsed]
    if found:
        lines = sentences.counted(sum(one.count for one in found), "line")
        yield f"; {lines} between them not understood"
    for one in found:
        more = f" and {one.count - 1} more" if one.count > 1 else ""
        yield f"{one.source}:{one.line}{more}: {one.text or '(nothing)'} ({one.reason})"
