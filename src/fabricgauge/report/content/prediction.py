"""On which of two stacks an application communicates faster, and at which sizes."""

from fabricgauge.model.prediction import Bounds, PredictedMix, Prediction, Span
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import duration, percent, ratio, size
from fabricgauge.words.sentences import counted

HOW = (
    "Lower bound, by medians: messages follow each other as in a one-way stream, and nothing else"
    " runs. Upper bound, by means, which have the delays of the check: each message waits for its"
    " half round trip on both ends, while all ranks of its node send. Messages within a node,"
    " waiting for late ranks and overlap with computing are in neither."
)

#: An upper bound whose interval is wider than this factor is of delays.
DELAYED = 2.0

COLUMNS = (
    "call", "least_bytes", "calls", "a_least_s", "a_most_s", "b_least_s", "b_most_s", "how"
)  # fmt: skip


def data(found: Prediction, _setting: Setting) -> dict[str, object]:
    return identified("prediction", "1.1", headline=headline(found), prediction=found)


def records(found: Prediction, _setting: Setting) -> Records:
    rows = (
        (one.call, one.least_bytes, one.calls, one.a.least.value, one.a.most.value,
         one.b.least.value, one.b.most.value, one.how)
        for one in found.rows
    )  # fmt: skip
    return Records(COLUMNS, rows)


def headline(found: Prediction) -> str:
    """Who wins, or why nobody does."""
    spans = f"{_times(found.least_ratio)} at the least, {_times(found.most_ratio)} at the most"
    if found.winner != "undecided":
        name = found.a_name if found.winner == "a" else found.b_name
        return f"{found.program} communicates faster on {name}: B takes {spans} of A's time"
    if found.invalid:
        return f"{found.program}: nothing can be predicted: {found.invalid[0]}"
    if not found.rows:
        return f"{found.program}: no curve of both stacks fits what it sends to other nodes"
    if found.covered < 1.0:
        spans += f"; the curves cover {percent(found.covered)} of the calls between nodes"
    return f"whether A or B is faster for {found.program} is not decided: B takes {spans}"


def _times(one: Span) -> str:
    return f"{ratio(one.value)} times ({ratio(one.low)} to {ratio(one.high)})"


def document(found: Prediction, _setting: Setting) -> doc.Report:
    notes = (*found.invalid, *found.cautions, *waiting(found), *delayed(found))
    decided = found.winner != "undecided"
    of = f"A: {found.a_name}; B: {found.b_name}"
    left = doc.RowLimit("and {count} more", {doc.TEXT: 8})
    return doc.Report(
        word="PREDICTED" if decided else "UNDECIDED", tone="" if decided else "inconclusive",
        headline=headline(found), title="fabricgauge compare", about=f"fabricgauge · {of}",
        under=(doc.Paragraph(of),),
        sections=(
            doc.Section("notes", "Before you believe it", (doc.Items(notes),)),
            doc.Section("sum", "Time in communication between nodes, per rank", (_sum(found),)),
            doc.Section("rows", "Where the difference is made", (_rows(found),)),
            doc.Section(
                "left-out", "Without a curve on both", (doc.Items(found.left_out, limit=left),)
            ),
            doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),)),
        ),
    )  # fmt: skip


def waiting(found: Prediction) -> tuple[str, ...]:
    """That the profile's own run took longer than both stacks would: it waited."""
    if not found.unexplained_s:
        return ()
    most_s = found.recorded_s - found.unexplained_s
    return (
        f"the run that was profiled spent {duration(found.recorded_s / found.ranks)} per rank in"
        f" these calls, more than the {duration(most_s / found.ranks)} that either stack is"
        " predicted to take: its ranks waited for each other, or longer for a processor than those"
        " of the check. No winner is named within that difference: launch the program on both",
    )


def delayed(found: Prediction) -> tuple[str, ...]:
    """The stacks whose upper bound is mostly delays that medians leave out, or chance."""
    return tuple(
        f"with all ranks at once {name} takes from {duration(one.low / found.ranks)} to"
        f" {duration(one.high / found.ranks)} per rank: messages of its check were delayed, as they"
        " are where other programs use the processors. Measure both stacks in turns on idle nodes"
        for name, one in ((found.a_name, found.a.most), (found.b_name, found.b.most))
        if one.high > DELAYED * one.low
    )


def _sum(found: Prediction) -> doc.Table:
    def row(name: str, one: Bounds) -> tuple[str, ...]:
        each = (one.least.value / found.ranks, one.most.value / found.ranks)
        return (name, *map(duration, each))

    columns = doc.heads("stack", ">without contention", ">all ranks at once")
    return doc.Table(columns, (row(found.a_name, found.a), row(found.b_name, found.b)))


def _rows(found: Prediction) -> doc.Table:
    every = sum(abs(_difference(one)) for one in found.rows) or 1.0
    rows = tuple(
        (
            f"MPI_{one.call}", "–" if one.least_bytes is None else f"from {size(one.least_bytes)}",
            f"{one.calls:,}", duration(one.a.most.value), duration(one.b.most.value),
            percent(abs(_difference(one)) / every), one.how,
        )
        for one in found.rows
    )  # fmt: skip
    columns = doc.heads("call", "=size", ">calls", ">A at most", ">B at most", ">of difference",
                        "from")  # fmt: skip
    limit = doc.RowLimit(f"and {{count}} more of {counted(len(rows), 'row')}", {doc.TEXT: 12})
    return doc.Table(columns, rows, limit=limit)


def _difference(one: PredictedMix) -> float:
    return one.a.most.value - one.b.most.value


KIND = Kind("prediction", document, data, records)
