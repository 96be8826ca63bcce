"""The verdict in words: the order of verdicts, the headline, the next steps."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.verdict import GONE, Outcome, Verdict
from fabricgauge.words.figures import digits, megabytes_per_s, share_of, size, supported_digits
from fabricgauge.words.networks import is_loopback, named
from fabricgauge.words.patterns import words_of

VIRTUAL = "Virtual cluster on one machine: the figures describe the lab, not a fabric."
SIMULATED = "Simulated: no network carried anything; the figures are a simulator's, not a fabric's."
EMULATED = (
    "Emulated: the nodes' processors are QEMU's. Path and data are judged, speed is not: the "
    "figures mean nothing."
)

MEANING: dict[Outcome, str] = {
    Outcome.PASS: "every rule that could be applied is satisfied",
    Outcome.WARN: "usable, but something deserves attention",
    Outcome.FAIL: "the network does not do what it should",
    Outcome.INVALID: "the figures do not describe the network that was meant",
    Outcome.INCONCLUSIVE: "the data do not support an answer",
    Outcome.SKIPPED: "nothing was judged",
}


class BestRate(NamedTuple):
    """The best assured bandwidth of a curve; ``limit_bytes_s`` is the ceiling if known."""

    curve: Curve
    message_bytes: int
    bandwidth: Estimate
    limit_bytes_s: float | None


def is_simulated(judged: Judged) -> bool:
    """Whether a simulator gave the figures of any launch: one is enough to doubt them all."""
    return any(launch.header and launch.header.simulated for launch in judged.run.launches)


def provisos(judged: Judged) -> tuple[str, ...]:
    """What stands above every report whose figures are not those of a real fabric."""
    if is_simulated(judged):
        return (SIMULATED,)
    if judged.run.fabric.emulated:
        return (EMULATED,)
    return (VIRTUAL,) if judged.run.fabric.virtual else ()


_Judged = TypeVar("_Judged", Verdict, TableVerdict)


def worst_first(verdicts: Iterable[_Judged]) -> tuple[_Judged, ...]:
    """Verdicts by precedence of their outcome, otherwise as they stood."""
    return tuple(sorted(verdicts, key=lambda verdict: verdict.outcome.rank))


def tally(verdicts: Sequence[Verdict | TableVerdict]) -> str:
    """How many of each outcome: ``1 FAIL, 7 PASS``."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    return ", ".join(
        f"{counts[outcome]:,} {outcome.value}" for outcome in Outcome if counts[outcome]
    )


def headline(judged: Judged) -> str:
    """The reason for the overall outcome in one sentence."""
    if len(judged.tables) > 1:
        return _of_tables(judged)
    if judged.overall is Outcome.PASS and judged.run.fabric.emulated:
        return "Emulated nodes: the path is proved; speed is not judged."
    if judged.overall is Outcome.PASS:
        peaks = [peak for peak in one_way_peaks(judged) if peak.limit_bytes_s]
        if peaks:
            return " ".join(_sentence(peak) for peak in peaks)
        read = [verdict for verdict in judged.verdicts if verdict.rule == "fraction"]
        if read:
            return f"{read[0].subject}: {read[0].summary}.{_caveat(judged)}"
    decisive: Sequence[Verdict] = _gone(judged)
    candidates = [verdict for verdict in judged.verdicts if verdict.outcome is judged.overall]
    decisive = (
        decisive
        or [verdict for verdict in candidates if verdict.id not in judged.follows]
        or candidates
    )
    if not decisive and judged.overall is Outcome.INCONCLUSIVE:
        # Where no rule decided anything, the reason is that of the rule that could not.
        decisive = [verdict for verdict in judged.verdicts if verdict.rule == "fraction"]
    if not decisive:
        return f"{MEANING[judged.overall].capitalize()}."
    more = f" (and {len(decisive) - 1} more)" if len(decisive) > 1 else ""
    caveat = _caveat(judged) if judged.overall is Outcome.WARN else ""
    return f"{decisive[0].subject}: {decisive[0].summary}{more}{caveat and '.' + caveat}"


def _of_tables(judged: Judged) -> str:
    """The first table of the worst outcome, and how many there are like it."""
    worst_tables = [table for table in judged.tables if table.outcome is judged.overall]
    if not worst_tables:
        return "No table holds what can pass or fail: a one-way stream and a stated network."
    count = f"{len(worst_tables):,} of {len(judged.tables):,} tables and files"
    first = worst_tables[0]
    fine = judged.overall in (Outcome.PASS, Outcome.WARN)
    caveat = _caveat(judged) if fine else ""
    return f"{count}, first {first.where}: {first.summary}{caveat and '.' + caveat}"


def _gone(judged: Judged) -> tuple[Verdict, ...]:
    """Nodes and links that are gone come before all that follows from it, such as a lost path.

    Verdicts stand in the order of the rules, those nearest to a cause first.
    """
    decided = (Outcome.FAIL, Outcome.INCONCLUSIVE)
    gone = (
        verdict
        for verdict in judged.verdicts
        if verdict.rule in GONE and verdict.outcome in decided
    )
    return worst_first(gone)


def _caveat(judged: Judged) -> str:
    """A pass of others' figures rests on the figures alone, and says so."""
    caveat = " Imported: the figures fit the network, the path is not proved."
    return caveat if judged.run.imported else ""


def one_way_peaks(judged: Judged) -> tuple[BestRate, ...]:
    """The best assured one-way bandwidth of each network, over both directions."""
    rates_by_network: dict[str | None, list[BestRate]] = {}
    for curve in judged.curves:
        if curve.pattern == "bandwidth" and not is_loopback(curve.network):
            limit = limit_bytes_s(judged, curve.network, curve.pattern)
            carried = [
                BestRate(curve, point.message_bytes, point.bandwidth, limit)
                for point in curve.points
                if point.bandwidth
            ]
            large = [
                best_rate
                for best_rate in carried
                if best_rate.message_bytes >= judged.sustained_bytes
            ]
            rates_by_network.setdefault(curve.network, []).extend(large or carried)
    # As the rule `fraction` chooses: the highest median may be the luckiest one.
    return tuple(
        max(rates, key=lambda best_rate: (best_rate.bandwidth.supported, best_rate.bandwidth.low))
        for rates in rates_by_network.values()
        if rates
    )


def limit_bytes_s(judged: Judged, network: str | None, pattern: str) -> float | None:
    """The ceiling that a pattern's figures are held against: both directions add up."""
    ceiling = judged.ceilings.get(network) if network is not None else None
    if not isinstance(ceiling, Ceiling):
        return None
    return (2 if words_of(pattern).summed else 1) * ceiling.payload_bytes_per_s


def next_steps(judged: Judged) -> tuple[Verdict, ...]:
    """Verdicts that ask for something to be done, worst first, each remedy once.

    What only follows from another verdict is left out.
    """
    steps: dict[str, Verdict] = {}
    for verdict in worst_first(judged.verdicts):
        asks = verdict.outcome is not Outcome.PASS and verdict.remedy
        if asks and verdict.id not in judged.follows and not _is_said(judged, verdict):
            steps.setdefault(verdict.remedy, verdict)
    return tuple(steps.values())


def follow_on(judged: Judged) -> tuple[Verdict, ...]:
    """Return the verdicts that are consequences of others."""
    return tuple(verdict for verdict in judged.verdicts if verdict.id in judged.follows)


def _fails(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.FAIL


def _is_said(judged: Judged, verdict: Verdict) -> bool:
    """Whether `connect` names every port without a link that `link` names, with its own remedy."""
    run, dead = judged.run, set()
    if verdict.rule != "link" or any(launch.ended.changes for launch in run.launches):
        return False
    for network in run.fabric.networks:
        for member in network.members if network.name == verdict.network else ():
            port = run.fabric.interface_of(member)
            if not isinstance(port, Skipped) and port.carrier is False:
                dead.add(f"{member.node}:{member.interface}")
    named_ports = {finding.where for finding in run.preflight if finding.carries_nothing}
    return verdict.about.kind == "network" and bool(dead) and dead <= named_ports


def _sentence(peak: BestRate) -> str:
    limit = peak.limit_bytes_s or float("inf")
    rate = peak.bandwidth
    figure = digits(rate.value / 1e6, supported_digits(rate, 5))
    return (
        f"{named(peak.curve.network)} carries {figure} MB/s per direction"
        f" ({peak.curve.origin_node} → {peak.curve.target_node}, {size(peak.message_bytes)}),"
        f" {share_of(rate, limit)} of its ceiling of"
        f" {megabytes_per_s(limit)} MB/s."
    )
