"""Read a published listing of a call's instructions as a traced path."""

from collections import Counter

from fabricgauge.features.path.values import (
    CALLS,
    FORMAT,
    VERSION,
    CallPath,
    CallPaths,
    FunctionSum,
    ObjectSum,
    TracedCall,
    Uses,
)
from fabricgauge.model.errors import UsageError
from fabricgauge.model.reference import Reference

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
    nothing = Uses(0, 0, 0, 0, 0, 0, 0)
    call = TracedCall(
        "send", 4, 1, total, 0, 0, cut=False, signals=0, calls=0, branches=0, locked=0,
        lines=nothing, new_lines=0, pages=nothing, system_calls={},
        objects=tuple(ObjectSum(name, count, 0) for name, count in objects.items()),
        functions=tuple(
            FunctionSum(library, function, count, 0)
            for (library, function), count in functions.items()
        ),
        segments=(),
    )  # fmt: skip
    path = CallPath("send", 4, 2, "network", ((total, 1),), call)
    environment = {"hardware": reference.hardware, "software": reference.software}
    return CallPaths(
        FORMAT, VERSION, reference.name, reference.provenance, reference.name, (), environment,
        (path,),
    )  # fmt: skip
