"""Judgement: what a rule says of a figure, and why."""

from enum import Enum

import msgspec


class Outcome(str, Enum):
    """In order of precedence: the worst of a run is its overall outcome."""

    INVALID = "INVALID"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    WARN = "WARN"
    PASS = "PASS"  # noqa: S105
    SKIPPED = "SKIPPED"


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


class Verdict(msgspec.Struct, frozen=True):
    """One rule's word on one subject (a network, a node, a direction).

    ``network`` is what the subject belongs to, empty where that is the whole run.
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
