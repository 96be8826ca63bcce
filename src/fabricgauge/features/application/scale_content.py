"""Show an application at several numbers of nodes: times, speed-up, efficiency, and their proof."""

import math
from collections.abc import Callable, Iterator

from fabricgauge.features.application.scaling import Scaled, ScalePoint
from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import digits, duration, half_width, percent, ratio
from fabricgauge.model.words.sentences import command, counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import Line, Mark, Picture, PlotCurve

_FINE = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)

HOW = (
    "Launches take turns: in each block every setting and number of nodes has one, in random"
    " order. Time is that from MPI_Init to MPI_Finalize of the slowest rank. Speed-up is"
    " against the fewest nodes within the same block; efficiency is that divided by the factor by"
    " which the number of nodes grew. An interval goes from the least block to the largest."
    " Placement and path are proved around each launch, as in check."
)
HOW_WEAK = (
    " The problem grows with the nodes: speed-up is of the work per time, and efficiency is the"
    " time on the fewest nodes divided by the time."
)
HOW_METRIC = " Speed-up and efficiency are those of {}, which the program prints; more is better."

#: Meaning of the word: it judges the launches, never the program's scaling.
MEANING = {
    Outcome.PASS: "PASS means: every launch completed, ran on its own nodes and used the intended"
    " network. It does not judge the speed-up.",
    Outcome.INVALID: "INVALID means: a launch ran on other nodes, or another network carried its"
    " bytes. Its time is left out.",
    Outcome.INCONCLUSIVE: "INCONCLUSIVE means: a launch is missing or failed, or its nodes or its"
    " network could not be proved.",
}

COLUMNS = (
    "setting", "nodes", "ranks", "outcome", "time_s", "time_low_s", "time_high_s", "speedup",
    "speedup_low", "speedup_high", "efficiency", "efficiency_low", "efficiency_high", "mpi_share",
    "launches", "confidence", "metric", "metric_low", "metric_high",
)  # fmt: skip


def overall(scaled: Scaled) -> Outcome:
    """Return INVALID if a launch used another network, INCONCLUSIVE without a figure, else PASS."""
    outcomes = [point.outcome for point in scaled.points]
    if Outcome.INVALID in outcomes:
        return Outcome.INVALID
    complete = scaled.complete and all(
        isinstance(point.time, Estimate) and not isinstance(point.metric, Skipped)
        for point in scaled.points
    )
    if complete and all(outcome in _FINE for outcome in outcomes):
        return Outcome.PASS
    return Outcome.INCONCLUSIVE


def data(scaled: Scaled, _setting: Setting) -> dict[str, object]:
    outcome, sentence = overall(scaled), headline(scaled)
    return versioned("scale", "1.1", overall=outcome, headline=sentence, scale=scaled)


def records(scaled: Scaled, _setting: Setting) -> Records:
    rows = (
        (
            _setting_of(scaled, point), point.nodes, point.ranks, point.outcome.value,
            *_ends(point.time),
            *_ends(point.speedup), *_ends(point.efficiency), _ends(point.mpi_share)[0],
            *((point.time.launches, point.time.confidence) if isinstance(point.time, Estimate)
              else (0, None)),
            *((None, None, None) if point.metric is None else _ends(point.metric)),
        )
        for point in scaled.points
    )  # fmt: skip
    return Records(COLUMNS, rows)


def _ends(figure: Estimate | Skipped) -> tuple[float | None, float | None, float | None]:
    return (
        (None, None, None)
        if isinstance(figure, Skipped)
        else (figure.value, figure.low, figure.high)
    )


def headline(scaled: Scaled) -> str:
    """Return the speed-up at the largest number of nodes."""
    name = scaled.program[0].rsplit("/", 1)[-1]
    invalid = next((point for point in scaled.points if point.outcome is Outcome.INVALID), None)
    if invalid:
        return f"{name} on {counted(invalid.nodes, 'node')}: {invalid.summary}"
    measured = [point for point in scaled.points if isinstance(point.speedup, Estimate)]
    if not measured:
        return f"{name}: no launch gave a figure"
    largest = max(point.nodes for point in measured)
    speedups = "; ".join(
        f"{_setting_of(scaled, point)}{': ' if len(point.levels) else ''}"
        f"{ratio(point.speedup.value)} times as fast, efficiency {percent(point.efficiency.value)}"
        for point in measured
        if point.nodes == largest
        if isinstance(point.speedup, Estimate) and isinstance(point.efficiency, Estimate)
    )
    fewest = scaled.design.factors[-1].levels[0]
    subject = f"{name}, {scaled.metric.name}," if scaled.metric else name
    weak = ", weak scaling" if scaled.weak else ""
    return f"{subject} on {counted(largest, 'node')} against {fewest}{weak}: {speedups}"


def _setting_of(scaled: Scaled, point: ScalePoint) -> str:
    """Return its levels; for several factors each with its name."""
    if len(point.levels) == 1:
        return point.levels[0]
    names = (factor.name for factor in scaled.design.factors)
    return ", ".join(f"{name}={level}" for name, level in zip(names, point.levels, strict=False))


def document(scaled: Scaled, _setting: Setting) -> doc.Report:
    outcome = overall(scaled)
    blocks = counted(scaled.design.blocks, "block")
    about = f"{command(scaled.program)}; network: {scaled.network}; {blocks}, seed"
    about += f" {scaled.design.seed}"
    return doc.Report(
        word=outcome.value, tone=TONES[outcome], headline=headline(scaled),
        title="fabricgauge scale", about=f"fabricgauge · {about}",
        under=(doc.Paragraph(MEANING[outcome]), doc.Paragraph(about, on=doc.TEXT)),
        sections=tuple(_sections(scaled)),
    )  # fmt: skip


def _sections(scaled: Scaled) -> Iterator[doc.Section]:
    notes = list(scaled.notes)
    if not scaled.complete:
        notes.append("interrupted: some launches were not started")
    yield doc.Section("notes", "Caveats", (doc.Items(tuple(notes)),))
    varied = [factor.name for factor in scaled.design.factors[:-1]]
    rows = tuple(
        (
            *((_setting_of(scaled, point),) if varied else ()), str(point.nodes), str(point.ranks),
            *_figure_cells(point.time, duration),
            *(() if point.metric is None else _figure_cells(point.metric, digits)),
            *_figure_cells(point.speedup, ratio),
            *_figure_cells(point.efficiency, percent),
            _figure_cells(point.mpi_share, percent)[0],
            doc.Cell(point.outcome.value, tone=TONES[point.outcome], hint=point.summary),
        )
        for point in scaled.points
    )  # fmt: skip
    columns = (
        *(doc.heads(varied[0] if len(varied) == 1 else "setting") if varied else ()),
        *doc.heads(">nodes", ">ranks", ">time", ">±"),
        *(doc.heads(f">{scaled.metric.name}", ">±") if scaled.metric else ()),
        *doc.heads(">speed-up", ">±", ">efficiency", ">±", ">in MPI", "path"),
    )  # fmt: skip
    yield doc.Section("points", "Time and speed-up", (doc.Table(columns, rows), *_plots(scaled)))
    sentences = dict.fromkeys(
        f"{counted(point.nodes, 'node')}: {point.outcome.value}: {point.summary}"
        for point in scaled.points if point.summary
    )  # fmt: skip
    lines = dict.fromkeys(
        line
        for launch in scaled.launches for verdict in launch.verdicts for line in verdict.evidence
        if verdict.outcome not in (Outcome.PASS, Outcome.SKIPPED)
    )  # fmt: skip
    blocks = (doc.Items(tuple(sentences)), doc.Items(tuple(lines)[:24]))
    yield doc.Section("path", "Nodes and network of the launches", blocks)
    how = HOW + (HOW_METRIC.format(scaled.metric.name) if scaled.metric else "")
    how += HOW_WEAK if scaled.weak and not scaled.metric else ""
    yield doc.Section("how", "How to read this", (doc.Paragraph(how, kind="soft"),))


def _figure_cells(figure: Estimate | Skipped, words: Callable[[float], str]) -> tuple[str, str]:
    if isinstance(figure, Skipped):
        return "–", "–"
    return words(figure.value), half_width(figure)


def _plots(scaled: Scaled) -> tuple[doc.Block, ...]:
    marks_by_setting: dict[tuple[str, ...], list[Mark]] = {}
    for point in scaled.points:
        if isinstance(point.speedup, Estimate):
            x, words = math.log2(point.nodes), counted(point.nodes, "node")
            figure = (ratio(point.speedup.value), half_width(point.speedup))
            interval = (point.speedup.low, point.speedup.high)
            mark = Mark(x, point.speedup.value, *interval, words, *figure, "",
                        str(point.speedup.launches))  # fmt: skip
            marks_by_setting.setdefault(point.levels, []).append(mark)
    fewest = int(scaled.design.factors[-1].levels[0])
    places = sorted({point.nodes for point in scaled.points})
    ideal = Line(
        "ideal", [math.log2(place) for place in places], [place / fewest for place in places]
    )
    curves = tuple(
        PlotCurve(", ".join(key) or "measured", marks) for key, marks in marks_by_setting.items()
    )
    picture = Picture(
        "Speed-up", "times as fast", True, curves, (ideal,), x_label="nodes",
        ticks={math.log2(place): str(place) for place in places}, base=2,
    )  # fmt: skip
    return (doc.side_by_side((picture,) if curves else ()),)


KIND = Kind("scale", document, data, records)
