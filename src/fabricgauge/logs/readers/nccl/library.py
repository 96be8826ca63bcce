"""Read the messages of NCCL and RCCL in the log of any program, with ``NCCL_DEBUG=INFO``.

Formats: the calls of INFO and WARN in NCCL 2.4.8, 2.8.3, 2.12, 2.21, 2.23 and 2.30 (src/init.cc,
graph/*.cc, transport/*.cc, plugin/net.cc, enqueue.cc) and in recorded outputs of RCCL 2.16 and
2.22. Lines of all ranks are mixed; each one names its host. All long texts are bounded.
"""

import re
from collections.abc import Callable

import msgspec

from fabricgauge.model.nccl import (
    SUITES,
    NcclAdapter,
    NcclChoice,
    NcclEvidence,
    NcclRank,
    NcclWay,
)
from fabricgauge.model.suite import SuiteCurve

#: Further adapters, connections, ranks and words are dropped; 4,096 nodes have fewer.
MOST_ADAPTERS, MOST_WAYS, MOST_RANKS = 1 << 16, 1 << 14, 1 << 16
MOST_WORDS, LONGEST_WORDS = 16, 200

_MESSAGE = re.compile(
    r"(?:(?P<node>[A-Za-z0-9][\w.-]{0,63}):\d+:\d+ )?(?:\[\d+\] )?"
    r"(?:(?P<file>[\w./-]{1,200}:\d+) )?NCCL (?P<level>INFO|WARN) (?P<text>.*)"
)
_WAY = re.compile(
    r"(?:Channel|Ring|CollNet|Coll) (?P<channel>\d{1,4})(?:/\d+)? : (?P<ends>[^\[]{1,20}\S*"
    r"(?: -> \d+)?).{0,40}? via (?:(?P<kind>NET|COLLNET)/(?P<net>[^/]{1,40})/(?P<adapter>\d{1,6})"
    r"(?:\(\d+\))?(?P<more>/\S{0,60})?|(?P<inside>P2P/(?:direct pointer|[\w-]+)|SHM)"
    r"|(?P<shared>direct shared memory))"
)
_FOUND = re.compile(r"NET/(?P<net>\w+) ?: Using (?P<list>\[\d+\].*)")
_ADAPTER = re.compile(r"\[(?P<index>\d{1,6})\](?P<name>[^\s\[\]/]{1,64})(?:/(?P<link>IB|RoCE))?")
_RANK = re.compile(
    r"\brank (?P<rank>\d{1,7}) n[rR]anks \d+ cudaDev (?P<gpu>\d{1,4})"
    r"(?: nvmlDev \d+)?(?: busId (?P<bus>[0-9a-fA-F]{1,12}))?"
)
_NODES = re.compile(
    r"nNodes (?P<nodes>\d{1,6}) localRanks (?P<local>\d{1,4}) .*MNNVL (?P<mnnvl>\d)"
)
_COUNTS = re.compile(
    r"(?P<channels>\d{1,4}) coll channels(?:, (?P<collnet_channels>\d{1,4}) collnet channels)?"
    r"(?:, (?P<nvls_channels>\d{1,4}) nvls channels)?"
)
_RING = re.compile(r"Channel \d{1,4}/\d{1,4} : (?P<ranks>[\d ]+)$")
_CHOICE = re.compile(
    r"(?:(?P<function>\w{1,40}): )?(?P<bytes>\d{1,18}) Bytes -> Algo (?P<algorithm>\w{1,20})"
    r" proto (?P<protocol>\w{1,20})"
)
_RATE = re.compile(r"\+ NET\[(?P<rate>\d{1,6}(?:\.\d+)?)\] - NET/(?:\d+-)?(?P<index>\d{1,6})\b")
_NETWORK = re.compile(r"Using network (?P<network>.{1,40}?)\s*$")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (?P<provider>[\w;]{1,40})")
_VERSION = re.compile(r"NCCL version (?P<version>[\w.+-]{1,40})")
_VARIABLE = re.compile(
    r"(?P<name>(?:NCCL|RCCL)_\w{1,60}) set (?:by environment )?to (?P<value>.{1,200}?)\.?\s*$"
)
_TREE = re.compile(r"\[\d+\] ")
#: The library's reasons for leaving a feature out. A line that names a device is kept once.
_REASON = re.compile(
    r"GPU Direct RDMA Disabled|disabling GDR|NET/IB ?: No device found|Failed to open lib"
    r"(?:ibv|mlx5)|[Ff]ailed to initialize (?:NET|net) ?plugin|Could not find: lib"
    r"|Plugin load returned|DMA-?BUF registrations: false|NVLS multicast support is not"
)

#: An event of an adapter (ncclIbAsyncThreadMain of transport/net_ib.cc).
_EVENT = re.compile(r"NET/IB ?: .{0,80}?async (?:error |fatal )?event")

#: Algorithms and protocols by number, as NCCL before 2.19 prints them (src/include/nccl_common.h).
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")

_Way = tuple[str, str, int | None, bool]


class NcclLog:
    """The messages of one start of a program, from all its ranks.

    Messages after the end of a table belong to the next start, except a rank's messages at its end.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._over = False
        self._adapters: dict[tuple[str, int], NcclAdapter] = {}
        self._ways: dict[_Way, tuple[int, str]] = {}
        self._ranks: dict[int, NcclRank] = {}
        self._choices: dict[tuple[str, str, str], tuple[int, int]] = {}
        self._words: dict[str, dict[str, None]] = {"reasons": {}, "warnings": {}}
        self._facts = NcclEvidence()
        self._version = ""
        self._evidence: NcclEvidence | None = None

    def take(self, text: str) -> bool:
        """Keep the facts of a message of the library; return False for another line."""
        match = _MESSAGE.search(text)
        if match is None:
            return False
        message = match["text"]
        if "Destroy COMPLETE" in message or "Abort COMPLETE" in message:
            return True
        if self._over:
            self._begin()
        self._evidence = None
        if match["level"] == "WARN":
            # Only the node in front says whose adapter an event is about.
            is_event = _EVENT.search(message) and match["node"]
            self._word("warnings", f"{match['node']}: {message}" if is_event else message)
        for sign, form, learn in _LEARN:
            if sign in message and (fields := form.search(message)):
                learn(self, fields, match["node"] or "")
        if match["level"] == "INFO" and _REASON.search(message):
            self._word("reasons", message)
        return True

    def add_to(self, curve: SuiteCurve) -> None:
        """Add the library's facts to a new curve; the first table ends the start."""
        if curve.suite not in SUITES:
            return
        self._over = True
        evidence = self.evidence()
        if not evidence.has_values:
            return
        force = msgspec.structs.force_setattr
        if self._version and not any(name in curve.settings for name in ("nccl", "rccl")):
            force(curve, "settings", {**curve.settings, "nccl": self._version})
        crossing = next((connection.via for connection in evidence.crossing), "")
        provider = curve.evidence.provider
        if network := crossing.removeprefix("NET/") or evidence.network:
            provider = evidence.provider or network
            force(curve, "settings", {**curve.settings, "network": network})
        replace = msgspec.structs.replace
        force(curve, "evidence", replace(curve.evidence, nccl=evidence, provider=provider))
        force(curve, "transport", carrier(evidence))

    def evidence(self) -> NcclEvidence:
        if self._evidence is None:
            self._evidence = msgspec.structs.replace(
                self._facts,
                adapters=tuple(self._adapters.values()),
                ways=tuple(NcclWay(*key, *value) for key, value in self._ways.items()),
                ranks=tuple(self._ranks[rank] for rank in sorted(self._ranks)),
                choices=tuple(
                    NcclChoice(*key, *sizes) for key, sizes in sorted(self._choices.items())
                ),
                reasons=tuple(self._words["reasons"]),
                warnings=tuple(self._words["warnings"]),
            )
        return self._evidence

    def _word(self, kind: str, message: str) -> None:
        # Events of adapters have places of their own: other warnings do not crowd them out.
        most = MOST_WORDS * (2 if _EVENT.search(message) else 1)
        if len(self._words[kind]) < most:
            self._words[kind].setdefault(message.strip()[:LONGEST_WORDS])

    def _fact(self, **facts: object) -> None:
        self._facts = msgspec.structs.replace(self._facts, **facts)

    def _connection(self, fields: "re.Match[str]", node: str) -> None:
        adapter = int(fields["adapter"]) if fields["adapter"] else None
        via = f"{fields['kind']}/{fields['net']}" if fields["kind"] else fields["inside"] or "SHM"
        key = node, via, adapter, "/GDRDMA" in (fields["more"] or "")
        if key in self._ways or len(self._ways) < MOST_WAYS:
            ends = re.sub(r"\[\w*\]?", "", fields["ends"]).replace("->", "→").strip()
            count, first = self._ways.get(key, (0, f"channel {fields['channel']}, rank {ends}"))
            self._ways[key] = count + 1, first

    def _adapters_found(self, fields: "re.Match[str]", node: str) -> None:
        for match in _ADAPTER.finditer(fields["list"]):
            key = node, int(match["index"])
            if len(self._adapters) < MOST_ADAPTERS:
                name = match["name"] if match["link"] else match["name"].partition(":")[0]
                adapter = NcclAdapter(node, key[1], name, match["link"] or "")
                earlier = self._adapters.get(key)
                # Up to NCCL 2.4 a line on sockets follows although adapters are used.
                if earlier is None or not earlier.link:
                    self._adapters[key] = adapter

    def _rank(self, fields: "re.Match[str]", node: str) -> None:
        if len(self._ranks) < MOST_RANKS:
            rank = int(fields["rank"])
            self._ranks[rank] = NcclRank(rank, int(fields["gpu"]), fields["bus"] or "", node)

    def _nodes(self, fields: "re.Match[str]", _node: str) -> None:
        self._fact(
            nodes=int(fields["nodes"]),
            local_ranks=max(int(fields["local"]), self._facts.local_ranks or 0),
            multi_node_nvlink=self._facts.multi_node_nvlink or fields["mnnvl"] != "0",
        )

    def _counts(self, fields: "re.Match[str]", _node: str) -> None:
        self._fact(**{name: int(count or 0) for name, count in fields.groupdict().items()})

    def _ring(self, fields: "re.Match[str]", _node: str) -> None:
        ring = " ".join(fields["ranks"].split())[:LONGEST_WORDS]
        self._fact(ring=self._facts.ring or ring)

    def _trees(self, fields: "re.Match[str]", _node: str) -> None:
        self._fact(trees=max(self._facts.trees, len(_TREE.findall(fields.string))))

    def _choice(self, fields: "re.Match[str]", _node: str) -> None:
        algorithm = _named(fields["algorithm"], _ALGORITHMS)
        key = fields["function"] or "", algorithm, _named(fields["protocol"], _PROTOCOLS)
        size = int(fields["bytes"])
        if key in self._choices or len(self._choices) < MOST_WAYS:
            least, most = self._choices.get(key, (size, size))
            self._choices[key] = min(least, size), max(most, size)

    def _rate(self, fields: "re.Match[str]", _node: str) -> None:
        """Keep an adapter's rate in GB/s of 10^9 bytes: 25.0 for 200 Gb/s (graph/topo.cc)."""
        if len(self._facts.rates_bit_s) < MOST_WAYS:
            rate = {fields["index"]: float(fields["rate"]) * 8e9}
            self._fact(rates_bit_s={**self._facts.rates_bit_s, **rate})

    def _name(self, fields: "re.Match[str]", _node: str) -> None:
        self._fact(**fields.groupdict())

    def _release(self, fields: "re.Match[str]", _node: str) -> None:
        self._version = fields["version"]

    def _variable(self, fields: "re.Match[str]", _node: str) -> None:
        if len(self._facts.variables) < MOST_WORDS * 4:
            self._fact(variables={**self._facts.variables, fields["name"]: fields["value"]})


#: A sign in a message, its form, and the method that takes it.
_LEARN: tuple[
    tuple[str, "re.Pattern[str]", Callable[[NcclLog, "re.Match[str]", str], None]], ...
] = (
    (" via ", _WAY, NcclLog._connection),
    (": Using [", _FOUND, NcclLog._adapters_found),
    (" cudaDev ", _RANK, NcclLog._rank),
    ("nNodes ", _NODES, NcclLog._nodes),
    (" coll channels", _COUNTS, NcclLog._counts),
    ("Channel ", _RING, NcclLog._ring),
    ("Trees [", _TREE, NcclLog._trees),
    (" -> Algo ", _CHOICE, NcclLog._choice),
    ("] - NET/", _RATE, NcclLog._rate),
    ("Using network ", _NETWORK, NcclLog._name),
    ("rovider is ", _PROVIDER, NcclLog._name),
    (" set ", _VARIABLE, NcclLog._variable),
    ("NCCL version ", _VERSION, NcclLog._release),
)


def carrier(evidence: NcclEvidence) -> str:
    """Return ``tcp`` or ``rdma`` as in ``SuiteCurve.transport``, empty where it is open."""
    if evidence.provider:
        return "tcp" if evidence.provider.startswith(("tcp", "sockets", "udp")) else "rdma"
    if evidence.sockets:
        return "tcp"
    names = {connection.via.partition("/")[2] for connection in evidence.crossing} or {
        evidence.network
    }
    return "rdma" if all(name.startswith(("IB", "SHARP", "UCX")) for name in names) else ""


def _named(word: str, names: tuple[str, ...]) -> str:
    """Return a name; NCCL prints a number before 2.19 and a name since."""
    return names[int(word)] if word.isdecimal() and int(word) < len(names) else word
