"""Read files of Intel SDE (-dt_out, -omix, -ofootprint) and published listings as traced paths.

Sources: Pin's debugtrace.cpp (an address, then IMAGE:FUNCTION+OFFSET with -dt_symbols), its mix
tool and files of SDE 8.63 (a section per function, each with its *total), the SDE 9.33 user guide,
"Measuring Memory Footprint". None of these files names the call: it is shown as the traced region.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path

from msgspec.structs import replace

from fabricgauge.features.path.values import (
    CALLS,
    REGION,
    UNKNOWN,
    VERSION,
    CallPath,
    CallPaths,
    FunctionSum,
    ObjectSum,
    TracedCall,
    Uses,
)
from fabricgauge.model.errors import StoreError, UsageError
from fabricgauge.model.reference import Reference
from fabricgauge.store.files.reading import opened

#: Bytes of a file that show if SDE wrote it. A mix has its images first.
_HEAD_BYTES = 1 << 16


def sde_files(place: Path) -> list[Path]:
    """Return a file if it is SDE's, or SDE's files in a directory; none in a stored run."""
    if place.is_dir():
        return [file for file in sorted(place.iterdir()) if file.is_file() and _is_sde(file)]
    return [place] if place.is_file() and _is_sde(place) else []


def _is_sde(file: Path) -> bool:
    with suppress(OSError), opened(file) as stream:
        return is_sde(stream.read(_HEAD_BYTES).decode("utf-8", "replace"))
    return False


#: An instruction: thread if -log:mt names it, address, then image and function of -dt_symbols.
_INSTRUCTION = re.compile(r"(?:TID(\d+): +)?INS 0x([0-9a-fA-F]+)(?: \[[0-9a-fA-F]+\])?( .*)?")
#: Image, function, offset; a C++ function has spaces, so that the offset or the ISA ends it.
_PLACE = re.compile(
    r" (?P<image>[^\s:]+):(?P<function>.+?)(?:\+0x[0-9a-fA-F]+)?(?: \([^()]*:\d+\))?"
    r" +(?P<isa>[A-Z][A-Z0-9_]+) +\S"
)
_MIX_FUNCTION = re.compile(
    r"# \$dynamic-counts-for-function: (?P<function>.+?)(?: +IMG: +(?P<image>.+?))? +at \[0x"
)
_MIX_TOTAL = re.compile(r"\*total +(\d+)\s*$")
_MIX_GLOBAL = "# EMIT_GLOBAL_DYNAMIC_STATS"
_FOOTPRINT_HEAD = re.compile(r"# +=+ CACHE LINES =+")
#: Period, thread, seven kinds of lines, all of them.
_FOOTPRINT_ROW = re.compile(r" *(--|\d+) +(all|\d+)((?: +\d+){8})\s*$")

_NOTHING = Uses(0, 0, 0, 0, 0, 0, 0)
#: Files are recognised by their first lines.
_HEAD_LINES = 200


def is_sde(head: str) -> bool:
    """Check if the beginning of a file is one of SDE's three kinds."""
    lines = head.splitlines()[:_HEAD_LINES]
    return any(
        line.startswith(("# Mix output version", "# $dynamic-counts", "# EMIT_TOP_BLOCK_STATS"))
        or _FOOTPRINT_HEAD.match(line)
        or _INSTRUCTION.match(line)
        for line in lines
    )


def sde_paths(name: str, texts: Iterable[str]) -> CallPaths:
    """Return one traced region from files of SDE, in any order.

    Instructions are those of the trace, else of the mix; cache lines those of the footprint.

    Raises:
        StoreError: no file has instructions or cache lines, or two have the same.
    """
    parts: dict[str, TracedCall] = {}
    for text in texts:
        kind, call = _read_file(name, text.splitlines())
        if kind in parts:
            raise StoreError(f"{name}: two files are SDE's {kind}; name one")
        parts[kind] = call
    counted = parts.get("trace") or parts.get("mix")
    footprint = parts.get("footprint")
    if counted is None and footprint is None:
        raise StoreError(f"{name}: no file of SDE is in it")
    lines = footprint.lines if footprint else _NOTHING
    call = _region(counted.functions if counted else (), lines, counted.segments if counted else ())
    trace, mix = parts.get("trace"), parts.get("mix")
    problem = ""
    if counted is None:
        problem = "the footprint has cache lines alone; add the file of -omix or -dt_out"
    elif trace and mix and trace.instructions != mix.instructions:
        problem = (
            f"the trace has {trace.instructions:,} instructions, the mix {mix.instructions:,}:"
            " they are of different regions or threads"
        )
    path = CallPath(REGION, 0, 1, UNKNOWN, ((call.instructions, 1),), call, problem=problem)
    kinds = ", ".join(parts)
    return CallPaths(VERSION, name, "recorded by Intel SDE", name, (), {"files": kinds}, (path,))


def _read_file(name: str, lines: Sequence[str]) -> tuple[str, TracedCall]:
    if any(_FOOTPRINT_HEAD.match(line) for line in lines):
        return "footprint", _region((), _footprint(name, lines))
    if any(line.startswith(("# $dynamic-counts", _MIX_GLOBAL)) for line in lines):
        return "mix", _region(_mix(name, lines), _NOTHING)
    return "trace", _trace(name, lines)


def _region(
    functions: Sequence[FunctionSum], lines: Uses, segments: tuple[tuple[int, int], ...] = ()
) -> TracedCall:
    objects: Counter[str] = Counter()
    for function in functions:
        objects[function.object] += function.instructions
    return TracedCall(
        REGION, 0, 1, sum(objects.values()), 0, 0, cut=False, signals=0, calls=0, branches=0,
        locked=0, lines=lines, new_lines=0, pages=_NOTHING, system_calls={},
        objects=tuple(ObjectSum(object_, count, 0) for object_, count in objects.most_common()),
        functions=tuple(functions), segments=segments,
    )  # fmt: skip


def _trace(name: str, lines: Sequence[str]) -> TracedCall:
    """Read the instructions of a trace, in order; of several threads, those of the longest."""
    by_thread: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        if match := _INSTRUCTION.match(line):
            thread, address, rest = match.groups()
            by_thread.setdefault(thread or "", []).append(_place(address, rest or ""))
    if not by_thread:
        raise StoreError(f"{name}: no instruction, mix or footprint of SDE was found")
    places = max(by_thread.values(), key=len)
    counts = Counter(places)
    numbers = {place: number for number, place in enumerate(counts)}
    segments = ((numbers[place], len(list(run))) for place, run in groupby(places))
    functions = [FunctionSum(*place, count, 0) for place, count in counts.items()]
    return _region(functions, _NOTHING, tuple(segments))


def _place(address: str, rest: str) -> tuple[str, str]:
    """Return an instruction's object and function; without symbols its address names both."""
    match = _PLACE.match(rest)
    if match is None:
        return "no symbols", f"0x{address.lstrip('0') or '0'}"
    return _object(match["image"]), match["function"]


def _object(image: str | None) -> str:
    """Return a library's file name; programs of two stacks are one, whatever they are called."""
    if image is None:
        return "no image"
    name = image.strip().rsplit("/", 1)[-1]
    return name if ".so" in name else CALLS


def _mix(name: str, lines: Iterable[str]) -> list[FunctionSum]:
    """Read each function's total, summed over threads.

    The global section repeats the sum. It checks the functions, and stands alone without them.
    """
    counts: Counter[tuple[str, str]] = Counter()
    place: tuple[str, str] | None = None
    every, in_global = 0, False
    for line in chain(lines, ("",)):
        if line.startswith("#"):
            if match := _MIX_FUNCTION.match(line):
                place = _object(match["image"]), match["function"]
            elif line.startswith(("# $dynamic-counts", "# $static-counts", "# EMIT")):
                place = None
            in_global = line.startswith(_MIX_GLOBAL) or (in_global and "END_GLOBAL" not in line)
        elif match := _MIX_TOTAL.match(line):
            if in_global:
                every = int(match[1])
            elif place is not None:
                counts[place] += int(match[1])
                place = None
    rest = every - sum(counts.values())
    if rest > 0:  # functions that SDE left out, or all of them
        counts["no function", "in none of the functions listed"] = rest
    if not counts:
        raise StoreError(f"{name}: the mix has no total")
    return [FunctionSum(*where, count, 0) for where, count in counts.most_common()]


def _footprint(name: str, lines: Iterable[str]) -> Uses:
    """Read the cache lines of all threads; a file of one thread may have no row for all.

    SDE's columns are LOAD, STORE, LD+ST, CODE, CD+LD, CD+ST, C+L+S, NEW; NEW is their sum.
    """
    rows: dict[str, list[int]] = {}
    for line in lines:
        if not (match := _FOOTPRINT_ROW.match(line)):
            if line.startswith("#") and "PAGES" in line:
                break
            continue
        period, thread, numbers = match.groups()
        if period != "--":
            raise StoreError(f"{name}: the footprint has periods; record it without -fp_time")
        rows[thread] = [int(number) for number in numbers.split()]
    if not rows:
        raise StoreError(f"{name}: the footprint has no row of cache lines")
    if "all" not in rows and len(rows) > 1:
        raise StoreError(f"{name}: the footprint has several threads and no row of all")
    return Uses(*rows.get("all", next(iter(rows.values())))[:7])


COLUMNS = ("library:function", "instructions")
_TOTAL = "Totals"


def is_listing(reference: Reference) -> bool:
    """Check whether a reference is a listing of a call's instructions."""
    return reference.table is not None and reference.table.columns == COLUMNS


def reference_paths(reference: Reference) -> CallPaths:
    """Return a published listing of a call's instructions as a traced path.

    Cache lines, calls and locks of the listing are unknown, and zero here.

    Raises:
        UsageError: the reference has another table, or none; or its sum is not its total.
    """
    table = reference.table
    if table is None or not is_listing(reference):
        raise UsageError(f"{reference.name} is no table of a call's instructions")
    rows = table.rows
    total = next((int(count) for place, count in rows if place == _TOTAL), 0)
    functions, objects = Counter[tuple[str, str]](), Counter[str]()
    for place, count in rows:
        library, colon, function = str(place).partition(":")
        if colon:
            key = library if ".so" in library else CALLS, function
            functions[key] += int(count)
            objects[key[0]] += int(count)
    counted = sum(functions.values())
    if counted != total:
        raise UsageError(f"{reference.name}: its rows sum up to {counted}, its total is {total}")
    sums = [FunctionSum(*place, count, 0) for place, count in functions.items()]
    call = replace(
        _region(sums, _NOTHING),
        operation="send",
        message_bytes=4,
        objects=tuple(ObjectSum(name, count, 0) for name, count in objects.items()),
    )
    path = CallPath("send", 4, 2, "network", ((total, 1),), call)
    environment = {"hardware": reference.hardware, "software": reference.software}
    return CallPaths(
        VERSION, reference.name, reference.provenance, reference.name, (), environment,
        (path,),
    )  # fmt: skip
