"""What became of the ranks of a launch that says nothing, and whom they wait for: asked of every
node, as ranks.sh prints.

The states are those of proc_pid_status(5): T is stopped by a signal, t by a debugger, Z is dead
and D waits in the kernel.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from ipaddress import IPv6Address, ip_address

import msgspec

from fabricgauge.discover.probe import answers
from fabricgauge.model.host_access import HostAccess

#: Short enough to wait for in the middle of a launch.
TIMEOUT_S = 6.0
_END = "end"

#: States in which a rank does not go on.
_HELD = {
    "T": "is stopped by a signal (state T)",
    "t": "is held by a debugger (state t)",
    "Z": "is dead (state Z)",
    "X": "is dead (state X)",
}


class RankStates(msgspec.Struct, frozen=True):
    """What nodes say of a launch: ``lost`` is what is wrong with their ranks, by node.

    ``asking`` are pairs of a node and an address that has not answered its first packet of a TCP
    connection. A sound network answers within a millisecond.
    """

    lost: dict[str, str]
    asking: frozenset[tuple[str, str]] = frozenset()


def rank_states(access: HostAccess, nodes: Sequence[str], mark: str) -> RankStates:
    """What is wrong with the ranks of a launch, by node: "its rank is stopped by a signal".

    ``nodes`` is the node of each rank, ``mark`` what all its processes carry in their environment.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    states: dict[str, tuple[str, ...]] = {}
    silent: dict[str, str] = {}
    asking: set[tuple[str, str]] = set()
    words = {host.node: (mark,) for host in hosts}
    with closing(answers(hosts, TIMEOUT_S, "ranks.sh", words)) as arriving:
        for answer in arriving:
            lines = answer.raw.split("\n")
            if answer.trouble or _END not in lines:
                silent[answer.node] = answer.trouble
                continue
            said = [line.partition(" ") for line in lines]
            states[answer.node] = tuple(value for word, _, value in said if word == "rank")
            asking |= {(answer.node, address(value)) for word, _, value in said if word == "asks"}
    return RankStates(told(Counter(nodes), states, silent), frozenset(asking))


def address(text: str) -> str:
    """An address as proc(5) has it in net/tcp: 32-bit words of a little-endian machine, in hex.

    Empty where it is not understood.
    """
    try:
        packed = bytes.fromhex(text)
        words = (packed[at : at + 4][::-1] for at in range(0, len(packed), 4))
        found = ip_address(b"".join(words))
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)


def told(
    ranks: Mapping[str, int], states: Mapping[str, Sequence[str]], silent: Mapping[str, str]
) -> dict[str, str]:
    """The same from what each node said; ``ranks`` is how many it should have.

    Ranks that nobody sees anywhere may run as somebody else: then nothing is known of any. The
    same holds where all nodes are silent.
    """
    found: dict[str, str] = {}
    if not any(states.values()):
        return found
    for node, count in ranks.items():
        if node in silent:
            found[node] = f"it does not answer any more ({silent[node] or 'no answer'})"
            continue
        seen = states.get(node, ())
        held = [state for state in seen if state in _HELD]
        whose = "its rank" if count == 1 else "a rank of it"
        if held:
            found[node] = f"{whose} {_HELD[held[0]]}"
        elif len(seen) < count:
            found[node] = f"{whose} is gone, those of other nodes are still there"
    return found
