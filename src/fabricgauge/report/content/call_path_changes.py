"""What differs between the instruction paths of A and B."""

from collections.abc import Iterator

from fabricgauge.model.call_path import CallPath, TracedCall
from fabricgauge.model.path_comparison import PathChange, PathComparison, PathPart
from fabricgauge.report import document as doc
from fabricgauge.report.content.call_paths import called, named, title
from fabricgauge.report.interface import Kind, Records, Setting, identified
from fabricgauge.words.figures import signed
from fabricgauge.words.sentences import counted, listed

VERSION = "1.0"

#: Functions that a page of text names.
_MOST = 10


def data(comparison: PathComparison, _setting: Setting) -> dict[str, object]:
    """The whole of it; a part with 0 instructions is not in that path."""
    return {
        **identified("fabricgauge-call-path-changes", VERSION),
        "headline": headline(comparison),
        "comparison": comparison,
    }


COLUMNS = (
    "operation", "message_bytes", "ranks", "way", "library", "function", "a_instructions",
    "b_instructions", "a_cache_lines", "b_cache_lines",
)  # fmt: skip


def records(comparison: PathComparison, _setting: Setting) -> Records:
    """A row for each function of either path."""
    rows = (
        (one.a.operation, one.a.message_bytes, one.a.ranks, one.a.way, part.library, part.function,
         part.a_instructions, part.b_instructions, part.a_lines, part.b_lines)
        for one in comparison.changes for part in one.functions
    )  # fmt: skip
    return Records(COLUMNS, rows)


def document(comparison: PathComparison, _setting: Setting) -> doc.Report:
    a, b = comparison.a, comparison.b
    word = "COMPARED" if comparison.changes else "NOTHING"
    sections = (
        _sides(comparison),
        _overview(comparison),
        *_sections(comparison),
        _alone(comparison),
    )
    return doc.Report(
        word, "" if comparison.changes else "inconclusive", headline(comparison),
        f"Instruction paths: {a.mpi} against {b.mpi}", f"A {a.mpi}, B {b.mpi}", sections,
    )  # fmt: skip


def headline(comparison: PathComparison) -> str:
    if not comparison.changes:
        return "A and B have no call in common: the same call, size, ranks and way"
    one = comparison.changes[0]
    a, b = _both(one)
    said = [
        f"{title(one.a)}: B executes {b.instructions:,} instructions, A {a.instructions:,}"
        f" ({_relative(a.instructions, b.instructions)})",
        f"{b.lines.total:,} cache lines against {a.lines.total:,}",
    ]
    told = [
        _more(getattr(b, name) - getattr(a, name), word)
        for name, word in (("calls", "call"), ("locked", "locked operation"))
        if getattr(a, name) != getattr(b, name)
    ]
    return "; ".join((*said, listed(told))) if told else "; ".join(said)


def _more(difference: int, word: str) -> str:
    return f"{counted(abs(difference), word)} {'more' if difference > 0 else 'fewer'}"


def _relative(a: int, b: int) -> str:
    return "no difference" if a == b else signed(b / a - 1)


def _both(change: PathChange) -> tuple[TracedCall, TracedCall]:
    a, b = change.a.usual, change.b.usual
    if a is None or b is None:
        raise ValueError("a change has a usual call on both sides")
    return a, b


def _sides(comparison: PathComparison) -> doc.Section:
    """What is known of both and differs; the MPI in any case."""
    a, b = comparison.a, comparison.b
    names = dict.fromkeys((*a.environment, *b.environment))
    differing = [name for name in names if a.environment.get(name) != b.environment.get(name)]
    rows = (
        ("MPI", a.mpi, b.mpi), ("traced", a.identity, b.identity),
        *((name, a.environment.get(name, ""), b.environment.get(name, "")) for name in differing),
    )  # fmt: skip
    table = doc.Table(doc.heads("", "~A", "~B"), rows)
    return doc.Section("sides", "A and B, where they differ", (table,), nav="A and B")


def _overview(comparison: PathComparison) -> doc.Section:
    columns = doc.heads(
        "=call", "way", ">A", ">B", ">instruc-\ntions", ">cache\nlines", ">calls", ">locked",
        ">branch-\nes", ">functions\nremoved", ">added",
    )  # fmt: skip
    rows = tuple(_row(one, f"change-{n}") for n, one in enumerate(comparison.changes, 1))
    table = doc.Table(columns, rows, tight=True)
    note = doc.Paragraph("A and B are instructions; the columns after them are B less A.", "soft")
    return doc.Section("changes", "Calls side by side", (table, note) if rows else (), nav="Calls")


def _row(change: PathChange, link: str) -> tuple[doc.Said, ...]:
    a, b = _both(change)
    pairs = (
        (a.lines.total, b.lines.total), (a.calls, b.calls), (a.locked, b.locked),
        (a.branches, b.branches),
    )  # fmt: skip
    return (
        doc.Cell(called(change.a), link=link), change.a.way, f"{a.instructions:,}",
        f"{b.instructions:,}",
        doc.Cell(_relative(a.instructions, b.instructions), strong=True),
        *(_difference(*pair) for pair in pairs),
        str(sum(one.removed for one in change.functions)),
        str(sum(one.added for one in change.functions)),
    )  # fmt: skip


def _difference(a: int, b: int) -> str:
    return f"{b - a:+,}".replace("-", "−") if a != b else "0"


def _sections(comparison: PathComparison) -> Iterator[doc.Section]:
    for number, one in enumerate(comparison.changes, 1):
        blocks = (
            *_bars(one),
            _table(one.libraries, "library"),
            *_functions(one),
        )  # fmt: skip
        yield doc.Section(f"change-{number}", title(one.a), blocks)


def _bars(change: PathChange) -> Iterator[doc.Block]:
    """A bar of each side, then of each library, all of one scale: the longer path's."""
    a, b = _both(change)
    whole = max(a.instructions, b.instructions, 1)
    for side, instructions_of in (("A", _of_a), ("B", _of_b)):
        yield _bar(side, [(one.library, instructions_of(one)) for one in change.libraries], whole)
    for part in change.libraries:
        inside = [one for one in change.functions if one.library == part.library]
        longer = max(part.a_instructions, part.b_instructions, 1)
        for side, instructions_of in (("A", _of_a), ("B", _of_b)):
            parts = [(one.function, instructions_of(one)) for one in inside]
            yield _bar(f"{part.library} {side}", parts, longer)


def _of_a(part: PathPart) -> int:
    return part.a_instructions


def _of_b(part: PathPart) -> int:
    return part.b_instructions


def _bar(label: str, parts: list[tuple[str, int]], whole: int) -> doc.ShareBar:
    shown = tuple((f"{name} {count:,}", count / whole, True) for name, count in parts if count)
    return doc.ShareBar(label, shown, alike=True)


def _functions(change: PathChange) -> Iterator[doc.Block]:
    """Those removed, those added, and those of another length."""
    kept = [one for one in change.functions if not (one.removed or one.added)]
    for word, parts in (
        ("Removed", [one for one in change.functions if one.removed]),
        ("Added", [one for one in change.functions if one.added]),
        ("Of another length", [o for o in kept if o.a_instructions != o.b_instructions]),
    ):
        if parts:
            note = counted(len(parts), "function")
            yield doc.Fold(word, note, (_table(tuple(parts), "function"),), open=True)


def _table(parts: tuple[PathPart, ...], what: str) -> doc.Table:
    heads = doc.heads(f"~{what}", ">A", ">B", ">B − A", ">cache lines A", ">B")
    rows = tuple(
        (
            named(one.function, one.library) if one.function else one.library,
            f"{one.a_instructions:,}", f"{one.b_instructions:,}",
            _difference(one.a_instructions, one.b_instructions),
            f"{one.a_lines:,}", f"{one.b_lines:,}",
        )
        for one in parts
    )  # fmt: skip
    limit = doc.RowLimit(
        "and {count} more; HTML and JSON have all", dict.fromkeys((doc.SCREEN, doc.TRACKER), _MOST)
    )
    return doc.Table(heads, rows, limit=limit)


def _alone(comparison: PathComparison) -> doc.Section:
    def told(side: str, paths: tuple[CallPath, ...]) -> tuple[str, ...]:
        return tuple(f"only in {side}: {title(one)}" for one in paths)

    items = (*told("A", comparison.only_a), *told("B", comparison.only_b))
    return doc.Section("alone", "Not compared", (doc.Items(items),), nav="Not compared")


KIND = Kind("call_path_changes", document, data, records)
