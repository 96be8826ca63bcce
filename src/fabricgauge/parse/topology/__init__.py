"""The text of a topology file in, groups of nodes out, whichever format it is in.

Files that say which nodes hang on which switch: Slurm's, ibnetdiscover's, and plain lists.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fabricgauge.model.topology import Topology
from fabricgauge.parse.topology import ibnetdiscover, lists
from fabricgauge.parse.topology.groups import (
    LONGEST_CHARACTERS,
    MOST_LINES,
    Expand,
    Numbered,
    TopologyFile,
)


class TopologyFormat(NamedTuple):
    """``begins`` tells whether lines are of this format, ``expected`` is for a message."""

    begins: Callable[[Sequence[Numbered]], bool]
    read: Callable[[Sequence[Numbered], TopologyFile], Topology]
    expected: str


#: In the order in which they are asked; a plain list is what is left.
FORMATS = (
    TopologyFormat(ibnetdiscover.begins, ibnetdiscover.read, ibnetdiscover.EXPECTED),
    TopologyFormat(lists.begins_slurm, lists.read_slurm, lists.EXPECTED_SLURM),
    TopologyFormat(lambda numbered: True, lists.read_list, lists.EXPECTED_LIST),
)


def topology_of(text: str, source: str, expand: Expand) -> Topology:
    """The groups that a file states; its format is told by its content.

    ``source`` is the file's name, for messages and for ``Topology.source``. ``expand`` makes names
    of a node set such as ``c[1-4]`` and raises UsageError for what is none.

    Raises:
        UsageError: not understood, with file, line and what was expected; or too large.
    """
    lines = TopologyFile(source, expand)
    if len(text) > LONGEST_CHARACTERS or text.count("\n") > MOST_LINES:
        raise lines.error(
            None,
            f"has more than {LONGEST_CHARACTERS} characters or {MOST_LINES} lines; no topology has",
        )
    numbered = tuple(enumerate(text.split("\n"), start=1))
    chosen = next(each for each in FORMATS if each.begins(numbered))
    found = chosen.read(numbered, lines)
    if not found.groups:
        raise lines.error(None, f"names no nodes; expected {chosen.expected}")
    return found
