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
    blocks = [
        block for each in latency_budgets(judged.run) for block in _blocks(each)
    ]  # fmt: skip
    return doc.Section("budget", "Latency budget", tuple(blocks))


def _blocks(each: LatencyBudget | Skipped) -> Iterator[doc.Block]:
    if isinstance(each, Skipped):
        yield doc.Paragraph(f"SKIPPED: {each.reason}")
        return
    sized = "" if each.message_bytes is None else f" of {size(each.message_bytes)}"
    path = f", {each.path}" if each.path else ""
    yield doc.Paragraph(
        f"{each.network}{path}: {microseconds(each.latency_s)} µs, half round trip{sized}",
        kind="strong",
    )
    cables = counted(each.switches + 1, "cable")
    rows = [
        (counted(each.switches, "switch", "switches"), *_share(each.switches_s, each),
         f"{each.switch.seconds * 1e9:g} ns each: {each.switch.source}"),
    ]  # fmt: skip
    if each.cables_s is None:
        rows.append((cables, "–", "–", "length not stated: cable=METRES in --network"))
    else:
        rows.append(
            (cables, *_share(each.cables_s, each), f"{each.cable_m:g} m each, 5 ns a metre")
        )
    rest = "the rest: adapters, buses and software of both nodes"
    rows.append(("both ends", *_share(each.ends_s, each), rest))
    yield doc.Table(doc.heads("part", ">µs", ">share", "from"), tuple(rows))
    if not each.fits:
        yield doc.Paragraph(
            f"Switches and cables alone take longer than {microseconds(each.latency_s)} µs: the"
            " figure is not that of this path. Check where both ranks ran.",
            kind="caution",
        )


def _share(seconds: float, each: LatencyBudget) -> tuple[str, str]:
    sign = "−" if seconds < 0 else ""
    share = percent(abs(seconds) / each.latency_s)
    return f"{sign}{microseconds(abs(seconds))}", f"{sign}{share}"
