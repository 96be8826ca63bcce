"""Show the differences between the instruction paths of A and B."""

from collections.abc import Iterator, Sequence

from fabricgauge.features.path.content import bar, call_name, function_name, title
from fabricgauge.features.path.values import PathChange, PathComparison, PathPart
from fabricgauge.model.words.figures import signed
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, versioned

#: Most functions on a page of text.
_MOST = 10


def data(comparison: PathComparison, _setting: Setting) -> dict[str, object]:
    """Return everything; a part with 0 instructions is not in that path."""
    sentence = headline(comparison)
    return versioned("call-path-changes", "1.0", headline=sentence, comparison=comparison)


COLUMNS = (
    "operation", "message_bytes", "ranks", "way", "library", "function", "a_instructions",
    "b_instructions", "a_cache_lines", "b_cache_lines",
)  # fmt: skip


def records(comparison: PathComparison, _setting: Setting) -> Records:
    rows = (
        (change.a.operation, change.a.message_bytes, change.a.ranks, change.a.way, part.library,
         part.function, part.a_instructions, part.b_instructions, part.a_lines, part.b_lines)
        for change in comparison.changes for part in change.functions
    )  # fmt: skip
    return Records(COLUMNS, rows)


def document(comparison: PathComparison, _setting: Setting) -> doc.Report:
    a, b = comparison.a, comparison.b
    unmatched = tuple(
        f"only in {side}: {title(path)}"
        for side, paths in (("A", comparison.only_a), ("B", comparison.only_b))
        for path in paths
    )
    return doc.Report(
        "COMPARED" if comparison.changes else "NOTHING",
        "" if comparison.changes else "inconclusive", headline(comparison),
        f"Instruction paths: {a.mpi} against {b.mpi}", f"A {a.mpi}, B {b.mpi}",
        (_sides(comparison), _overview(comparison), *change_sections(comparison),
         doc.Section("alone", "Not compared", (doc.Items(unmatched),), nav="Not compared")),
    )  # fmt: skip


def headline(comparison: PathComparison) -> str:
    if not comparison.changes:
        return "A and B have no call in common: call, size, ranks and path must agree"
    change = comparison.changes[0]
    a, b = change.a.call, change.b.call
    parts = [
        f"{title(change.a)}: B executes {b.instructions:,} instructions, A {a.instructions:,}"
        f" ({_relative(a.instructions, b.instructions)})"
        if a.instructions and b.instructions
        else title(change.a),
        f"{b.lines.total:,} cache lines against {a.lines.total:,}"
        f" ({_relative(a.lines.total, b.lines.total)})"
        if a.has_lines and b.has_lines
        else "",
    ]
    more = [
        f"{counted(abs(by), word)} {'more' if by > 0 else 'fewer'}"
        for by, word in ((b.calls - a.calls, "call"), (b.locked - a.locked, "locked operation"))
        if by
    ]
    return "; ".join(filter(None, (*parts, listed(more))))


def _relative(a: int, b: int) -> str:
    if not (a and b):
        return "·"
    return "no difference" if a == b else signed(b / a - 1)


def _sides(comparison: PathComparison) -> doc.Section:
    """Return the environment of both sides where it differs, and always the MPI."""
    a, b = comparison.a, comparison.b
    names = dict.fromkeys((*a.environment, *b.environment))
    differing = [name for name in names if a.environment.get(name) != b.environment.get(name)]
    rows = (
        ("MPI", a.mpi, b.mpi), ("traced", a.identity, b.identity),
        *((name, a.environment.get(name, ""), b.environment.get(name, "")) for name in differing),
    )  # fmt: skip
    table = doc.Table(doc.heads("", "~A", "~B"), rows)
    return doc.Section("sides", "Differences in the environment", (table,), nav="A and B")


def _overview(comparison: PathComparison) -> doc.Section:
    columns = doc.heads(
        "=call", "path", ">A", ">B", ">instruc-\ntions", ">cache\nlines", ">calls", ">locked",
        ">branch-\nes", ">functions\nremoved", ">added",
    )  # fmt: skip
    rows = tuple(_row(change, f"change-{n}") for n, change in enumerate(comparison.changes, 1))
    table = doc.Table(columns, rows, tight=True)
    note = doc.Paragraph(
        "A and B are instructions; the columns after them are B − A. · was not counted.", "soft"
    )
    return doc.Section("changes", "Calls side by side", (table, note) if rows else (), nav="Calls")


def _row(change: PathChange, link: str) -> tuple[doc.Inline, ...]:
    a, b = change.a.call, change.b.call
    flow = a.has_flow and b.has_flow
    pairs = (
        (a.lines.total, b.lines.total, a.has_lines and b.has_lines), (a.calls, b.calls, flow),
        (a.locked, b.locked, flow), (a.branches, b.branches, flow),
    )  # fmt: skip
    return (
        doc.Cell(call_name(change.a), link=link), change.a.way,
        *(f"{count:,}" if count else "·" for count in (a.instructions, b.instructions)),
        doc.Cell(_relative(a.instructions, b.instructions), strong=True),
        *(_difference(*pair) for pair in pairs),
        str(sum(function.removed for function in change.functions)),
        str(sum(function.added for function in change.functions)),
    )  # fmt: skip


def _difference(a: int, b: int, known: bool = True) -> str:
    if not known:
        return "·"
    return f"{b - a:+,}".replace("-", "−") if a != b else "0"


def change_sections(comparison: PathComparison) -> Iterator[doc.Section]:
    """Yield a section for each call that both sides have."""
    for number, change in enumerate(comparison.changes, 1):
        blocks = (*_bars(change), _table(change.libraries, "library"), *_functions(change))
        yield doc.Section(f"change-{number}", title(change.a), blocks)


def _bars(change: PathChange) -> Iterator[doc.Block]:
    """Yield both sides by their libraries, then each library by its functions."""
    yield from _two_bars("", [(library.library, library) for library in change.libraries])
    for part in change.libraries:
        inside = [
            (function.function, function)
            for function in change.functions
            if function.library == part.library
        ]
        yield from _two_bars(f"{part.library} ", inside)


def _two_bars(label: str, parts: list[tuple[str, PathPart]]) -> Iterator[doc.Block]:
    """Yield A's and B's bar on the scale of the longer one."""
    a = [(name, part.a_instructions) for name, part in parts]
    b = [(name, part.b_instructions) for name, part in parts]
    longer = max(sum(count for _, count in side) for side in (a, b))
    yield bar(f"{label}A", a, longer)
    yield bar(f"{label}B", b, longer)


def _functions(change: PathChange) -> Iterator[doc.Block]:
    words = ("Removed", "Added", "Of another length")
    parts_by_change: dict[str, list[PathPart]] = {word: [] for word in words}
    for function in change.functions:
        if function.a_instructions != function.b_instructions:
            word = "Added" if function.added else "Of another length"
            parts_by_change["Removed" if function.removed else word].append(function)
    for word, parts in parts_by_change.items():
        if parts:
            note = counted(len(parts), "function")
            yield doc.Fold(word, note, (_table(parts, "function"),), open=True)


def _table(parts: Sequence[PathPart], part_kind: str) -> doc.Table:
    known = any(part.a_lines or part.b_lines for part in parts)  # a listing may have none
    line_heads = (">cache lines A", ">B") if known else ()
    heads = doc.heads(f"~{part_kind}", ">A", ">B", ">B − A", *line_heads)
    rows = tuple(
        (
            function_name(part.function, part.library) if part.function else part.library,
            f"{part.a_instructions:,}", f"{part.b_instructions:,}",
            _difference(part.a_instructions, part.b_instructions),
            *((f"{part.a_lines:,}", f"{part.b_lines:,}") if known else ()),
        )
        for part in parts
    )  # fmt: skip
    limit = doc.RowLimit("and {count} more; HTML and JSON have all", {doc.TEXT: _MOST})
    return doc.Table(heads, rows, limit=limit)


KIND = Kind("call_path_changes", document, data, records)
