"""Judge a run and write its reports; nothing here measures."""

from collections.abc import Sequence

import msgspec

from fabricgauge.check.kept_screen import keep_screen
from fabricgauge.judge.ceiling.technologies import add_ceilings, ceilings
from fabricgauge.judge.evidence import gather_evidence
from fabricgauge.judge.evidence.contradictions import void_contradictions
from fabricgauge.judge.evidence.ledger import compute_ledgers
from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import RULES_VERSION, judgement
from fabricgauge.judge.stats.curves import curves
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.fabric import Topology
from fabricgauge.model.judged import FamilyVerdict, Judged
from fabricgauge.model.pairs import NO_PAIRS, FabricResult
from fabricgauge.model.progress import Progress
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.model.words.networks import OWN_CHOICE
from fabricgauge.report.formats import FORMATS, report
from fabricgauge.store.run_directory import RunDirectory, now_utc, read_overall

#: Reports that every run directory gets, with the stem of their names.
KEPT = {"html": "report", "json": "report"}


def write_reports(
    directory: RunDirectory, judged: Judged, thresholds: Thresholds, progress: Progress
) -> None:
    """Write verdicts and reports of a judged run; give a complete one its final name.

    A full disk is reported; it costs the reports but not the verdict.
    """
    tables = {"tables": "tables"} if len(judged.tables) > 1 else {}
    try:
        directory.write("verdicts.json", judged.verdicts)
        if judged.fabric.analyses:
            from fabricgauge.store.matrices import write_matrices

            write_matrices(directory, [analysis.matrix for analysis in judged.fabric.analyses])
        for name, stem in {**KEPT, **tables}.items():
            directory.write_bytes(f"{stem}{FORMATS[name].suffix}", report(judged, name).encode())
        keep_screen(directory, judged, thresholds)
        if judged.run.complete:
            directory.finish()
    except StoreError as error:
        progress.trouble(str(error))


def analyse_pairs(launches: Sequence[Launch], topology: Topology) -> FabricResult:
    """Return what all pairs show; a run of two nodes does not load the analysis."""
    if not any(launch.has_many_pairs for launch in launches):
        return NO_PAIRS
    from fabricgauge.judge.localise.detect import localise

    return localise(launches, topology)


def make_context(run: Run, thresholds: Thresholds, fabric: FabricResult | None = None) -> Context:
    """Compute ceilings, evidence and the analysis of all pairs from a run's records.

    ``fabric`` is that analysis, if it exists already.
    """
    run = void_contradictions(run)
    limits = ceilings(run.fabric.networks, run.launches)
    fabric = analyse_pairs(run.launches, run.fabric.topology) if fabric is None else fabric
    evidence = gather_evidence(run)
    own_choice = evidence.find_network(None)
    if not run.imported and (total := add_ceilings(run.fabric, own_choice, limits, thresholds)):
        limits[OWN_CHOICE] = total
    return Context(run, limits, thresholds, fabric, evidence)


def conclude(run: Run, thresholds: Thresholds, against: tuple[SuiteCurve, ...] = ()) -> Judged:
    """Judge a stored run by the rules of this version; see ``judge_context``."""
    return judge_context(make_context(run, thresholds), against)


def judge_context(context: Context, against: tuple[SuiteCurve, ...] = ()) -> Judged:
    """Judge a run by the rules of this version; ``against`` are curves to show beside it."""
    context, families = settle_families(context)
    run, decided = context.run, judgement(context)
    return Judged(
        run=run,
        ceilings=context.ceilings,
        curves=curves(run),
        verdicts=decided.verdicts,
        overall=decided.overall,
        judged_utc=now_utc(),
        rules_version=RULES_VERSION,
        against=against,
        fabric=context.fabric,
        evidence=context.evidence,
        ledgers=compute_ledgers(run, context.ceilings),
        sustained_bytes=context.thresholds.value("fraction.from"),
        tables=decided.tables,
        follows=decided.follows,
        families=families,
    )


def settle_families(context: Context) -> tuple[Context, tuple[FamilyVerdict, ...]]:
    """Judge the families of imported tables; few runs load that."""
    if not any(launch.families for launch in context.run.launches):
        return context, ()
    from fabricgauge.judge.families import settle

    return settle(context)


def describe_change(directory: RunDirectory, judged: Judged) -> str:
    """Return that a run's outcome of the day is another one than that of its records today."""
    try:
        stored = read_overall(directory)
    except StoreError as error:
        return str(error)
    if stored in ("", judged.overall.value):
        return ""
    return (
        f"report.json says {stored}; judged today, the run's records give {judged.overall.value}:"
        " rules or thresholds have changed, or a file of the run was edited"
    )


def reference_curves(name: str | None) -> tuple[SuiteCurve, ...]:
    """Return the curves of a reference; none if ``name`` is None.

    Raises:
        UsageError: no such reference, or one without curves.
    """
    if name is None:
        return ()
    from fabricgauge.logs.references.interface import reference

    published = reference(name)
    if not published.curves:
        raise UsageError(
            f"{name} is a table without curves; show it with: fabricgauge references {name}"
        )
    origin = {"from": published.provenance, "caveat": published.caveat}
    return tuple(
        msgspec.structs.replace(curve, source=published.name, settings=curve.settings | origin)
        for curve in published.curves
    )
