"""What became of the ranks of a launch that says nothing: asked of every node, as ranks.sh prints.

The states are those of proc_pid_status(5): T is stopped by a signal, t by a debugger, Z is dead
and D waits in the kernel.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

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


def lost_ranks(access: HostAccess, nodes: Sequence[str], mark: str) -> dict[str, str]:
    """What is wrong with the ranks of a launch, by node: "its rank is stopped by a signal".

    ``nodes`` is the node of each rank, ``mark`` what all its processes carry in their environment.
    """
    hosts = tuple(host for host in access.hosts if host.node in nodes)
    states: dict[str, tuple[str, ...]] = {}
    silent: dict[str, str] = {}
    words = {host.node: (mark,) for host in hosts}
    with closing(answers(hosts, TIMEOUT_S, "ranks.sh", words)) as arriving:
        for answer in arriving:
            lines = answer.raw.split("\n")
            if answer.trouble or _END not in lines:
                silent[answer.node] = answer.trouble
            else:
                states[answer.node] = tuple(
                    line.partition(" ")[2] for line in lines if line.startswith("rank ")
                )
    return told(Counter(nodes), states, silent)


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
