"""Did every byte arrive as it was sent?"""

from collections.abc import Iterator

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.verdict import Outcome
from fabricgauge.words import figures, patterns

ID = "data"

_CAUSE = "memory, a network interface or a driver corrupts data, or the MPI's transport does"
_REMEDY = (
    "measure with another MPI transport; if the fault stays, test both nodes' memory"
    " and exchange the interface"
)


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    asked = [
        (launch.number, case)
        for launch in subject.launches
        for case in launch.measurements
        if _is_compared(case)
    ]
    told = tuple(_sentence(*each) for each in asked if _is_bad(each[1])) or tuple(
        dict.fromkeys(
            f"{curve.source}:{one.line}: {curve.benchmark} itself found wrong data: {one.text}"
            for curve in subject.curves
            for one in curve.failures
            if one.trouble == "corrupt"
        )
    )
    checked = [one for _, one in asked if one.status == "ok" and one.message_bytes]
    if told:
        return Said(Outcome.FAIL, told[0], None, None, told, _CAUSE, _REMEDY)
    if not checked:
        return Skipped(
            f"bytes were not compared: {'no check was reached' if asked else _why_not(subject)}"
        )
    whole = all(one.data_check.requested for one in checked)
    what = "every byte" if whole else "the first sample"
    return Said(
        Outcome.PASS, f"{what} of {len(checked)} cases arrived as it was sent",
        evidence=tuple(_uncompared(subject)),
    )  # fmt: skip


def _why_not(subject: Subject) -> str:
    if subject.imported or subject.by_suite:
        return "another suite measured"
    return "nothing carried bytes that this engine could compare"


def _uncompared(subject: Subject) -> Iterator[str]:
    """Patterns of which no case was compared, though they carried bytes."""
    carried = [
        case
        for launch in subject.launches
        for case in launch.measurements
        if case.status == "ok" and case.message_bytes
    ]
    compared = {one.pattern for one in carried if _is_compared(one)}
    for pattern in dict.fromkeys(one.pattern for one in carried):
        if pattern not in compared:
            yield f"{patterns.sentence(pattern)}: bytes were not compared"


def _is_compared(one: Measurement) -> bool:
    return one.data_check.requested or one.data_check.samples > 0


def _is_bad(one: Measurement) -> bool:
    """Check whether bytes differ; a case without a check found nothing wrong."""
    came = one.status == "ok" or one.data_check.first_bad_offset_bytes is not None
    return came and not one.data_check.ok


def _sentence(launch: int, measurement: Measurement) -> str:
    check = measurement.data_check
    offset = check.first_bad_offset_bytes
    at = "" if offset is None else f", first at offset {offset} bytes"
    detail = f" ({check.detail})" if check.detail else ""
    return (
        f"launch {launch}, case {measurement.case}: received bytes differ from those sent"
        f" in a message of {figures.size(measurement.message_bytes)}{at}{detail}"
    )
