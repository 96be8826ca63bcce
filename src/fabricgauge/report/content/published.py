"""Show curves in SI units by size, rates in MB/s and Gb/s, and published tables as printed."""

from collections.abc import Iterator, Sequence

from fabricgauge.model.reference import Reference
from fabricgauge.model.suite import UNITS, SuiteCurve, SuitePoint
from fabricgauge.model.words.figures import digits, gigabits_per_s, size, with_unit
from fabricgauge.report import document as doc
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.picture import shortened
from fabricgauge.report.visible import visible

#: Most sizes of a table on a terminal; a page has all.
MOST_SIZES = {doc.SCREEN: 30, doc.TRACKER: 40}
LONGEST_LABEL = 44


def curve_label(curve: SuiteCurve) -> str:
    """Return a curve's name: the engine's by its title, another by benchmark and source."""
    published = f"{curve.benchmark} ({curve.source})" if curve.source else curve.benchmark
    name = curve.title if curve.suite == "fabricgauge" else published
    return shortened(visible(name), LONGEST_LABEL)


def curve_sizes(curve: SuiteCurve) -> list[int]:
    return [point.message_bytes for point in curve.points if point.message_bytes is not None]


def curve_table(curves: Sequence[SuiteCurve], most: int | None = None) -> doc.Table:
    """Return the curves' figures by size, one column each; ``most`` sizes on a terminal."""
    lengths = sorted({length for curve in curves for length in curve_sizes(curve)})
    by_size = [{point.message_bytes: point for point in curve.points} for curve in curves]
    heads = [f"{curve_label(curve)}\n{SHOWN[curve.quantity][0]}" for curve in curves]
    columns = list(zip(curves, by_size, strict=True))
    rows = tuple(
        (size(length), *(figure_cell(curve, points.get(length)) for curve, points in columns))
        for length in lengths
    )
    limits = {doc.SCREEN: most, doc.TRACKER: most} if most else MOST_SIZES
    limit = doc.RowLimit("and {count} more sizes; the HTML report has them", limits)
    return doc.Table(doc.figure_heads("size", *heads), rows, limit=limit)


def figure_cell(curve: SuiteCurve, point: SuitePoint | None) -> str:
    """Return a figure in its quantity's unit; a rate of 1 MB/s and more also in Gb/s."""
    if point is None:
        return "–"
    value = point.estimate.value
    figure = digits(value * SHOWN[curve.quantity][1])
    if curve.quantity == "bandwidth" and value >= 1e6:
        return f"{figure} ({gigabits_per_s(8 * value, 4)})"
    return figure


def reference_blocks(reference: Reference) -> Iterator[doc.Block]:
    """Yield a reference's printed table and its headline figures, then its caveat."""
    table = reference.table
    if table is not None:
        rows = tuple(tuple(map(_printed, row)) for row in table.rows)
        yield doc.Paragraph(reference.title, kind="strong")
        yield doc.Table(doc.heads(*table.columns), rows)
    unsized = tuple(
        f"{curve.what}: {_figure(curve, point)}"
        for curve in reference.curves for point in curve.points if point.message_bytes is None
    )  # fmt: skip
    yield doc.Items(unsized)
    words = " ".join(filter(None, (reference.caveat, reference.audit)))
    yield doc.Paragraph(f"{reference.name}: {words}", kind="soft")


def _figure(curve: SuiteCurve, point: SuitePoint) -> str:
    value = point.estimate.value
    bits = f" = {gigabits_per_s(8 * value, 4)}" if curve.quantity == "bandwidth" else ""
    return f"{with_unit(value, UNITS[curve.quantity])}{bits}"


def _printed(cell: str | float) -> str:
    """Return a cell as the document prints it, large whole numbers with separators."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):  # a year has no separator
        return f"{cell:,}" if abs(cell) >= 10_000 else str(cell)
    return f"{cell:g}"
