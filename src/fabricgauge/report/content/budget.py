"""Show what the ends, cables and switches of a path take of the latency of a small message."""

from collections.abc import Iterator

from fabricgauge.judge.latency_budget import LatencyBudget, latency_budgets
from fabricgauge.model.absence import Skipped
from fabricgauge.model.judged import Judged
from fabricgauge.model.words.figures import microseconds, percent, size
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc


def budget(judged: Judged) -> doc.Section:
    """Return a table of parts for each path whose number of switches is known."""
    blocks = [block for path in latency_budgets(judged.run) for block in _blocks(path)]
    return doc.Section("budget", "Latency budget", tuple(blocks))


def _blocks(latency: LatencyBudget | Skipped) -> Iterator[doc.Block]:
    if isinstance(latency, Skipped):
        yield doc.Paragraph(f"SKIPPED: {latency.reason}")
        return
    sized = "" if latency.message_bytes is None else f" of {size(latency.message_bytes)}"
    path = f", {latency.path}" if latency.path else ""
    yield doc.Paragraph(
        f"{latency.network}{path}: {microseconds(latency.latency_s)} µs, half round trip{sized}",
        kind="strong",
    )
    length = "length not stated: cable=METRES in --network"
    if latency.cables_s is not None:
        length = f"{latency.cable_m:g} m each, 5 ns a metre"
    rows = (
        (counted(latency.switches, "switch", "switches"), *_share(latency.switches_s, latency),
         f"{latency.switch.seconds * 1e9:g} ns each: {latency.switch.source}"),
        (counted(latency.switches + 1, "cable"), *_share(latency.cables_s, latency), length),
        ("both ends", *_share(latency.ends_s, latency),
         "the rest: adapters, buses and software of both nodes"),
    )  # fmt: skip
    yield doc.Table(doc.heads("part", ">µs", ">share", "from"), rows)
    if not latency.fits:
        yield doc.Paragraph(
            f"Switches and cables alone take longer than {microseconds(latency.latency_s)} µs: the"
            " figure is not that of this path. Check where both ranks ran.",
            kind="caution",
        )


def _share(seconds: float | None, latency: LatencyBudget) -> tuple[str, str]:
    if seconds is None:
        return "–", "–"
    sign = "−" if seconds < 0 else ""
    share = percent(abs(seconds) / latency.latency_s)
    return f"{sign}{microseconds(abs(seconds))}", f"{sign}{share}"
