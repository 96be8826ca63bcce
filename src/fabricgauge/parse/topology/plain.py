"""A plain list: one group per line, ``leaf1: node[1-4],node9``."""

import re
from collections.abc import Sequence

from fabricgauge.model.topology import Topology
from fabricgauge.parse.topology.reading import Groups, Lines, Numbered, logical

EXPECTED = "lines like 'leaf1: node[1-4],node9'"
_GROUP = re.compile(r"(?P<name>[^:]*):(?P<nodes>.*)")


def read(numbered: Sequence[Numbered], lines: Lines) -> Topology:
    """The groups of a plain list, in its order."""
    groups = Groups(lines)
    for line, text in logical(numbered):
        match = _GROUP.fullmatch(text)
        if match is None or not match["nodes"].strip():
            raise lines.error(line, f"{text!r:.80} is not understood; expected {EXPECTED}")
        name = lines.name(line, match["name"].strip(), "a group")
        groups.add(line, name, lines.names(line, match["nodes"].strip()))
    return Topology(groups.made(), lines.source)
