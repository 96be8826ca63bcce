"""Read the lines above IMB's tables: on the whole output, and on one benchmark.

Lines come with one blank between their words.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from fabricgauge.logs.readers.imb.benchmarks import LAST_BYTES, LAST_IO_BYTES, is_reduction
from fabricgauge.logs.readers.lines import remembered

#: Ranks of a group are shown in the settings up to this many characters.
_SHOWN_CHARACTERS = 200
#: The suite has about a hundred benchmarks.
MOST_LISTED = 1000
#: Further groups are dropped.
_MOST_GROUPS = 1000


class ImbOutput(msgspec.Struct, frozen=True):
    """Facts of an output's head. Empty for a table that was copied out of an output.

    ``last_bytes`` is the announced maximum, None if there is none; ``own_sizes`` is true if the
    user gave a list of sizes; ``listed`` are the benchmarks that the run will reach.
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


class ImbBlock(msgspec.Struct):
    """The lines above one table, as far as read. ``ranks`` are those of one group."""

    name: str
    title: str
    line: int
    ranks: int | None = None
    groups: int = 1
    threads: int = 1
    mode: str = ""
    settings: dict[str, str] = {}
    group_ranks: dict[int, str] = {}

    def learn(self, text: str) -> bool:
        """Take a line above the table; return False for another line."""
        facts = _facts_in(text)
        if facts is None:
            return False
        if "members" in facts:
            group = facts.get("group", max(self.group_ranks, default=0))
            self._add(group, facts["members"])
        elif "settings" in facts:
            self.settings |= facts["settings"]
        else:
            for name, value in facts.items():
                setattr(self, name, value)
        return True

    def _add(self, group: int, members: Sequence[str]) -> None:
        """Add ranks, which are printed sixteen to a line."""
        ranks = " ".join([self.group_ranks.get(group, ""), *members]).strip()
        full = len(self.group_ranks) >= _MOST_GROUPS and group not in self.group_ranks
        if ranks and len(ranks) <= _SHOWN_CHARACTERS and not full:
            self.group_ranks[group] = ranks


NO_BLOCK = ImbBlock("unnamed", "", 0)

_TITLE = re.compile(
    r"# ?(?:Intel ?(?:\(R\)|®)|PALLAS) MPI Benchmarks?(?: Suite)? "
    r"V?(?P<version>\d[^,]{0,60}?)(?: modified by[^,]{0,120})? ?, ?"
    r"(?:MPI-|IMB-)?(?P<part>[A-Za-z0-9]+) part"
)
#: The title of IMB-MPI1 says MPI-1, that of IMB-EXT MPI-2, that of IMB-MT MT.
_PARTS = {"1": "MPI-1", "2": "EXT", "4": "MPI-4"}
_BENCHMARK = re.compile(
    r"# ?(?P<title>Benchmarking (?:Multi-)?(?P<name>\S+)(?: \((?P<grid>[\d x]*)\))?)"
)
_IN_BLOCK = re.compile(
    r"# ?(?:"
    r"(?:#processes =|\( ?(?P<groups>\d{1,9}) groups of) (?P<ranks>\d{1,9})(?:"
    r" processes each running simultaneous ?\)"
    r"| ?\(threads: (?P<threads>\d{1,9})\)| ?; rank order \(rowwise\):)?"
    r"|MODE: (?P<mode>NON-AGGREGATE|AGGREGATE)"
    r"|\( ?(?P<waiting>\d{1,9}) additional process(?:es)? waiting in MPI_Barrier ?\)"
    r"|window_size = (?P<window>\d{1,9})"
    r"|(?:Group (?P<group>\d{1,9}):)?(?P<members>[ \d.]*))"
)
_SETTINGS = {"waiting": "waiting processes", "window": "window"}

_IN_HEAD = re.compile(
    r"# ?(?:Maximum (?:message length|io portion) in bytes: ?(?P<last_bytes>\d{1,18})"
    r"|(?P<own_sizes>(?:Message|IO) lengths were user defined)"
    r"|MPI_Datatype(?P<reductions> for reductions)? ?: ?(?P<type>\S+))"
)
_LISTED = re.compile(r"# ?(?:\(Multi-\))?(?P<name>[A-Za-z]\w*)")


def output_of(text: str) -> ImbOutput | None:
    """Return the output that a title begins; None if the line is no title."""
    match = _TITLE.match(text) if " MPI Benchmark" in text else None
    if match is None:
        return None
    part = match["part"].upper()
    return ImbOutput(version=match["version"].strip(), part=_PARTS.get(part, part))


def with_fact(output: ImbOutput, text: str) -> ImbOutput | None:
    """Return the output with the facts of a line of its head; None if the line has none."""
    match = _in_head(text)
    if match is None:
        return None
    if match["last_bytes"]:
        return msgspec.structs.replace(output, last_bytes=int(match["last_bytes"]))
    if match["own_sizes"]:
        return msgspec.structs.replace(output, own_sizes=True)
    key = "reduction datatype" if match["reductions"] else "datatype"
    return msgspec.structs.replace(output, settings={**output.settings, key: match["type"]})


_in_head = remembered(_IN_HEAD.fullmatch)


def with_listed(output: ImbOutput, text: str) -> ImbOutput:
    """Return the output with a line of its list of benchmarks; comments add nothing."""
    match = _LISTED.fullmatch(text)
    if match is None or len(output.listed) >= MOST_LISTED:
        return output
    return msgspec.structs.replace(output, listed=(*output.listed, match["name"]))


def block_of(text: str) -> tuple[str, str, dict[str, str]] | None:
    """Return name, title and settings of the block that a line begins; else None."""
    match = _BENCHMARK.fullmatch(text) if "Benchmarking " in text else None
    if match is None:
        return None
    return match["name"], match["title"], {"grid": match["grid"]} if match["grid"] else {}


@remembered
def _facts_in(text: str) -> dict[str, Any] | None:
    """Return the facts of a block's line, by the names of ``ImbBlock``'s fields."""
    match = _IN_BLOCK.fullmatch(text)
    groups = match.groupdict().items() if match else ()
    facts = {
        key: int(word) if word.isdecimal() else word for key, word in groups if word is not None
    }
    if "members" in facts:
        facts["members"] = str(facts["members"]).split()
    if "threads" in facts:
        facts["threads"] = max(1, facts["threads"])
    settings = {_SETTINGS[key]: str(value) for key, value in facts.items() if key in _SETTINGS}
    facts = {"settings": settings} if settings else facts
    return facts if match else None


def settings_of(
    output: ImbOutput, block: ImbBlock, group: int | None, sized: bool
) -> dict[str, str]:
    """Return the settings of one table, or of one group's rows of it."""
    key = "reduction datatype" if is_reduction(block.name) else "datatype"
    several, has_ranks = block.groups > 1, group is not None or block.groups == 1
    return {
        "part": output.part,
        "datatype": output.settings.get(key, "") if sized else "",
        "mode": block.mode.lower(),
        "threads": str(block.threads) if block.threads > 1 else "",
        "groups": f"{block.groups} of {block.ranks} processes" if several else "",
        "group": str(group) if group is not None and several else "",
        "ranks": block.group_ranks.get(group or 0, "") if has_ranks else "",
        **block.settings,
    }
