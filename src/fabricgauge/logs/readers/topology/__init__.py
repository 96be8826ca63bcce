"""Read a topology file of any known format and return its groups of nodes.

The files list the nodes on each switch: ibnetdiscover's, Slurm's, and plain lists, one group per
line: ``leaf1: node[1-4],node9``.

Slurm's topology.conf: ``SwitchName=s1 Nodes=c[1-4]``, ``SwitchName=s0 Switches=s[1-2]``. Keys as in
topology.conf(5) of Slurm 23.11 and 24.05, plug-ins ``topology/tree`` and ``topology/block``: not
case-sensitive, ``#`` begins a comment, node and switch names are host lists. Keys without nodes
(LinkSpeed, BlockSizes, …) are ignored.
"""

import re
from collections.abc import Iterator, Sequence

from fabricgauge.logs.readers.topology import ibnetdiscover
from fabricgauge.logs.readers.topology.groups import (
    LONGEST_CHARACTERS,
    MOST_LINES,
    Expand,
    Groups,
    Numbered,
    TopologyFile,
    logical,
)
from fabricgauge.model.fabric import Topology


def topology_of(text: str, source: str, expand: Expand) -> Topology:
    """Return the groups of a file; its content decides its format.

    ``source`` is the file's name, for messages and for ``Topology.source``. ``expand`` makes names
    of a node set such as ``c[1-4]`` and raises UsageError for other text.

    Raises:
        UsageError: not understood, with file, line and the expected form; or too large.
    """
    lines = TopologyFile(source, expand)
    if len(text) > LONGEST_CHARACTERS or text.count("\n") > MOST_LINES:
        raise lines.error(
            None,
            f"has more than {LONGEST_CHARACTERS} characters or {MOST_LINES} lines; no topology has",
        )
    numbered = tuple(enumerate(text.split("\n"), start=1))
    read, expected = read_list, EXPECTED_LIST
    if any(ibnetdiscover.BEGINS.match(line) for _, line in numbered):
        read, expected = ibnetdiscover.read, ibnetdiscover.EXPECTED
    elif any(_BEGINS_SLURM.match(line) for _, line in numbered):
        read, expected = read_slurm, EXPECTED_SLURM
    topology = read(numbered, lines)
    if not topology.groups:
        raise lines.error(None, f"names no nodes; expected {expected}")
    return topology


EXPECTED_LIST = "lines like 'leaf1: node[1-4],node9'"
_GROUP = re.compile(r"(?P<name>[^:]*):(?P<nodes>.*)")


def read_list(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return the groups of a plain list, in its order."""
    groups = Groups(lines)
    for line, text in logical(numbered):
        match = _GROUP.fullmatch(text)
        if match is None or not match["nodes"].strip():
            raise lines.error(line, f"{text!r:.80} is not understood; expected {EXPECTED_LIST}")
        name = lines.name(line, match["name"].strip(), "a group")
        groups.add(line, name, lines.names(line, match["nodes"].strip()))
    return Topology(groups.with_nodes(), lines.source)


EXPECTED_SLURM = "lines like 'SwitchName=s1 Nodes=c[1-4]' or 'BlockName=b1 Nodes=c[1-4]'"
_BEGINS_SLURM = re.compile(r"\s*(?:SwitchName|BlockName|BlockSizes)\s*=", re.IGNORECASE)
_NAMES = ("switchname", "blockname")
#: Blanks around the sign and quotes are allowed; a key begins where no letter stands before it, so
#: that a long word is looked at once.
_SETTING = re.compile(r'(?<![A-Za-z_])([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|(\S+))')


def read_slurm(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return leaf switches or blocks with their nodes; the first of several parents counts."""
    groups = Groups(lines)
    parents: dict[str, str] = {}
    children: list[tuple[int, str]] = []
    named_switches: set[str] = set()
    for line, settings in _settings(numbered, lines):
        name = next((settings[key] for key in _NAMES if key in settings), None)
        if name is None:
            continue
        lines.name(line, name, "a switch")
        nodes, switches = settings.get("nodes", ""), settings.get("switches", "")
        if not nodes and not switches:
            raise lines.error(
                line, f"{name!r:.80} has neither Nodes= nor Switches=; expected {EXPECTED_SLURM}"
            )
        groups.add(line, name, lines.names(line, nodes) if nodes else ())
        if "switchname" in settings:
            named_switches.add(name)
        for child in lines.names(line, switches) if switches else ():
            parents.setdefault(child, name)
            children.append((line, child))
    for line, child in children:
        if groups.line_of(child) is None:
            raise lines.error(line, f"switch {child!r:.80} has no SwitchName= line of its own")
    return Topology(
        groups.with_nodes(lambda name: parents.get(name, ""), named_switches),
        f"{lines.source} (Slurm)",
    )


def _settings(
    numbered: Sequence[Numbered], lines: TopologyFile
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the keys of each line, in lower case, with their values."""
    for line, text in logical(numbered):
        if text.lower().startswith("include "):
            raise lines.error(line, "Include is not followed; name the included file instead")
        remainder = _SETTING.sub("", text).strip()
        if remainder:
            raise lines.error(
                line, f"{remainder!r:.80} is not understood; expected {EXPECTED_SLURM}"
            )
        yield line, {key.lower(): quoted or bare for key, quoted, bare in _SETTING.findall(text)}
