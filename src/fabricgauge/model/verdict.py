"""Judgement: a rule's verdict on a figure, and the reason."""

from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Literal

import msgspec

from fabricgauge.model.pairs import ENDS, PairFinding, Part


class Outcome(str, Enum):
    """In order of precedence: the worst of a run is its overall outcome."""

    INVALID = "INVALID"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    WARN = "WARN"
    PASS = "PASS"  # noqa: S105
    SKIPPED = "SKIPPED"

    __str__ = str.__str__  # as StrEnum, which Python 3.10 lacks

    @property
    def rank(self) -> int:
        """Its index in that order, 0 for the worst."""
        return _RANKS[self]


_RANKS = {outcome: rank for rank, outcome in enumerate(Outcome)}

#: Values of ``--fail-on``: a warning, or an undecided run, counts as a failure.
Strictness = Literal["warn", "inconclusive"]


def exit_status(outcome: Outcome, fail_on: Collection[Strictness] = ()) -> int:
    """Return the exit status: 0 passed, 1 failed, 3 undecided; a warning passes.

    With ``fail_on`` a warning or an undecided run returns 1.
    """
    if outcome in (Outcome.PASS, Outcome.WARN):
        return int(outcome is Outcome.WARN and "warn" in fail_on)
    return 1 if outcome is Outcome.FAIL or "inconclusive" in fail_on else 3


#: Ends of ``Figure.what``: an effect relative to other pairs, a share of the ceiling.
BESIDE_PEERS, OF_CEILING = " beside the other pairs'", "of the ceiling"


class Figure(msgspec.Struct, frozen=True):
    """A number with its unit, e.g. 117.5e6 "bytes/s per direction at 1 MiB"."""

    value: float
    unit: str
    what: str


class Threshold(msgspec.Struct, frozen=True):
    """The limit of a figure, and its origin."""

    value: float
    unit: str
    relation: str
    origin: str


#: Kinds of two nodes in any order.
_BOTH_WAYS = frozenset({"pair", "directions"})


class VerdictSubject(msgspec.Struct, frozen=True):
    """The subject of a verdict, as values. Sentences are made from it, never the reverse.

    ``kind`` is the whole run, a network, a stream of one direction, both directions of a pair of
    nodes, the traffic between groups, a place that a preflight finding names, or the slow part of a
    fabric. ``names`` are a node, two nodes (from, to), groups, or a place's. ``series`` is the
    measured pattern, a finding's quantity and message size, or its check; ``variant``, ``program``
    and ``source`` distinguish series of one pattern. A series is the median over ``pairs`` of
    nodes; ``place`` is the finding's name of the place.
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
        """The subject without its direction: a node that is slow in one or both is one thing."""
        kind = "node" if self.kind in ENDS else self.kind
        names = tuple(sorted(self.names)) if self.kind in _BOTH_WAYS else self.names
        return msgspec.structs.replace(self, kind=kind, names=names)


#: Signs that separate the parts of an id; in a name they are escaped as in a URL.
_PARTING = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%/<>:,"})


def identity(rule: str, about: VerdictSubject) -> str:
    """Return an id such as ``fraction/net1/c1>c2/bandwidth``; a subject has one id in all runs."""
    names = [name.translate(_PARTING) for name in about.names]
    if about.kind == "network":
        place = ""
    elif about.kind in ("run", "crossing"):
        place = about.kind
    elif about.kind in ("stream", "direction"):
        place = ">".join(names)
    elif about.kind in _BOTH_WAYS:
        place = "<>".join(sorted(names))
    else:
        place = f"{about.kind}:{','.join(names)}"
    series_words = (about.series, about.variant)
    series = ":".join(word.translate(_PARTING) for word in series_words if word)
    origins = (origin.translate(_PARTING) for origin in (about.program, about.source))
    parts = (rule, about.network.translate(_PARTING), place, series, *origins)
    return "/".join(filter(None, parts))


def finding_subject(network: str, finding: PairFinding) -> VerdictSubject:
    crossing = finding.explanation == "oversubscription"
    names = () if crossing else finding.names
    series = f"{finding.quantity}@{finding.message_bytes}"
    return VerdictSubject("crossing" if crossing else finding.part, network, names, series)


def number_repeats(ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids with repeated ones numbered from ``#2`` on."""
    counts: Counter[str] = Counter()
    unique_ids = []
    for identifier in ids:
        counts[identifier] += 1
        count = counts[identifier]
        unique_ids.append(f"{identifier}#{count}" if count > 1 else identifier)
    return tuple(unique_ids)


#: Rules on nodes, pairs and links that carry nothing, or break launches.
GONE = ("connect", "link", "launch")
#: Rules that prove the path of the bytes.
PROOFS = ("placement", "path")


class Verdict(msgspec.Struct, frozen=True):
    """One rule's verdict on one subject (a network, a node, a direction).

    A rule gives the fields up to ``about``, and ``about`` only if it judges another subject than
    the one it was given; ``judge/interface.py`` fills in the rest.
    ``subject`` is ``about`` in words, for display only. ``id`` is made from the values of ``about``
    and unique within a run. ``network`` is the subject's network, empty for the whole run. Verdicts
    stored by earlier versions have neither ``id`` nor ``about``. ``evidence`` are sentences that an
    engineer can check against the run's raw files; ``cause`` and ``remedy`` are empty for a pass.
    """

    outcome: Outcome
    summary: str
    figure: Figure | None = None
    threshold: Threshold | None = None
    evidence: tuple[str, ...] = ()
    cause: str = ""
    remedy: str = ""
    about: VerdictSubject = VerdictSubject()
    rule: str = ""
    subject: str = ""
    network: str = ""
    id: str = ""
