"""An application at several numbers of nodes: times, speed-up, efficiency, and what proves them."""

import math
from collections.abc import Callable, Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.scaled import Scaled, ScalePoint
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.report.picture import Line, Mark, Picture, PlotCurve
from fabricgauge.words.figures import duration, half_width, percent, ratio
from fabricgauge.words.sentences import command, counted

_FINE = (Outcome.PASS, Outcome.WARN, Outcome.SKIPPED)

HOW = (
    "Launches take turns: in each block every setting and number of nodes has one, in random"
    " order. Time is that from MPI_Init to MPI_Finalize of the slowest rank. Speed-up is"
    " against the fewest nodes within the same block; efficiency is that divided by the factor by"
    " which the number of nodes grew. An interval goes from the least block to the largest."
    " Placement and path are proved around each launch, as in check."
)

#: What the word tells: of the launches, never of how well the program scales.
MEANING = {
    Outcome.PASS: "PASS means: every launch came to its end, ran where it was meant to and used the"
    " network that was meant. It does not judge the speed-up.",
    Outcome.INVALID: "INVALID means: a launch ran elsewhere than meant, or another network carried"
    " its bytes. Its time is left out.",
    Outcome.INCONCLUSIVE: "INCONCLUSIVE means: a launch is missing or broke, or where it ran and"
    " what carried it could not be proved.",
}

COLUMNS = (
    "setting", "nodes", "ranks", "outcome", "time_s", "time_low_s", "time_high_s", "speedup",
    "speedup_low", "speedup_high", "efficiency", "efficiency_low", "efficiency_high", "mpi_share",
    "launches", "confidence",
)  # fmt: skip


def overall(scaled: Scaled) -> Outcome:
    """INVALID where any launch used another network; then what has no figure; else a pass."""
    outcomes = [one.outcome for one in scaled.points]
    if Outcome.INVALID in outcomes:
        return Outcome.INVALID
    whole = scaled.complete and all(isinstance(one.time, Estimate) for one in scaled.points)
    if whole and all(one in _FINE for one in outcomes):
        return Outcome.PASS
    return Outcome.INCONCLUSIVE


def data(scaled: Scaled, _setting: Setting) -> dict[str, object]:
    found, told = overall(scaled), headline(scaled)
    return identified("scale", "1.0", overall=found, headline=told, scale=scaled)


def records(scaled: Scaled, _setting: Setting) -> Records:
    rows = (
        (
            _setting_of(scaled, one), one.nodes, one.ranks, one.outcome.value, *_ends(one.time),
            *_ends(one.speedup), *_ends(one.efficiency), _ends(one.mpi_share)[0],
            *((one.time.launches, one.time.confidence) if isinstance(one.time, Estimate)
              else (0, None)),
        )
        for one in scaled.points
    )  # fmt: skip
    return Records(COLUMNS, rows)


def _ends(one: Estimate | Skipped) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if isinstance(one, Skipped) else (one.value, one.low, one.high)


def headline(scaled: Scaled) -> str:
    """The largest number of nodes first."""
    name = scaled.program[0].rsplit("/", 1)[-1]
    invalid = next((one for one in scaled.points if one.outcome is Outcome.INVALID), None)
    if invalid:
        return f"{name} on {counted(invalid.nodes, 'node')}: {invalid.summary}"
    known = [one for one in scaled.points if isinstance(one.speedup, Estimate)]
    if not known:
        return f"{name}: no launch gave a figure"
    most = max(one.nodes for one in known)
    told = "; ".join(
        f"{_setting_of(scaled, one)}{': ' if len(one.levels) else ''}"
        f"{ratio(one.speedup.value)} times as fast, efficiency {percent(one.efficiency.value)}"
        for one in known
        if one.nodes == most
        if isinstance(one.speedup, Estimate) and isinstance(one.efficiency, Estimate)
    )
    fewest = scaled.design.factors[-1].levels[0]
    return f"{name} on {counted(most, 'node')} against {fewest}: {told}"


def _setting_of(scaled: Scaled, point: ScalePoint) -> str:
    """Its levels; of several factors each with its name."""
    if len(point.levels) == 1:
        return point.levels[0]
    names = (one.name for one in scaled.design.factors)
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
        notes.append("interrupted: some launches were not made")
    yield doc.Section("notes", "Before you believe it", (doc.Items(tuple(notes)),))
    varied = [one.name for one in scaled.design.factors[:-1]]
    rows = tuple(
        (
            *((_setting_of(scaled, one),) if varied else ()), str(one.nodes), str(one.ranks),
            *_said(one.time, duration), *_said(one.speedup, ratio), *_said(one.efficiency, percent),
            _said(one.mpi_share, percent)[0],
            doc.Cell(one.outcome.value, tone=TONES[one.outcome], hint=one.summary),
        )
        for one in scaled.points
    )  # fmt: skip
    columns = (
        *(doc.heads(varied[0] if len(varied) == 1 else "setting") if varied else ()),
        *doc.heads(">nodes", ">ranks", ">time", ">±", ">speed-up", ">±", ">efficiency", ">±",
                   ">in MPI", "path"),
    )  # fmt: skip
    yield doc.Section("points", "Time and speed-up", (doc.Table(columns, rows), *_plots(scaled)))
    said = dict.fromkeys(
        f"{counted(one.nodes, 'node')}: {one.outcome.value}: {one.summary}"
        for one in scaled.points if one.summary
    )  # fmt: skip
    lines = dict.fromkeys(
        line
        for one in scaled.launches for verdict in one.verdicts for line in verdict.evidence
        if verdict.outcome not in (Outcome.PASS, Outcome.SKIPPED)
    )  # fmt: skip
    blocks = (doc.Items(tuple(said)), doc.Items(tuple(lines)[:24]))
    yield doc.Section("path", "Where it ran, and what carried it", blocks)
    yield doc.Section("how", "How to read this", (doc.Paragraph(HOW, kind="soft"),))


def _said(one: Estimate | Skipped, words: Callable[[float], str]) -> tuple[str, str]:
    if isinstance(one, Skipped):
        return "–", "–"
    return words(one.value), half_width(one)


def _plots(scaled: Scaled) -> tuple[doc.Block, ...]:
    """Speed-up over nodes, and what it would be if nothing were lost."""
    found: dict[tuple[str, ...], list[Mark]] = {}
    for one in scaled.points:
        if isinstance(one.speedup, Estimate):
            at, words = math.log2(one.nodes), counted(one.nodes, "node")
            figure = (ratio(one.speedup.value), half_width(one.speedup))
            mark = Mark(at, one.speedup.value, one.speedup.low, one.speedup.high, words, *figure,
                        "", str(one.speedup.launches))  # fmt: skip
            found.setdefault(one.levels, []).append(mark)
    fewest = int(scaled.design.factors[-1].levels[0])
    places = sorted({one.nodes for one in scaled.points})
    ideal = Line("ideal", [math.log2(one) for one in places], [one / fewest for one in places])
    curves = tuple(PlotCurve(", ".join(key) or "measured", marks) for key, marks in found.items())
    picture = Picture(
        "Speed-up", "times as fast", True, curves, (ideal,), x_label="nodes",
        ticks={math.log2(one): str(one) for one in places}, base=2,
    )  # fmt: skip
    return (doc.drawn((picture,) if curves else ()),)


KIND = Kind("scale", document, data, records)
