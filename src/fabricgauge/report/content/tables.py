"""Others' logs, a row for each table or file: worst first, one verdict each."""

from collections.abc import Iterator

from fabricgauge.model.judged import Judged, TableVerdict
from fabricgauge.model.verdict import Outcome
from fabricgauge.report import document as doc
from fabricgauge.report.content.conclusion import tally
from fabricgauge.report.content.verdicts import badge
from fabricgauge.report.interface import Records, Setting
from fabricgauge.words.figures import percent
from fabricgauge.words.sentences import counted

#: Rows of each medium; a page with more takes seconds to open.
MOST_ROWS = {doc.SCREEN: 40, doc.TRACKER: 100, doc.PAGE: 5000}

_ORDER = list(Outcome)

COLUMNS = (
    "outcome", "source", "line", "suite", "benchmark", "network", "hosts", "share_of_ceiling",
    "rule", "summary", "cause", "remedy",
)  # fmt: skip


def several(judged: Judged) -> bool:
    """Whether there is more than one table or file: each has its row then."""
    return len(judged.tables) > 1


def ordered(judged: Judged) -> list[TableVerdict]:
    """Worst first, otherwise in the order of reading."""
    return sorted(judged.tables, key=lambda one: _ORDER.index(one.outcome))


def summary(judged: Judged) -> str:
    """``12 tables of 9 files, 2 files without one: 1 FAIL, 11 PASS, 2 SKIPPED``."""
    read = [one.source for one in judged.tables if one.line > 0]
    bare = len(judged.tables) - len(read)
    other = f", {counted(bare, 'file')} without one" if bare else ""
    whole = f"{counted(len(read), 'table')} of {counted(len(set(read)), 'file')}"
    return f"{whole}{other}: {tally(judged.tables)}"


def sections(judged: Judged) -> Iterator[doc.Section]:
    """The table of tables, where there are several."""
    if several(judged):
        heads = ("=outcome", "~where", "network", ">of ceiling", "rule", "what was found")
        rows = tuple(map(_row, ordered(judged)))
        limit = doc.RowLimit("and {count} more; `--format tables` writes them all", MOST_ROWS)
        table = doc.Table(doc.heads(*heads), rows, limit=limit, filtered=True)
        said = "Each table is judged by itself. SKIPPED: nothing in it can pass or fail."
        yield doc.Section("tables", summary(judged), (table,), nav="Each table", intro=said)


def _row(one: TableVerdict) -> tuple[doc.Said, ...]:
    share = "" if one.share is None else percent(one.share)
    network = one.network or "not stated"
    return badge(one.outcome), one.where, network, share, one.rule, one.summary


def records(judged: Judged, _setting: Setting) -> Records:
    """The same for other programs: a row each."""
    rows = (
        (
            one.outcome.value, one.source, one.line or None, one.suite, one.benchmark,
            one.network or None, " ".join(one.hosts), one.share, one.rule, one.summary, one.cause,
            one.remedy,
        )
        for one in ordered(judged)
    )  # fmt: skip
    return Records(COLUMNS, rows)
