"""Compare the instruction paths of A and B, and show libraries, functions and lines that differ."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fabricgauge.features.path.content import bar, call_name, function_name, title
from fabricgauge.features.path.values import (
    CallPath,
    CallPaths,
    FunctionSum,
    ObjectSum,
    PathChange,
    PathComparison,
    PathPart,
)
from fabricgauge.model.words.figures import signed
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting, versioned

#: A soname's version: two stacks' libmpi are one library, whatever their ABI is called.
_VERSION = re.compile(r"\.so(?:\.[0-9.]+)?$")


def compare_paths(a: CallPaths, b: CallPaths) -> PathComparison:
    """Pair each path of A with B's for the same call, size, ranks and way, in A's order.

    A region whose file does not name its call stands for the only call of the other side.
    """
    a, b = _named(a, b), _named(b, a)
    b_paths = {_call_key(path): path for path in b.paths if path.usual}
    a_paths = {_call_key(path): path for path in a.paths if path.usual}
    changes = []
    for key, path in a_paths.items():
        if key in b_paths:
            call, b_call = path.call, b_paths[key].call
            libraries = _pair_parts(call.objects, b_call.objects)
            functions = _pair_parts(call.functions, b_call.functions)
            changes.append(PathChange(path, b_paths[key], libraries, functions))
    only_a = tuple(path for key, path in a_paths.items() if key not in b_paths)
    only_b = tuple(path for key, path in b_paths.items() if key not in a_paths)
    return PathComparison(a, b, tuple(changes), only_a, only_b)


def _named(paths: CallPaths, other: CallPaths) -> CallPaths:
    """Give a side that is one unnamed region the call of the other side, if that has one alone."""
    calls = [path for path in other.paths if path.usual]
    if len(paths.paths) != 1 or not paths.paths[0].is_region or len(calls) != 1:
        return paths
    (call,) = calls
    named = replace(
        paths.paths[0], operation=call.operation, message_bytes=call.message_bytes,
        ranks=call.ranks, way=call.way,
    )  # fmt: skip
    return replace(paths, paths=(named,))


def _call_key(path: CallPath) -> tuple[str, int, int, str]:
    return path.operation, path.message_bytes, path.ranks, path.way


def _pair_parts(
    a: Iterable[ObjectSum | FunctionSum], b: Iterable[ObjectSum | FunctionSum]
) -> tuple[PathPart, ...]:
    """Return the libraries or functions of both, the largest difference first."""
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 4)
    for first, parts in ((0, a), (2, b)):
        for part in parts:
            function = part.function if isinstance(part, FunctionSum) else ""
            counts = sums[library(part.object), function]
            counts[first] += part.instructions
            counts[first + 1] += part.lines
    parts_of_both = (PathPart(*key, *counts) for key, counts in sums.items())
    return tuple(
        sorted(parts_of_both, key=lambda part: -abs(part.b_instructions - part.a_instructions))
    )


def library(object_: str) -> str:
    """Return ``libmpi`` for ``libmpi.so.40``."""
    return _VERSION.sub("", object_)


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
