"""Name what a launch was pinned to: a network, MPI's own choice, or one node's loopback."""

import re

#: A network's name with this prefix and a node's name means that node's own TCP loopback: a
#: reference for the rules, no network.
_LOOPBACK = "loopback:"

#: Suffix of a network's name, before the number of one of its rails.
_RAIL = "-rail"

#: The network of launches that were not pinned to one.
OWN_CHOICE = "MPI's own choice"

#: Where the sockets of one node alone connect.
LOOPBACK_SUBNET = "127.0.0.0/8"


def loopback_of(node: str) -> str:
    """Return the network's name of launches on ``node`` alone."""
    return f"{_LOOPBACK}{node}"


def is_loopback(network: str | None) -> bool:
    """Check whether figures describe one node's loopback and no network."""
    return network is not None and network.startswith(_LOOPBACK)


def rail_of(network: str, number: int) -> str:
    """Return the name of one rail of a network; ``number`` counts from 1."""
    return f"{network}{_RAIL}{number}"


def whole_of(name: str) -> str:
    """Return the network that a rail is part of, or the name itself."""
    return re.sub(rf"{_RAIL}\d+$", "", name)


def named(network: str | None) -> str:
    """Return a network's name, or a phrase for a launch without one."""
    if network is None:
        return OWN_CHOICE
    if is_loopback(network):
        return f"loopback of {network.removeprefix(_LOOPBACK)} (a reference, no network)"
    return network
