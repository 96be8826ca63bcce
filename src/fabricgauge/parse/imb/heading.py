"""What IMB prints above its tables: about the whole output, and about one benchmark."""

import re

import msgspec

from fabricgauge.parse.imb.benchmarks import LAST_BYTES, LAST_IO_BYTES, is_reduction
from fabricgauge.parse.lines import remembered

#: Ranks of a group are shown in the settings up to this many characters.
_SHOWN_CHARACTERS = 200
#: The suite has about a hundred benchmarks.
MOST_LISTED = 1000
#: Of more groups than that nothing is kept.
MOST_GROUPS = 1000


class ImbOutput(msgspec.Struct, frozen=True):
    """What the head of an output says. Empty for a table that was copied out of one.

    ``last_bytes`` is the announced maximum, None if none is; ``own_sizes`` tells that the
    user gave a list of sizes; ``listed`` are the benchmarks that the run will come to.
    """

    version: str = ""
    part: str = ""
    last_bytes: int | None = None
    own_sizes: bool = False
    settings: dict[str, str] = {}
    listed: tuple[str, ...] = ()

    @property
    def default_bytes(self) -> int:
        return LAST_IO_BYTES if self.part == "IO" else LAST_BYTES


class ImbBlock(msgspec.Struct, frozen=True):
    """What stands above one table. ``ranks`` are those of one group."""

    name: str
    title: str
    line: int
    ranks: int | None = None
    groups: int = 1
    threads: int = 1
    mode: str = ""
    settings: dict[str, str] = {}
    group_ranks: dict[int, str] = {}


NO_BLOCK = ImbBlock("unnamed", "", 0)

_TITLE = re.compile(
    r"\s*#\s*(?:Intel ?(?:\(R\)|®)|PALLAS) MPI Benchmarks?(?: Suite)?\s+"
    r"V?(?P<version>\d[^,]{0,60}?)(?: modified by[^,]{0,120})?\s*,\s*"
    r"(?:MPI-|IMB-)?(?P<part>[A-Za-z0-9]+) part"
)
#: The title of IMB-MPI1 says MPI-1, that of IMB-EXT MPI-2, that of IMB-MT MT.
_PARTS = {"1": "MPI-1", "2": "EXT", "4": "MPI-4"}
_BENCHMARK = re.compile(
    r"\s*#\s*(?P<title>Benchmarking (?:Multi-)?(?P<name>\S+)(?:\s+\((?P<grid>[\d x]*)\))?)\s*"
)
_PROCESSES = re.compile(
    r"\s*#\s*#processes = (?P<ranks>\d{1,9})\s*"
    r"(?:(?:\(threads: (?P<threads>\d{1,9})\)|; rank order \(rowwise\):)\s*)?"
)
_GROUPS = re.compile(
    r"\s*#\s*\(\s*(?P<groups>\d{1,9}) groups of (?P<ranks>\d{1,9}) processes each running "
    r"simultaneous\s*\)\s*"
)
_GROUP = re.compile(r"\s*#\s*Group\s+(?P<group>\d{1,9}):(?P<ranks>[\s\d]*)")
_MORE_RANKS = re.compile(r"\s*#(?P<ranks>[\s\d.]*)")
_MODE = re.compile(r"\s*#\s*MODE: (?P<mode>NON-AGGREGATE|AGGREGATE)\s*")
_WAITING = re.compile(
    r"\s*#\s*\(\s*(?P<waiting>\d{1,9}) additional process(?:es)? waiting in MPI_Barrier\s*\)\s*"
)
_WINDOW = re.compile(r"\s*#\s*window_size = (?P<window>\d{1,9})\s*")

_LAST = re.compile(
    r"\s*#\s*Maximum (?:message length|io portion) in bytes:\s*(?P<bytes>\d{1,18})\s*"
)
_OWN_SIZES = re.compile(r"\s*#\s*(?:Message|IO) lengths were user defined\s*")
_TYPE = re.compile(r"\s*#\s*MPI_Datatype(?P<reductions> for reductions)?\s*:\s*(?P<type>\S+)\s*")
_LISTED = re.compile(r"\s*#\s*(?:\(Multi-\))?(?P<name>[A-Za-z]\w*)\s*")


def output_of(text: str) -> ImbOutput | None:
    """The output that a title begins; None if the line is no title."""
    match = _TITLE.match(text) if " MPI Benchmark" in text else None
    if match is None:
        return None
    part = match["part"].upper()
    return ImbOutput(version=match["version"].strip(), part=_PARTS.get(part, part))


def with_fact(output: ImbOutput, text: str) -> ImbOutput | None:
    """The output with what a line of its head adds; None if the line adds nothing."""
    if match := _LAST.fullmatch(text):
        return msgspec.structs.replace(output, last_bytes=int(match["bytes"]))
    if _OWN_SIZES.fullmatch(text):
        return msgspec.structs.replace(output, own_sizes=True)
    if match := _TYPE.fullmatch(text):
        key = "reduction datatype" if match["reductions"] else "datatype"
        return msgspec.structs.replace(output, settings={**output.settings, key: match["type"]})
    return None


def with_listed(output: ImbOutput, text: str) -> ImbOutput:
    """The output with a line of its list of benchmarks; comments on them add nothing."""
    match = _LISTED.fullmatch(text)
    if match is None or len(output.listed) >= MOST_LISTED:
        return output
    return msgspec.structs.replace(output, listed=(*output.listed, match["name"]))


def block_of(text: str, line: int) -> ImbBlock | None:
    """The block that a benchmark's name begins; None if the line is another."""
    match = _BENCHMARK.fullmatch(text) if "Benchmarking " in text else None
    if match is None:
        return None
    settings = {"grid": match["grid"]} if match["grid"] else {}
    return ImbBlock(match["name"], match["title"], line, settings=settings)


def with_line(block: ImbBlock, text: str) -> ImbBlock | None:
    """The block with what a line of it adds; None if the line is none of a block's."""
    match = _line_of_block(text)
    if match is None:
        return None
    if match.re is _PROCESSES:
        threads = max(1, int(match["threads"] or 1))
        return msgspec.structs.replace(block, ranks=int(match["ranks"]), threads=threads)
    if match.re is _GROUPS:
        groups, ranks = int(match["groups"]), int(match["ranks"])
        return msgspec.structs.replace(block, groups=groups, ranks=ranks)
    if match.re is _GROUP:
        return _with_ranks(block, int(match["group"]), match["ranks"])
    if match.re is _MODE:
        return msgspec.structs.replace(block, mode=match["mode"])
    if match.re is _MORE_RANKS:
        return _with_ranks(block, max(block.group_ranks, default=0), match["ranks"])
    key = "window" if match.re is _WINDOW else "waiting processes"
    return msgspec.structs.replace(block, settings={**block.settings, key: match[1]})


@remembered
def _line_of_block(text: str) -> "re.Match[str] | None":
    lines = (_PROCESSES, _GROUPS, _GROUP, _MODE, _WAITING, _WINDOW, _MORE_RANKS)
    return next((match for line in lines if (match := line.fullmatch(text))), None)


def _with_ranks(block: ImbBlock, group: int, text: str) -> ImbBlock:
    """Ranks are printed sixteen to a line."""
    ranks = " ".join([block.group_ranks.get(group, ""), *text.split()]).strip()
    full = len(block.group_ranks) >= MOST_GROUPS and group not in block.group_ranks
    if len(ranks) > _SHOWN_CHARACTERS or not ranks or full:
        return block
    return msgspec.structs.replace(block, group_ranks={**block.group_ranks, group: ranks})


def settings_of(
    output: ImbOutput, block: ImbBlock, group: int | None, sized: bool
) -> dict[str, str]:
    """What belongs to the figures of one table, or of one group's rows of it."""
    said: dict[str, str] = {"part": output.part} if output.part else {}
    key = "reduction datatype" if is_reduction(block.name) else "datatype"
    if sized and key in output.settings:
        said["datatype"] = output.settings[key]
    if block.mode:
        said["mode"] = block.mode.lower()
    if block.threads > 1:
        said["threads"] = str(block.threads)
    if block.groups > 1:
        said["groups"] = f"{block.groups} of {block.ranks} processes"
    if group is not None and block.groups > 1:
        said["group"] = str(group)
    if (group or 0) in block.group_ranks and (group is not None or block.groups == 1):
        said["ranks"] = block.group_ranks[group or 0]
    return said | block.settings
