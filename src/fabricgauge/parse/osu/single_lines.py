"""What the suite tells in single lines: start-up times, atomics, and facts of the heading."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from fabricgauge.model.suite import SuiteCurve
from fabricgauge.parse.interface import Line
from fabricgauge.parse.table import Column, Heading, Table

_INIT = re.compile(
    r"nprocs: (?P<ranks>\d{1,9}), min: (?P<minimum>[\d.]+)(?P<unit> ms)?, "
    r"max: (?P<maximum>[\d.]+)(?: ms)?, avg: (?P<mean>[\d.]+)(?: ms)?\s*"
)


def start_up(line: Line, heading: Heading) -> Iterable[SuiteCurve] | None:
    """The curve of osu_init's only line; None if the line is another."""
    match = _INIT.fullmatch(line.text)
    if match is None:
        return None
    try:
        mean, low, high = (float(match[key]) for key in ("mean", "minimum", "maximum"))
    except ValueError:
        return None
    # The unit stands in the line since 5.x at least; without it, it is that of the source.
    column = Column("time", "MPI_Init, mean over ranks", "mean", "ms", 1e-3)
    table = Table(msgspec.structs.replace(heading, ranks=int(match["ranks"])), (column,))
    table.row(line, None, (mean,), ({"minimum": low, "maximum": high},))
    return table.curves()


#: How a fact's line begins, how it goes on, and the settings that it tells.
_FACTS: Mapping[str, tuple["re.Pattern[str]", tuple[str, ...]]] = {
    beginning: (re.compile(rest), keys)
    for beginning, rest, keys in (
        ("# Datatype: ", r"(\S+?)\.?\s*", ("datatype",)),
        ("# Window creation: ", r"(.{1,120}?)\s*", ("window creation",)),
        ("# Synchronization: ", r"(.{1,120}?)\s*", ("synchronization",)),
        ("# [ pairs: ", r"(\d{1,9}) \] \[ window size: (\w+) \]\s*", ("pairs", "window")),
        (
            "# Send Buffer on ", r"(.{1,40}?) and Receive Buffer on (.{1,40}?)\s*",
            ("send buffer", "receive buffer"),
        ),
        (
            "# Rank 0 Memory on ", r"(.{1,40}?) and Rank 1 Memory on (.{1,40}?)\s*",
            ("memory 0", "memory 1"),
        ),
        ("# Number of Sender threads: ", r"(\d+)\s*", ("sender threads",)),
        ("# Number of Receiver threads: ", r"(\d+)\s*", ("receiver threads",)),
        ("# Number of forked processes in sender: ", r"(\d+)\s*", ("sender processes",)),
        ("# Number of forked processes in receiver: ", r"(\d+)\s*", ("receiver processes",)),
        ("Dimensions size = ", r"(\d[\d ]{0,120}?)\s*", ("dimensions",)),
        ("Time took to create topology graph:", r"(\S+ us)\.\s*", ("topology creation",)),
    )
}  # fmt: skip
_BEGINNINGS = tuple(_FACTS)
#: Facts that are printed above the title.
ABOVE_TITLE = frozenset({"sender threads", "sender processes", "dimensions", "topology creation"})


def facts_in(text: str) -> dict[str, str]:
    """Settings that a line of the heading tells; empty if it tells none."""
    if not text.startswith(_BEGINNINGS):
        return {}
    beginning = next(filter(text.startswith, _FACTS))
    rest, keys = _FACTS[beginning]
    match = rest.fullmatch(text, len(beginning))
    return dict(zip(keys, match.groups(), strict=True)) if match else {}


_PROSE = re.compile(
    r"# Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait\s*"
    r"|# Uni-directional Bandwidth \(MB/sec\)\s*|# Message Rate Profile\s*"
    r"|#Using \w?CCL\s*|This is a test with \d+ processes\s*|`{3,}\w*\s*|#\s*"
)


def is_prose(text: str) -> bool:
    """Lines that the suite prints and that say nothing more of the figures, or code fences."""
    return _PROSE.fullmatch(text) is not None


_WRONG_DATA = re.compile(
    r"DATA VALIDATION ERROR: .{0,200}?(?:message size (?P<size>\d{1,18}))?\.?\s*"
)


def wrong_data(text: str) -> tuple[bool, int | None]:
    """Whether the suite says that it received wrong data, and at which message size."""
    match = _WRONG_DATA.fullmatch(text) if text.startswith("DATA") else None
    size = match["size"] if match else None
    return match is not None, None if size is None else int(size)
