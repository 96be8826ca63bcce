"""Show a campaign as one page: its document's parts in their order, each beside its references."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fabricgauge.features.campaign.campaign_file import (
    CampaignResult,
    Part,
    PartResult,
    part_outcome,
)
from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import Judged
from fabricgauge.model.reference import Reference
from fabricgauge.model.suite import SuiteCurve, SuitePoint
from fabricgauge.model.varied import Varied
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.figures import duration, signed
from fabricgauge.model.words.patterns import throughput
from fabricgauge.report import document as doc
from fabricgauge.report.content import pairs
from fabricgauge.report.content.changes import level_tables, over_sizes, plot_levels
from fabricgauge.report.content.published import (
    curve_label,
    curve_sizes,
    curve_table,
    reference_blocks,
)
from fabricgauge.report.content.suites import SHOWN, suite_marks
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned
from fabricgauge.report.picture import Line, Picture, PlotCurve, position, shortened
from fabricgauge.report.visible import visible

#: Most sizes of a table on a terminal; a page has all.
MOST_SIZES = 12
LONGEST_TITLE = 72
MOST_PICTURES = 24
#: Most curves in one plot, and most of them in one table.
MOST_TOGETHER, MOST_COLUMNS = 8, 5
#: From this size on the transfer takes a part of the time that a plot shows.
LEAST_TRANSFER = 4096


class MeasuredPart(msgspec.Struct, frozen=True):
    """Hold a part with its result and its references: a judged run, a sweep, or neither.

    ``further`` are blocks of another feature: a prediction, or what layers cost. ``arms`` are the
    curves of a sweep over words, such as transports, each with its level in the title.
    """

    part: Part
    result: PartResult
    judged: Judged | None = None
    varied: Varied | None = None
    references: tuple[Reference, ...] = ()
    further: tuple[doc.Block, ...] = ()
    arms: tuple[SuiteCurve, ...] = ()


class MeasuredCampaign(msgspec.Struct, frozen=True):
    """Hold a campaign's result with everything that its page shows."""

    result: CampaignResult
    parts: tuple[MeasuredPart, ...]

    @property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the judged parts; a sweep only compares.

        A campaign passes only if the rate of at least one part was judged and no part was left out;
        a part that an error broke, or that was never begun, leaves it undecided.
        """
        judged_parts = [part.judged for part in self.parts if part.judged is not None]
        outcomes = [part_outcome(judged) for judged in judged_parts]
        if all(judged.overall is Outcome.INCONCLUSIVE for judged in judged_parts):
            outcomes.append(Outcome.INCONCLUSIVE)
        if any(part.result.left_out for part in self.parts):
            outcomes.append(Outcome.WARN)
        if any(part.result.broken for part in self.parts) or not self.result.complete:
            outcomes.append(Outcome.INCONCLUSIVE)
        return min(outcomes, key=lambda outcome: (*_WORST, outcome).index(outcome))


#: The worst outcome first, as the exit status counts them.
_WORST = (Outcome.FAIL, Outcome.INVALID, Outcome.INCONCLUSIVE, Outcome.WARN, Outcome.PASS)


def headline(measured: MeasuredCampaign) -> str:
    """Return how many parts were measured, and which were left out."""
    asked = [part for part in measured.parts if part.part.measures]
    done = [part for part in asked if not part.result.left_out]
    names = ", ".join(part.part.name for part in asked if part.result.left_out)
    count = sum(part.measures for part in measured.result.campaign.part)
    sentence = f"{measured.result.campaign.title}: {len(done)} of {count} parts measured"
    return f"{sentence}; left out: {names}" if names else sentence


def data(measured: MeasuredCampaign, _setting: Setting) -> dict[str, object]:
    """Return the results, without the records of the runs: each part's run directory has them."""
    return versioned(
        "campaign", "1.0", headline=headline(measured), outcome=measured.outcome.value,
        result=measured.result,
    )  # fmt: skip


COLUMNS = (
    "part", "source", "curve", "quantity", "message_bytes", "value", "low", "high",
    "throughput_bytes_per_s",
)  # fmt: skip


def records(measured: MeasuredCampaign, _setting: Setting) -> Records:
    """Return a row per size of each curve, measured and published, in SI units."""
    rows = (
        (
            part.part.name, source, curve.title, curve.quantity, point.message_bytes,
            point.estimate.value, point.estimate.low, point.estimate.high,
            _rate(curve, point),
        )
        for part in measured.parts
        for source, curve in (
            *(("measured", curve) for curve in _curves(part)),
            *(
                (reference.name, curve)
                for reference in part.references
                for curve in reference.curves
            ),
        )
        for point in curve.points
    )  # fmt: skip
    return Records(COLUMNS, rows)


def document(measured: MeasuredCampaign, _setting: Setting) -> doc.Report:
    """Show the parts in the document's order."""
    campaign, outcome = measured.result.campaign, measured.outcome
    tones: dict[str, doc.Tone] = {known.value: tone for known, tone in TONES.items()}
    rows = tuple(
        (
            doc.Cell(part.part.title, link=part.part.name),
            doc.Cell(part.result.outcome or "–", tone=tones.get(part.result.outcome, "")),
            part.result.left_out or part.result.headline or _published_finding(part),
            duration(part.result.wall_s) if part.result.wall_s >= 1 else "",
        )
        for part in measured.parts
    )  # fmt: skip
    summary = doc.Table(doc.heads("part", "outcome", "finding", ">took"), rows)
    left_out = tuple(f"{item.what}: {item.why}" for item in campaign.left_out)
    return doc.Report(
        word=outcome.value, tone=TONES[outcome], headline=headline(measured),
        title=f"fabricgauge campaign {campaign.name}",
        about=f"fabricgauge · campaign {campaign.name} · {measured.result.identity}",
        under=(doc.Paragraph(campaign.about),) if campaign.about else (),
        sections=(
            doc.Section("parts", "Parts", (summary,), nav="Parts"),
            *map(_section, _without_repeats(measured.parts)),
            doc.Section("left-out", "Left out", (doc.Items(left_out),), nav="Left out"),
        ),
        closing=f"Parts follow “{campaign.document}”. MB is 10⁶ bytes, KiB 2¹⁰ and MiB 2²⁰ bytes.",
    )  # fmt: skip


def _published_finding(measured: MeasuredPart) -> str:
    """Return the sentence of a prediction, which another feature made; else that nothing ran."""
    for block in measured.further:
        if isinstance(block, doc.Paragraph) and block.kind == "strong":
            return block.text
    return "published figures only"


def _without_repeats(parts: Iterable[MeasuredPart]) -> Iterator[MeasuredPart]:
    """Yield the parts; one that was left out shows no reference of a part before it again."""
    shown: set[str] = set()
    for part in parts:
        if part.result.left_out:
            further = tuple(known for known in part.references if known.name not in shown)
            part = msgspec.structs.replace(part, references=further)
        yield part
        shown.update(known.name for known in part.references)


def _section(measured: MeasuredPart) -> doc.Section:
    part, result = measured.part, measured.result
    blocks: list[doc.Block] = []
    if part.note:
        blocks.append(doc.Paragraph(part.note))
    if result.left_out:
        blocks.append(doc.Paragraph(f"Left out: {result.left_out}.", kind="caution"))
    elif result.headline:
        outcome = f"{result.outcome}: " if result.outcome else ""
        blocks.append(doc.Paragraph(f"{outcome}{result.headline}", kind="strong"))
        blocks.append(doc.Paragraph(f"Its run: {result.folder}", kind="soft", on=doc.PAGE))
    if measured.varied is not None:
        blocks += _sweep(measured.varied)
    blocks += _figures(measured)
    blocks += measured.further
    all_pairs = any(word.startswith("all_pairs") for word in part.patterns)
    if measured.judged is not None and all_pairs:
        for section in pairs.pairs(measured.judged):
            blocks += section.blocks
    for reference in measured.references:
        blocks += reference_blocks(reference)
    return doc.Section(part.name, part.title, tuple(blocks), nav=part.title)


def _sweep(varied: Varied) -> Iterator[doc.Block]:
    """Yield the figures over the levels; without numbers, each level against the first.

    Layers have blocks of their own, those of another feature.
    """
    if varied.layers:
        return
    if varied.levels:
        yield doc.side_by_side(plot_levels(varied))
        yield from level_tables(varied)
        return
    rows = tuple(
        (effect.title, effect.level, effect.base, signed(effect.whole.change))
        for effect in varied.effects
    )
    heads = doc.heads("curve", "level", "against", ">mean over sizes")
    yield doc.Table(heads, rows)
    yield doc.side_by_side(map(over_sizes, varied.effects[:MOST_PICTURES]))


def _curves(measured: MeasuredPart) -> tuple[SuiteCurve, ...]:
    """Return the curves of the part's run in the order of its patterns."""
    if measured.judged is None:
        return measured.arms
    order = {word.partition(":")[0]: n for n, word in enumerate(measured.part.patterns)}
    curves = (curve for curve in suite_curves(measured.judged.run) if curve.points)
    return tuple(sorted(curves, key=lambda curve: order.get(curve.pattern or "", len(order))))


def _figures(measured: MeasuredPart) -> Iterator[doc.Block]:
    """Yield plots and tables for each quantity, with the references' curves beside.

    Many curves have a plot and a table for each pattern: one plot could not be read.
    """
    run_curves, part = _curves(measured), measured.part
    published = [curve for reference in measured.references for curve in reference.curves]
    shown = [*run_curves, *published, *_as_message_rates(run_curves, published)]
    rates: list[SuiteCurve] = []
    if "throughput" in part.plots:
        # A suite that prints the throughput beside the time needs no second one.
        timed = {_printout(curve) for curve in shown if curve.quantity == "time"}
        rates = [
            curve for curve in shown if curve.quantity == "bandwidth" and _printout(curve) in timed
        ]
        printed = set(map(_printout, rates))
        shown = [curve for curve in shown if curve not in rates]
        rates = [*_as_rates([curve for curve in shown if _printout(curve) not in printed]), *rates]
    pictures: list[Picture] = []
    tables: list[doc.Block] = []
    for quantity, curves in group_by(shown, lambda curve: curve.quantity).items():
        split = _split(curve for curve in curves if curve_sizes(curve))
        for sized in split:
            if quantity != "time" or "time" in part.plots:
                kind = _kind(sized[0]) if len(split) > 1 else ""
                lines = _least_times(measured, sized)
                pictures.append(_picture(sized, f"{part.title}{kind and ': '}{kind}", lines))
            tables += _tables(sized)
    rates = [curve for curve in rates if curve_sizes(curve)]
    for sized in _split(rates):
        marks = tuple(
            PlotCurve(curve_label(curve), suite_marks(curve.points, curve)) for curve in sized
        )
        title = "Throughput" if len(rates) == len(sized) else f"Throughput: {_kind(sized[0])}"
        pictures.append(Picture(title, "MB/s", False, marks))
        tables += _tables(sized)
    yield doc.side_by_side(pictures[:MOST_PICTURES])
    yield from tables


def _split(curves: Iterable[SuiteCurve]) -> list[list[SuiteCurve]]:
    listed = list(curves)
    if len(listed) <= MOST_TOGETHER:
        return [listed] if listed else []
    return [list(of_kind) for of_kind in group_by(listed, _kind).values()]


def _kind(curve: SuiteCurve) -> str:
    return curve.pattern or curve.benchmark


def _tables(curves: Sequence[SuiteCurve]) -> Iterator[doc.Table]:
    for first in range(0, len(curves), MOST_COLUMNS):
        yield curve_table(curves[first : first + MOST_COLUMNS], MOST_SIZES)


def _least_times(measured: MeasuredPart, curves: Sequence[SuiteCurve]) -> tuple[Line, ...]:
    """Return the time that the ceiling needs for each size, beside half round trips."""
    if measured.judged is None or {curve.pattern for curve in curves} - {"latency", "ping_ping"}:
        return ()
    known = [limit for limit in measured.judged.ceilings.values() if isinstance(limit, Ceiling)]
    lengths = sorted({n for curve in curves for n in curve_sizes(curve) if n >= LEAST_TRANSFER})
    if len(known) != 1 or len(lengths) < 2 or curves[0].quantity != "time":
        return ()
    rate = known[0].payload_bytes_per_s
    times_us = [length / rate * 1e6 for length in lengths]
    return (Line("size ÷ ceiling", list(map(position, lengths)), times_us),)


def _picture(curves: Sequence[SuiteCurve], name: str, lines: tuple[Line, ...]) -> Picture:
    quantity = curves[0].quantity
    unit = SHOWN[quantity][0]
    series = tuple(
        PlotCurve(
            curve_label(curve),
            suite_marks(sorted(curve.points, key=lambda point: point.message_bytes or 0), curve),
        )
        for curve in curves
    )
    title = shortened(visible(f"{name}: {quantity.replace('_', ' ')}"), LONGEST_TITLE)
    return Picture(title, unit, quantity != "bandwidth", series, lines)


def _printout(curve: SuiteCurve) -> tuple[str, str, str, str]:
    """Return what the columns of one table of a suite share."""
    at = curve.title if curve.suite == "fabricgauge" else str(curve.ranks)
    return curve.suite, curve.source, curve.benchmark, at


def _as_message_rates(
    curves: Iterable[SuiteCurve], published: Iterable[SuiteCurve]
) -> Iterator[SuiteCurve]:
    """Yield messages per second of the patterns of which a reference has them."""
    patterns = {curve.pattern for curve in published if curve.quantity == "message_rate"} - {None}
    for curve in curves:
        if curve.pattern not in patterns or curve.quantity != "bandwidth":
            continue
        points = []
        for point in curve.points:
            if by := point.message_bytes:
                measured = point.estimate
                rate = msgspec.structs.replace(
                    measured, value=measured.value / by, low=measured.low / by,
                    high=measured.high / by,
                )  # fmt: skip
                points.append(msgspec.structs.replace(point, estimate=rate))
        yield msgspec.structs.replace(
            curve, quantity="message_rate", points=tuple(points), unit_rule="bandwidth / size"
        )


def _as_rates(curves: Sequence[SuiteCurve]) -> Iterator[SuiteCurve]:
    """Yield the throughput of each curve of times, as the suites derive it."""
    for curve in curves:
        if curve.quantity != "time" or curve.pattern is None:
            continue
        points = []
        for point in curve.points:
            rate = _rate(curve, point)
            if rate:
                estimate, time_s = point.estimate, point.estimate.value
                ends = (rate * time_s / estimate.high, rate * time_s / estimate.low)
                as_rate = msgspec.structs.replace(estimate, value=rate, low=ends[0], high=ends[1])
                points.append(SuitePoint(point.message_bytes, as_rate, 0))
        if len(points) > 1:
            yield msgspec.structs.replace(
                curve, quantity="bandwidth", points=tuple(points), unit_rule="size / time"
            )


def _rate(curve: SuiteCurve, point: SuitePoint) -> float | None:
    if curve.quantity == "bandwidth":
        return point.estimate.value
    if curve.quantity != "time" or curve.pattern is None:
        return None
    return throughput(curve.pattern, point.message_bytes or 0, point.estimate.value)


KIND = Kind("campaign", document, data, records)
