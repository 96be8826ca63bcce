"""Read ``ibnetdiscover``: hosts by their adapters' descriptions, on the switch of their cable.

Format as in ibnetdiscover(8) of infiniband-diags (rdma-core): a record begins ``Switch``, ``Ca`` or
``Rt`` with the number of ports, the node's GUID in quotes and its description behind ``#``. A line
for each connected port follows, ``[port] "PEER"[port]``. Descriptions of adapters are ``HOST
HCA-1`` or, as rdma-ndd writes them, ``HOST mlx5_0``.

The switches, adapters and cables show which hosts share a leaf, and which switches are above.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import permutations

from fabricgauge.logs.readers.topology.groups import Numbered, TopologyFile
from fabricgauge.model.fabric import Group, Topology

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

    def without_record(self) -> list[tuple[int, str]]:
        """Return peers without a record, with the line that names them."""
        recorded = {*self.switches, *self.adapters, *self.routers}
        return [
            (line, guid)
            for ports, line in self.cables.items()
            for guid in sorted({guid for guid, _ in ports} - recorded)
        ]

    def groups(self) -> tuple[Group, ...]:
        """Return a group for each switch that has hosts, in the order of the file."""
        names, above = self._names(), self._above()
        hosts: dict[str, list[str]] = defaultdict(list)
        for host, (leaf, *_) in self._leaves().items():
            hosts[leaf].append(host)
        parents = {
            guid: min(((-cables, names[up]) for up, cables in ups.items()), default=(0, ""))[1]
            for guid, ups in above.items()
        }
        return tuple(
            Group(
                names[guid],
                tuple(sorted(hosts[guid])),
                parents[guid],
                above[guid].total(),
                is_switch=True,
            )
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

    def _names(self) -> dict[str, str]:
        """Return short names where they are unique, else descriptions with the GUID."""
        short = {
            guid: match["name"] if (match := _MANAGED.fullmatch(description)) else description
            for guid, description in self.switches.items()
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
#: A host's name and its device; one word alone is a host without a device. Vendors' own texts
#: (``MT25408 ConnectX Mellanox Technologies``) name no host.
_HOST = re.compile(
    r"(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]{0,252})(?:\s+(?P<device>HCA-\d+|[a-z][a-z0-9_]*\d))?"
)


def read(numbered: Sequence[Numbered], lines: TopologyFile) -> Topology:
    """Return leaf switches with their hosts; ``source`` lists the parts that were left out."""
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
    """Add a record's first line; return its GUID."""
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
