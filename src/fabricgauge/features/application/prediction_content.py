"""``compare --mix``: predict an application's communication time on A and on B, and show it."""

import math
from pathlib import Path
from typing import Any

from fabricgauge.cli.show import print_report
from fabricgauge.compare.sides import find_side, with_doubts
from fabricgauge.features.application.prediction import (
    Bounds,
    PredictedMix,
    Prediction,
    Span,
    predict,
)
from fabricgauge.features.application.profile import find_profile
from fabricgauge.model.words.figures import duration, percent, ratio, signed, size
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, versioned

HOW = (
    "Lower bound, by medians: messages follow each other as in a one-way stream, and nothing else"
    " runs. Upper bound, by means, which have the delays of the check: each message waits for its"
    " half round trip on both ends, while all ranks of its node send. Messages within a node,"
    " waiting for late ranks and overlap with computing are in neither."
)

#: An upper bound with a wider interval than this factor consists of delays.
DELAYED = 2.0

#: Call sites whose gain the headline states: those that moved the most bytes.
MOST_GAINS = 5

COLUMNS = (
    "call", "least_bytes", "calls", "a_least_s", "a_most_s", "b_least_s", "b_most_s", "how", "site",
    "gain",
)  # fmt: skip


def data(prediction: Prediction, _setting: Setting) -> dict[str, object]:
    return versioned("prediction", "1.2", headline=headline(prediction), prediction=prediction)


def records(prediction: Prediction, _setting: Setting) -> Records:
    rows = (
        (row.call, row.least_bytes, row.calls, row.a.least.value, row.a.most.value,
         row.b.least.value, row.b.most.value, row.how, row.site or None, row.gain)
        for row in prediction.rows
    )  # fmt: skip
    return Records(COLUMNS, rows)


def headline(prediction: Prediction) -> str:
    """Name the winner, or the reason why there is none."""
    spans = f"{_times(prediction.least_ratio)} at the least,"
    spans += f" {_times(prediction.most_ratio)} at the most"
    if prediction.winner != "undecided":
        name = prediction.a_name if prediction.winner == "a" else prediction.b_name
        if prediction.by_site:
            return _site_headline(prediction)
        return f"{prediction.program} communicates faster on {name}: B takes {spans} of A's time"
    if prediction.invalid:
        return f"{prediction.program}: no prediction: {prediction.invalid[0]}"
    if not prediction.rows:
        return f"{prediction.program}: no curve of both stacks fits what it sends to other nodes"
    if prediction.covered < 1.0:
        spans += f"; the curves cover {percent(prediction.covered)} of the calls between nodes"
    return f"undecided whether A or B is faster for {prediction.program}: B takes {spans}"


def _site_headline(prediction: Prediction) -> str:
    """Return the answer for the sites with curves: their ratio, and B's gain at the largest."""
    largest = sorted(prediction.rows, key=lambda row: -row.bytes)[:MOST_GAINS]
    gains = ", ".join(f"{signed(row.gain)} at site {row.site}" for row in largest)
    spans = (prediction.least_ratio, prediction.most_ratio)
    ratios = " to ".join(dict.fromkeys(ratio(1 / span.value) for span in spans))
    return (
        f"{prediction.program}: its messages take {ratios} times as long on {prediction.a_name}"
        f" as on {prediction.b_name}, which gains {gains};"
        f" the curves cover {counted(len(prediction.rows), 'site')},"
        f" {percent(prediction.covered)} of the calls"
    )


def _times(span: Span) -> str:
    return f"{ratio(span.value)} times ({ratio(span.low)} to {ratio(span.high)})"


def document(prediction: Prediction, _setting: Setting) -> doc.Report:
    notes = (*prediction.invalid, *prediction.cautions, *waiting(prediction), *delayed(prediction))
    decided = prediction.winner != "undecided"
    names = f"A: {prediction.a_name}; B: {prediction.b_name}"
    limit = doc.RowLimit("and {count} more", {doc.TEXT: 8})
    return doc.Report(
        word="PREDICTED" if decided else "UNDECIDED", tone="" if decided else "inconclusive",
        headline=headline(prediction), title="fabricgauge compare", about=f"fabricgauge · {names}",
        under=(doc.Paragraph(names),),
        sections=(
            doc.Section("notes", "Caveats", (doc.Items(notes),)),
            doc.Section(
                "sum", f"Time in communication between nodes, {_whose(prediction)}",
                (_sum(prediction),)
            ),
            doc.Section("rows", "Difference by call", (_rows(prediction),)),
            doc.Section(
                "left-out", "Calls without a curve of both stacks",
                (doc.Items(prediction.left_out, limit=limit),)
            ),
            doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),)),
        ),
    )  # fmt: skip


def _whose(prediction: Prediction) -> str:
    return "per rank" if prediction.ranks else "all ranks together"


def waiting(prediction: Prediction) -> tuple[str, ...]:
    """Warn if the profiled run took longer than both stacks would: it waited."""
    if not prediction.unexplained_s:
        return ()
    most_s, ranks = prediction.recorded_s - prediction.unexplained_s, max(1, prediction.ranks)
    return (
        f"the profiled run spent {duration(prediction.recorded_s / ranks)} {_whose(prediction)} in"
        f" these calls, more than the {duration(most_s / ranks)} predicted for either"
        " stack: its ranks waited for each other, or longer for a processor than those of the"
        " check. No winner is named within that difference: launch the program on both",
    )


def delayed(prediction: Prediction) -> tuple[str, ...]:
    """Warn about stacks whose upper bound is mostly chance, or delays that medians leave out."""
    ranks = max(1, prediction.ranks)
    return tuple(
        f"with all ranks at once {name} takes from {duration(upper.low / ranks)} to"
        f" {duration(upper.high / ranks)} {_whose(prediction)}: messages of its check were delayed,"
        " as when other programs use the processors. Measure both stacks in turns on idle nodes"
        for name, upper in (
            (prediction.a_name, prediction.a.most),
            (prediction.b_name, prediction.b.most),
        )
        if upper.high > DELAYED * upper.low
    )


def _sum(prediction: Prediction) -> doc.Table:
    def row(name: str, bounds: Bounds) -> tuple[str, ...]:
        ranks = max(1, prediction.ranks)  # unknown: the sum over all ranks
        per_rank_s = (bounds.least.value / ranks, bounds.most.value / ranks)
        return (name, *map(duration, per_rank_s))

    columns = doc.heads("stack", ">without contention", ">all ranks at once")
    ratios = [span.value for span in (prediction.least_ratio, prediction.most_ratio)]
    shown = (ratio(1 / value) if math.isfinite(value) and value else "–" for value in ratios)
    rows = [row(prediction.a_name, prediction.a), row(prediction.b_name, prediction.b)]
    return doc.Table(columns, (*rows, ("A ÷ B", *shown)))


def _rows(prediction: Prediction) -> doc.Table:
    total_s = sum(abs(_difference(row)) for row in prediction.rows) or 1.0
    sited = any(row.site for row in prediction.rows)
    rows = tuple(
        (
            f"MPI_{row.call}", *((row.site,) if sited else ()),
            "–" if row.least_bytes is None else f"from {size(row.least_bytes)}",
            f"{row.calls:,}", duration(row.a.most.value), duration(row.b.most.value),
            signed(row.gain), percent(abs(_difference(row)) / total_s), row.how,
        )
        for row in prediction.rows
    )  # fmt: skip
    columns = doc.heads(
        "call", *((">site",) if sited else ()), "=size", ">calls", ">A at most", ">B at most",
        ">B gains", ">of difference", "from",
    )  # fmt: skip
    limit = doc.RowLimit(f"and {{count}} more of {counted(len(rows), 'row')}", {doc.TEXT: 12})
    return doc.Table(columns, rows, limit=limit)


def _difference(mix: PredictedMix) -> float:
    return mix.a.most.value - mix.b.most.value


KIND = Kind("prediction", document, data, records)


def predict_times(a: str, b: str, root: Path, options: dict[str, Any]) -> None:
    """Print the communication time of an application on both sides."""
    prediction = predict_sides(a, b, options["mix"], root)
    print_report("prediction", prediction, options["format"], options["to"])


def predicted_blocks(a: str, b: str, mix: str, root: Path) -> tuple[doc.Block, ...]:
    """Return a prediction as a part of another report: its headline, sums and rows."""
    prediction = predict_sides(a, b, mix, root)
    sections = document(prediction, Setting()).sections
    shown = [section for section in sections if section.ident in ("sum", "rows", "left-out")]
    return (
        doc.Paragraph(headline(prediction), kind="strong"),
        *(block for section in shown for block in section.blocks),
    )


def predict_sides(a: str, b: str, named_mix: str, root: Path) -> Prediction:
    """Predict the messages of a profile on two sides of a comparison."""
    mix = find_profile(named_mix, root)
    sides = find_side(a, root), find_side(b, root)
    side_a, side_b = map(with_doubts, sides)
    invalid = [
        f"{letter} is {reason}"
        for letter, doubted_side in (("A", side_a), ("B", side_b))
        for reason in doubted_side.invalid[:1]
    ]
    return predict(
        mix, side_a.name, sides[0].curves, side_b.name, sides[1].curves,
        tuple(dict.fromkeys((*side_a.notes, *side_b.notes))), invalid,
    )  # fmt: skip
