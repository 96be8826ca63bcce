"""Others' logs, each table by itself: what one is worth, whatever stands beside it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from fabricgauge.judge.interface import by_network, worst
from fabricgauge.judge.rules import completeness, fraction
from fabricgauge.model.judged import TableVerdict
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict, identity
from fabricgauge.words import subjects
from fabricgauge.words.networks import named

#: Streams in one direction: a table of such can pass or fail.
_ONE_WAY = ("bandwidth", "put_bandwidth", "get_bandwidth")
_CALM = (Outcome.PASS, Outcome.SKIPPED)


def parts(run: Run) -> Iterator[Run]:
    """The run of each table alone; a file without one is a part as well.

    What was not understood in a file belongs to its last table: there a broken file ends.
    """
    replace = msgspec.structs.replace
    for launch in run.launches:
        *others, last = _tables(launch.curves) or [()]
        for curves in others:
            yield replace(run, launches=(replace(launch, curves=curves, unparsed=()),))
        yield replace(run, launches=(replace(launch, curves=last),))


def _tables(curves: Iterable[SuiteCurve]) -> list[tuple[SuiteCurve, ...]]:
    """Curves that begin in one line are the columns of one table."""
    line = attrgetter("first_line")
    return [tuple(same) for _, same in groupby(sorted(curves, key=line), key=line)]


def table_verdict(part: Run, verdicts: Sequence[Verdict], outcome: Outcome) -> TableVerdict:
    """What the verdicts on one part amount to; ``outcome`` is theirs by the usual precedence."""
    (launch,) = part.launches
    decides = any(one.rule == fraction.ID and _decides(one, launch) for one in verdicts)
    if not decides:
        said = (one.outcome for one in verdicts if one.rule != fraction.ID)
        outcome = worst(said, empty=Outcome.SKIPPED)
        outcome = Outcome.SKIPPED if outcome in _CALM else outcome
    reason = _reason(verdicts, outcome)
    curve = launch.curves[0] if launch.curves else None
    whole = reason.figure is not None and reason.rule == fraction.ID
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
        share=reason.figure.value if whole and reason.figure else None,
    )
    # Of a log that is not whole the place alone: how many tables were read is another's word.
    named_places = reason.rule == completeness.ID and reason.evidence
    summary = reason.evidence[0] if named_places else reason.summary
    for told in (f"{table.where}: ", f"{table.source}:{table.line}: "):
        summary = summary.removeprefix(told)
    return msgspec.structs.replace(table, summary=summary)


def _decides(verdict: Verdict, launch: Launch) -> bool:
    """Whether the table holds what `fraction` judges: a ping-pong only where it fills the link."""
    one_way = any(one.pattern in _ONE_WAY and one.quantity == "bandwidth" for one in launch.curves)
    if any(one.quantity == "bus_bandwidth" or one.evidence.gpu_pairs for one in launch.curves):
        return verdict.about.kind == "stream"
    shared = all(
        one.pairs > 1 or one.of_unknown_part(launch.hosts_of(one)) for one in launch.curves
    )
    known = verdict.about.kind == "stream" or not shared
    return (one_way and known) or verdict.outcome in (Outcome.PASS, Outcome.WARN)


def _reason(verdicts: Sequence[Verdict], outcome: Outcome) -> Verdict:
    """The verdict that made it so, that of `fraction` before others where all is calm."""
    decisive = [one for one in verdicts if one.outcome is outcome]
    by_fraction = [one for one in verdicts if one.rule == fraction.ID]
    if outcome in _CALM or not decisive:
        return next((one for one in by_fraction if one.outcome is outcome), by_fraction[0])
    return decisive[0]


def overall(tables: Sequence[TableVerdict]) -> Outcome:
    """The worst of all tables, network by network as in any run; nothing if none decided."""
    judged = (one for one in tables if one.outcome is not Outcome.SKIPPED)
    outcomes = by_network((one.network, one.outcome) for one in judged)
    if not any(one.decided for one in tables):
        outcomes.add(Outcome.INCONCLUSIVE)
    return worst(outcomes, empty=Outcome.INCONCLUSIVE)


def together(judged: Sequence[tuple[TableVerdict, Sequence[Verdict]]]) -> Iterator[Verdict]:
    """The verdicts of all tables as those of one run.

    Those on a stream, and all that is not calm, stand for themselves; of calm ones on a network
    one stands for all tables.
    """
    calm: dict[tuple[str, str], Verdict] = {}
    loud: set[tuple[str, str]] = set()
    decided = any(table.decided for table, _ in judged)
    for table, verdicts in judged:
        for one in verdicts:
            key = one.rule, one.network
            if decided and not table.decides and one.rule == fraction.ID:
                continue  # a table without a stream lacks nothing where others have one
            if one.about.kind != "network":
                yield one
            elif one.outcome in _CALM:
                calm[key] = max(calm.get(key, one), one, key=_telling)
            else:
                loud.add(key)
                yield one if len(judged) == 1 else _of_table(one, table)
    yield from (one for key, one in calm.items() if key not in loud)


def _telling(one: Verdict) -> tuple[bool, bool]:
    return one.outcome is Outcome.SKIPPED and bool(one.evidence), one.outcome is Outcome.PASS


def _of_table(one: Verdict, table: TableVerdict) -> Verdict:
    about = msgspec.structs.replace(one.about, source=table.where)
    return msgspec.structs.replace(
        one, about=about, subject=subjects.subject(about), id=identity(one.rule, about.thing)
    )
