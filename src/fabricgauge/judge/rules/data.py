"""Did every byte arrive as it was sent?"""

from fabricgauge.judge.interface import Said, of_networks
from fabricgauge.judge.subject import Subject
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.verdict import Outcome
from fabricgauge.words import figures

ID = "data"

_CAUSE = "memory, a network interface or a driver corrupts data, or the MPI's transport does"
_REMEDY = (
    "measure with another MPI transport; if the fault stays, test both nodes' memory"
    " and exchange the interface"
)


@of_networks(ID)
def judge(subject: Subject) -> Said | Skipped:
    asked = [
        (launch.number, one)
        for launch in subject.launches
        for one in launch.measurements
        if one.data_check.requested
    ]
    told = tuple(_sentence(*each) for each in asked if _is_bad(each[1])) or tuple(
        dict.fromkeys(
            f"{curve.source}:{one.line}: {curve.benchmark} itself found wrong data: {one.text}"
            for curve in subject.curves
            for one in curve.failures
            if one.trouble == "corrupt"
        )
    )
    checked = sum(one.status == "ok" for _, one in asked)
    if told:
        return Said(Outcome.FAIL, told[0], None, None, told, _CAUSE, _REMEDY)
    if not checked:
        return Skipped(f"the data check was not {'reached' if asked else 'asked for'}")
    return Said(Outcome.PASS, f"every byte of {checked} cases arrived as it was sent")


def _is_bad(one: Measurement) -> bool:
    """A case that never came to its check has found nothing wrong."""
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
