"""Show stored runs: kind, start, nodes, verdict, directory."""

from fabricgauge.model.run import StoredRun, StoredRuns
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.inventory import shortened
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned

COLUMNS = ("kind", "started_utc", "nodes", "verdict", "complete", "directory", "problem")


def document(stored: StoredRuns, _setting: Setting) -> doc.Report:
    """Return a row for each run, the newest first."""
    heads = (
        *doc.heads("kind", "started (UTC)", "nodes", "verdict"),
        doc.ColumnHead("run", whole=True),
    )
    table = doc.Table(heads, tuple(map(_row, stored.runs)))
    older = f"{counted(stored.older, 'older run')} are not shown; --last 0 shows all."
    blocks = (table, *((doc.Paragraph(older),) if stored.older else ()))
    places = " and ".join(stored.roots)
    headline = f"{counted(len(stored.runs) + stored.older, 'run')} in {places}"
    shown = "'fabricgauge report RUN' shows a run again."
    return doc.Report(
        "RUNS", "", headline, "fabricgauge runs", "fabricgauge runs",
        (doc.Section("runs", "", blocks),), closing=shown,
    )  # fmt: skip


def _row(run: StoredRun) -> tuple[doc.Inline, ...]:
    started = run.started_utc.replace("T", " ").removesuffix("Z")
    return run.kind, started, shortened(list(run.nodes)), _verdict(run), run.path.rpartition("/")[2]


def _verdict(run: StoredRun) -> doc.Inline:
    if run.problem:
        return f"unreadable: {run.problem}"
    if not run.complete:
        return f"{run.verdict} incomplete".strip()
    if run.verdict not in Outcome.__members__:
        return run.verdict
    return doc.Cell(run.verdict, tone=TONES[Outcome(run.verdict)])


def data(stored: StoredRuns, _setting: Setting) -> dict[str, object]:
    """Return the runs, the newest first; an empty verdict belongs to a run that is not judged."""
    return versioned("runs", "1.0", roots=stored.roots, runs=stored.runs, older=stored.older)


def records(stored: StoredRuns, _setting: Setting) -> Records:
    rows = (
        (run.kind, run.started_utc, " ".join(run.nodes), run.verdict, int(run.complete), run.path,
         run.problem)
        for run in stored.runs
    )  # fmt: skip
    return Records(COLUMNS, rows)


KIND = Kind("runs", document, data, records)
