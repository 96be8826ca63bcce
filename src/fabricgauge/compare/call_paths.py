"""What differs between the paths of two stacks: libraries, functions, cache lines, locks."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from fabricgauge.model.call_path import CallPath, CallPaths, TracedCall
from fabricgauge.model.path_comparison import PathChange, PathComparison, PathPart

#: A soname's version: two stacks' libmpi are one library, whatever their ABI is called.
_VERSION = re.compile(r"\.so(?:\.[0-9.]+)?$")


def compare_paths(a: CallPaths, b: CallPaths) -> PathComparison:
    """Each path of A beside that of B for the same call, size, ranks and way, in A's order."""
    others = {_key(one): one for one in b.paths if one.usual}
    mine = {_key(one): one for one in a.paths if one.usual}
    changes = tuple(_change(one, others[key]) for key, one in mine.items() if key in others)
    only_a = tuple(one for key, one in mine.items() if key not in others)
    only_b = tuple(one for key, one in others.items() if key not in mine)
    return PathComparison(a, b, changes, only_a, only_b)


def _key(path: CallPath) -> tuple[str, int, int, str]:
    return path.operation, path.message_bytes, path.ranks, path.way


def _change(a: CallPath, b: CallPath) -> PathChange:
    return PathChange(
        a, b,
        tuple(_parts(_by_library(a), _by_library(b))),
        tuple(_parts(_by_function(a), _by_function(b))),
    )  # fmt: skip


def _parts(
    a: dict[tuple[str, str], tuple[int, int]], b: dict[tuple[str, str], tuple[int, int]]
) -> Iterator[PathPart]:
    """Those of both, the largest difference first."""
    nothing = (0, 0)
    parts = (
        PathPart(*key, *a.get(key, nothing), *b.get(key, nothing))
        for key in dict.fromkeys((*a, *b))
    )
    yield from sorted(parts, key=lambda one: -abs(one.b_instructions - one.a_instructions))


def library(object_: str) -> str:
    """``libmpi`` of ``libmpi.so.40``."""
    return _VERSION.sub("", object_)


def _by_library(path: CallPath) -> dict[tuple[str, str], tuple[int, int]]:
    call = _usual(path)
    return _summed(((library(o.object), ""), o.instructions, o.lines) for o in call.objects)


def _by_function(path: CallPath) -> dict[tuple[str, str], tuple[int, int]]:
    call = _usual(path)
    named = (((library(f.object), f.function), f.instructions, f.lines) for f in call.functions)
    return _summed(named)


def _summed(
    parts: Iterable[tuple[tuple[str, str], int, int]],
) -> dict[tuple[str, str], tuple[int, int]]:
    instructions, lines = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for key, executed, touched in parts:
        instructions[key] += executed
        lines[key] += touched
    return {key: (instructions[key], lines[key]) for key in instructions}


def _usual(path: CallPath) -> TracedCall:
    if path.usual is None:
        raise ValueError("a path without a call is compared with nothing")
    return path.usual
