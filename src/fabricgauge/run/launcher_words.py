"""What launchers and MPIs print when a rank or a connection is lost → the node or pair that it was.

Sources: runs of MPICH 4.0 and 5.0 (Hydra prints it on standard output), Intel MPI 2021.18, Open MPI
4.1 (odls, btl_tcp_endpoint.c) and 5.0 (PRRTE's help-prun.txt), srun of Slurm 22.05.
"""

import re
from collections.abc import Collection, Iterator

import msgspec

#: Signals by which a rank does not end itself: SIGBUS, SIGKILL and SIGSEGV. One that sends itself
#: another, or exits, may have lost its partner.
_SIGNALS = {"7": "SIGBUS", "9": "SIGKILL", "11": "SIGSEGV"}
_SIGNAL = r"(?P<signal>7|9|11)\b"

_SAYINGS = (
    re.compile(
        rf"PID \d+ RUNNING AT (?P<node>\S+)\s+=\s+(?:EXIT CODE|KILLED BY SIGNAL): {_SIGNAL}"
    ),
    re.compile(rf"on node (?P<node>\S+) exited\s+on\s+signal {_SIGNAL}"),
    re.compile(
        r"srun: error: (?P<node>[\w.-]+): task \d+: (?P<said>Killed|Bus error|Segm\w+ fault)"
    ),
    re.compile(r"srun: error: Node failure on (?P<node>[\w.-]+)"),
    re.compile(r"from (?P<node>\S+) to: (?P<other>\S+) Unable to connect to the peer"),
)


#: UCX 1.1x of a rank that loses a partner; MPICH may end by SIGSEGV then, and Hydra names that rank
#: if it hears of it first. The host is that of the rank.
_RESET = re.compile(
    r"^\[\d+\.\d+\] \[(?P<node>[^:\]]+):\d+:\d+\].*Connection reset by remote peer", re.MULTILINE
)


class Blamed(msgspec.Struct, frozen=True):
    """One node, or two that form a pair; ``what`` happened, ``said`` is the launcher's line."""

    nodes: tuple[str, ...]
    what: str
    said: str


def blamed(text: str, nodes: Collection[str]) -> Blamed | None:
    """Whom the output of a launch names first, if that is one of its ``nodes``.

    A rank that lost a partner before it crashed is not to blame; one whose partners all did is.
    """
    resets = {node: one[0] for one in _RESET.finditer(text) for node in _known(one, nodes)}
    found = [
        one
        for pattern in _SAYINGS
        for one in pattern.finditer(text)
        if one.groupdict().get("signal") != "11" or resets.keys().isdisjoint(_known(one, nodes))
    ]
    for one in sorted(found, key=re.Match.start):
        names = tuple(_known(one, nodes))
        if names:
            return Blamed(names, _what(one), " ".join(one[0].split()))
    left = [node for node in dict.fromkeys(nodes) if node not in resets]
    if resets and len(left) == 1:
        what = "its rank is gone: all others lost their connections to it"
        return Blamed((left[0],), what, next(iter(resets.values())))
    return None


def _known(found: "re.Match[str]", nodes: Collection[str]) -> Iterator[str]:
    """A host may say its full name, where the node was named by its first part, or the reverse."""
    groups = found.groupdict()
    for name in (groups["node"], groups.get("other")):
        short = (name or "").partition(".")[0]
        yield from [node for node in nodes if node == name or node.partition(".")[0] == short][:1]


def _what(found: "re.Match[str]") -> str:
    groups = found.groupdict()
    if "other" in groups:
        return "MPI could not connect them"
    if signal := groups.get("signal"):
        return f"its rank was ended by {_SIGNALS[signal]}"
    if said := groups.get("said"):
        return f"its rank was ended: {said}"
    return "Slurm reports that the node failed"
