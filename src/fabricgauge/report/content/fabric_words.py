"""What was found about a fabric of many nodes, in words: who is at fault, how sure, what next."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import (
    LEAST_EFFECT,
    PairAnalysis,
    PairFinding,
    Part,
    Quantity,
)
from fabricgauge.model.verdict import Outcome, Verdict, VerdictSubject
from fabricgauge.report.content.conclusion import GONE
from fabricgauge.words.figures import microseconds, of_unit, percent, size
from fabricgauge.words.networks import named

#: The unit that people read, and the factor to it.
SHOWN: dict[Quantity, tuple[str, float]] = {"latency": ("µs", 1e6), "bandwidth": ("MB/s", 1e-6)}
WHAT: dict[Quantity, str] = {
    "latency": "latency, half round trip",
    "bandwidth": "bandwidth, per direction",
}

#: Whom a property of the level between groups concerns: nobody in particular.
_CROSSING = "all ways between groups"

_REMARKS = {
    "SUSPECTED": "; suspected, but not confirmed",
    "PROPERTY": "; oversubscription: all that crosses at once is slower, which is no defect",
}
#: As ``{0}`` and ``{1}`` stand for the names.
_SLOW: dict[Part, str] = {
    "node": "node {0}, in both directions",
    "sender": "node {0}, when it sends",
    "receiver": "node {0}, when it receives",
    "pair": "{0} ↔ {1}, with each other",
    "direction": "{0} → {1}, in that direction",
    "group": "group {0}, to all other groups",
}
_LEAST_Q = 1e-4
_LEAST_CHANGE = 5e-4


class Named(NamedTuple):
    """One finding in words: a ``FAULT``, ``SUSPECTED`` where the verdict does not confirm it,
    or a ``PROPERTY`` for oversubscription.
    """

    network: str
    who: str
    what: str
    effect: str
    interval: str
    q: str
    affected: str
    kind: Literal["FAULT", "SUSPECTED", "PROPERTY"]
    evidence: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """All of it but the evidence."""
        return (
            f"{self.who}: {self.what} is {self.effect} than the others'"
            f" (interval {self.interval}; {self.q}; {self.affected}){self.remark}"
        )

    @property
    def remark(self) -> str:
        """What is to be known of other kinds than faults."""
        return _REMARKS.get(self.kind, "")


def findings(judged: Judged) -> tuple[Named, ...]:
    """Everything that is named, faults before oversubscription, the largest effect first."""
    found = [(analysis, one) for analysis in judged.fabric.analyses for one in analysis.findings]
    found.sort(key=lambda pair: (pair[1].explanation != "fault", -abs(pair[1].effect)))
    doubted = unsure(judged)
    return tuple(_named(analysis, one, doubted) for analysis, one in found)


def unsure(judged: Judged) -> set[VerdictSubject]:
    """What verdicts are of that confirm nothing."""
    return {one.about.thing for one in judged.verdicts if one.outcome is Outcome.INCONCLUSIVE}


def told_apart(judged: Judged) -> tuple[Verdict, ...]:
    """Failures that name somebody without comparing peers: who is gone, or below the ceiling.

    One on the network as a whole stands only where none names a node.
    """
    rules = (*GONE, "pairs", "lossy")
    found = [one for one in judged.verdicts if one.rule in rules and one.outcome is Outcome.FAIL]
    return tuple(one for one in found if one.about.names) or tuple(found)


def heading(found: Sequence[Named], told_apart: bool = False) -> str:
    """``Who is at fault``, and that it is nobody, or not sure."""
    kinds = {one.kind for one in found}
    if told_apart or "FAULT" in kinds:
        return "Who is at fault"
    unsure = "suspected, but not confirmed" if "SUSPECTED" in kinds else "nobody is named"
    return f"Who is at fault: {unsure}"


def title(analysis: PairAnalysis) -> str:
    """``net1: bandwidth, per direction, 1 MiB``."""
    matrix = analysis.matrix
    return f"{named(matrix.network)}: {WHAT[matrix.quantity]}, {size(matrix.message_bytes)}"


def typical(analysis: PairAnalysis) -> str:
    """The median over healthy pairs with its unit."""
    return value(analysis.matrix.quantity, analysis.typical)


def value(quantity: Quantity, amount: float) -> str:
    """A figure with the unit that people read; a latency stays in µs beside others."""
    if quantity == "latency":
        return f"{microseconds(amount)} µs"
    return of_unit(amount, "bytes/s")


def coverage(analysis: PairAnalysis) -> str:
    """How many directed pairs were measured, and of how many."""
    count = len(analysis.matrix.nodes)
    possible = count * (count - 1)
    share = analysis.matrix.coverage
    return f"{round(share * possible):,} of {possible:,} directed pairs ({percent(share)})"


def verdict(analysis: PairAnalysis) -> str:
    """In a few words what the analysis of one matrix came to; other rules may name somebody."""
    faults = sum(one.explanation == "fault" for one in analysis.findings)
    said = [f"{faults or 'none'} slower than the others"]
    said += ["oversubscribed"] if len(analysis.findings) > faults else []
    count = len(analysis.suspects)
    return ", ".join([*said, f"{count} conspicuous"] if count else said)


def grouping(analysis: PairAnalysis) -> str:
    """Where the groups come from."""
    if analysis.grouped_by == "none" or not analysis.groups:
        return "no groups"
    source = {"topology": "as the topology states", "data": "found from the data"}
    return f"{len(analysis.groups)} groups, {source[analysis.grouped_by]}"


def change(effect: float) -> str:
    """A signed share: ``-75.0 %``, ``+5.0 %``, ``± < 0.1 %``."""
    if 0 < abs(effect) < _LEAST_CHANGE:
        return f"± {percent(abs(effect))}"
    sign = "+" if effect > 0 else "-" if effect < 0 else ""
    return f"{sign}{percent(abs(effect))}"


def who(part: Part, names: Sequence[str]) -> str:
    """What is meant, in words; a missing second name is left open."""
    padded = (*names, "?", "?")
    return _SLOW[part].format(*padded)


def _named(analysis: PairAnalysis, one: PairFinding, doubted: Collection[VerdictSubject]) -> Named:
    low, high = sorted((one.low, one.high))
    pairs = "pair" if one.affected == 1 else "pairs"
    return Named(
        network=named(analysis.matrix.network),
        who=who(one.part, one.names) if one.explanation == "fault" else _CROSSING,
        what=f"{one.quantity} at {size(one.message_bytes)}",
        effect=compared(one.effect),
        interval=f"{change(low)} to {change(high)}",
        q=f"q < {_LEAST_Q:g}" if one.q < _LEAST_Q else f"q = {one.q:.2g}",
        affected=f"explains {one.affected:,} {pairs}",
        kind=kind(analysis, one, doubted),
        evidence=one.evidence,
    )


def kind(
    analysis: PairAnalysis, one: PairFinding, doubted: Collection[VerdictSubject]
) -> Literal["FAULT", "SUSPECTED", "PROPERTY"]:
    """What a finding is, where ``doubted`` is of what verdicts confirm nothing."""
    if one.explanation != "fault":
        return "PROPERTY"
    # A node's direction is judged together with what else that node does.
    network = named(analysis.matrix.network or None)
    slow = VerdictSubject(one.part, network, one.names).thing
    return "SUSPECTED" if slow in doubted else "FAULT"


def compared(effect: float) -> str:
    """``75.0 % lower``."""
    if abs(effect) < LEAST_EFFECT:
        return "like the others'"
    return f"{percent(abs(effect))} {'lower' if effect < 0 else 'higher'}"


def summary(judged: Judged) -> Iterator[str]:
    """One line per matrix: what is typical, how much was covered, and what it came to."""
    for one in judged.fabric.analyses:
        nodes = f"{len(one.matrix.nodes):,} nodes"
        said = f"typical {typical(one)}, unexplained {percent(one.noise)}"
        yield f"{title(one)}: {nodes}, {coverage(one)}, {said}: {verdict(one)}"
