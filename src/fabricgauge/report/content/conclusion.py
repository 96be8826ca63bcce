"""Put a judged run into words: the order of verdicts, the headline, the next steps."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Curve, Estimate
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.pattern import words_of
from fabricgauge.model.verdict import BESIDE_PEERS, GONE, OF_CEILING, Outcome, Threshold, Verdict
from fabricgauge.model.words.figures import (
    digits,
    megabytes_per_s,
    share_of,
    size,
    supported_digits,
    with_unit,
)
from fabricgauge.model.words.networks import OWN_CHOICE, is_loopback, named

VIRTUAL = "Virtual cluster on one machine: the figures describe the lab, not a fabric."
SIMULATED = "Simulated: no network carried anything; the figures are a simulator's, not a fabric's."
EMULATED = (
    "Emulated: QEMU emulates the nodes' processors. Path and data are judged, speed is not: its "
    "figures mean nothing."
)

MEANING: dict[Outcome, str] = {
    Outcome.PASS: "every applicable rule is satisfied",
    Outcome.WARN: "usable, but read the warnings",
    Outcome.FAIL: "the network does not work as it should",
    Outcome.INVALID: "the figures do not describe the intended network",
    Outcome.INCONCLUSIVE: "the data do not allow an answer",
    Outcome.SKIPPED: "nothing was judged",
}


class BestRate(NamedTuple):
    """Hold the best assured bandwidth of a curve; ``limit_bytes_s`` is the ceiling if known."""

    curve: Curve
    message_bytes: int
    bandwidth: Estimate
    limit_bytes_s: float | None


def is_simulated(judged: Judged) -> bool:
    """Check whether a simulator gave the figures of any launch."""
    return any(launch.header and launch.header.simulated for launch in judged.run.launches)


def provisos(judged: Judged) -> tuple[str, ...]:
    """Return the sentences above a report whose figures are not those of a real fabric."""
    if is_simulated(judged):
        return (SIMULATED,)
    if judged.run.fabric.emulated:
        return (EMULATED,)
    return (VIRTUAL,) if judged.run.fabric.virtual else ()


_Judged = TypeVar("_Judged", Verdict, TableVerdict)


def worst_first(verdicts: Iterable[_Judged]) -> tuple[_Judged, ...]:
    """Return verdicts in the order of their outcome, otherwise unchanged."""
    return tuple(sorted(verdicts, key=lambda verdict: verdict.outcome.rank))


def tally(verdicts: Sequence[Verdict | TableVerdict]) -> str:
    """Return the number of verdicts by outcome: ``1 FAIL, 7 PASS``."""
    return _list_counts(Counter(verdict.outcome for verdict in verdicts))


def tally_tables(judged: Judged) -> str:
    """Return the number of tables by outcome, those of families included."""
    return _list_counts(count_tables(judged))


def count_tables(judged: Judged) -> Counter[Outcome]:
    """Return how many tables and files have each outcome; named ones of a family count once."""
    named = {(family.source, line) for family in judged.families for line in family.named}
    counts = Counter(
        table.outcome for table in judged.tables if (table.source, table.line) not in named
    )
    for family in judged.families:
        for group in family.outcomes:
            counts[group.outcome] += group.tables
    return counts


def _list_counts(counts: Counter[Outcome]) -> str:
    outcomes = (outcome for outcome in Outcome if counts[outcome])
    return ", ".join(f"{counts[outcome]:,} {outcome.value}" for outcome in outcomes)


def headline(judged: Judged) -> str:
    """Return the reason for the overall outcome in one sentence."""
    if len(judged.tables) > 1:
        return _table_headline(judged)
    if judged.overall is Outcome.PASS and judged.run.fabric.emulated:
        return "Emulated nodes: the path is proved; speed is not judged."
    if judged.overall is Outcome.PASS:
        peaks = [peak for peak in one_way_peaks(judged) if peak.limit_bytes_s]
        if peaks:
            return " ".join(_describe_peak(peak) for peak in peaks)
        read = [verdict for verdict in judged.verdicts if verdict.rule == "fraction"]
        if read:
            return f"{_state_figure(read[0])}.{_caveat(judged)}"
    decisive = decisive_verdicts(judged)
    if not decisive:
        return f"{MEANING[judged.overall].capitalize()}."
    more = f" (and {len(decisive) - 1} more)" if len(decisive) > 1 else ""
    caveat = _caveat(judged) if judged.overall is Outcome.WARN else ""
    return f"{_state_figure(decisive[0])}{more}{caveat and '.' + caveat}"


def decisive_verdicts(judged: Judged) -> Sequence[Verdict]:
    """Return the verdicts behind the overall outcome: causes if there are any.

    If all verdicts of that outcome are consequences, their causes decide, with any outcome.
    """
    if unreachable := _unreachable(judged):
        return unreachable
    candidates = [verdict for verdict in judged.verdicts if verdict.outcome is judged.overall]
    causes = [verdict for verdict in candidates if verdict.id not in judged.follows]
    if not candidates and judged.overall is Outcome.INCONCLUSIVE:
        # If no rule decided anything, the reason is that of `fraction`.
        return [verdict for verdict in judged.verdicts if verdict.rule == "fraction"]
    followed = {judged.follows.get(verdict.id) for verdict in candidates}
    causes = causes or [verdict for verdict in judged.verdicts if verdict.id in followed]
    return causes or candidates


def _state_figure(verdict: Verdict) -> str:
    """Return subject, figure and limit; the rows of verdicts have the details.

    Figures that are no share of a ceiling and no effect beside peers keep the first clause of the
    summary. The other clauses give the reason of a verdict that is no failure.
    """
    sentence, _, reason = verdict.summary.partition("; ")
    figure, limit = verdict.figure, verdict.threshold
    value = with_unit(abs(figure.value), figure.unit) if figure else ""
    if figure is not None and value in verdict.summary:
        if figure.what.endswith(BESIDE_PEERS):
            direction = "lower" if figure.value < 0 else "higher"
            quantity = figure.what.removesuffix(BESIDE_PEERS)
            sentence = f"{quantity} {value} {direction} than the other pairs'"
        elif figure.what.startswith(OF_CEILING):
            sentence = f"{value} {figure.what}{describe_limit(limit)}"
    reason = "" if verdict.outcome is Outcome.FAIL else reason
    return f"{verdict.subject}: {'; '.join(filter(None, (sentence, reason)))}"


def describe_limit(limit: Threshold | None) -> str:
    """Return what a figure has to keep, behind a semicolon; empty without a threshold."""
    if limit is None:
        return ""
    verb = "allowed" if limit.relation == "at most" else "required"
    return f"; {limit.relation} {with_unit(limit.value, limit.unit)} is {verb}"


def _table_headline(judged: Judged) -> str:
    worst_tables = [table for table in judged.tables if table.outcome is judged.overall]
    if not worst_tables:
        return "No table can pass or fail: that takes a one-way stream and a stated network."
    counts = count_tables(judged)
    count = f"{counts[judged.overall]:,} of {counts.total():,} tables and files"
    first = worst_tables[0]
    fine = judged.overall in (Outcome.PASS, Outcome.WARN)
    caveat = _caveat(judged) if fine else ""
    return f"{count}, first {first.where}: {first.summary}{caveat and '.' + caveat}"


def _unreachable(judged: Judged) -> tuple[Verdict, ...]:
    """Return failures to reach a node or link: they come before their consequences.

    Verdicts stand in the order of the rules, those nearest to a cause first.
    """
    gone = (verdict for verdict in judged.verdicts if verdict.rule in GONE)
    decided = (Outcome.FAIL, Outcome.INCONCLUSIVE)
    return worst_first(verdict for verdict in gone if verdict.outcome in decided)


def _caveat(judged: Judged) -> str:
    """Return the caveat of imported figures: only the figures are proved, not the path."""
    caveat = " Imported: the figures fit the network, the path is not proved."
    return caveat if judged.run.imported else ""


def one_way_peaks(judged: Judged) -> tuple[BestRate, ...]:
    """Return the best assured one-way bandwidth of each network, over both directions."""
    rates_by_network: dict[str | None, list[BestRate]] = {}
    for curve in judged.curves:
        if curve.pattern == "bandwidth" and not is_loopback(curve.network):
            limit = limit_bytes_s(judged, curve.network, curve.pattern)
            carried = [
                BestRate(curve, point.message_bytes, point.bandwidth, limit)
                for point in curve.points
                if point.bandwidth
            ]
            large = [rate for rate in carried if rate.message_bytes >= judged.sustained_bytes]
            rates_by_network.setdefault(curve.network, []).extend(large or carried)
    # The rule `fraction` chooses alike: the highest median may be the luckiest one.
    return tuple(
        max(rates, key=lambda rate: (rate.bandwidth.supported, rate.bandwidth.low))
        for rates in rates_by_network.values()
        if rates
    )


def limit_bytes_s(judged: Judged, network: str | None, pattern: str) -> float | None:
    """Return the ceiling for a pattern's figures: both directions add up."""
    ceiling = judged.ceilings.get(OWN_CHOICE if network is None else network)
    if not isinstance(ceiling, Ceiling):
        return None
    return (2 if words_of(pattern).summed else 1) * ceiling.payload_bytes_per_s


def next_steps(judged: Judged) -> tuple[Verdict, ...]:
    """Return verdicts with a remedy, worst first, each remedy once.

    Consequences of other verdicts are left out.
    """
    steps: dict[str, Verdict] = {}
    for verdict in worst_first(judged.verdicts):
        asks = verdict.outcome is not Outcome.PASS and verdict.remedy
        if asks and verdict.id not in judged.follows:
            steps.setdefault(verdict.remedy, verdict)
    return tuple(steps.values())


def consequences(judged: Judged) -> tuple[Verdict, ...]:
    return tuple(verdict for verdict in judged.verdicts if verdict.id in judged.follows)


def _describe_peak(peak: BestRate) -> str:
    limit, rate = peak.limit_bytes_s or float("inf"), peak.bandwidth
    figure = digits(rate.value / 1e6, supported_digits(rate, 5))
    return (
        f"{named(peak.curve.network)} carries {figure} MB/s per direction"
        f" ({peak.curve.origin_node} → {peak.curve.target_node}, {size(peak.message_bytes)}),"
        f" {share_of(rate, limit)} of its ceiling of {megabytes_per_s(limit)} MB/s."
    )
