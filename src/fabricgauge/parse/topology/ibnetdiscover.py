"""``ibnetdiscover``: hosts by their adapters' descriptions, on the switch they are cabled to.

Format as in ibnetdiscover(8) of infiniband-diags (rdma-core): a record begins ``Switch``, ``Ca``
or ``Rt`` with the number of ports, the node's GUID in quotes and its description behind ``#``;
a line for each connected port follows, ``[port] "PEER"[port]``. Descriptions of adapters are
``HOST HCA-1`` or, as rdma-ndd writes them, ``HOST mlx5_0``.

Switches, adapters and the cables between them: which hosts share a leaf, and what is above.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import permutations

from fabricgauge.model.topology import Group, Topology
from fabricgauge.parse.topology.groups import Numbered, TopologyFile

CabledPort = tuple[str, int]

#: A managed switch calls itself ``MF0;NAME:MODEL/U1``; a director's chips are /L01/U1, /S01/U1.
_MANAGED = re.compile(r"MF0;(?P<name>[^:;]+):[^/;]+/U1")
#: The next switch up has at most half of the share of ports with hosts: a spine may have a
#: storage server or the subnet manager, and in a torus or dragonfly nobody is above.
_ABOVE = 0.5


class Cabling:
    """By GUID: switches with their descriptions, adapters with host and device if these are known.

    A cable, which both its ends tell of, has the line that did first.
    """

    def __init__(self) -> None:
        self.switches: dict[str, str] = {}
        self.adapters: dict[str, tuple[str, str] | None] = {}
        self.routers: set[str] = set()
        self.cables: dict[frozenset[CabledPort], int] = {}

    def without_record(self) -> list[tuple[int, str]]:
        """Peers that have none, with the line that names them."""
        known = {*self.switches, *self.adapters, *self.routers}
        return [
            (line, guid)
            for ports, line in self.cables.items()
            for guid in sorted({guid for guid, _ in ports} - known)
        ]

    def groups(self) -> tuple[Group, ...]:
        """A group for each switch that has hosts, in the order of the file."""
        names, above = self._names(), self._above()
        hosts: dict[str, list[str]] = defaultdict(list)
        for host, (leaf, *_) in self._leaves().items():
            hosts[leaf].append(host)
        parents = {
            guid: min(((-cables, names[up]) for up, cables in ups.items()), default=(0, ""))[1]
            for guid, ups in above.items()
        }
        return tuple(
            Group(names[guid], tuple(sorted(hosts[guid])), parents[guid], above[guid].total())
            for guid in self.switches
            if hosts[guid]
        )

    def remarks(self) -> str:
        """What a reader should know of what was left out, each behind a semicolon."""
        nameless = sum(adapter is None for adapter in self.adapters.values())
        several = sum(len(set(leaves)) > 1 for leaves in self._leaves().values())
        told = (
            (nameless, f"; adapters left out as their description names no host: {nameless}"),
            (several, f"; hosts on more than one switch, put to their first adapter's: {several}"),
        )
        return "".join(remark for count, remark in told if count)

    def _to_switches(self, guids: Container[str]) -> Iterator[tuple[str, int, str]]:
        """Cables to a switch from one of these: its GUID and port, and the switch."""
        for ports in self.cables:
            for (guid, port), (switch, _) in permutations(ports, 2):
                if guid in guids and switch in self.switches:
                    yield guid, port, switch

    def _leaves(self) -> dict[str, list[str]]:
        """Each host's switches, by the names of the devices that are cabled to them."""
        found: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
        for guid, port, leaf in self._to_switches(self.adapters):
            if adapter := self.adapters[guid]:
                host, device = adapter
                found[host].append((device, port, leaf))
        return {host: [leaf for *_, leaf in sorted(ports)] for host, ports in found.items()}

    def _above(self) -> dict[str, Counter[str]]:
        """The switches above each switch, with the number of cables to them."""
        neighbours: dict[str, Counter[str]] = {guid: Counter() for guid in self.switches}
        for guid, _, other in self._to_switches(self.switches):
            neighbours[guid][other] += 1
        hosts = Counter(leaf for *_, leaf in self._to_switches(self.adapters))
        share = {
            guid: hosts[guid] / max(1, hosts[guid] + cables.total())
            for guid, cables in neighbours.items()
        }
        return {
            guid: Counter({
                other: count
                for other, count in cables.items()
                if share[other] <= _ABOVE * share[guid]
            })
            for guid, cables in neighbours.items()
        }  # fmt: skip

    def _names(self) -> dict[str, str]:
        """Short names where they are unique, else descriptions, else these with the GUID."""
        short = {
            guid: match["name"] if (match := _MANAGED.fullmatch(said)) else said
            for guid, said in self.switches.items()
        }
        times = Counter(short.values())
        return {
            guid: name if times[name] == 1 else f"{self.switches[guid]} ({guid})"
            for guid, name in short.items()
        }


EXPECTED = "what 'ibnetdiscover' prints, with at least one host cabled to a switch"

_KINDS = {"Switch": "S", "Ca": "H", "Rt": "R"}
_RECORD = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+\d{1,5}\s+"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"'
    r'(?:[^"]*"(?P<description>[^"]*)")?'
)
_PORT = re.compile(
    r"\[(?P<port>\d{1,5})\](?:\[ext \d{1,5}\])?(?:\([0-9a-fA-Fx]{1,20}\))?\s+"
    r'"(?P<letter>[SHR])-(?P<guid>[0-9a-fA-Fx]{1,20})"\[(?P<peer_port>\d{1,5})\]'
)
BEGINS = re.compile(r"(?:switch|ca|rt)guid=0x|(?:Switch|Ca|Rt)\s+\d+\s+\"[SHR]-")
#: A host's name and its device; one word alone is a host that was given no device. Vendors'
#: own texts (``MT25408 ConnectX Mellanox Technologies``) name no host.
_HOST = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252})(?:\s+(?P<device>HCA-\d+|[a-z][a-z0-9_]*\d))?"
)


def read(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Leaf switches with their hosts; what was left out is said in ``source``."""
    cabling = _cabling(numbered, lines)
    missing = cabling.without_record()
    if missing:
        line, guid = missing[0]
        raise lines.error(
            line, f"the peer {guid} has no record of its own, like {len(missing) - 1} more; is the"
            " file cut off? expected all that 'ibnetdiscover' printed"
        )  # fmt: skip
    return Topology(cabling.groups(), f"{lines.source} (ibnetdiscover{cabling.remarks()})")


def _cabling(numbered: Sequence[Numbered], lines: TopologyFile) -> Cabling:
    """All records and cables.

    Raises:
        UsageError: a record's or a port's line that is not understood, or a port of no record.
    """
    cabling = Cabling()
    here = ""
    for line, raw in numbered:
        text = raw.strip()
        if text.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            here = _record(line, text, lines, cabling)
        elif text.startswith("["):
            match = _PORT.match(text)
            if match is None or not here:
                raise lines.error(
                    line, f"{text!r:.80} is no port of a record; expected"
                    ' [1] "H-0002c903000e0b72"[1] below a Switch or Ca line; is the file cut off?'
                )  # fmt: skip
            peer = (_guid(match["guid"]), int(match["peer_port"]))
            cabling.cables.setdefault(frozenset(((here, int(match["port"])), peer)), line)
    return cabling


def _record(line: int, text: str, lines: TopologyFile, cabling: Cabling) -> str:
    """Take up a record's first line; its GUID."""
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
        known = (host["host"], host["device"] or "") if host else None
        cabling.adapters.setdefault(guid, known)
    else:
        cabling.routers.add(guid)
    return guid


def _guid(text: str) -> str:
    return text.lower().removeprefix("0x").rjust(16, "0")
