"""The tables of the terminal report."""

from collections.abc import Iterable, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fabricgauge.model.absence import Skipped
from fabricgauge.model.curve import Curve
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report import other_patterns, suites
from fabricgauge.report.conclusion import limit_bytes_s, worst_first
from fabricgauge.report.interface import Judged
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.quantities import (
    amount,
    digits,
    half_width,
    microseconds,
    percent,
    size,
)
from fabricgauge.report.suites import Told
from fabricgauge.report.sweep import at, curves_of, direction, key_sizes
from fabricgauge.report.traffic import Crossing, least_shares, traffic
from fabricgauge.report.visible import visible

STYLES: dict[Outcome, str] = {
    Outcome.INVALID: "bold white on magenta",
    Outcome.FAIL: "bold white on red",
    Outcome.INCONCLUSIVE: "bold black on cyan",
    Outcome.WARN: "bold black on yellow",
    Outcome.PASS: "green",
    Outcome.SKIPPED: "dim",
}

#: More verdicts than this would push the figures off the screen.
MOST_ROWS = 16
#: More skipped rules than this share a row.
MOST_SKIPPED = 3
#: Of more nodes only those are shown whose path proof is weakest.
MOST_PATHS = 16
CALM = frozenset({Outcome.PASS, Outcome.SKIPPED})

#: Rules whose figures a reader wants to see also when all is well.
TELLING = frozenset({"placement", "path", "fraction"})

HEADS = {
    "latency": "half RTT µs",
    "bandwidth": "MB/s",
    "bidirectional_bandwidth": "MB/s, sum",
}


def plain(words: str, style: str = "") -> Text:
    """Text that a terminal cannot obey and rich does not read as markup."""
    return Text(visible(words), style=style)


def indented(words: str, columns: int = 2) -> Padding:
    return Padding(plain(words), (0, 0, 0, columns))


def verdicts(judged: Judged) -> Table:
    """Worst first: outcome, rule, subject, summary; calm ones share a row when they are many."""
    table = grid(("outcome", "rule", "subject", "what was found"))
    table.columns[0].no_wrap = True
    ordered = worst_first(judged.verdicts)
    skipped = [one for one in ordered if one.outcome is Outcome.SKIPPED]
    room = len(ordered) <= MOST_ROWS
    few = len(skipped) <= MOST_SKIPPED
    shown = {Outcome.PASS: room, Outcome.SKIPPED: room and few}
    apart = [one for one in ordered if _tells(one) or shown.get(one.outcome, True)]
    for verdict in apart:
        words = (verdict.rule, verdict.subject, verdict.summary)
        table.add_row(_outcome(verdict.outcome), *map(plain, words))
    together = [one for one in ordered if one not in apart]
    for outcome, subject in dict.fromkeys((one.outcome, one.subject) for one in together):
        rules = [one.rule for one in together if (one.outcome, one.subject) == (outcome, subject)]
        words = ("", subject, ", ".join(rules))
        table.add_row(_outcome(outcome), *map(plain, words))
    return table


def _tells(verdict: Verdict) -> bool:
    """Whether a verdict needs a row of its own: a skipped rule may still have named something."""
    skipped = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
    return verdict.outcome not in CALM or verdict.rule in TELLING or skipped


def _outcome(outcome: Outcome) -> Text:
    return Text(outcome.value, style=STYLES[outcome])


def figures(judged: Judged, network: str | None) -> Table:
    """Latency and bandwidth at the usual sizes, each with its interval."""
    curves = curves_of(judged, network, HEADS)
    heads = (f"{HEADS[curve.pattern]}\n{direction(curve)}" for curve in curves)
    table = grid(("size", *heads), right=len(curves) + 1)
    for message_bytes in key_sizes(curves):
        cells = (plain(_cell(judged, curve, message_bytes)) for curve in curves)
        table.add_row(size(message_bytes), *cells)
    return table


def others(rows: Iterable[other_patterns.Row]) -> Table:
    """Patterns that have no column in ``figures``."""
    table = grid(other_patterns.HEADS)
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def paths(judged: Judged) -> Table:
    """Per node and interface: octets sent and the share of all that the node sent."""
    table = grid(("pinned to", "node", "interface", "sent", "share"))
    for group in traffic(judged.run):
        if is_reference(group.network):
            continue
        for node in least_shares(group.nodes, MOST_PATHS):
            for crossing in node.crossings:
                cells = (
                    named(group.network),
                    node.node,
                    _interface(crossing),
                    amount(crossing.sent_bytes),
                )
                table.add_row(*map(plain, (*cells, _share(crossing))))
    return table


def suite_table(judged: Judged, told: Sequence[Told]) -> Table:
    """One row per curve of another suite: its best figure and share of the ceiling."""
    table = grid(("where", "benchmark", "one figure is", "sizes", "best", "of ceiling", "remark"))
    for one in told:
        row = suites.row(judged, one)
        cells = (row.where, row.benchmark, row.what, row.sizes, row.figure, row.share, row.remark)
        table.add_row(*map(plain, cells))
    return table


def grid(heads: tuple[str, ...], right: int = 0) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in heads:
        first, *rest = head.split("\n")
        title = Text("\n").join([plain(first), *map(plain, rest)])
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    return table


def _cell(judged: Judged, curve: Curve, message_bytes: int) -> str:
    point = at(curve, message_bytes)
    if point is None:
        return "·"
    if point.bandwidth is None:
        return f"{microseconds(point.time.value)} {half_width(point.time)}".replace(
            " %", "%"
        ).replace("± ", "±")
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    share = f"  {percent(point.bandwidth.value / limit)}" if limit else ""
    words = f"{digits(point.bandwidth.value / 1e6)} {half_width(point.bandwidth)}{share}"
    return words.replace(" %", "%").replace("± ", "±")


def _interface(crossing: Crossing) -> str:
    return f"{crossing.interface} ({', '.join(crossing.serves) or 'no network'})"


def _share(crossing: Crossing) -> str:
    if isinstance(crossing.share, Skipped):
        return crossing.share.reason
    return percent(crossing.share)
