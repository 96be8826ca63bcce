"""What stands above our figures when they are printed in another suite's layout."""

from collections.abc import Iterator

from fabricgauge.model.curve import Curve
from fabricgauge.report.conclusion import headline
from fabricgauge.report.interface import Judged
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.quantities import half_width
from fabricgauge.report.sweep import direction
from fabricgauge.report.visible import visible

#: In place of the suite's version: no suite ever had it.
VERSION = "0.fabricgauge"


def provenance(judged: Judged, suite: str) -> Iterator[str]:
    """Who measured, and the verdict: comment lines without their ``#``."""
    version = visible(judged.run.environment.get("fabricgauge", ""))
    yield f"Measured by fabricgauge {version}".rstrip() + f", not by {suite}."
    yield "Only the layout is that suite's: figures are medians over all launches, MB = 10^6 bytes."
    yield f"Run {visible(judged.run.identity)}, started {visible(judged.run.started_utc)}"
    yield f"Verdict: {judged.overall.value}: {visible(headline(judged))}"


def of_networks(judged: Judged) -> Iterator[Curve]:
    """Curves of networks; a node's loopback has no place among tables that name no network."""
    return (one for one in judged.curves if one.points and not is_reference(one.network))


def where(curve: Curve) -> str:
    """What a table of the suite cannot say: network, nodes, window, how sure the figures are."""
    windows = sorted({point.window for point in curve.points})
    window = f", window {windows[-1]}" if windows[-1] > 1 else ""
    largest = curve.points[-1]
    sure = f"; interval at the largest size {half_width(largest.bandwidth or largest.time)}"
    return visible(f"fabricgauge: {named(curve.network)}, {direction(curve)}{window}{sure}")


def figure(value: float) -> str:
    """At least two decimals, as the suites print, and at least four significant digits."""
    decimals = 2
    while decimals < 12 and 0 < abs(value) < 10 ** (3 - decimals):
        decimals += 1
    return f"{value:.{decimals}f}"
