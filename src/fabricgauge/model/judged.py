"""A run with all conclusions: the content of a report."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Curve
from fabricgauge.model.evidence import RunEvidence, WireLedger
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.verdict import Outcome, Verdict


class TableVerdict(msgspec.Struct, frozen=True):
    """The verdict on one table of an imported log, or on a file without a table.

    ``rule`` and ``summary`` are those of the decisive verdict. ``line`` is the table's first line,
    0 for a file without one. ``decides`` is true if the table has a figure that can pass or fail;
    ``share`` is the share of the ceiling that its stream reaches, None without a stream.
    SKIPPED: no figure can pass or fail, as in a table of collectives.
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
        return f"{self.place} {self.benchmark}" if self.line else self.source

    @property
    def place(self) -> str:
        return f"{self.source}:{self.line}"


class RunVerdicts(msgspec.Struct, frozen=True):
    """The rules' verdicts on a run; ``tables`` are those on each imported table, as read.

    ``follows`` maps the id of each verdict that is a consequence to the id of its cause.
    """

    verdicts: tuple[Verdict, ...]
    overall: Outcome
    tables: tuple[TableVerdict, ...] = ()
    follows: dict[str, str] = {}


class Judged(RunVerdicts, frozen=True, kw_only=True):
    """One run, its ceilings by network name, its curves, and the verdicts.

    ``judged_utc`` is ISO 8601 with a trailing Z; ``rules_version`` names the set of rules, to
    distinguish later judgements of the same run. ``against`` are reference curves to show next to
    the run's curves. Messages of ``sustained_bytes`` and more show a stream's sustained rate; the
    rule `fraction` applies to these. ``evidence`` is the records' evidence, by the network that the
    launches were pinned to; ``ledgers`` are the uses of its links' time.
    """

    run: Run
    ceilings: dict[str, Ceiling | Skipped]
    curves: tuple[Curve, ...]
    judged_utc: str
    rules_version: str
    against: tuple[SuiteCurve, ...] = ()
    fabric: FabricResult = NO_PAIRS
    sustained_bytes: float = SUSTAINED_BYTES
    evidence: RunEvidence = RunEvidence()
    ledgers: tuple[WireLedger, ...] = ()
