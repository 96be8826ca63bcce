"""Compare the paths of two stacks: libraries, functions, cache lines, locks."""

import re
from collections import defaultdict
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
