"""A judged run as a page of Markdown that reads well in an issue tracker."""

from collections.abc import Iterable, Iterator

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.verdict import Figure, Outcome, Threshold, Verdict
from fabricgauge.report import fabric_markdown, suites
from fabricgauge.report.conclusion import (
    headline,
    limit_bytes_s,
    next_steps,
    provisos,
    tally,
    worst_first,
)
from fabricgauge.report.inert import code, inert
from fabricgauge.report.interface import Judged, Setting
from fabricgauge.report.networks import is_reference, named
from fabricgauge.report.omissions import unmeasured
from fabricgauge.report.other_patterns import HEADS as OTHER_HEADS
from fabricgauge.report.other_patterns import other_rows
from fabricgauge.report.quantities import (
    half_width,
    megabytes_per_s,
    microseconds,
    of_unit,
    percent,
    size,
)
from fabricgauge.report.sweep import at, curves_of, direction, key_sizes, networks

MOST_EVIDENCE = 8
MOST_SUITE_CURVES = 60

_HEADS = {
    "latency": "latency, µs, half round trip",
    "put_latency": "put latency, µs",
    "bandwidth": "bandwidth, MB/s, one direction",
    "put_bandwidth": "put bandwidth, MB/s, one direction",
    "bidirectional_bandwidth": "bandwidth, MB/s, sum of both directions",
}


def render(judged: Judged, setting: Setting) -> str:
    """Verdict, ceilings, verdict table, key figures, what is missing, next steps."""
    parts = (
        _top(judged),
        fabric_markdown.findings(judged, table),
        _ceilings(judged),
        _verdicts(judged),
        *(_figures(judged, name) for name in networks(judged) if not is_reference(name)),
        fabric_markdown.pairs(judged, table),
        _suites(judged),
        _evidence(judged),
        _missing(judged),
        _steps(judged),
        _places(judged, setting),
    )
    return "\n\n".join(block for part in parts for block in part) + "\n"


def _top(judged: Judged) -> Iterator[str]:
    yield f"# {judged.overall.value}"
    yield f"**Verdict:** {inert(headline(judged))}"
    for proviso in provisos(judged):
        yield f"**{proviso}**"


def _ceilings(judged: Judged) -> Iterator[str]:
    if not judged.ceilings:
        return
    yield "## Ceilings"
    heads = ("network", "payload per direction", "sum", "bound by")
    yield table(heads, (_ceiling(name, one) for name, one in judged.ceilings.items()))


def _ceiling(name: str, ceiling: Ceiling | Skipped) -> tuple[str, ...]:
    if isinstance(ceiling, Skipped):
        return inert(name), "not known", inert(ceiling.reason), ""
    expression = ceiling.steps[-1].expression if ceiling.steps else ""
    rate = f"{megabytes_per_s(ceiling.payload_bytes_per_s)} MB/s"
    return inert(name), rate, inert(expression), inert(ceiling.binding)


def _verdicts(judged: Judged) -> Iterator[str]:
    yield f"## Verdicts: {tally(judged.verdicts) or 'none'}"
    if judged.verdicts:
        heads = ("outcome", "rule", "subject", "figure", "threshold", "finding")
        yield table(heads, map(_verdict, worst_first(judged.verdicts)))


def _verdict(verdict: Verdict) -> tuple[str, ...]:
    marked = verdict.outcome.value
    if verdict.outcome in (Outcome.FAIL, Outcome.INVALID):
        marked = f"**{marked}**"
    return (
        marked, inert(verdict.rule), inert(verdict.subject), _figure(verdict.figure),
        _threshold(verdict.threshold), inert(verdict.summary),
    )  # fmt: skip


def _figure(figure: Figure | None) -> str:
    return inert(of_unit(figure.value, figure.unit)) if figure else ""


def _threshold(threshold: Threshold | None) -> str:
    if threshold is None:
        return ""
    limit = of_unit(threshold.value, threshold.unit)
    return inert(f"{threshold.relation} {limit} ({threshold.origin})")


def _figures(judged: Judged, network: str | None) -> Iterator[str]:
    curves = curves_of(judged, network, _HEADS)
    yield f"## Key figures: {inert(named(network))}"
    yield "Medians with the farther end of their 95 % interval, and the share of the ceiling."
    heads = ("size", *(f"{_HEADS[one.pattern]}: {inert(direction(one))}" for one in curves))
    sizes = key_sizes(curves)
    rows = ((size(n), *(_cell(judged, curve, n) for curve in curves)) for n in sizes)
    yield table(heads, rows, right=True)
    rest = other_rows(judged, network, _HEADS)
    if rest:
        yield "Other patterns:"
        yield table(OTHER_HEADS, (map(inert, row) for row in rest))


def _cell(judged: Judged, curve: Curve, message_bytes: int) -> str:
    point = at(curve, message_bytes)
    if point is None:
        return "–"
    if point.bandwidth is None:
        return f"{microseconds(point.time.value)} {half_width(point.time)}"
    limit = limit_bytes_s(judged, curve.network, curve.pattern)
    share = f", {percent(point.bandwidth.value / limit)}" if limit else ""
    return f"{megabytes_per_s(point.bandwidth.value)} {half_width(point.bandwidth)}{share}"


def _suites(judged: Judged) -> Iterator[str]:
    told = suites.told(judged)
    if not told:
        return
    yield f"## What other suites measured: {len(told)} curves"
    heads = (
        "where",
        "benchmark",
        "one figure is",
        "sizes",
        "best",
        "of ceiling",
        "units",
        "remark",
    )
    rows = (suites.row(judged, one) for one in told[:MOST_SUITE_CURVES])
    yield table(
        heads,
        (
            tuple(
                map(
                    inert,
                    (r.where, r.benchmark, r.what, r.sizes, r.figure, r.share, r.rule, r.remark),
                )
            )
            for r in rows
        ),
    )
    if len(told) > MOST_SUITE_CURVES:
        yield f"And {len(told) - MOST_SUITE_CURVES} more; the CSV report has them all."


def _evidence(judged: Judged) -> Iterator[str]:
    decided = [one for one in worst_first(judged.verdicts) if one.outcome in _TELLING]
    told = [one for one in decided if one.evidence]
    if not told:
        return
    yield "## Evidence"
    for verdict in told:
        lines = [f"- {inert(sentence)}" for sentence in verdict.evidence[:MOST_EVIDENCE]]
        more = len(verdict.evidence) - MOST_EVIDENCE
        if more > 0:
            lines.append(f"- and {more} more")
        yield f"**{verdict.outcome.value}**, {inert(verdict.rule)}, {inert(verdict.subject)}:"
        yield "\n".join(lines)


_TELLING = (Outcome.INVALID, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.WARN)


def _missing(judged: Judged) -> Iterator[str]:
    missing = unmeasured(judged)
    if missing:
        yield "## Not measured"
        yield "\n".join(f"- {inert(one.what)}: {inert(one.why)}" for one in missing)


def _steps(judged: Judged) -> Iterator[str]:
    steps = next_steps(judged)
    if not steps:
        return
    yield "## Next steps"
    yield "\n".join(f"{number}. {_step(one)}" for number, one in enumerate(steps, 1))


def _step(verdict: Verdict) -> str:
    cause = f" Likely cause: {inert(verdict.cause)}." if verdict.cause else ""
    what = f"{inert(verdict.rule)}, {inert(verdict.subject)}"
    return f"{inert(verdict.remedy)}\n   ({what}.{cause})"


def _places(judged: Judged, setting: Setting) -> Iterator[str]:
    run = judged.run
    version = run.environment.get("fabricgauge", "")
    said = f"Run {code(run.identity)}, started {code(run.started_utc)}, judged"
    rules = f"{code(judged.judged_utc)} by rules {code(judged.rules_version)}"
    with_what = f" with fabricgauge {code(version)}" if version else ""
    yield f"{said} {rules}{with_what}."
    if setting.run_directory.strip():
        yield f"Raw output and counters: {code(setting.run_directory)}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], right: bool = False) -> str:
    """A table; its cells are inert text already. ``right`` aligns all but the first column."""
    titles = list(heads)
    rule = ["---", *["--:" if right else "---"] * (len(titles) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *map(list, rows)))
