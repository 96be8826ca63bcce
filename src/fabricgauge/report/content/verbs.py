"""What queue pairs and registered memory took, of a launch whose data went over verbs."""

from collections.abc import Iterator

from fabricgauge.model.run import Launch
from fabricgauge.report import document as doc
from fabricgauge.words.figures import amount, duration

_HEADS = (
    "case", ">rank", ">queue pairs", ">made in", ">connected in", ">process grew by", ">memory",
    ">registered in", ">released in",
)  # fmt: skip
_SAID = (
    "What each case's queue pairs and its memory took on either side, outside of what is timed; one"
    " reading each. What kernel and adapter keep for a queue pair is not in the process."
)


def connections(launch: Launch) -> Iterator[doc.Block]:
    """A table of what was made for each case; nothing over MPI."""
    rows = tuple(
        (
            measured.case, str(one.rank), str(one.queue_pairs), duration(one.create_s),
            duration(one.connect_s), amount(one.resident_bytes), amount(one.registered_bytes),
            duration(one.register_s), duration(one.release_s),
        )
        for measured in launch.measurements for one in measured.connections
    )  # fmt: skip
    if rows:
        yield doc.Paragraph(_SAID)
        yield doc.Table(doc.heads(*_HEADS), rows)
