"""What a launch was pinned to: a network, MPI's own choice, or one node's loopback."""

import re

#: Launches of a network of this prefix and a node's name ran on that node alone, over TCP
#: loopback: a reference of the judging, no network.
_LOOPBACK = "loopback:"

#: Behind a network's name, with a number: one of its rails.
_RAIL = "-rail"

#: What was measured without pinning MPI to a network.
OWN_CHOICE = "MPI's own choice"


def loopback_of(node: str) -> str:
    """The network's name of launches on ``node`` alone."""
    return f"{_LOOPBACK}{node}"


def is_loopback(network: str | None) -> bool:
    """Whether figures describe one node's loopback and no network."""
    return network is not None and network.startswith(_LOOPBACK)


def rail_of(network: str, number: int) -> str:
    """The name of one rail of a network; ``number`` counts from 1."""
    return f"{network}{_RAIL}{number}"


def whole_of(name: str) -> str:
    """The network that a rail is part of, or the name itself."""
    return re.sub(rf"{_RAIL}\d+$", "", name)


def named(network: str | None) -> str:
    """A network's name, or words for a launch without one."""
    if network is None:
        return OWN_CHOICE
    if is_loopback(network):
        return f"loopback of {network.removeprefix(_LOOPBACK)} (a reference, no network)"
    return network
