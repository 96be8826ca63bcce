"""Compare two sets of curves: the outcome, a row per pair, then size by size."""

import math
from collections.abc import Iterator

from fabricgauge.model.comparison import Comparison, ComparisonOutcome, Pair
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS, Quantity, SuiteCurve
from fabricgauge.model.words.figures import digits, megabytes_per_s, microseconds, signed, size
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.content.changes import (
    STANDINGS,
    better_is,
    change,
    describe_change,
    describe_loss,
    interval,
    metric,
    metric_blocks,
    pictures,
)
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.interface import Cell as Value
from fabricgauge.report.interface import Kind, Records, Setting, versioned

#: Tone and meaning of each outcome.
OUTCOMES: dict[ComparisonOutcome, tuple[doc.Tone, str]] = {
    "invalid": (
        "invalid", "the figures of one side do not describe its network, or both sides are one"
        " measurement, so no difference counts; measure that side again",
    ),
    "regression": (
        "fail", "B is worse than A by more than the tolerance, more surely than chance explains"
    ),
    "no regression": (
        "pass", "no curve of B is surely worse than A's by more than the tolerance;"
        " smaller differences are possible",
    ),
    "undecided": (
        "inconclusive", "chance may explain the sizes beyond the tolerance, B lacks figures or"
        " curves of A, or the intervals leave most sizes open; measure longer, on a quieter"
        " machine, or with a larger tolerance",
    ),
    "nothing comparable": ("inconclusive", "A and B have no curve of one kind at a common size"),
}  # fmt: skip

_INTERVALS = (
    "The interval of a change is conservative: B's lower end over A's upper end, and the reverse."
)
_TOSSED = (
    "A pair with intervals is a regression if, beyond the tolerance and all intervals, the surplus"
    " of worse over better sizes, or a row of worse sizes, is larger than tossing coins explains"
    " (5 % over all pairs), or if sizes stay beyond after Holm's correction. Reasons and rates of"
    " false alarms: docs/development/comparing.md."
)
_BARE = (
    " A figure without an interval is a mean or a single value that its suite printed: it may be"
    " chance. Such a pair is a regression if the median over its sizes is beyond the tolerance, or"
    " some sizes are far beyond; it is no regression only if every size is within."
)
#: Most pairs with a plot; a larger file could not be mailed.
MOST_PLOTTED = 24
_MOST_NOTES = {doc.SCREEN: 8}
#: Most sizes in the list of sizes of one side only.
_MOST_SIZES = 8
#: Most curves in the headline that B lacks.
_MOST_LOST = 3
_MOST_UNMATCHED = {doc.SCREEN: 12, doc.TRACKER: 60}


def data(comparison: Comparison, _setting: Setting) -> dict[str, object]:
    """Return everything, in s, bytes/s, messages/s and shares, as in the model."""
    sentence = headline(comparison)
    return versioned("comparison", "1.2", headline=sentence, comparison=comparison)


COLUMNS = (
    "pair", "outcome", "quantity", "unit", "less_is_better", "pattern",
    "a_suite", "a_benchmark", "a_source", "b_suite", "b_benchmark", "b_source",
    "message_bytes", "a", "a_low", "a_high", "b", "b_low", "b_high",
    "change", "change_low", "change_high", "standing", "basis", "tolerance",
)  # fmt: skip


def records(comparison: Comparison, _setting: Setting) -> Records:
    """Return one row per size, in SI units.

    ``change`` and its interval are shares of A, positive if B's figure is larger.
    """
    numbered = enumerate(comparison.pairs, 1)
    rows = (row for number, pair in numbered for row in _rows(number, pair, comparison.tolerance))
    return Records(COLUMNS, rows)


def _rows(number: int, pair: Pair, tolerance: float) -> Iterator[tuple[Value, ...]]:
    a, b = pair.a, pair.b
    head = (
        number, "regression" if pair.regression else "", a.quantity, UNITS[a.quantity],
        int(a.quantity in LESS_IS_BETTER), a.pattern, a.suite, a.benchmark, a.source,
        b.suite, b.benchmark, b.source,
    )  # fmt: skip
    for difference in pair.differences:
        ends = (None if end is None else end - 1.0 for end in (difference.low, difference.high))
        yield (
            *head, difference.message_bytes, *_ends(difference.a), *_ends(difference.b),
            difference.change, *ends,
            difference.standing, pair.basis, tolerance,
        )  # fmt: skip


def _ends(estimate: Estimate) -> tuple[Value, ...]:
    return estimate.value, *((estimate.low, estimate.high) if estimate.supported else (None, None))


def document(comparison: Comparison, _setting: Setting) -> doc.Report:
    """Show the outcome, both sides, the pairs in a table, then each pair size by size."""
    word = comparison.outcome.upper()
    a, b = (f"{side.kind} {side.name}" for side in (comparison.a, comparison.b))
    tone, meaning = OUTCOMES[comparison.outcome]
    beyond = len(comparison.pairs) > MOST_PLOTTED
    return doc.Report(
        word=word, tone=tone, headline=headline(comparison),
        title="fabricgauge compare",
        about=f"fabricgauge · A: {a} · B: {b} · tolerance {_share(comparison.tolerance)}",
        under=(doc.Paragraph(f"{word} means: {meaning}.", on=doc.PAGE),),
        sections=(
            _sides(comparison), _metrics(comparison), _overview(comparison), *_pairs(comparison),
            _unmatched(comparison), _how(comparison),
        ),
        closing="MB is 10⁶ bytes, KiB 2¹⁰ and MiB 2²⁰ bytes. All rates are payload."
        + f" Only the first {MOST_PLOTTED} pairs are plotted." * beyond,
    )  # fmt: skip


def headline(comparison: Comparison) -> str:
    allowed = _share(comparison.tolerance)
    total = counted(len(comparison.pairs), "pair of curves", "pairs of curves")
    if comparison.outcome == "invalid":
        return f"Nothing can be compared: {_invalid_reason(comparison)}"
    if comparison.outcome == "regression":
        bad = [pair for pair in comparison.pairs if pair.regression]
        means = (pair.basis == "means" and "mean" in (pair.a.statistic, pair.b.statistic)
                 for pair in bad)  # fmt: skip
        bare = " (means only)" if all(means) else ""
        sentence = f"B is worse than A by more than {allowed} in {len(bad)} of {total}{bare}"
        return f"{sentence}: {describe_loss(bad)}"
    if comparison.outcome == "no regression":
        sentence = f"B is not shown to be worse than A by more than {allowed} in {total}"
        return f"{sentence}: {describe_change(comparison.pairs)}"
    lost = [curve.curve for curve in comparison.unmatched if curve.lost]
    if comparison.outcome == "undecided" and lost:
        names = listed(list(dict.fromkeys(map(_describe_curve, lost))), _MOST_LOST)
        sentence = f"B lacks {counted(len(lost), 'curve')} that A has: {names}"
        return f"{sentence}. Measure them, or compare the others with --only"
    if doubtful := [pair for pair in comparison.pairs if pair.doubt]:
        return f"Undecided in {len(doubtful)} of {total}: {describe_loss(doubtful)}"
    if comparison.outcome == "undecided":
        return f"The intervals are too wide to show a difference of {allowed} in {total}"
    return "A and B have no curve in common"


def _invalid_reason(comparison: Comparison) -> str:
    if comparison.shared:
        return comparison.shared
    for side, comparison_side in (("A", comparison.a), ("B", comparison.b)):
        if comparison_side.invalid:
            return f"{side} is {comparison_side.invalid[0]}"
    return next(pair.invalid for pair in comparison.pairs if pair.invalid)


def _share(tolerance: float) -> str:
    """Return a share as percent with no more digits than it needs: ``5 %``."""
    return f"{tolerance * 100:g} %"


def _sides(comparison: Comparison) -> doc.Section:
    limit = doc.RowLimit("and {count} more notes; the HTML report has them", _MOST_NOTES)
    rows, notes = [], []
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        facts = "; ".join(f"{key} {value}" for key, value in side.facts.items())
        rows.append((doc.Cell(name, strong=True), f"{side.kind} {side.name}", facts))
        lines = (f"{name}: {note}" for note in dict.fromkeys((*side.invalid, *side.notes)))
        notes.append(doc.Items(tuple(lines), limit=limit))
    table = doc.Table(doc.heads("side", "source", "~facts"), tuple(rows))
    return doc.Section("sides", "A and B", (table, *notes), nav="A and B")


def _metrics(comparison: Comparison) -> doc.Section:
    """Show every figure of every pair in one plot, with mean and range."""
    metrics = [
        metric(
            _title(pair), difference.message_bytes, pair.a.quantity, difference.change,
            *(math.nan if end is None else end - 1 for end in (difference.low, difference.high)),
        )
        for pair in comparison.pairs if not pair.invalid for difference in pair.differences
    ]  # fmt: skip
    blocks = metric_blocks(metrics, comparison.a.name, comparison.b.name)
    on = doc.ALL if len(comparison.pairs) > 1 else doc.PAGE
    return doc.Section("metrics", "All metrics", blocks, nav="All metrics", on=on)


def _overview(comparison: Comparison) -> doc.Section:
    heads = (">from", ">to", ">B ÷ A", ">worse", ">better", ">within", ">undecided")
    columns = (
        *doc.heads("result", "curves", ">sizes", ">median change"),
        *doc.heads(*heads, on=doc.PAGE),
    )
    rows: list[tuple[doc.Inline, ...]] = []
    for number, pair in enumerate(comparison.pairs, 1):
        summary, result = pair.summary, _result(pair)
        rows.append((
            doc.Cell(result, tone="fail") if pair.regression else result,
            doc.Cell(_title(pair), link=f"pair-{number}"), str(summary.sizes),
            change(summary.median_change, pair.a.quantity), signed(summary.least_change),
            signed(summary.largest_change), digits(summary.mean_ratio), str(summary.worse),
            str(summary.better), str(summary.within), str(summary.open),
        ))  # fmt: skip
    note = (
        "Changes are shares of A. B ÷ A is the geometric mean over the sizes. The last four columns"
        f" count sizes: beyond ± {_share(comparison.tolerance)}, within it, and those whose"
        " interval reaches across a limit."
    )
    blocks = (doc.Table(columns, tuple(rows)), doc.Paragraph(note, on=doc.PAGE)) if rows else ()
    on = doc.ALL if len(rows) > 1 else doc.PAGE
    return doc.Section("pairs", "Curves side by side", blocks, nav="Curves", on=on)


def _result(pair: Pair) -> str:
    together = pair.summary
    if pair.invalid:
        return "INVALID"
    if pair.regression:
        return "REGRESSION"
    if together.undecided or pair.doubt:
        return "undecided"
    if together.better and not together.worse:
        return "better" if 2 * together.better > together.sizes else "better in parts"
    if together.worse:
        return "mixed" if together.better else "worse in parts"
    return "no difference" if together.within == together.sizes else "no difference shown"


def _title(pair: Pair) -> str:
    return " / ".join(dict.fromkeys((_describe_curve(pair.a), _describe_curve(pair.b))))


def _describe_curve(curve: SuiteCurve) -> str:
    sign = " ↔ " if curve.directions == 2 else " → "
    hosts_words = sign.join(curve.hosts[:2]) + (" …" if len(curve.hosts) > 2 else "")
    hosts = f", {hosts_words}" if len(curve.hosts) > 1 else ""
    pairs = f", {curve.pairs} pairs" if curve.pairs > 1 else ""
    network = curve.settings.get("network", "")
    network_words = f" over {network}" if network else ""
    if curve.suite == "fabricgauge":
        return f"{curve.benchmark} ({curve.what}{pairs}{hosts}){network_words}"
    processes = f", {curve.processes}" if curve.processes else ""
    rate = ", message rate" if curve.quantity == "message_rate" else ""
    figure = f"{curve.what}{pairs}{processes}{rate}{hosts}"
    return f"{curve.suite} {curve.benchmark} ({figure}){network_words}"


def _origin(curve: SuiteCurve) -> str:
    version = f" {curve.version}" if curve.version else ""
    lines = f", lines {curve.first_line}-{curve.last_line}" if curve.last_line else ""
    place = f"{curve.source or 'source unknown'}{lines}"
    return f"{curve.suite}{version}, {curve.statistic} per size, {curve.unit_rule}; {place}"


def _pairs(comparison: Comparison) -> Iterator[doc.Section]:
    names = (comparison.a.name, comparison.b.name)
    for number, pair in enumerate(comparison.pairs, 1):
        plotted = number <= MOST_PLOTTED
        plots = doc.side_by_side(pictures(pair, comparison.tolerance, names) if plotted else ())
        origins = (("A", _origin(pair.a)), ("B", _origin(pair.b)))
        blocks = (
            *_pair_summary(pair, comparison.tolerance), plots,
            _sizes(pair, comparison.tolerance, not plots.plots),
            doc.FactList(origins, on=doc.ALL & ~doc.SCREEN),
        )  # fmt: skip
        yield doc.Section(f"pair-{number}", f"{_result(pair)}: {_title(pair)}", blocks)


def _pair_summary(pair: Pair, tolerance: float) -> Iterator[doc.Block]:
    """Yield the decision, the whole curve in a sentence, crossovers, and sizes of one side."""
    decided = pair.invalid or pair.regression or pair.doubt
    summary, quantity = pair.summary, pair.a.quantity
    if decided:
        yield doc.Paragraph(decided, kind="strong")
    lines = [f"one size: {change(summary.median_change, quantity)}"]
    if summary.sizes > 1:
        method = "without intervals" if pair.basis == "means" else "with intervals"
        lines = [
            f"{summary.sizes} sizes: median {change(summary.median_change, quantity)}, from"
            f" {signed(summary.least_change)} to {signed(summary.largest_change)};"
            f" geometric mean of B ÷ A {digits(summary.mean_ratio)}",
            f"beyond ± {_share(tolerance)}, {method}: worse at {summary.worse}, better at"
            f" {summary.better}; within at {summary.within}"
            + (f", not decided at {summary.open}" if summary.open else ""),
        ]
    yield doc.Items((*lines, *_crossings(pair)))
    yield doc.Items(pair.notes, limit=doc.RowLimit("and {count} more notes", _MOST_NOTES))
    for side, only in (("A", pair.only_a), ("B", pair.only_b)):
        if only:
            sizes = ", ".join(map(_size, only[:_MOST_SIZES]))
            more = f" and {len(only) - _MOST_SIZES} more" * (len(only) > _MOST_SIZES)
            yield doc.Paragraph(f"only in {side}: {sizes}{more}")


def _crossings(pair: Pair) -> Iterator[str]:
    """Yield crossovers as sentences; insignificant ones are only counted."""
    method = " (bare figures)" if pair.basis == "means" else ""
    for crossover in pair.crossovers:
        if crossover.significant:
            ends = f"{size(crossover.from_bytes)} and {size(crossover.to_bytes)}"
            yield f"B becomes the {crossover.becomes} one between {ends}{method}"
    if insignificant := sum(not crossover.significant for crossover in pair.crossovers):
        verb = "is" if insignificant == 1 else "are"
        yield f"{counted(insignificant, 'change')} of sign that {verb} not significant"


def _size(message_bytes: int | None) -> str:
    return "no size" if message_bytes is None else size(message_bytes)


def _sizes(pair: Pair, tolerance: float, is_open: bool) -> doc.Block:
    quantity = pair.a.quantity
    unit = SHOWN[quantity][0]
    columns = doc.heads(">size", f">A {unit}", f">B {unit}", ">B against A")
    if pair.basis != "means":
        columns += doc.heads(">interval", f"beyond ± {_share(tolerance)}")
    rows = tuple(
        (
            _size(difference.message_bytes), _figure(difference.a, quantity),
            _figure(difference.b, quantity),
            doc.Cell(change(difference.change, quantity), strong=True),
            interval(difference),
            STANDINGS[difference.standing] + (" (bare figures)" if difference.low is None else ""),
        )[: len(columns)]
        for difference in pair.differences
    )  # fmt: skip
    note = f"{counted(len(rows), 'size')}; {better_is(quantity)}"
    return doc.Fold("Figures", note, (doc.Table(columns, rows),), open=is_open)


def _figure(estimate: Estimate, quantity: Quantity) -> str:
    if quantity == "time":
        return microseconds(estimate.value)
    if quantity in ("bandwidth", "bus_bandwidth"):
        return megabytes_per_s(estimate.value)
    return digits(estimate.value * SHOWN[quantity][1])


def _unmatched(comparison: Comparison) -> doc.Section:
    columns = (*doc.heads("side", "curve", "why"), *doc.heads("~from", on=doc.PAGE))
    rows = tuple(
        (curve.side, _describe_curve(curve.curve), curve.reason, _origin(curve.curve))
        for curve in comparison.unmatched
    )
    limit = doc.RowLimit("and {count} more; JSON and HTML list all", _MOST_UNMATCHED)
    table = doc.Table(columns, rows, limit=limit)
    return doc.Section("alone", "Not compared", (table,), nav="Not compared")


def _how(comparison: Comparison) -> doc.Section:
    on = doc.ALL if any(pair.basis != "means" for pair in comparison.pairs) else doc.PAGE
    blocks = (
        doc.Paragraph(_INTERVALS, kind="soft", on=doc.TEXT),
        doc.Paragraph(_INTERVALS + _BARE, on=doc.PAGE), doc.Paragraph(_TOSSED, on=doc.PAGE),
    )  # fmt: skip
    return doc.Section("how", "How to read this", blocks, nav="How to read this", on=on)


KIND = Kind("comparison", document, data, records)
