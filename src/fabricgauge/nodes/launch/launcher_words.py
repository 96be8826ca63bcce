"""Find the lost node or pair in the messages of launchers and MPIs about a rank or connection.

Sources: runs of MPICH 4.0 and 5.0 (Hydra prints it on standard output), Intel MPI 2021.18, Open MPI
4.1 (odls, btl_tcp_endpoint.c) and 5.0 (PRRTE's help-prun.txt), srun of Slurm 22.05.
"""

import re
from collections.abc import Collection, Iterator

import msgspec

#: Signals that a rank does not send to itself: SIGBUS, SIGKILL and SIGSEGV. A rank that exits or
#: ends by another signal may have lost its partner.
_SIGNALS = {"7": "SIGBUS", "9": "SIGKILL", "11": "SIGSEGV"}
_SIGNAL = r"(?P<signal>7|9|11)\b"

_LOSS_MESSAGES = (
    re.compile(
        rf"PID \d+ RUNNING AT (?P<node>\S+)\s+=\s+(?:EXIT CODE|KILLED BY SIGNAL): {_SIGNAL}"
    ),
    re.compile(rf"on node (?P<node>\S+) exited\s+on\s+signal {_SIGNAL}"),
    re.compile(
        r"srun: error: (?P<node>[\w.-]+): task \d+: (?P<reason>Killed|Bus error|Segm\w+ fault)"
    ),
    re.compile(r"srun: error: Node failure on (?P<node>[\w.-]+)"),
    re.compile(r"from (?P<node>\S+) to: (?P<peer>\S+) Unable to connect to the peer"),
)


#: Message of UCX 1.1x about a rank that loses a partner; the host is the rank's. MPICH may then end
#: by SIGSEGV, and Hydra names that rank if it notices it first.
_RESET = re.compile(
    r"^\[\d+\.\d+\] \[(?P<node>[^:\]]+):\d+:\d+\].*Connection reset by remote peer", re.MULTILINE
)


class LostRank(msgspec.Struct, frozen=True):
    """One node, or two nodes that form a pair; ``event`` is in words, ``line`` the launcher's."""

    nodes: tuple[str, ...]
    event: str
    line: str


def find_lost_rank(text: str, nodes: Collection[str]) -> LostRank | None:
    """Return the first loss in the output of a launch that concerns one of its ``nodes``.

    A rank that lost a partner and then crashed is not the cause. A rank that all its partners lost
    is the cause.
    """
    resets = {
        node: match[0] for match in _RESET.finditer(text) for node in _named_nodes(match, nodes)
    }
    matches = [
        match
        for pattern in _LOSS_MESSAGES
        for match in pattern.finditer(text)
        if match.groupdict().get("signal") != "11"
        or resets.keys().isdisjoint(_named_nodes(match, nodes))
    ]
    for match in sorted(matches, key=re.Match.start):
        names = tuple(_named_nodes(match, nodes))
        if names:
            return LostRank(names, _describe_event(match), " ".join(match[0].split()))
    without_reset = [node for node in dict.fromkeys(nodes) if node not in resets]
    if resets and len(without_reset) == 1:
        event = "its rank is gone: all other ranks lost their connections to it"
        return LostRank((without_reset[0],), event, next(iter(resets.values())))
    return None


def _named_nodes(match: "re.Match[str]", nodes: Collection[str]) -> Iterator[str]:
    """Return the nodes in a message; full host names and their first parts are equal."""
    groups = match.groupdict()
    for name in (groups["node"], groups.get("peer")):
        short = (name or "").partition(".")[0]
        yield from [node for node in nodes if node == name or node.partition(".")[0] == short][:1]


def _describe_event(match: "re.Match[str]") -> str:
    groups = match.groupdict()
    if "peer" in groups:
        return "MPI could not connect them"
    if signal := groups.get("signal"):
        return f"its rank was ended by {_SIGNALS[signal]}"
    if reason := groups.get("reason"):
        return f"its rank was ended: {reason}"
    return "Slurm reports that the node failed"
