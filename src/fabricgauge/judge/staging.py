"""Whether MPI staged the messages of buffers on a GPU through host memory, and what that costs.

A message that MPI stages is copied from the GPU to host memory, sent from there, and copied to the
other GPU: it cannot be faster than the slowest of the copies, however well they overlap.
"""

from collections.abc import Iterator

from fabricgauge.judge.streams import Stream
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.memory import DIRECT, STAGED, Copy
from fabricgauge.words import figures

#: A stream that is so much faster than a copy does not wait for it; copies vary by a few percent.
FASTER = 1.2


def slowest_copy(stream: Stream) -> Copy | None:
    """Of those that the stream's messages need if MPI stages them; None where none was timed.

    None for a ping-pong as well, whose copies and messages take turns.
    """
    measured = () if stream.series.is_latency else stream.measurements
    copies = (copy for one in measured for copy in _needed(stream, one))
    return min(copies, key=lambda copy: copy.bytes_per_s, default=None)


def _needed(stream: Stream, one: Measurement) -> Iterator[Copy]:
    series, rates = stream.series, stream.subject.evidence.copies
    for end in one.memory:
        at_origin = end.rank == one.origin
        node = series.origin if at_origin else series.target
        at = rates.get(node, {}).get(one.message_bytes)
        if at is None or end.kind == "host":
            continue
        sends = end.rank == one.sender
        if sends or stream.directions == 2:
            yield Copy(node, True, at.to_host)
        if not sends or stream.directions == 2:
            yield Copy(node, False, at.to_device)


def share(stream: Stream, copy: Copy) -> float:
    """The stream's figure as a share of what the copy carries."""
    return stream.best.bandwidth.value / copy.bytes_per_s


def way_of_messages(stream: Stream) -> tuple[str, str]:
    """``STAGED`` or ``DIRECT`` and how that is known; two empty words where nothing is."""
    subject, copy = stream.subject, slowest_copy(stream)
    if not any(end.kind != "host" for one in stream.measurements for end in one.memory):
        return "", ""
    if subject.evidence.over_tcp:
        return STAGED, "TCP connections carried them, and the kernel sends from host memory"
    said = subject.run.carried_by(subject.name)
    for way in (STAGED, DIRECT):
        if way in said:
            return way, f"by what MPI said that it used: {said}"
    if copy and share(stream, copy) > FASTER:
        return DIRECT, f"they are faster than {copy}"
    return "", ""


def evidence(stream: Stream) -> Iterator[str]:
    """What the copy carries beside the figure, and which way messages took; nothing without GPU."""
    if copy := slowest_copy(stream):
        yield (
            f"{copy} carries {figures.rate(copy.bytes_per_s)}"
            f" {figures.at(stream.best.message_bytes)}; the figure is"
            f" {figures.percent(share(stream, copy))} of that"
        )
    way, known = way_of_messages(stream)
    if way:
        yield f"messages of buffers on a GPU were {way}: {known}"
