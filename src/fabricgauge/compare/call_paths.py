"""What differs between the paths of two stacks: libraries, functions, cache lines, locks."""

import re
from collections.abc import Iterable

from fabricgauge.model.call_path import (
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
    """Each path of A beside that of B for the same call, size, ranks and way, in A's order."""
    others = {_key(one): one for one in b.paths if one.usual}
    mine = {_key(one): one for one in a.paths if one.usual}
    changes = tuple(_change(one, others[key]) for key, one in mine.items() if key in others)
    only_a = tuple(one for key, one in mine.items() if key not in others)
    only_b = tuple(one for key, one in others.items() if key not in mine)
    return PathComparison(a, b, changes, only_a, only_b)


def _key(path: CallPath) -> tuple[str, int, int, str]:
    return path.operation, path.message_bytes, path.ranks, path.way


#: Instructions and cache lines, by library and function; the function of a whole library is empty.
_Sums = dict[tuple[str, str], tuple[int, int]]


def _change(a: CallPath, b: CallPath) -> PathChange:
    libraries = _parts(_by_library(a.call), _by_library(b.call))
    return PathChange(a, b, libraries, _parts(_by_function(a.call), _by_function(b.call)))


def _parts(a: _Sums, b: _Sums) -> tuple[PathPart, ...]:
    """Those of both, the largest difference first."""
    nothing = (0, 0)
    parts = (
        PathPart(*key, *a.get(key, nothing), *b.get(key, nothing))
        for key in dict.fromkeys((*a, *b))
    )
    return tuple(sorted(parts, key=lambda one: -abs(one.b_instructions - one.a_instructions)))


def library(object_: str) -> str:
    """``libmpi`` of ``libmpi.so.40``."""
    return _VERSION.sub("", object_)


def _by_library(call: TracedCall) -> _Sums:
    return _summed(("", one) for one in call.objects)


def _by_function(call: TracedCall) -> _Sums:
    return _summed((one.function, one) for one in call.functions)


def _summed(parts: Iterable[tuple[str, ObjectSum | FunctionSum]]) -> _Sums:
    found: _Sums = {}
    for function, one in parts:
        key = (library(one.object), function)
        instructions, lines = found.get(key, (0, 0))
        found[key] = (instructions + one.instructions, lines + one.lines)
    return found
