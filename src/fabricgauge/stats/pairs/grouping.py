"""Which group each node is in, as small numbers, and how far groups are from each other."""

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.topology import Group, Topology

GroupedBy = Literal["topology", "data", "none"]

#: How far two nodes are from each other: in one group, below one parent, or neither.
WITHIN, NEAR, FAR = 0, 1, 2


class Grouping(msgspec.Struct, frozen=True, eq=False):
    """Groups of a matrix's nodes. ``index`` (N,) is each node's group.

    Nodes on their own have the index ``len(groups)``, as if they were one more group, whose
    nodes are far from each other.
    """

    groups: tuple[Group, ...]
    index: NDArray[np.int64]
    by: GroupedBy

    @property
    def count(self) -> int:
        """The side of a table from group to group, with a place for the nodes on their own."""
        return len(self.groups) + 1

    @property
    def members(self) -> list[NDArray[np.int64]]:
        """The nodes' indices, group by group, those on their own last."""
        by_group = np.argsort(self.index, kind="stable")
        ends = np.cumsum(np.bincount(self.index, minlength=self.count))[:-1]
        return np.split(by_group, ends)

    @property
    def distances(self) -> NDArray[np.int64]:
        """``WITHIN``, ``NEAR`` or ``FAR`` from each group to each, (count, count)."""
        number = {name: i for i, name in enumerate(dict.fromkeys(g.parent for g in self.groups))}
        parents = np.array([number[group.parent] for group in self.groups], dtype=np.int64)
        table = np.full((self.count, self.count), FAR)
        same = parents[:, None] == parents[None, :]
        table[:-1, :-1][same] = NEAR
        table[np.arange(self.count - 1), np.arange(self.count - 1)] = WITHIN
        return table


#: ``Topology.source`` of groups that the measurements themselves show.
FROM_DATA = "found from the data"


def grouping(nodes: Sequence[str], topology: Topology) -> Grouping:
    """The groups of ``topology`` that have nodes here, cut down to these nodes."""
    index_of = {node: i for i, node in enumerate(nodes)}
    groups: list[Group] = []
    index = np.full(len(nodes), -1, dtype=np.int64)
    for group in topology.groups:
        here = [node for node in group.nodes if node in index_of and index[index_of[node]] < 0]
        if here:
            index[[index_of[node] for node in here]] = len(groups)
            groups.append(msgspec.structs.replace(group, nodes=tuple(here)))
    index[index < 0] = len(groups)
    by: GroupedBy = "data" if topology.source == FROM_DATA else "topology"
    return Grouping(tuple(groups), index, by if groups else "none")
