"""A run with everything that was concluded from it: what a report is made of."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.curve import Curve
from fabricgauge.model.evidence import RunEvidence, WireLedger
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict


class Judged(msgspec.Struct, frozen=True):
    """One run, its ceilings by network name, its curves, and the verdicts.

    ``judged_utc`` is ISO 8601 with a trailing Z; ``rules_version`` names the set of
    rules, so that a later judging of the same run can be told from this one. ``against``
    are reference curves to stand beside the run's own. Messages of ``sustained_bytes`` and more
    show what a stream sustains; the rule `fraction` was applied from there up. ``evidence`` is
    what the records show, by the network that the launches were pinned to; ``ledgers`` are where
    the time of its links went.
    """

    run: Run
    ceilings: dict[str, Ceiling | Skipped]
    curves: tuple[Curve, ...]
    verdicts: tuple[Verdict, ...]
    overall: Outcome
    judged_utc: str
    rules_version: str
    against: tuple[SuiteCurve, ...] = ()
    fabric: FabricResult = NO_PAIRS
    sustained_bytes: float = SUSTAINED_BYTES
    evidence: RunEvidence = RunEvidence()
    ledgers: tuple[WireLedger, ...] = ()
