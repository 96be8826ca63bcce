"""Compare the paths of two stacks: libraries, functions, cache lines, locks."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from fabricgauge.features.path.values import (
    CallPath,
    CallPaths,
    FunctionSum,
    ObjectSum,
    PathChange,
    PathComparison,
    PathPart,
    TracedCall,
)

#: A soname's version: two stacks' libmpi are one library, whatever their ABI is called.
_VERSION = re.compile(r"\.so(?:\.[0-9.]+)?$")


def compare_paths(a: CallPaths, b: CallPaths) -> PathComparison:
    """Pair each path of A with B's for the same call, size, ranks and way, in A's order.

    A region whose file does not name its call stands for the only call of the other side.
    """
    a, b = _named(a, b), _named(b, a)
    b_paths = {_call_key(path): path for path in b.paths if path.usual}
    a_paths = {_call_key(path): path for path in a.paths if path.usual}
    changes = tuple(
        _compare_path(path, b_paths[key]) for key, path in a_paths.items() if key in b_paths
    )
    only_a = tuple(path for key, path in a_paths.items() if key not in b_paths)
    only_b = tuple(path for key, path in b_paths.items() if key not in a_paths)
    return PathComparison(a, b, changes, only_a, only_b)


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


#: Instructions and cache lines, by library and function; the function of a whole library is empty.
_Sums = dict[tuple[str, str], tuple[int, int]]


def _compare_path(a: CallPath, b: CallPath) -> PathChange:
    libraries = _pair_parts(_sum_by_library(a.call), _sum_by_library(b.call))
    return PathChange(
        a, b, libraries, _pair_parts(_sum_by_function(a.call), _sum_by_function(b.call))
    )


def _pair_parts(a: _Sums, b: _Sums) -> tuple[PathPart, ...]:
    """Return the parts of both, the largest difference first."""
    nothing = (0, 0)
    parts = (
        PathPart(*key, *a.get(key, nothing), *b.get(key, nothing))
        for key in dict.fromkeys((*a, *b))
    )
    return tuple(sorted(parts, key=lambda part: -abs(part.b_instructions - part.a_instructions)))


def library(object_: str) -> str:
    """Return ``libmpi`` for ``libmpi.so.40``."""
    return _VERSION.sub("", object_)


def _sum_by_library(call: TracedCall) -> _Sums:
    return _sum_parts(("", part) for part in call.objects)


def _sum_by_function(call: TracedCall) -> _Sums:
    return _sum_parts((part.function, part) for part in call.functions)


def _sum_parts(parts: Iterable[tuple[str, ObjectSum | FunctionSum]]) -> _Sums:
    sums: _Sums = {}
    for function, part in parts:
        key = (library(part.object), function)
        instructions, lines = sums.get(key, (0, 0))
        sums[key] = (instructions + part.instructions, lines + part.lines)
    return sums
