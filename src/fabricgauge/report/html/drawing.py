"""Which plot each kind of picture becomes."""

from typing import Any

from fabricgauge.report.html.fabric_heat import HeatMap
from fabricgauge.report.html.fabric_plots import facts, heat_plot, spectrum_plot
from fabricgauge.report.html.fabric_spectrum import Histogram
from fabricgauge.report.html.plots import curve_plot, document
from fabricgauge.report.html.series import Picture

Drawable = Picture | HeatMap | Histogram


def drawn(picture: Drawable, target: str) -> dict[str, Any]:
    """The plot as data for boot.js; a heat map has what its tooltip says beside it."""
    if isinstance(picture, HeatMap):
        return {**document(heat_plot(picture), target), "heat": facts(picture)}
    if isinstance(picture, Histogram):
        return document(spectrum_plot(picture), target)
    return document(curve_plot(picture), target)
