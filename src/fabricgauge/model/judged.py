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


class TableVerdict(msgspec.Struct, frozen=True):
    """What one table of others' logs is worth by itself, or a file that holds none.

    ``rule`` and ``summary`` are of the verdict that made it so. ``line`` is where the table begins,
    0 for a file without one. ``decides`` is whether it has what can pass or fail; ``share`` is
    the share of the ceiling that its stream reaches, None where it has none.
    SKIPPED: nothing in it can pass or fail, as in a table of collectives.
    """

    outcome: Outcome
    source: str
    line: int
    suite: str
    benchmark: str
    network: str
    hosts: tuple[str, ...]
    decides: bool
    rule: str
    summary: str
    cause: str
    remedy: str
    share: float | None

    @property
    def decided(self) -> bool:
        return self.decides and self.outcome is not Outcome.INCONCLUSIVE

    @property
    def where(self) -> str:
        """``put.out:1 osu_put_bw``"""
        return f"{self.source}:{self.line} {self.benchmark}" if self.line else self.source


class RunVerdicts(msgspec.Struct, frozen=True):
    """What the rules say of a run; ``tables`` are others' logs, each by itself.

    ``follows`` has the id of each verdict that is a consequence, with the id of its cause.
    """

    verdicts: tuple[Verdict, ...]
    overall: Outcome
    tables: tuple[TableVerdict, ...] = ()
    follows: dict[str, str] = {}


class Judged(msgspec.Struct, frozen=True):
    """One run, its ceilings by network name, its curves, and the verdicts.

    ``judged_utc`` is ISO 8601 with a trailing Z; ``rules_version`` names the set of
    rules, so that a later judging of the same run can be told from this one. ``against``
    are reference curves to stand beside the run's own. Messages of ``sustained_bytes`` and more
    show what a stream sustains; the rule `fraction` was applied from there up. ``evidence`` is
    what the records show, by the network that the launches were pinned to; ``ledgers`` are where
    the time of its links went. ``tables`` are verdicts on others' logs, in the order of reading.
    ``follows`` has the id of each verdict that is a consequence, with the id of its cause.
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
    tables: tuple[TableVerdict, ...] = ()
    follows: dict[str, str] = {}
