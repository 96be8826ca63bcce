"""Check whether MPI staged messages of GPU buffers through host memory, and what that costs.

A message that MPI stages is copied from the GPU to host memory, sent from there, and copied to the
other GPU: it cannot be faster than the slowest of the copies, however well they overlap.
"""

from collections.abc import Iterator

from fabricgauge.judge.streams import Stream
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.memory import DIRECT, STAGED, Copy
from fabricgauge.model.words import figures

#: A stream that is faster than a copy by this factor does not wait for it; copies vary by a few
#: percent.
FASTER = 1.2


def slowest_copy(stream: Stream) -> Copy | None:
    """Return the slowest copy that the stream's messages need if MPI stages them.

    None if no copy was timed, or for a ping-pong, whose copies and messages take turns.
    """
    measured = () if stream.series.is_latency else stream.measurements
    copies = (copy for case in measured for copy in _needed_copies(stream, case))
    return min(copies, key=lambda copy: copy.bytes_per_s, default=None)


def _needed_copies(stream: Stream, case: Measurement) -> Iterator[Copy]:
    series, rates = stream.series, stream.subject.evidence.copies
    for end in case.memory:
        at_origin = end.rank == case.origin
        node = series.origin if at_origin else series.target
        rate = rates.get(node, {}).get(case.message_bytes)
        if rate is None or end.kind == "host":
            continue
        sends = end.rank == case.sender
        if sends or stream.directions == 2:
            yield Copy(node, True, rate.to_host)
        if not sends or stream.directions == 2:
            yield Copy(node, False, rate.to_device)


def share(stream: Stream, copy: Copy) -> float:
    """Return the stream's figure as a share of what the copy carries."""
    return stream.best.bandwidth.value / copy.bytes_per_s


def way_of_messages(stream: Stream) -> tuple[str, str]:
    """Return ``STAGED`` or ``DIRECT`` and the evidence; two empty words if unknown."""
    subject, copy = stream.subject, slowest_copy(stream)
    if not any(end.kind != "host" for case in stream.measurements for end in case.memory):
        return "", ""
    if subject.evidence.over_tcp:
        return STAGED, "TCP connections carried them, and the kernel sends from host memory"
    transport = subject.run.carried_by(subject.name)
    for staging in (STAGED, DIRECT):
        if staging in transport:
            return staging, f"MPI reported that it used {transport}"
    if copy and share(stream, copy) > FASTER:
        return DIRECT, f"they are faster than {copy}"
    return "", ""


def evidence(stream: Stream) -> Iterator[str]:
    """Yield the copy's rate beside the figure, and whether messages were staged."""
    if copy := slowest_copy(stream):
        yield (
            f"{copy} carries {figures.rate(copy.bytes_per_s)}"
            f" {figures.at(stream.best.message_bytes)}; the figure is"
            f" {figures.percent(share(stream, copy))} of that"
        )
    staging, reason = way_of_messages(stream)
    if staging:
        yield f"messages of buffers on a GPU were {staging}: {reason}"
