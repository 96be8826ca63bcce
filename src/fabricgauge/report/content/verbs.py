"""Show the cost of queue pairs and registered memory, for a launch whose data went over verbs."""

from collections.abc import Callable, Iterator

from fabricgauge.model.measurement import VerbsConnection
from fabricgauge.model.run import Launch
from fabricgauge.model.words.figures import amount, duration
from fabricgauge.report import document as doc

_HEADS = (
    "case", ">rank", ">queue pairs", ">made in", ">connected in", ">process grew by", ">memory",
    ">registered in", ">released in",
)  # fmt: skip
_SAID = (
    "Cost of each case's queue pairs and memory on either side, outside of the timed part."
    " Registering and releasing are medians, with the least and the most; the rest are single"
    " readings. The process does not include the memory of kernel and adapter."
)


def connections(launch: Launch) -> Iterator[doc.Block]:
    """Yield a table with the cost of each case; nothing over MPI."""
    entries = [(case.case, used) for case in launch.measurements for used in case.connections]
    rows = tuple(
        (
            case, str(used.rank), str(used.queue_pairs), duration(used.create_s),
            duration(used.connect_s), amount(used.resident_bytes), amount(used.registered_bytes),
            _within(used.register_s, used.register_bounds_s),
            _within(used.release_s, used.release_bounds_s),
        )
        for case, used in entries
    )  # fmt: skip
    if not rows:
        return
    yield doc.Paragraph(_SAID)
    yield doc.Table(doc.heads(*_HEADS), rows)
    largest = max((used for _, used in entries), key=lambda used: used.queue_pairs)
    if largest.queue_pairs >= ENOUGH_TO_DIVIDE:
        yield from _at_scale(largest)


def _within(median_s: float, bounds_s: tuple[float, ...]) -> str:
    bounds = f" ({' to '.join(map(duration, bounds_s))})" if bounds_s else ""
    return f"{duration(median_s)}{bounds}"


#: Fewest queue pairs for an average: a single one adds whole pages or nothing.
ENOUGH_TO_DIVIDE = 64
#: Queue pairs of an adapter if each of the ``m`` ranks on each of ``n`` nodes talks to all others
#: (InfiniBand Architecture Specification Volume 1, 3.2.2 and annex A14 for XRC).
TRANSPORTS: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("reliable or unreliable connections", "M²N", lambda m, n: m * m * n),
    ("extended reliable connections (XRC)", "MN", lambda m, n: m * n),
    ("datagrams", "M", lambda m, _: m),
    ("raw packets", "1", lambda _m, _n: 1),
)
_CLUSTERS = ((8, 16), (64, 128), (128, 1024))


def _at_scale(measured: VerbsConnection) -> Iterator[doc.Block]:
    """Yield the computed number and memory of an adapter's queue pairs at larger scale."""
    pair_bytes = measured.resident_bytes / measured.queue_pairs
    yield doc.Paragraph(
        f"Computed: queue pairs of one adapter if all M ranks on each of N nodes talk to each"
        f" other, and their memory by the {amount(round(pair_bytes))} that each of"
        f" {measured.queue_pairs:,} took of the process of rank {measured.rank} here. Queues of"
        " other lengths take more or less."
    )
    heads = doc.heads("transport", "queue pairs", *(f">M = {m:,}, N = {n:,}" for m, n in _CLUSTERS))
    yield doc.Table(heads, tuple(
        (name, formula, *(f"{count(m, n):,}, {amount(round(count(m, n) * pair_bytes))}"
                          for m, n in _CLUSTERS))
        for name, formula, count in TRANSPORTS
    ))  # fmt: skip
