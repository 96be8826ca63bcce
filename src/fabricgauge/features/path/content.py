"""Show the code that MPI calls execute: a row per call, then libraries, functions, cache lines."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from fabricgauge.features.path.values import CALLS, UNKNOWN, CallPath, CallPaths, TracedCall, Uses
from fabricgauge.model.words.figures import percent, size
from fabricgauge.model.words.sentences import counted, listed
from fabricgauge.report import document as doc
from fabricgauge.report.interface import Kind, Records, Setting

#: Most functions on a page of text.
_MOST_FUNCTIONS = 12

_HOW = (
    "Each call is stepped through from its first instruction to its return. The usual number is the"
    " most frequent number of the warm calls. Repeated rounds of polling are left out. A function"
    " without a symbol is named by its offset in the file."
)
_WAYS = {"node": "within a node", "loopback": "over TCP within a node"}
#: By two conditions: a path exists, all paths are complete.
_VERDICTS: dict[tuple[bool, bool], tuple[str, doc.Tone]] = {
    (True, True): ("TRACED", "pass"), (True, False): ("INCOMPLETE", "warn"),
    (False, True): ("NOTHING", "inconclusive"),
}  # fmt: skip
#: The columns of Intel SDE's footprint, as published tables of such paths have them.
_FOOTPRINT = ("LOAD", "STORE", "LD+ST", "CODE", "CD+LD", "CD+ST", "C+L+S")


def data(paths: CallPaths, _setting: Setting) -> CallPaths:
    """Return everything, in the form of the run's ``paths.json``."""
    return paths


COLUMNS = (
    "operation", "message_bytes", "ranks", "way", "object", "function", "instructions",
    "cache_lines",
)  # fmt: skip


def records(paths: CallPaths, _setting: Setting) -> Records:
    rows = (
        (call_path.operation, call_path.message_bytes, call_path.ranks, call_path.way, f.object,
         f.function, f.instructions, f.lines)
        for call_path in paths.paths if call_path.usual for f in call_path.usual.functions
    )  # fmt: skip
    return Records(COLUMNS, rows)


def listing(paths: CallPaths, _setting: Setting) -> str:
    """Return each call, function by function, then its footprint: the layout of Intel SDE."""
    return (
        "\n".join("\n".join(_list_call(call_path, paths.mpi)) for call_path in paths.paths) + "\n"
    )


def document(paths: CallPaths, setting: Setting) -> doc.Report:
    complete = [call_path for call_path in paths.paths if call_path.usual and not call_path.problem]
    environment = doc.FactList(tuple(paths.environment.items()), on=doc.PAGE)
    explained = (doc.Paragraph(_HOW, kind="soft"), environment)
    how = doc.Section("how", "How to read this", explained)
    traced = (
        doc.Section(f"path-{number}", title(path), tuple(_call_blocks(path, path.usual)))
        for number, path in enumerate(paths.paths, 1)
        if path.usual is not None
    )
    word, tone = _VERDICTS[bool(paths.paths), len(complete) == len(paths.paths)]
    return doc.Report(
        word, tone, _headline(paths), f"Instruction paths of {paths.mpi}",
        f"{paths.mpi} on {', '.join(paths.nodes[:4])}",
        (_overview(paths), *traced, how),
        provisos=tuple(_provisos(paths)),
    )  # fmt: skip


def _provisos(paths: CallPaths) -> Iterator[str]:
    if paths.virtual:
        yield (
            "Virtual cluster on one machine: loads and stores are the same as on real nodes, the"
            " network's part is that of TCP."
        )
    if any(call_path.is_static for call_path in paths.paths):
        yield f"The MPI is linked statically: its functions appear under {CALLS}."


def call_name(path: CallPath) -> str:
    """Return ``send of 4 B``, ``barrier on 4 ranks``."""
    if path.is_region:
        return path.operation
    ranks = f" on {path.ranks} ranks" if path.ranks > 2 else ""
    sized = f" of {size(path.message_bytes)}" if path.operation != "barrier" else ""
    return f"{path.operation}{sized}{ranks}"


def title(path: CallPath) -> str:
    """Return ``send of 4 B, within a node``."""
    if path.way == UNKNOWN:
        return call_name(path)
    return f"{call_name(path)}, {_WAYS.get(path.way, f'over {path.way}')}"


def function_name(function: str, object_: str) -> str:
    """Return ``libmpi.so.12:MPI_Send``."""
    return f"{object_}:{function}"


def _headline(paths: CallPaths) -> str:
    first = next((call_path for call_path in paths.paths if call_path.usual), None)
    if first is None or first.usual is None:
        return f"No call of {paths.mpi} could be traced"
    if first.is_region:
        call = first.usual
        instructions = f"{call.instructions:,} instructions" if call.instructions else ""
        lines = f"{call.lines.total:,} cache lines" if call.has_lines else ""
        return f"{paths.mpi}: {listed(list(filter(None, (instructions, lines))))}"
    return (
        f"{paths.mpi}: a warm {title(first)}, executes {first.usual.instructions:,} instructions"
        f" and touches {first.usual.lines.total:,} cache lines"
    )


def _overview(paths: CallPaths) -> doc.Section:
    columns = doc.heads(
        "=call", "path", ">instruc-\ntions", ">equal\ncalls", ">fewest", ">most", ">cold",
        ">cache\nlines", ">new", ">calls", ">locked", ">branch-\nes", ">polled", "~system calls",
    )  # fmt: skip
    rows = tuple(
        (
            doc.Cell(call_name(call_path), link=f"path-{n}"),
            _WAYS.get(call_path.way, call_path.way),
            *_row(call_path),
        )
        for n, call_path in enumerate(paths.paths, 1)
    )
    problems = tuple(
        f"{title(call_path)}: {call_path.problem}" for call_path in paths.paths if call_path.problem
    )
    blocks = (doc.Table(columns, rows, tight=True), doc.Items(problems))
    return doc.Section("calls", "Calls", blocks, nav="Calls")


def _row(path: CallPath) -> tuple[doc.Inline, ...]:
    call, cold = path.usual, f"{path.cold.instructions:,}" if path.cold else "·"
    if call is None:
        return ("·", f"0 of {path.traced}", "·", "·", cold, *("·",) * 7)
    equal_calls = dict(path.calls)[call.instructions]
    system_calls = ", ".join(f"{count} {name}" for name, count in sorted(call.system_calls.items()))
    return (
        doc.Cell(f"{call.instructions:,}{'+' * call.cut}", strong=True),
        f"{equal_calls} of {path.traced}", f"{path.calls[0][0]:,}", f"{path.calls[-1][0]:,}", cold,
        *((f"{call.lines.total:,}", f"{call.new_lines:,}") if call.has_lines else ("·", "·")),
        *(map(str, (call.calls, call.locked, call.branches)) if call.has_flow else ("·",) * 3),
        f"{call.polled:,}" if call.polled else "", system_calls,
    )  # fmt: skip


def _call_blocks(path: CallPath, call: TracedCall) -> Iterator[doc.Block]:
    objects = sorted(call.objects, key=lambda library: -library.instructions)
    yield from _bars(call)
    rows = tuple(
        (
            library.object,
            f"{library.instructions:,}",
            _share(library.instructions, call),
            f"{library.lines:,}",
        )
        for library in objects
    )
    total = ("all", f"{call.instructions:,}", "", f"{call.lines.total:,}")
    heads = doc.heads("library", ">instructions", ">share", ">cache lines")
    yield doc.Table(heads, (*rows, total), total=True)
    functions = sorted(call.functions, key=lambda function: -function.instructions)
    limit = doc.RowLimit(
        "and {count} more; --format listing has all of them, in order", {doc.TEXT: _MOST_FUNCTIONS}
    )
    cells: tuple[tuple[doc.Inline, ...], ...] = tuple(
        (function_name(function.function, function.object), f"{function.instructions:,}",
         _share(function.instructions, call), f"{function.lines:,}")
        for function in functions
    )  # fmt: skip
    heads = doc.heads("~function", ">instructions", ">share", ">cache lines")
    note = counted(len(functions), "function")
    yield doc.Fold("Functions", note, (doc.Table(heads, cells, limit=limit),), open=True)
    heads = doc.figure_heads("", *_FOOTPRINT, "all", "NEW")
    new = {"lines": f"{call.new_lines:,}", "pages": ""}
    cells = tuple(
        (name, *_footprint(uses), f"{uses.total:,}", new[name])
        for name, uses in (("lines", call.lines), ("pages", call.pages))
    )
    yield doc.Fold("Cache lines and pages", "by how they are used", (doc.Table(heads, cells),))
    yield doc.Fold(
        "In order", "function by function", (doc.Lines(tuple(_in_order(call))),), on=doc.PAGE
    )
    spread = ", ".join(f"{count} × {number:,}" for number, count in path.calls)
    yield doc.Paragraph(f"instructions of {counted(path.traced, 'warm call')}: {spread}")


def _share(instructions: int, call: TracedCall) -> str:
    return percent(instructions / call.instructions) if call.instructions else ""


def _footprint(uses: Uses) -> tuple[str, ...]:
    return tuple(f"{getattr(uses, name):,}" for name in uses.__struct_fields__)


def _bars(call: TracedCall) -> Iterator[doc.Block]:
    """Yield a bar of all libraries, then one of each library's functions, in order of first use."""
    yield bar(
        "all",
        [(library.object, library.instructions) for library in call.objects],
        call.instructions,
    )
    for library in call.objects:
        inside = [
            (f.function, f.instructions) for f in call.functions if f.object == library.object
        ]
        yield bar(library.object, inside, library.instructions)


def bar(label: str, parts: Iterable[tuple[str, int]], total: int) -> doc.ShareBar:
    """Return numbers of instructions as shares of a whole, without empty parts."""
    shares = tuple((f"{name} {count:,}", count / total, True) for name, count in parts if count)
    return doc.ShareBar(label, shares, alike=True)


def _in_order(call: TracedCall) -> Iterator[str]:
    """Yield ``object:function<TAB>instructions``, with a sum after each run of one object."""
    for object_, group in groupby(call.segments, lambda segment: call.functions[segment[0]].object):
        total = 0
        for place, instructions in group:
            yield f"{function_name(call.functions[place].function, object_)}\t{instructions}"
            total += instructions
        yield f"{object_}\t{total}"
    yield f"Totals\t{call.instructions}"


def _list_call(path: CallPath, mpi: str) -> Iterator[str]:
    yield f"{title(path)}: {mpi}"
    if path.usual is None:
        yield path.problem
        return
    yield from _in_order(path.usual)
    yield "# ===== CACHE LINES ====="
    yield "# " + "".join(f"{head:>8}" for head in (*_FOOTPRINT, "ALL", "NEW"))
    lines = path.usual.lines
    figures = (*_footprint(lines), f"{lines.total:,}", f"{path.usual.new_lines:,}")
    yield "  " + "".join(f"{figure:>8}" for figure in figures)
    yield ""


KIND = Kind("call_paths", document, data, records, listing=listing)
