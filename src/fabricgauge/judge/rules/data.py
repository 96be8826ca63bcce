"""Check that every byte arrived as it was sent."""

from collections.abc import Iterator

from fabricgauge.judge.interface import Subject, judge_networks
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.model.words import figures, patterns, sentences

ID = "data"

_CAUSE = "memory, a network interface or a driver corrupts data, or the MPI's transport does"
_REMEDY = (
    "measure with another MPI transport; if the fault stays, test both nodes' memory"
    " and exchange the interface"
)


@judge_networks(ID)
def judge(subject: Subject) -> Verdict | Skipped:
    compared = [
        (launch.number, case)
        for launch in subject.launches
        for case in launch.measurements
        if _is_compared(case)
    ]
    by_suite = dict.fromkeys(
        f"{curve.source}:{failure.line}: {curve.benchmark} itself detected wrong data:"
        f" {failure.text}"
        for curve in subject.curves
        for failure in curve.failures
        if failure.trouble == "corrupt"
    )
    # Without a check a case has no wrong bytes.
    bad = [
        _sentence(number, case)
        for number, case in compared
        if not case.data_check.ok
        and (case.status == "ok" or case.data_check.first_bad_offset_bytes is not None)
    ]
    lines = tuple(bad) or tuple(by_suite)
    checked = [case for _, case in compared if case.status == "ok" and case.message_bytes]
    if lines:
        return Verdict(Outcome.FAIL, lines[0], None, None, lines, _CAUSE, _REMEDY)
    if not checked:
        reason = "no case carried bytes that this engine can compare"
        if compared:
            reason = "no case with a check completed"
        elif subject.imported or subject.by_suite:
            reason = "another suite measured"
        return Skipped(f"bytes were not compared: {reason}")
    is_whole = all(case.data_check.requested for case in checked)
    part = "every byte" if is_whole else "the first sample"
    return Verdict(
        Outcome.PASS, f"{part} of {sentences.counted(len(checked), 'case')} arrived as it was sent",
        evidence=tuple(_uncompared(subject)),
    )  # fmt: skip


def _uncompared(subject: Subject) -> Iterator[str]:
    carried = [case for _, case in subject.cases() if case.message_bytes]
    compared = {case.pattern for case in carried if _is_compared(case)}
    for pattern in dict.fromkeys(case.pattern for case in carried):
        if pattern not in compared:
            yield f"{patterns.sentence(pattern)}: bytes were not compared"


def _is_compared(case: Measurement) -> bool:
    check = case.data_check
    return check.requested or check.samples > 0 or not check.ok


def _sentence(launch: int, measurement: Measurement) -> str:
    check = measurement.data_check
    offset = check.first_bad_offset_bytes
    at = "" if offset is None else f", first at offset {offset} bytes"
    detail = f" ({check.detail})" if check.detail else ""
    return (
        f"launch {launch}, case {measurement.case}: received bytes differ from those sent"
        f" in a message of {figures.size(measurement.message_bytes)}{at}{detail}"
    )
