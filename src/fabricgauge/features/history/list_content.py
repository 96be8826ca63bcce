"""Put a list of runs into a document."""

from fabricgauge.features.history import words
from fabricgauge.features.history.values import History, RunRow
from fabricgauge.model.verdict import Outcome
from fabricgauge.model.words.sentences import counted
from fabricgauge.report import document as doc
from fabricgauge.report.content.verdicts import TONES
from fabricgauge.report.interface import Kind, Records, Setting, versioned

#: Rows of a list on a screen and in a tracker.
RUN_LIMIT = doc.RowLimit("{count} older runs are not shown.", {doc.SCREEN: 40, doc.TRACKER: 100})


def _list_document(history: History, _setting: Setting) -> doc.Report:
    runs = history.runs[::-1]
    broken = [run for run in runs if run.trouble]
    columns = (
        *doc.heads("=run", "=started (UTC)", "outcome", ">nodes", "networks", "MPI"),
        *doc.heads("by", on=doc.SCREEN),
        *doc.heads("what", on=doc.TRACKER | doc.PAGE),
    )
    rows = tuple(
        (
            run.name, words.day(run.started_s), outcome_cell(run), f"{len(run.nodes):,}",
            ", ".join(run.networks[:3]), run.mpi,
            run.trouble[:40] or run.headline.partition(":")[0], run.trouble or run.headline,
        )
        for run in runs
    )  # fmt: skip
    days = words.describe_days(history)
    headline = f"{counted(len(runs), 'run')} in {history.root}{days and ', '}{days}"
    unread = (
        doc.Paragraph(f"{counted(len(broken), 'run')} could not be read: see the last column.",
                      kind="caution"),
    ) if broken else ()  # fmt: skip
    return doc.Report(
        "", "", headline, "fabricgauge history", "fabricgauge history",
        (doc.Section("runs", "Runs, newest first", (doc.Table(columns, rows, limit=RUN_LIMIT),
                                                    *unread)),),
    )  # fmt: skip


def outcome_cell(run: RunRow) -> doc.Inline:
    if run.trouble:
        return doc.Cell("unreadable", tone="inconclusive")
    if run.outcome not in Outcome.__members__:
        return "–" if run.complete else "incomplete"
    outcome = Outcome(run.outcome)
    return doc.Cell(outcome.value, tone=TONES[outcome])


def _list_data(history: History, _setting: Setting) -> object:
    return versioned("history-list", "1.0", runs=history.runs[::-1])


def _list_records(history: History, _setting: Setting) -> Records:
    columns = ("run", "started_s", "complete", "outcome", "place", "nodes", "networks", "mpi")
    rows = (
        (run.name, run.started_s, int(run.complete), run.outcome, run.place, len(run.nodes),
         " ".join(run.networks), run.mpi)
        for run in history.runs[::-1]
    )  # fmt: skip
    return Records(columns, rows)


KIND = Kind("history-list", _list_document, _list_data, _list_records)
