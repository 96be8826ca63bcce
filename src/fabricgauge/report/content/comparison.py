"""Two sets of curves compared: the outcome, the pairs in a row each, then size by size."""

from collections.abc import Iterator

from fabricgauge.model.comparison import Comparison, ComparisonOutcome, Difference, Operand, Pair
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, UNITS
from fabricgauge.report import document as doc
from fabricgauge.report.content import differences as words
from fabricgauge.report.content.suites import SHOWN
from fabricgauge.report.interface import Cell as Value
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import digits
from fabricgauge.words.sentences import counted

VERSION = "1.1"

TONES: dict[ComparisonOutcome, doc.Tone] = {
    "regression": "fail",
    "no regression": "pass",
    "undecided": "inconclusive",
    "nothing comparable": "inconclusive",
}
MEANING = {
    "regression": "B is worse than A by more than the tolerance, more surely than chance explains",
    "no regression": "no curve of B is surely worse than A's by more than the tolerance;"
    " smaller differences are not denied",
    "undecided": "some sizes are worse by more than the tolerance and chance may explain it, B"
    " lacks figures that A has, or the intervals leave more sizes open than they decide; measure"
    " longer or on a quieter machine, or allow more",
    "nothing comparable": "the two have no curve of one kind at a common size",
}

_TOSSED = (
    "With intervals a pair is a regression when, beyond the tolerance and all intervals, more sizes"
    " are worse than better, or more of them in a row are, than tossing coins explains (5 % over"
    " all pairs), or when sizes stay beyond after Holm's correction. docs/explanation/comparing.md"
    " gives the reasons and the rates of false alarms."
)
_BARE = (
    " A figure without an interval is a mean or a single value that its suite printed: it cannot be"
    " told from chance. Such a pair is a regression when the median over its sizes is beyond the"
    " tolerance, or some sizes are by far; it is none only when every size is within."
)
#: Pairs beyond this have their tables but no plot: the file would grow past what mail takes.
MOST_PLOTTED = 24
_MOST_NOTES = {doc.SCREEN: 8}
_MOST_UNMATCHED = {doc.SCREEN: 12, doc.TRACKER: 60}


def data(comparison: Comparison, _setting: Setting) -> dict[str, object]:
    """The whole of it, in s, bytes/s, messages/s and shares, as in the model."""
    return {
        **identified("fabricgauge-comparison", VERSION),
        "headline": headline(comparison),
        "comparison": comparison,
    }


COLUMNS = (
    "pair", "outcome", "quantity", "unit", "less_is_better", "pattern",
    "a_suite", "a_benchmark", "a_source", "b_suite", "b_benchmark", "b_source",
    "message_bytes", "a", "a_low", "a_high", "b", "b_low", "b_high",
    "change", "change_low", "change_high", "standing", "basis", "tolerance",
)  # fmt: skip


def records(comparison: Comparison, _setting: Setting) -> Records:
    """One row per size, in SI units; ``change`` and its interval are shares of A, positive where
    B's figure is larger.
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
    for one in pair.differences:
        ends = (None if end is None else end - 1.0 for end in (one.low, one.high))
        yield (
            *head, one.message_bytes, *_ends(one.a), *_ends(one.b), one.change, *ends,
            one.standing, pair.basis, tolerance,
        )  # fmt: skip


def _ends(one: Estimate) -> tuple[Value, ...]:
    return one.value, *((one.low, one.high) if one.supported else (None, None))


def document(comparison: Comparison, _setting: Setting) -> doc.Report:
    """The outcome, both sides, the pairs in a table, then each pair size by size."""
    word = comparison.outcome.upper()
    a, b = _named(comparison.a), _named(comparison.b)
    tolerance = words.share(comparison.tolerance)
    beyond = len(comparison.pairs) > MOST_PLOTTED
    return doc.Report(
        word=word, tone=TONES[comparison.outcome], headline=headline(comparison),
        title="fabricgauge compare",
        about=f"fabricgauge · A: {a} · B: {b} · tolerance {tolerance}",
        under=(doc.Paragraph(f"{word} means: {MEANING[comparison.outcome]}.", on=doc.PAGE),),
        sections=(
            _sides(comparison), _overview(comparison), *_pairs(comparison),
            _unmatched(comparison), _how(comparison),
        ),
        closing="MB is 10⁶ bytes, KiB 2¹⁰ and MiB 2²⁰ bytes. All rates are payload."
        + f" Only the first {MOST_PLOTTED} pairs are plotted." * beyond,
    )  # fmt: skip


def headline(comparison: Comparison) -> str:
    """The outcome in one sentence."""
    allowed = words.share(comparison.tolerance)
    total = counted(len(comparison.pairs), "pair of curves", "pairs of curves")
    if comparison.outcome == "regression":
        bad = [pair for pair in comparison.pairs if pair.regression]
        means = (one.basis == "means" and "mean" in (one.a.statistic, one.b.statistic)
                 for one in bad)  # fmt: skip
        bare = " (means only)" if all(means) else ""
        told = f"B is worse than A by more than {allowed} in {len(bad)} of {total}{bare}"
        return f"{told}: {words.loss(bad)}"
    if comparison.outcome == "no regression":
        told = f"B is not shown to be worse than A by more than {allowed} in {total}"
        return f"{told}: {words.direction(comparison.pairs)}"
    doubtful = [pair for pair in comparison.pairs if pair.doubt]
    if doubtful:
        told = f"Nothing is decided in {len(doubtful)} of {total}"
        return f"{told}: {words.loss(doubtful)}"
    if comparison.outcome == "undecided":
        return f"The intervals are too wide to tell a difference of {allowed} in {total}"
    return "A and B have no curve in common"


def _named(operand: Operand) -> str:
    """An operand by kind and name."""
    return f"{operand.kind} {operand.name}"


def _sides(comparison: Comparison) -> doc.Section:
    sides = (("A", comparison.a), ("B", comparison.b))
    rows = tuple(
        (
            doc.Cell(side, strong=True),
            _named(one),
            "; ".join(f"{key} {value}" for key, value in one.facts.items()),
        )
        for side, one in sides
    )
    limit = doc.RowLimit("and {count} more notes; the HTML report has them", _MOST_NOTES)
    notes = (
        doc.Items(tuple(f"{side}: {note}" for note in one.notes), limit=limit)
        for side, one in sides
    )
    table = doc.Table(doc.heads("side", "what", "~known of it"), rows)
    return doc.Section("sides", "A and B", (table, *notes), nav="A and B")


def _overview(comparison: Comparison) -> doc.Section:
    heads = (">from", ">to", ">B ÷ A", ">worse", ">better", ">within", ">not decided")
    columns = (
        *doc.heads("result", "curves", ">sizes", ">median change"),
        *doc.heads(*heads, on=doc.PAGE),
    )
    rows = tuple(_overview_row(number, one) for number, one in enumerate(comparison.pairs, 1))
    said = "Changes are shares of A. B ÷ A is the geometric mean over the sizes. The last four"
    said += f" columns count sizes: beyond ± {words.share(comparison.tolerance)}, within it, and"
    said += " those whose interval reaches across a limit."
    blocks = (doc.Table(columns, rows), doc.Paragraph(said, on=doc.PAGE)) if rows else ()
    on = doc.ALL if len(rows) > 1 else doc.PAGE
    return doc.Section("pairs", "Curves side by side", blocks, nav="Curves", on=on)


def _overview_row(number: int, pair: Pair) -> tuple[doc.Said, ...]:
    one = pair.summary
    result = words.result(pair)
    return (
        doc.Cell(result, tone="fail") if pair.regression else result,
        doc.Cell(words.title(pair), link=f"pair-{number}"), str(one.sizes),
        words.change(one.median_change, pair.a.quantity), words.signed(one.least_change),
        words.signed(one.largest_change), digits(one.mean_ratio), str(one.worse),
        str(one.better), str(one.within), str(one.open),
    )  # fmt: skip


def _pairs(comparison: Comparison) -> Iterator[doc.Section]:
    names = (comparison.a.name, comparison.b.name)
    for number, pair in enumerate(comparison.pairs, 1):
        plotted = number <= MOST_PLOTTED
        plots = doc.drawn(words.pictures(pair, comparison.tolerance, names) if plotted else ())
        origins = (("A", words.origin(pair.a)), ("B", words.origin(pair.b)))
        blocks = (
            *_told(pair, comparison.tolerance), plots,
            _sizes(pair, comparison.tolerance, not plots.plots),
            doc.FactList(origins, on=doc.ALL & ~doc.SCREEN),
        )  # fmt: skip
        title = f"{words.result(pair)}: {words.title(pair)}"
        yield doc.Section(f"pair-{number}", title, blocks)


def _told(pair: Pair, tolerance: float) -> Iterator[doc.Block]:
    decided = pair.regression or pair.doubt
    if decided:
        yield doc.Paragraph(decided, kind="strong")
    counted = (words.counted(pair, tolerance),) if pair.summary.sizes > 1 else ()
    yield doc.Items((words.summed_up(pair), *counted, *words.crossings(pair)))
    yield doc.Items(pair.notes, limit=doc.RowLimit("and {count} more notes", _MOST_NOTES))
    for side, only in (("A", pair.only_a), ("B", pair.only_b)):
        if only:
            yield doc.Paragraph(f"only in {side}: {words.sizes(only)}")


def _sizes(pair: Pair, tolerance: float, is_open: bool) -> doc.Block:
    quantity = pair.a.quantity
    unit = SHOWN[quantity][0]
    columns = doc.heads(">size", f">A {unit}", f">B {unit}", ">B against A")
    if pair.basis != "means":
        columns += doc.heads(">interval", f"beyond ± {words.share(tolerance)}")
    rows = tuple(_size(one, pair)[: len(columns)] for one in pair.differences)
    note = f"{len(rows)} sizes; {words.better_is(quantity)}"
    return doc.Fold("Figures", note, (doc.Table(columns, rows),), open=is_open)


def _size(one: Difference, pair: Pair) -> tuple[doc.Said, ...]:
    quantity = pair.a.quantity
    bare = " (bare figures)" if one.low is None else ""
    return (
        words.size_or_none(one.message_bytes), words.figure(one.a, quantity),
        words.figure(one.b, quantity), doc.Cell(words.change(one.change, quantity), strong=True),
        words.change_interval(one), words.STANDINGS[one.standing] + bare,
    )  # fmt: skip


def _unmatched(comparison: Comparison) -> doc.Section:
    columns = (*doc.heads("side", "curve", "why"), *doc.heads("~from", on=doc.PAGE))
    rows = tuple(
        (one.side, words.described(one.curve), one.reason, words.origin(one.curve))
        for one in comparison.unmatched
    )
    limit = doc.RowLimit("and {count} more; JSON and HTML list all", _MOST_UNMATCHED)
    table = doc.Table(columns, rows, limit=limit)
    return doc.Section("alone", "Not compared", (table,), nav="Not compared")


def _how(comparison: Comparison) -> doc.Section:
    on = doc.ALL if any(pair.basis != "means" for pair in comparison.pairs) else doc.PAGE
    blocks = (
        doc.Paragraph(words.INTERVALS, kind="soft", on=doc.TEXT),
        doc.Paragraph(words.INTERVALS + _BARE, on=doc.PAGE), doc.Paragraph(_TOSSED, on=doc.PAGE),
    )  # fmt: skip
    return doc.Section("how", "How to read this", blocks, nav="How to read this", on=on)


KIND = Kind("comparison", document, data, records)
