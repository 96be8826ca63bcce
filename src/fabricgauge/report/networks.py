"""How a report names what a launch was pinned to."""

#: Launches of this network and a node's name ran on that node alone, as a reference.
LOOPBACK = "loopback:"


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
