"""How a report names what a launch was pinned to."""

from collections.abc import Sequence

#: Launches of this network and a node's name ran on that node alone, as a reference.
LOOPBACK = "loopback:"
MOST_LISTED = 8


def is_reference(network: str | None) -> bool:
    """Whether figures describe one node's loopback and no network."""
    return network is not None and network.startswith(LOOPBACK)


def named(network: str | None) -> str:
    """A network's name, or words for a launch without one."""
    if network is None:
        return "MPI's own choice"
    if is_reference(network):
        return f"loopback of {network.removeprefix(LOOPBACK)} (a reference, no network)"
    return network


def listed(nodes: Sequence[str]) -> str:
    """Nodes in a sentence; of many the first two, the last, and how many they are."""
    if len(nodes) <= MOST_LISTED:
        return " and ".join(nodes)
    return f"{nodes[0]}, {nodes[1]} … {nodes[-1]} ({len(nodes):,} ranks)"
