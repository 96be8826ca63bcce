"""Judge imported logs table by table: no table excuses or condemns another."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter

from msgspec.structs import replace

from fabricgauge.judge.interface import by_network, worst
from fabricgauge.judge.rules import completeness, fraction
from fabricgauge.model.groups import group_by
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict, identity
from fabricgauge.model.words import sentences
from fabricgauge.model.words.networks import named

#: Streams in one direction: a table of such can pass or fail.
_ONE_WAY = ("bandwidth", "put_bandwidth", "get_bandwidth")
_CALM = (Outcome.PASS, Outcome.SKIPPED)


def parts(run: Run) -> Iterator[Run]:
    """Yield a run of each table alone, and of each file without a table.

    Unparsed lines of a file belong to its last table: there a broken file ends.
    """
    first_line = attrgetter("first_line")
    for launch in run.launches:
        # Curves that begin in the same line are the columns of a table.
        tables = group_by(sorted(launch.curves, key=first_line), first_line)
        *earlier, last = tables.values() or [()]
        for curves in earlier:
            yield replace(run, launches=(replace(launch, curves=curves, unparsed=()),))
        yield replace(run, launches=(replace(launch, curves=last),))


def table_verdict(part: Run, verdicts: Sequence[Verdict], outcome: Outcome) -> TableVerdict:
    """Return the verdict on a table; ``outcome`` is the part's by the usual precedence."""
    (launch,) = part.launches
    decides = any(verdict.rule == fraction.ID and _decides(verdict, launch) for verdict in verdicts)
    if not decides:
        outcomes = (verdict.outcome for verdict in verdicts if _counts(verdict))
        outcome = worst(outcomes, empty=Outcome.SKIPPED)
        outcome = Outcome.SKIPPED if outcome in _CALM else outcome
    reason = _reason(verdicts, outcome)
    curve = launch.curves[0] if launch.curves else None
    is_fraction = reason.figure is not None and reason.rule == fraction.ID
    table = TableVerdict(
        outcome=outcome,
        source=curve.source if curve else launch.ended.argv[-1] if launch.ended.argv else "",
        line=curve.first_line if curve else 0,
        suite=f"{curve.suite} {curve.version}".strip() if curve else "",
        benchmark=curve.benchmark if curve else "",
        network="" if launch.network is None else named(launch.network),
        hosts=launch.hosts_of(curve) if curve else launch.nodes,
        decides=decides,
        rule=reason.rule,
        summary="",
        cause=reason.cause,
        remedy=reason.remedy,
        share=reason.figure.value if is_fraction and reason.figure else None,
    )
    # An incomplete log names its place alone: `completeness` counts the tables.
    named_places = reason.rule == completeness.ID and reason.evidence
    summary = reason.evidence[0] if named_places else reason.summary
    for prefix in (f"{table.where}: ", f"{table.place}: "):
        summary = summary.removeprefix(prefix)
    return replace(table, summary=summary)


def _decides(verdict: Verdict, launch: Launch) -> bool:
    """Check whether the table has what `fraction` judges, as a ping-pong that fills the link."""
    curves, is_stream = launch.curves, verdict.about.kind == "stream"
    if any(curve.quantity == "bus_bandwidth" or curve.evidence.gpu_pairs for curve in curves):
        return is_stream
    one_way = any(
        (curve.pattern in _ONE_WAY or curve.evidence.rank_pairs) and curve.quantity == "bandwidth"
        for curve in curves
    )
    shared = all(
        curve.pairs > 1 or curve.name_unplaced_ranks(launch.hosts_of(curve)) for curve in curves
    )
    is_judged = one_way and (is_stream or not shared)
    low_both_ways = _counts(verdict) and verdict.about.series == "bidirectional_bandwidth"
    return is_judged or (verdict.outcome in (Outcome.PASS, Outcome.WARN) and not low_both_ways)


def _counts(verdict: Verdict) -> bool:
    """Check whether the verdict counts in a table that cannot decide: both directions are low."""
    return verdict.rule != fraction.ID or verdict.outcome is Outcome.WARN


def _reason(verdicts: Sequence[Verdict], outcome: Outcome) -> Verdict:
    """Return the deciding verdict, that of `fraction` first if all pass or are skipped."""
    by_fraction = [verdict for verdict in verdicts if verdict.rule == fraction.ID]
    candidates = by_fraction if outcome in _CALM else verdicts
    decisive = (verdict for verdict in candidates if verdict.outcome is outcome)
    return next(decisive, by_fraction[0])


def overall(tables: Sequence[TableVerdict]) -> Outcome:
    """Return the worst outcome, network by network; INCONCLUSIVE if no table decided."""
    judged = (table for table in tables if table.outcome is not Outcome.SKIPPED)
    outcomes = by_network((table.network, table.outcome) for table in judged)
    if not any(table.decided for table in tables):
        outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)


class TableVerdicts:
    """Collects the verdicts of all tables as those of one run.

    Verdicts on a stream, and those that do not pass, stay. One passed or skipped verdict on a
    network stands for all tables; the others are dropped at once.
    """

    def __init__(self) -> None:
        self.tables: list[TableVerdict] = []
        self._kept: list[tuple[Verdict, TableVerdict]] = []
        #: By rule, network, and whether the verdict stays if a table decides.
        self._calm: dict[tuple[str, str, bool], tuple[tuple[bool, bool, int], Verdict]] = {}

    def add(self, table: TableVerdict, verdicts: Iterable[Verdict]) -> None:
        self.tables.append(table)
        for verdict in verdicts:
            if verdict.about.kind != "network" or verdict.outcome not in _CALM:
                self._kept.append((verdict, table))
                continue
            key = verdict.rule, verdict.network, _stays(verdict, table)
            # Of equal ones the first stays.
            is_explained = verdict.outcome is Outcome.SKIPPED and bool(verdict.evidence)
            rank = is_explained, verdict.outcome is Outcome.PASS, -len(self.tables)
            entry = rank, verdict
            if key not in self._calm or entry[0] > self._calm[key][0]:
                self._calm[key] = entry

    def join(self) -> Iterator[Verdict]:
        decided = any(table.decided for table in self.tables)
        loud: set[tuple[str, str]] = set()
        for verdict, table in self._kept:
            if decided and not _stays(verdict, table):
                continue
            is_network = verdict.about.kind == "network"
            if is_network:
                loud.add((verdict.rule, verdict.network))
            if is_network and len(self.tables) > 1:
                about = replace(verdict.about, source=table.where)
                words, identifier = (
                    sentences.name_subject(about),
                    identity(verdict.rule, about.thing),
                )
                yield replace(verdict, about=about, subject=words, id=identifier)
            else:
                yield verdict
        calm: dict[tuple[str, str], tuple[tuple[bool, bool, int], Verdict]] = {}
        for (rule, network, stays), entry in self._calm.items():
            if stays or not decided:
                key = rule, network
                calm[key] = max(calm.get(key, entry), entry, key=itemgetter(0))
        yield from (verdict for key, (_, verdict) in calm.items() if key not in loud)


def _stays(verdict: Verdict, table: TableVerdict) -> bool:
    """Check whether the verdict counts beside a table that decides: that one has the stream."""
    return table.decides or _counts(verdict)
