"""Did every byte arrive as it was sent?"""

from fabricgauge.judge.interface import Context, verdict_on
from fabricgauge.judge.subject import Subject
from fabricgauge.model.measurement import DataCheck, Measurement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.words import figures

ID = "data"
TITLE = "Received bytes are those that were sent"


def judge(context: Context) -> tuple[Verdict, ...]:
    return tuple(_judge(subject) for subject in context.subjects)


def _judge(subject: Subject) -> Verdict:
    checked = [
        (launch, one)
        for launch in subject.launches
        for one in launch.measurements
        if one.data_check.requested and one.status == "ok"
    ]
    bad = [
        (launch, one)
        for launch in subject.launches
        for one in launch.measurements
        if one.data_check.requested and not one.data_check.ok and not _unread(one)
    ]
    if bad:
        return _failed(subject, tuple(_sentence(*one) for one in bad))
    corrupt = dict.fromkeys(
        f"{curve.source}:{one.line}: {curve.benchmark} itself found wrong data: {one.text}"
        for curve in subject.curves
        for one in curve.failures
        if one.trouble == "corrupt"
    )
    if corrupt:
        return _failed(subject, tuple(corrupt))
    if not checked:
        return verdict_on(ID, Outcome.SKIPPED, subject.about, "the data check was not asked for")
    summary = f"every byte of {len(checked)} cases arrived as it was sent"
    return verdict_on(ID, Outcome.PASS, subject.about, summary)


def _unread(measurement: Measurement) -> bool:
    """A case that never came to its check has found nothing wrong."""
    check: DataCheck = measurement.data_check
    return measurement.status != "ok" and check.first_bad_offset_bytes is None


def _failed(subject: Subject, sentences: tuple[str, ...]) -> Verdict:
    return verdict_on(
        ID, Outcome.FAIL, subject.about, sentences[0], evidence=sentences,
        cause="memory, a network interface or a driver corrupts data, or the MPI's transport does",
        remedy="measure with another MPI transport; if the fault stays, test both nodes' memory"
        " and exchange the interface",
    )  # fmt: skip


def _sentence(launch: Launch, measurement: Measurement) -> str:
    check = measurement.data_check
    at = ""
    if check.first_bad_offset_bytes is not None:
        at = f", first at offset {check.first_bad_offset_bytes} bytes"
    detail = f" ({check.detail})" if check.detail else ""
    return (
        f"launch {launch.number}, case {measurement.case}: received bytes differ from those sent"
        f" in a message of {figures.size(measurement.message_bytes)}{at}{detail}"
    )
