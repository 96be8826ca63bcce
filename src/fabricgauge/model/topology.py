"""Which nodes hang on which switch, as a file says or as the data show."""

import msgspec


class Group(msgspec.Struct, frozen=True):
    """Nodes that share a leaf switch, a rail or a block; ``parent`` is the next switch up.

    ``uplinks`` counts the cables to the next level, 0 where the source does not say.
    """

    name: str
    nodes: tuple[str, ...]
    parent: str = ""
    uplinks: int = 0


class Topology(msgspec.Struct, frozen=True):
    """Groups of nodes that do not overlap; ``source`` says where they are from.

    Nodes in no group are on their own. An empty topology was not stated.
    """

    groups: tuple[Group, ...] = ()
    source: str = ""
