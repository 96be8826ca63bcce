"""Which node each rank of a launch ran on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fabricgauge.model.run import Launch


def node_of_rank(launch: Launch, names: Sequence[str]) -> NDArray[np.int64]:
    """For each rank the index of its node in ``names``, -1 where it is not known.

    With one rank for each node it is the launch's order. With more, ranks that recorded the same
    host are one node: the one of that name, else the hosts in order of their first rank.
    """
    index = {name: number for number, name in enumerate(names)}
    ranks = launch.header.ranks if launch.header else len(launch.placements)
    if max(ranks, len(launch.placements), _highest(launch) + 1) <= len(launch.nodes):
        return np.array([index.get(node, -1) for node in launch.nodes], dtype=np.int64)
    places = np.full(max(ranks, _highest(launch) + 1), -1, dtype=np.int64)
    node_of_host = _node_of_host(launch)
    for one in launch.placements:
        places[one.rank] = index.get(node_of_host.get(one.host, ""), -1)
    return places


def _highest(launch: Launch) -> int:
    """The highest rank that takes part in any round; -1 without rounds."""
    return max(
        (max(*one.origins, *one.targets) for one in launch.rounds if one.origins), default=-1
    )


def _node_of_host(launch: Launch) -> dict[str, str]:
    placements = sorted(launch.placements, key=lambda one: one.rank)
    hosts = list(dict.fromkeys(one.host for one in placements))
    short = {node.partition(".")[0]: node for node in launch.nodes}
    named = {host: short.get(host.partition(".")[0], "") for host in hosts}
    if all(named.values()) and len(set(named.values())) == len(hosts):
        return named
    return dict(zip(hosts, launch.nodes, strict=False))
