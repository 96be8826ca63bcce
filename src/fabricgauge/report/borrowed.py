"""What stands above our figures when they are printed in another suite's layout."""

from collections.abc import Container, Iterator, Sequence

from fabricgauge.model.curve import Curve
from fabricgauge.report.conclusion import SIMULATED, headline, is_simulated
from fabricgauge.report.interface import Judged
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.quantities import half_width
from fabricgauge.report.sweep import direction
from fabricgauge.report.visible import visible

#: Every line that is not the suite's begins so, behind its ``#``.
_OURS = "fabricgauge: "
#: As the suites print; more where four significant digits of the smallest figure need them.
_DECIMALS = 2
_DIGITS = 4


def provenance(judged: Judged, suite: str) -> Iterator[str]:
    """Who measured, and the verdict: comment lines without their ``#``."""
    version = visible(judged.run.environment.get("fabricgauge", "of an unknown version"))
    yield f"{_OURS}measured by fabricgauge {version}, not by {suite}"
    yield f"{_OURS}only the layout is theirs; medians over all launches, MB = 10^6 bytes"
    yield f"{_OURS}run {visible(judged.run.identity)}, started {visible(judged.run.started_utc)}"
    if is_simulated(judged):
        yield f"{_OURS}{SIMULATED}"
    yield f"{_OURS}verdict {judged.overall.value}: {visible(headline(judged))}"


#: In place of tables.
NOTHING = f"{_OURS}our own engine measured nothing here; formats csv and json have all the rest"


def of_networks(judged: Judged, known: Container[str], pattern: str = "") -> Iterator[Curve]:
    """Curves of networks, of the patterns that the layout knows or of one of them.

    A node's loopback has no place among tables that name no network, nor has what the suites
    define otherwise, as epochs other than a flush.
    """
    return (
        one
        for one in judged.curves
        if one.points and not is_reference(one.network)
        and one.pattern in known and pattern in ("", one.pattern) and not one.variant
    )  # fmt: skip


def where(curve: Curve) -> str:
    """What a table of the suite cannot say: network, nodes, window, how sure the figures are."""
    window = max(point.window for point in curve.points)
    streams = f", window {window}" if window > 1 else ""
    last = curve.points[-1]
    sure = f"; interval at the largest size {half_width(last.bandwidth or last.time)}"
    return visible(f"{_OURS}{named(curve.network)}, {direction(curve)}{streams}{sure}")


def printed(values: Sequence[float]) -> list[str]:
    """A column of figures with as many decimals in each: a reader takes fewer for a cut row."""
    least = min((abs(value) for value in values if value), default=1.0)
    decimals = _DECIMALS
    while decimals < 12 and least < 10 ** (_DIGITS - 1 - decimals):
        decimals += 1
    return [f"{value:.{decimals}f}" for value in values]
