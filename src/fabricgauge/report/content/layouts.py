"""Our own curves for programs that read other suites: who measured, where, and the verdict."""

from fabricgauge.model.curve import Curve
from fabricgauge.model.judged import Judged
from fabricgauge.report.content.conclusion import SIMULATED, headline, is_simulated
from fabricgauge.report.content.sweep import direction
from fabricgauge.report.interface import Layout, Setting
from fabricgauge.words.figures import half_width
from fabricgauge.words.networks import is_loopback, named


def layout(judged: Judged, setting: Setting) -> Layout:
    """Curves of networks, of all patterns or of the one that was asked for.

    A node's loopback has no place among tables that name no network, nor has what the suites
    define otherwise, as epochs other than a flush.
    """
    remarks = (
        f"run {judged.run.identity}, started {judged.run.started_utc}",
        *((SIMULATED,) if is_simulated(judged) else ()),
        f"verdict {judged.overall.value}: {headline(judged)}",
    )
    curves = tuple(
        (_where(one), one)
        for one in judged.curves
        if one.points and not is_loopback(one.network)
        and setting.pattern in ("", one.pattern) and not one.variant
    )  # fmt: skip
    version = judged.run.environment.get("fabricgauge", "of an unknown version")
    return Layout(version, remarks, curves)


def _where(curve: Curve) -> str:
    """What a table of the suite cannot say: network, nodes, window, how sure the figures are."""
    window = max(point.window for point in curve.points)
    streams = f", window {window}" if window > 1 else ""
    last = curve.points[-1]
    sure = f"; interval at the largest size {half_width(last.bandwidth or last.time)}"
    return f"{named(curve.network)}, {direction(curve)}{streams}{sure}"
