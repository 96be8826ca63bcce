"""Read a topology file of any known format and return its groups of nodes.

The files list the nodes on each switch: ibnetdiscover's, Slurm's, and plain lists, one group per
line: ``leaf1: node[1-4],node9``.

Slurm's topology.conf: ``SwitchName=s1 Nodes=c[1-4]``, ``SwitchName=s0 Switches=s[1-2]``. Keys as in
topology.conf(5) of Slurm 23.11 and 24.05, plug-ins ``topology/tree`` and ``topology/block``: not
case-sensitive, ``#`` begins a comment, node and switch names are host lists. Keys without nodes
(LinkSpeed, BlockSizes, …) are ignored.

ibnetdiscover(8) of infiniband-diags (rdma-core): a record begins ``Switch``, ``Ca`` or ``Rt`` with
the number of ports, the node's GUID in quotes and its description behind ``#``. A line for each
connected port follows, ``[port] "PEER"[port]``. Descriptions of adapters are ``HOST HCA-1`` or, as
rdma-ndd writes them, ``HOST mlx5_0``. The switches, adapters and cables show which hosts share a
leaf, and which switches are above.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from fabricgauge.model.errors import UsageError
from fabricgauge.model.fabric import Group, Topology

#: An ibnetdiscover output of 10,000 hosts with four adapters each has some 15 MB.
LONGEST_CHARACTERS = 256_000_000
MOST_LINES = 2_000_000
MOST_NODES = 200_000
#: Longer than the names of switches and groups.
LONGEST_NAME = 200

Expand = Callable[[str], tuple[str, ...]]
Numbered = tuple[int, str]

_PIECE = re.compile(r"\[[^\[\]]*\]|,|[\[\]]|[^,\[\]]+")
#: A plain host name: RFC 1123's signs, and the underscore that sites use.
_ONE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}")
_NUMBER_RANGE = re.compile(r"\s*(\d{1,12})(?:-(\d{1,12}))?(?:/\d{1,12})?\s*")


class TopologyFile:
    """One file: its name for every error, the expansion of its node sets, and its groups so far.

    A node may be in one group only, and names are unique.
    """

    def __init__(self, source: str, expand: Expand) -> None:
        self.source = source
        self._expand = expand
        self._nodes_left = MOST_NODES
        self._line_of: dict[tuple[str, str], int] = {}
        self.nodes: dict[str, tuple[str, ...]] = {}

    def error(self, line: int | None, problem: str) -> UsageError:
        """Return an error to raise, with the file, the line if there is one, and the problem."""
        place = f"{self.source} line {line}:" if line else f"{self.source}"
        return UsageError(f"{place} {problem}")

    def names(self, line: int, text: str) -> tuple[str, ...]:
        """Return the names of a node set, each once, in their written order.

        Their number is checked before they are made, and each part is expanded by itself:
        ClusterShell folds a set of many names with two numbers each in cubic time.

        Raises:
            UsageError: bad syntax, or more than ``MOST_NODES`` in the whole file.
        """
        names_in_order: dict[str, None] = {}
        for part, at_most in self._parts(line, text):
            self._nodes_left -= at_most
            if self._nodes_left < 0:
                raise self.error(line, f"more than {MOST_NODES} nodes; is {part!r:.80} meant?")
            try:
                names = (part,) if _ONE_NAME.fullmatch(part) else self._expand(part)
            except UsageError as error:
                raise self.error(line, str(error)) from error
            names_in_order.update(dict.fromkeys(names))
        return tuple(names_in_order)

    def name(self, line: int, text: str, owner: str) -> str:
        """Return a group's name unchanged if it is printable and not too long."""
        if not text or len(text) > LONGEST_NAME or not text.isprintable():
            raise self.error(
                line, f"{text!r:.80} cannot be {owner}'s name; expected 1 to {LONGEST_NAME} letters"
            )
        return text

    def _parts(self, line: int, text: str) -> Iterator[tuple[str, int]]:
        """Yield each part between commas, with the most names that it may have."""
        part, count = "", 1
        for piece in (*_PIECE.findall(text), ","):
            if piece == ",":
                if not part.strip():
                    raise self.error(line, f"{text!r:.80} has a comma too many; expected c1,c2")
                yield part.strip(), count
                part, count = "", 1
                continue
            if piece in "[]":
                raise self.error(line, f"{text!r:.80} has a bracket too many; expected c[1-4]")
            part += piece
            names = 0
            for span in piece[1:-1].split(",") if piece.startswith("[") else ():
                match = _NUMBER_RANGE.fullmatch(span)
                if match is None:
                    problem = f"{span!r:.80} is no range of numbers; expected 1-4 or 7"
                    raise self.error(line, problem)
                names += max(1, int(match[2] or match[1]) - int(match[1]) + 1)
            count *= names or 1

    def add(self, line: int, name: str, nodes: tuple[str, ...]) -> None:
        """Add a group; raise UsageError if its name or one of its nodes is repeated."""
        for kind, item in (("group", name), *(("node", node) for node in nodes)):
            if before := self._line_of.get((kind, item)):
                problem = f"{kind} {item!r:.80} is on line {before} already; expected each once"
                raise self.error(line, problem)
            self._line_of[kind, item] = line
        self.nodes[name] = nodes

    def groups(
        self, parents: Mapping[str, str] = {}, switches: Container[str] = ()
    ) -> tuple[Group, ...]:
        return tuple(
            Group(name, nodes, parent=parents.get(name, ""), is_switch=name in switches)
            for name, nodes in self.nodes.items()
            if nodes
        )


def logical(numbered: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield lines without comments and blanks; a backslash at the end joins the next line."""
    first, joined = 0, ""
    for number, line in numbered:
        text = line.split("#", 1)[0].rstrip()
        first = first or number
        joined += text.removesuffix("\\")
        if text.endswith("\\"):
            continue
        if joined.strip():
            yield first, joined.strip()
        first, joined = 0, ""
    if joined.strip():
        yield first, joined.strip()


EXPECTED_LIST = "lines like 'leaf1: node[1-4],node9'"
_GROUP = re.compile(r"(?P<name>[^:]*):(?P<nodes>.*)")


def read_list(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return the groups of a plain list, in its order."""
    for line, text in logical(numbered):
        match = _GROUP.fullmatch(text)
        if match is None or not match["nodes"].strip():
            raise lines.error(line, f"{text!r:.80} is not understood; expected {EXPECTED_LIST}")
        name = lines.name(line, match["name"].strip(), "a group")
        lines.add(line, name, lines.names(line, match["nodes"].strip()))
    return Topology(lines.groups(), lines.source)


EXPECTED_SLURM = "lines like 'SwitchName=s1 Nodes=c[1-4]' or 'BlockName=b1 Nodes=c[1-4]'"
_BEGINS_SLURM = re.compile(r"\s*(?:SwitchName|BlockName|BlockSizes)\s*=", re.IGNORECASE)
_NAMES = ("switchname", "blockname")
#: Blanks around the sign and quotes are allowed; a key begins where no letter stands before it, so
#: that a long word is looked at once.
_SETTING = re.compile(r'(?<![A-Za-z_])([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|(\S+))')


def read_slurm(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return leaf switches or blocks with their nodes; the first of several parents counts."""
    parents: dict[str, str] = {}
    children: list[tuple[int, str]] = []
    named_switches: set[str] = set()
    for line, text in logical(numbered):
        if text.lower().startswith("include "):
            raise lines.error(line, "Include is not followed; name the included file instead")
        remainder = _SETTING.sub("", text).strip()
        if remainder:
            raise lines.error(
                line, f"{remainder!r:.80} is not understood; expected {EXPECTED_SLURM}"
            )
        settings = {key.lower(): quoted or bare for key, quoted, bare in _SETTING.findall(text)}
        name = next((settings[key] for key in _NAMES if key in settings), None)
        if name is None:
            continue
        lines.name(line, name, "a switch")
        nodes, switches = settings.get("nodes", ""), settings.get("switches", "")
        if not nodes and not switches:
            raise lines.error(
                line, f"{name!r:.80} has neither Nodes= nor Switches=; expected {EXPECTED_SLURM}"
            )
        lines.add(line, name, lines.names(line, nodes) if nodes else ())
        if "switchname" in settings:
            named_switches.add(name)
        for child in lines.names(line, switches) if switches else ():
            parents.setdefault(child, name)
            children.append((line, child))
    for line, child in children:
        if child not in lines.nodes:
            raise lines.error(line, f"switch {child!r:.80} has no SwitchName= line of its own")
    return Topology(lines.groups(parents, named_switches), f"{lines.source} (Slurm)")


CabledPort = tuple[str, int]

#: A managed switch calls itself ``MF0;NAME:MODEL/U1``; a director's chips are /L01/U1, /S01/U1.
_MANAGED = re.compile(r"MF0;(?P<name>[^:;]+):[^/;]+/U1")
#: The next switch up has at most half of the share of ports with hosts: a spine may have a storage
#: server or the subnet manager, and a torus or dragonfly has no switches above.
_ABOVE = 0.5


class Cabling:
    """Switches with descriptions and adapters with host and device, by GUID.

    A cable, which both its ends list, has the line of the first one.
    """

    def __init__(self) -> None:
        self.switches: dict[str, str] = {}
        self.adapters: dict[str, tuple[str, str] | None] = {}
        self.routers: set[str] = set()
        self.cables: dict[frozenset[CabledPort], int] = {}

    def groups(self) -> tuple[Group, ...]:
        """Return a group for each switch that has hosts, in the order of the file."""
        above = self._above()
        short = {
            guid: match["name"] if (match := _MANAGED.fullmatch(description)) else description
            for guid, description in self.switches.items()
        }
        # A short name that is not unique gives way to the description with the GUID.
        times = Counter(short.values())
        names = {
            guid: name if times[name] == 1 else f"{self.switches[guid]} ({guid})"
            for guid, name in short.items()
        }
        hosts: dict[str, list[str]] = defaultdict(list)
        for host, (leaf, *_) in self._leaves().items():
            hosts[leaf].append(host)
        parents = {
            guid: min(((-cables, names[up]) for up, cables in ups.items()), default=(0, ""))[1]
            for guid, ups in above.items()
        }
        return tuple(
            Group(names[guid], tuple(sorted(hosts[guid])), parents[guid], above[guid].total(), True)
            for guid in self.switches
            if hosts[guid]
        )

    def remarks(self) -> str:
        """Return remarks on hosts and adapters that were left out, each behind a semicolon."""
        nameless = sum(adapter is None for adapter in self.adapters.values())
        several = sum(len(set(leaves)) > 1 for leaves in self._leaves().values())
        remarks = (
            (nameless, f"; adapters left out as their description names no host: {nameless}"),
            (several, f"; hosts on more than one switch, put to their first adapter's: {several}"),
        )
        return "".join(remark for count, remark in remarks if count)

    def _to_switches(self, guids: Container[str]) -> Iterator[tuple[str, int, str]]:
        """Yield each cable from one of these to a switch: its GUID and port, and the switch."""
        for ports in self.cables:
            for (guid, port), (switch, _) in permutations(ports, 2):
                if guid in guids and switch in self.switches:
                    yield guid, port, switch

    def _leaves(self) -> dict[str, list[str]]:
        """Return each host's switches, in the order of the names of their devices."""
        ports_of_host: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
        for guid, port, leaf in self._to_switches(self.adapters):
            if adapter := self.adapters[guid]:
                host, device = adapter
                ports_of_host[host].append((device, port, leaf))
        return {host: [leaf for *_, leaf in sorted(ports)] for host, ports in ports_of_host.items()}

    def _above(self) -> dict[str, Counter[str]]:
        """Return the switches above each switch, with the number of cables to them."""
        neighbours: dict[str, Counter[str]] = {guid: Counter() for guid in self.switches}
        for guid, _, neighbour in self._to_switches(self.switches):
            neighbours[guid][neighbour] += 1
        hosts = Counter(leaf for *_, leaf in self._to_switches(self.adapters))
        share = {
            guid: hosts[guid] / max(1, hosts[guid] + cables.total())
            for guid, cables in neighbours.items()
        }
        return {
            guid: Counter({
                neighbour: count
                for neighbour, count in cables.items()
                if share[neighbour] <= _ABOVE * share[guid]
            })
            for guid, cables in neighbours.items()
        }  # fmt: skip


EXPECTED_IBNETDISCOVER = "what 'ibnetdiscover' prints, with at least one host cabled to a switch"

_KINDS = {"Switch": "S", "Ca": "H", "Rt": "R"}
_RECORD = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+\d{1,5}\s+"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"'
    r'(?:[^"]*"(?P<description>[^"]*)")?'
)
_PORT = re.compile(
    r"\[(?P<port>\d{1,5})\](?:\[ext \d{1,5}\])?(?:\([0-9a-fA-Fx]{1,20}\))?\s+"
    r'"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"\[(?P<peer_port>\d{1,5})\]'
)
_BEGINS_IBNETDISCOVER = re.compile(r"(?:switch|ca|rt)guid=0x|(?:Switch|Ca|Rt)\s+\d+\s+\"[SHR]-")
#: A host's name and its device; one word alone is a host without a device. Vendors' own texts
#: (``MT25408 ConnectX Mellanox Technologies``) name no host.
_HOST = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252})(?:\s+(?P<device>HCA-\d+|[a-z][a-z0-9_]*\d))?"
)


def read_ibnetdiscover(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return leaf switches with their hosts; ``source`` lists the parts that were left out."""
    cabling = _cabling(numbered, lines)
    recorded = {*cabling.switches, *cabling.adapters, *cabling.routers}
    missing = [
        (line, guid)
        for ports, line in cabling.cables.items()
        for guid in sorted({guid for guid, _ in ports} - recorded)
    ]
    if missing:
        line, guid = missing[0]
        raise lines.error(
            line, f"the peer {guid} has no record of its own, like {len(missing) - 1} more; is the"
            " file cut off? expected all that 'ibnetdiscover' printed"
        )  # fmt: skip
    return Topology(cabling.groups(), f"{lines.source} (ibnetdiscover{cabling.remarks()})")


def _cabling(numbered: Sequence[Numbered], lines: TopologyFile) -> Cabling:
    """Return all records and cables.

    Raises:
        UsageError: a record's or a port's line that is not understood, or a port of no record.
    """
    cabling = Cabling()
    current = ""
    for line, raw in numbered:
        text = raw.strip()
        if text.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            current = _record(line, text, lines, cabling)
        elif text.startswith("["):
            match = _PORT.match(text)
            if match is None or not current:
                raise lines.error(
                    line, f"{text!r:.80} is no port of a record; expected"
                    ' [1] "H-0002c903000e0b72"[1] below a Switch or Ca line; is the file cut off?'
                )  # fmt: skip
            peer = (_guid(match["guid"]), int(match["peer_port"]))
            cabling.cables.setdefault(frozenset(((current, int(match["port"])), peer)), line)
    return cabling


def _record(line: int, text: str, lines: TopologyFile, cabling: Cabling) -> str:
    match = _RECORD.match(text)
    if match is None or _KINDS[match["kind"]] != match["letter"]:
        raise lines.error(
            line, f"{text!r:.80} is not understood; expected"
            ' Ca 2 "H-0002c903000e0b72" # "node01 HCA-1"; is the file cut off?'
        )  # fmt: skip
    guid = _guid(match["guid"])
    description = (match["description"] or "").strip()
    if match["kind"] == "Switch":
        name = lines.name(line, description or f"S-{guid}", "a switch")
        cabling.switches.setdefault(guid, name)
    elif match["kind"] == "Ca":
        host = _HOST.fullmatch(description)
        adapter = (host["host"], host["device"] or "") if host else None
        cabling.adapters.setdefault(guid, adapter)
    else:
        cabling.routers.add(guid)
    return guid


def _guid(text: str) -> str:
    return text.lower().removeprefix("0x").rjust(16, "0")


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
    if any(_BEGINS_IBNETDISCOVER.match(line) for _, line in numbered):
        read, expected = read_ibnetdiscover, EXPECTED_IBNETDISCOVER
    elif any(_BEGINS_SLURM.match(line) for _, line in numbered):
        read, expected = read_slurm, EXPECTED_SLURM
    topology = read(numbered, lines)
    if not topology.groups:
        raise lines.error(None, f"names no nodes; expected {expected}")
    return topology
