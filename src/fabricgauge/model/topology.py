"""The nodes of each switch, from a file or from the data."""

import msgspec


class Group(msgspec.Struct, frozen=True):
    """Nodes that share a leaf switch, a rail or a block; ``parent`` is the next switch up.

    ``uplinks`` counts the cables to the next level, 0 if the source does not give it. ``is_switch``
    is true if the source states that the nodes are cabled to one switch.
    """

    name: str
    nodes: tuple[str, ...]
    parent: str = ""
    uplinks: int = 0
    is_switch: bool = False


class Topology(msgspec.Struct, frozen=True):
    """Groups of nodes that do not overlap, and the ``source`` of this information.

    A node without a group counts as a group by itself. An empty topology is unknown.
    """

    groups: tuple[Group, ...] = ()
    source: str = ""
