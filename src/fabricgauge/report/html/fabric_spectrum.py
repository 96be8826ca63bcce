"""The spectrum of all pairs, in the unit that people read."""

from itertools import pairwise
from typing import NamedTuple

from fabricgauge.model.pairs import PairAnalysis
from fabricgauge.report.fabric_words import SHOWN, title
from fabricgauge.words.figures import digits


class Histogram(NamedTuple):
    """Counts between edges; ``said`` is each bar's range in words."""

    title: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    peaks: tuple[float, ...]
    said: tuple[str, ...]


def histogram(analysis: PairAnalysis) -> Histogram | None:
    """The spectrum of one matrix; None where it has no pairs."""
    spectrum = analysis.spectrum
    if not any(spectrum.counts):
        return None
    unit, factor = SHOWN[analysis.matrix.quantity]
    edges = tuple(edge * factor for edge in spectrum.edges)
    return Histogram(
        title=f"Spectrum: {title(analysis)}",
        unit=unit,
        edges=edges,
        counts=spectrum.counts,
        peaks=tuple(peak * factor for peak in spectrum.peaks),
        said=tuple(f"{digits(low)} to {digits(high)} {unit}" for low, high in pairwise(edges)),
    )
