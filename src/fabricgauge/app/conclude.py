"""From a run to verdicts and reports: nothing here measures."""

import msgspec

from fabricgauge.app.progress import Progress
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.evidence.gathering import evidence
from fabricgauge.evidence.ledger import ledgers
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import RULES_VERSION, judgement
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.localise.detect import localise
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.judged import Judged
from fabricgauge.model.pairs import FabricResult
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.references.interface import reference
from fabricgauge.report.formats import FORMATS, report
from fabricgauge.stats.curves import curves
from fabricgauge.store.matrices import write_matrices
from fabricgauge.store.run_directory import RunDirectory, now_utc

#: The reports that every run directory gets, and how they are called.
KEPT = {"html": "report", "json": "report"}


def leave(directory: RunDirectory, judged: Judged, progress: Progress) -> None:
    """Write verdicts and reports of a judged run, and let a complete one have its final name.

    A disk that is full is told, and costs the reports but not the verdict.
    """
    of_several = {"tables": "tables"} if len(judged.tables) > 1 else {}
    try:
        directory.write("verdicts.json", judged.verdicts)
        if judged.fabric.analyses:
            write_matrices(directory, [one.matrix for one in judged.fabric.analyses])
        for name, stem in {**KEPT, **of_several}.items():
            directory.write_bytes(f"{stem}{FORMATS[name].suffix}", report(judged, name).encode())
        if judged.run.complete:
            directory.finish()
    except StoreError as error:
        progress.trouble(str(error))


def conclude(
    run: Run,
    thresholds: Thresholds,
    against: tuple[SuiteCurve, ...] = (),
    fabric: FabricResult | None = None,
) -> Judged:
    """Judge a run by the rules of this version; ``against`` are curves to show beside it.

    ``fabric`` is what all pairs say, where they have been analysed already.
    """
    limits = ceilings(run.fabric.networks, run.launches)
    fabric = localise(run.launches, run.fabric.topology) if fabric is None else fabric
    known = evidence(run)
    found = judgement(Context(run, limits, thresholds, fabric, known))
    return Judged(
        run=run,
        ceilings=limits,
        curves=curves(run),
        verdicts=found.verdicts,
        overall=found.overall,
        judged_utc=now_utc(),
        rules_version=RULES_VERSION,
        against=against,
        fabric=fabric,
        evidence=known,
        ledgers=ledgers(run, limits),
        sustained_bytes=thresholds.value("fraction.from"),
        tables=found.tables,
        follows=found.follows,
    )


def reference_curves(name: str | None) -> tuple[SuiteCurve, ...]:
    """The curves of a reference, or none where none was asked for.

    Raises:
        UsageError: no such reference, or one without curves.
    """
    if name is None:
        return ()
    known = reference(name)
    if not known.curves:
        raise UsageError(f"{name} is a table without curves; `fabricgauge compare` cannot use it")
    said = {"from": known.provenance, "caveat": known.caveat}
    return tuple(
        msgspec.structs.replace(one, source=known.name, settings={**one.settings, **said})
        for one in known.curves
    )
