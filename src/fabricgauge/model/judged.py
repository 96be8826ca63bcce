"""A run with all conclusions: the content of a report."""

import msgspec

from fabricgauge.model.absence import Skipped
from fabricgauge.model.ceiling import Ceiling
from fabricgauge.model.estimate import Curve
from fabricgauge.model.evidence import RunEvidence, WireLedger
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.pattern import SUSTAINED_BYTES
from fabricgauge.model.run import Run
from fabricgauge.model.suite import Quantity, SuiteCurve
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


class FamilyPoint(msgspec.Struct, frozen=True):
    """One figure of a family's tables, in the curve's unit: percentiles over the tables."""

    message_bytes: int | None
    median: float
    p5: float
    p95: float
    minimum: float
    maximum: float


class FamilyCurve(msgspec.Struct, frozen=True):
    """One quantity of a family's tables, by message size."""

    what: str
    quantity: Quantity
    points: tuple[FamilyPoint, ...]


class FamilyOutcome(msgspec.Struct, frozen=True):
    """The tables of a family with one outcome for the same reasons.

    ``rules`` are those that neither pass nor skip. ``lines`` are the first lines of the tables, the
    worst first, at most 1,000; empty if all rules pass or skip.
    """

    outcome: Outcome
    rules: tuple[str, ...]
    tables: int
    lines: tuple[int, ...]


class Extreme(msgspec.Struct, frozen=True):
    """A table that is far from its family: ``ratio`` of its figure to the median at that size."""

    line: int
    what: str
    quantity: Quantity
    message_bytes: int | None
    figure: float
    ratio: float
    outcome: Outcome


class FamilyVerdict(msgspec.Struct, frozen=True):
    """The verdict on all tables of a file with one heading.

    ``outcome`` is the worst of the tables. The tables that begin in the ``named`` lines also have a
    verdict of their own. ``slowest`` and ``fastest`` are the extremes, the
    farthest first; ``slower`` and ``faster`` count the tables that differ from the median by
    ``beyond`` (a share) at any size.
    """

    outcome: Outcome
    source: str
    suite: str
    benchmark: str
    network: str
    tables: int
    first_line: int
    last_line: int
    outcomes: tuple[FamilyOutcome, ...]
    curves: tuple[FamilyCurve, ...]
    beyond: float
    slower: int
    faster: int
    slowest: tuple[Extreme, ...]
    fastest: tuple[Extreme, ...]
    named: tuple[int, ...]


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
    launches were pinned to; ``ledgers`` are the uses of its links' time. ``families`` are those of
    imported tables that differ in nothing but their figures.
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
    families: tuple[FamilyVerdict, ...] = ()
