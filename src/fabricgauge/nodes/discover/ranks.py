"""The ranks of a launch that prints nothing, and the peers that they wait for, as ranks.sh prints.

Every node is asked. The states are those of proc_pid_status(5): T is stopped by a signal, t by a
debugger, Z is dead and D waits in the kernel.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from ipaddress import IPv6Address, ip_address

import msgspec

from fabricgauge.model.host_access import HostAccess
from fabricgauge.nodes.discover.probe import ask_nodes

#: Short enough to wait for in the middle of a launch.
TIMEOUT_S = 6.0
_END = "end"

#: The fault of a node that does not answer, as a paused one does.
NO_ANSWER = "it does not answer any more"

#: States in which a rank does not go on.
_HELD = {
    "T": "is stopped by a signal (state T)",
    "t": "is held by a debugger (state t)",
    "Z": "is dead (state Z)",
    "X": "is dead (state X)",
}


class RankStates(msgspec.Struct, frozen=True):
    """The state of a launch on its nodes: ``lost`` is the fault of their ranks, by node.

    ``asking`` are pairs of a node and an address that has not answered its first packet of a TCP
    connection. A sound network answers within a millisecond.
    """

    lost: dict[str, str]
    asking: frozenset[tuple[str, str]] = frozenset()


def find_rank_states(access: HostAccess, nodes: Sequence[str], mark: str) -> RankStates:
    """Return the faults of a launch's ranks, by node: "its rank is stopped by a signal".

    ``nodes`` is the node of each rank; all processes of the launch have ``mark`` in their
    environment.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    states: dict[str, tuple[str, ...]] = {}
    silent: dict[str, str] = {}
    asking: set[tuple[str, str]] = set()
    words = {host.node: (mark,) for host in hosts}
    with closing(ask_nodes(hosts, TIMEOUT_S, "ranks.sh", words)) as answers:
        for answer in answers:
            lines = answer.raw.split("\n")
            if answer.trouble or _END not in lines:
                silent[answer.node] = answer.trouble
                continue
            pairs = [line.partition(" ") for line in lines]
            states[answer.node] = tuple(value for word, _, value in pairs if word == "rank")
            asking |= {
                (answer.node, parse_hex_address(value))
                for word, _, value in pairs
                if word == "asks"
            }
    return RankStates(find_lost_ranks(Counter(nodes), states, silent), frozenset(asking))


def parse_hex_address(text: str) -> str:
    """Read an address of proc(5), net/tcp: 32-bit words of a little-endian machine, in hex.

    "" if it is not understood.
    """
    try:
        packed = bytes.fromhex(text)
        words = (packed[index : index + 4][::-1] for index in range(0, len(packed), 4))
        address = ip_address(b"".join(words))
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def find_lost_ranks(
    ranks: Mapping[str, int], states: Mapping[str, Sequence[str]], silent: Mapping[str, str]
) -> dict[str, str]:
    """Return the faults from each node's answer; ``ranks`` is the expected number by node.

    If no node shows a rank, they may run as another user: then all ranks are unknown. The same
    holds if all nodes are silent.
    """
    faults: dict[str, str] = {}
    if not any(states.values()):
        return faults
    for node, count in ranks.items():
        if node in silent:
            faults[node] = f"{NO_ANSWER} ({silent[node] or 'no answer'})"
            continue
        node_states = states.get(node, ())
        held = [state for state in node_states if state in _HELD]
        subject = "its rank" if count == 1 else "a rank of it"
        if held:
            faults[node] = f"{subject} {_HELD[held[0]]}"
        elif len(node_states) < count:
            faults[node] = f"{subject} is gone, those of other nodes still run"
    return faults
