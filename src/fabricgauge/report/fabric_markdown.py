"""What the Markdown report says of a fabric of many nodes."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from fabricgauge.model.judged import Judged
from fabricgauge.report import fabric_case_words, fabric_words
from fabricgauge.report.fabric_cases import Joint, joint
from fabricgauge.report.inert import inert
from fabricgauge.report.quantities import duration, size

MOST_NODES = 10
MOST_CASES = 80

#: Makes a table of heads and rows of inert text.
Tabled = Callable[[Iterable[str], Iterable[Iterable[str]]], str]


def findings(judged: Judged, table: Tabled) -> Iterator[str]:
    """Who is at fault, suspects, and a line per matrix."""
    if not judged.fabric.analyses:
        return
    named = fabric_words.findings(judged)
    yield f"## {fabric_words.heading(named)}"
    for one in named:
        yield f"**{one.kind}**: {inert(one.sentence)}"
        if one.evidence:
            yield "\n".join(f"- {inert(sentence)}" for sentence in one.evidence)
    suspects = fabric_words.suspects(judged)
    if suspects:
        yield "Conspicuous, but not named:"
        heads = ("what", "figure", "effect", "why not", "the test that would decide")
        yield table(heads, (_cells(s.who, f"{s.network}: {s.what}", s.effect, s.reason, s.next_test)
                            for s in suspects))  # fmt: skip
    yield "\n".join(f"- {inert(line)}" for line in fabric_words.summary(judged))


def pairs(judged: Judged, table: Tabled) -> Iterator[str]:
    """The worst nodes of each matrix, and what many ranks measured together."""
    for one in judged.fabric.analyses:
        yield f"## {inert(f'Worst nodes: {fabric_words.title(one)}')}"
        heads = ("node", "group", "sending", "receiving", "jitter", "typical", "worst partner")
        quantity = one.matrix.quantity
        rows = (
            _cells(
                node.node, node.group, fabric_words.change(node.sending),
                fabric_words.change(node.receiving), f"{node.jitter:.1%}",
                fabric_words.value(quantity, node.typical), node.worst_partner,
            )
            for node in one.ranking[:MOST_NODES]
        )  # fmt: skip
        yield table(heads, rows)
    cases = joint(judged.run)
    if cases:
        yield "## Many ranks together"
        yield _cases(cases, table)
        if len(cases) > MOST_CASES:
            yield f"And {len(cases) - MOST_CASES} more; the CSV report has them all."


def _cases(cases: Sequence[Joint], table: Tabled) -> str:
    heads = ("pattern", "size", "ranks", "pairs", "load", "median", "p99", "p99.9", "MB/s, sum",
             "overlap", "clock")  # fmt: skip
    return table(heads, (_case(one) for one in cases[:MOST_CASES]))


def _case(one: Joint) -> tuple[str, ...]:
    return _cells(
        one.pattern, size(one.message_bytes), f"{one.ranks:,}", f"{one.pairs:,}",
        fabric_case_words.LOADS.get(one.load, one.load), duration(one.median_s),
        _tail(one.p99_s), _tail(one.p999_s), fabric_case_words.rate(one),
        fabric_case_words.overlap(one), one.clock,
    )  # fmt: skip


def _tail(value_s: float | None) -> str:
    return duration(value_s) if value_s is not None else fabric_case_words.TOO_FEW


def _cells(*texts: str) -> tuple[str, ...]:
    return tuple(map(inert, texts))
