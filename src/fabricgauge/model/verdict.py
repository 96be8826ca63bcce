"""Judgement: what a rule says of a figure, and why."""

from collections import Counter
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Literal

import msgspec

from fabricgauge.model.pairs import ENDS, PairFinding, Part


class Outcome(StrEnum):
    """In order of precedence: the worst of a run is its overall outcome."""

    INVALID = "INVALID"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    WARN = "WARN"
    PASS = "PASS"  # noqa: S105
    SKIPPED = "SKIPPED"

    @property
    def rank(self) -> int:
        """Its place in that order, 0 for what takes precedence over all."""
        return list(Outcome).index(self)


#: What ``--fail-on`` takes: a warning, or that nothing was decided, shall count as a failure.
Strictness = Literal["warn", "inconclusive"]


def exit_status(outcome: Outcome, fail_on: Collection[Strictness] = ()) -> int:
    """0 passed, 1 failed, 3 nothing decided; a warning passes.

    ``fail_on`` makes 1 of a warning, or of what decided nothing.
    """
    if outcome in (Outcome.PASS, Outcome.WARN):
        return int(outcome is Outcome.WARN and "warn" in fail_on)
    return 1 if outcome is Outcome.FAIL or "inconclusive" in fail_on else 3


class Figure(msgspec.Struct, frozen=True):
    """A number with its unit, e.g. 117.5e6 "bytes/s per direction at 1 MiB"."""

    value: float
    unit: str
    what: str


class Threshold(msgspec.Struct, frozen=True):
    """The limit that a figure was held against, and where the limit comes from."""

    value: float
    unit: str
    relation: str
    origin: str


#: Kinds of two nodes whose order means nothing.
_BOTH_WAYS = frozenset({"pair", "directions"})


class VerdictSubject(msgspec.Struct, frozen=True):
    """What a verdict is about, as values. Sentences are made of it; it is never read from one.

    ``kind`` is the whole run, a network, a stream of one direction, both directions of a pair of
    nodes, what crosses between groups, a place that a preflight finding names, or the part of a
    fabric that is slow. ``names`` are a node, two nodes (from, to), groups, or a place's.
    ``series`` is the pattern that was measured, a finding's quantity and message size, or its
    check; ``variant``, ``program`` and ``source`` tell series of one pattern apart. ``pairs`` is
    over how many pairs of nodes a series is the median; ``place`` is what the finding calls it.
    """

    kind: Literal["run", "network", "stream", "directions", "crossing", "place", Part] = "run"
    network: str = ""
    names: tuple[str, ...] = ()
    series: str = ""
    variant: str = ""
    program: str = ""
    source: str = ""
    pairs: int = 0
    place: str = ""

    @property
    def thing(self) -> "VerdictSubject":
        """What it is apart from how it shows: a node that is slow one way or both is one thing."""
        kind = "node" if self.kind in ENDS else self.kind
        names = tuple(sorted(self.names)) if self.kind in _BOTH_WAYS else self.names
        return msgspec.structs.replace(self, kind=kind, names=names)


#: Signs that part an id; in a name they are written as in a URL.
_PARTING = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%/<>:,"})


def identity(rule: str, about: VerdictSubject) -> str:
    """``fraction/net1/c1>c2/bandwidth``: the same for the same thing in every run."""
    names = [name.translate(_PARTING) for name in about.names]
    if about.kind == "network":
        where = ""
    elif about.kind in ("run", "crossing"):
        where = about.kind
    elif about.kind in ("stream", "direction"):
        where = ">".join(names)
    elif about.kind in _BOTH_WAYS:
        where = "<>".join(sorted(names))
    else:
        where = f"{about.kind}:{','.join(names)}"
    series = ":".join(one.translate(_PARTING) for one in (about.series, about.variant) if one)
    ends = (one.translate(_PARTING) for one in (about.program, about.source))
    parts = (rule, about.network.translate(_PARTING), where, series, *ends)
    return "/".join(filter(None, parts))


def finding_subject(network: str, one: PairFinding) -> VerdictSubject:
    """A finding as the subject of its verdict, with the series that shows it."""
    crossing = one.explanation == "oversubscription"
    names = () if crossing else one.names
    series = f"{one.quantity}@{one.message_bytes}"
    return VerdictSubject("crossing" if crossing else one.part, network, names, series)


def number_repeats(ids: Iterable[str]) -> tuple[str, ...]:
    """Ids that occur again are numbered from ``#2`` on."""
    seen: Counter[str] = Counter()
    given = []
    for one in ids:
        seen[one] += 1
        given.append(f"{one}#{seen[one]}" if seen[one] > 1 else one)
    return tuple(given)


#: Rules that find nodes, pairs and links which carry nothing, or break what they take part in.
GONE = ("connect", "link", "launch")
#: Rules that prove where the bytes went.
PROOFS = ("placement", "path")
#: Rules whose figures are times and rates of the nodes' own work.
RULES_OF_SPEED = (
    "floor", "above-ceiling", "cache-shape", "outliers", "pairs", "lossy", "fraction",
    "host-limited", "latency", "asymmetry", "stability", "dips", "concurrent",
)  # fmt: skip


class Verdict(msgspec.Struct, frozen=True):
    """One rule's word on one subject (a network, a node, a direction).

    ``subject`` is ``about`` in words; nothing is decided by it. ``id`` is made of the values, and
    is unique within a run. ``network`` is what the subject belongs to, empty where that is the
    whole run. Verdicts stored by earlier versions have neither ``id`` nor ``about``.
    ``evidence`` are sentences that another engineer can check against the run's raw
    files; ``cause`` and ``remedy`` are empty for a pass.
    """

    rule: str
    outcome: Outcome
    subject: str
    summary: str
    figure: Figure | None = None
    threshold: Threshold | None = None
    evidence: tuple[str, ...] = ()
    cause: str = ""
    remedy: str = ""
    network: str = ""
    id: str = ""
    about: VerdictSubject = VerdictSubject()
