"""From a stored run to verdicts and reports: nothing here measures."""

from datetime import datetime, timezone

from fabricgauge.app.pairs import fabric_result
from fabricgauge.ceiling.technologies import ceilings
from fabricgauge.evidence.account import traffic
from fabricgauge.judge.judging import RULES_VERSION, deciding, judge, overall
from fabricgauge.judge.thresholds import Thresholds
from fabricgauge.model.judged import Judged
from fabricgauge.model.run import Run
from fabricgauge.model.suite import SuiteCurve
from fabricgauge.report.formats import FORMATS, report
from fabricgauge.stats.curves import curves
from fabricgauge.store.matrices import write_matrices
from fabricgauge.store.run_directory import RunDirectory

#: Formats that every run directory gets, as ``report.html`` and so on.
KEPT_FORMATS = ("html", "json")


def conclude(run: Run, thresholds: Thresholds, against: tuple[SuiteCurve, ...] = ()) -> Judged:
    """Judge a run by the rules of this version; ``against`` are curves to show beside it."""
    limits = ceilings(run.fabric.networks)
    fabric = fabric_result(run)
    verdicts = judge(run, limits, thresholds, fabric)
    return Judged(
        run=run,
        ceilings=limits,
        curves=curves(run),
        verdicts=verdicts,
        overall=overall(verdicts, deciding(run)),
        judged_utc=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rules_version=RULES_VERSION,
        against=against,
        fabric=fabric,
        traffic=traffic(run),
        sustained_bytes=thresholds.value("fraction.from"),
    )


def write_reports(directory: RunDirectory, judged: Judged) -> None:
    """Verdicts, HTML and JSON into the run directory."""
    directory.write("verdicts.json", judged.verdicts)
    if judged.fabric.analyses:
        write_matrices(directory, [one.matrix for one in judged.fabric.analyses])
    for name in KEPT_FORMATS:
        directory.write_bytes(f"report{FORMATS[name].suffix}", report(judged, name).encode())
