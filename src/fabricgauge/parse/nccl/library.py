"""What NCCL and RCCL say of themselves in the log of any program, with ``NCCL_DEBUG=INFO``.

Formats: the calls of INFO and WARN in NCCL 2.4.8, 2.8.3, 2.12, 2.21, 2.23 and 2.30 (src/init.cc,
graph/*.cc, transport/*.cc, plugin/net.cc, enqueue.cc) and in recorded outputs of RCCL 2.16 and
2.22. Lines of all ranks are mixed; each one says its host. Whatever is long is bounded.
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

#: What is told of more is not kept: adapters of 4,096 nodes, ways, ranks, words.
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
#: Words of the library on why it does without something. Where a device is named, once is enough.
_REASON = re.compile(
    r"GPU Direct RDMA Disabled|disabling GDR|NET/IB ?: No device found|Failed to open lib"
    r"(?:ibv|mlx5)|[Ff]ailed to initialize (?:NET|net) ?plugin|Could not find: lib"
    r"|Plugin load returned|DMA-?BUF registrations: false|NVLS multicast support is not"
)

#: Algorithms and protocols by number, as NCCL before 2.19 prints them (src/include/nccl_common.h).
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")

_Way = tuple[str, str, int | None, bool]


class LibrarySaid:
    """The messages of one start of a program, from all its ranks.

    Messages that come once a table has ended belong to the next start, but for those with which
    a rank says goodbye.
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
        """Whether the line is a message of the library; what it tells is kept."""
        match = _MESSAGE.search(text)
        if match is None:
            return False
        said = match["text"]
        if "Destroy COMPLETE" in said or "Abort COMPLETE" in said:
            return True
        if self._over:
            self._begin()
        self._evidence = None
        if match["level"] == "WARN":
            self._word("warnings", said)
        for sign, form, learn in _LEARN:
            if sign in said and (found := form.search(said)):
                learn(self, found, match["node"] or "")
        if match["level"] == "INFO" and _REASON.search(said):
            self._word("reasons", said)
        return True

    def add_to(self, curve: SuiteCurve) -> None:
        """Let a new curve tell what the library said; the start is over with its first table."""
        if curve.suite not in SUITES:
            return
        self._over = True
        said = self.evidence()
        if not said.told:
            return
        force = msgspec.structs.force_setattr
        if self._version and not any(name in curve.settings for name in ("nccl", "rccl")):
            force(curve, "settings", {**curve.settings, "nccl": self._version})
        network = next((way.via for way in said.crossing), "").removeprefix("NET/") or said.network
        own = msgspec.structs.replace(curve.evidence, nccl=said)
        if network:
            own = msgspec.structs.replace(own, provider=said.provider or network)
            force(curve, "settings", {**curve.settings, "network": network})
        force(curve, "evidence", own)
        force(curve, "transport", carrier(said))

    def evidence(self) -> NcclEvidence:
        if self._evidence is None:
            self._evidence = msgspec.structs.replace(
                self._facts,
                adapters=tuple(self._adapters.values()),
                ways=tuple(NcclWay(*way, *seen) for way, seen in self._ways.items()),
                ranks=tuple(self._ranks[rank] for rank in sorted(self._ranks)),
                choices=tuple(
                    NcclChoice(*what, *sizes) for what, sizes in sorted(self._choices.items())
                ),
                reasons=tuple(self._words["reasons"]),
                warnings=tuple(self._words["warnings"]),
            )
        return self._evidence

    def _word(self, kind: str, said: str) -> None:
        if len(self._words[kind]) < MOST_WORDS:
            self._words[kind].setdefault(said.strip()[:LONGEST_WORDS])

    def _fact(self, **facts: object) -> None:
        self._facts = msgspec.structs.replace(self._facts, **facts)

    def _way(self, said: "re.Match[str]", node: str) -> None:
        adapter = int(said["adapter"]) if said["adapter"] else None
        via = f"{said['kind']}/{said['net']}" if said["kind"] else said["inside"] or "SHM"
        key = node, via, adapter, "/GDRDMA" in (said["more"] or "")
        if key in self._ways or len(self._ways) < MOST_WAYS:
            ends = re.sub(r"\[\w*\]?", "", said["ends"]).replace("->", "→").strip()
            count, first = self._ways.get(key, (0, f"channel {said['channel']}, rank {ends}"))
            self._ways[key] = count + 1, first

    def _found(self, said: "re.Match[str]", node: str) -> None:
        for one in _ADAPTER.finditer(said["list"]):
            key = node, int(one["index"])
            if len(self._adapters) < MOST_ADAPTERS:
                name = one["name"] if one["link"] else one["name"].partition(":")[0]
                adapter = NcclAdapter(node, key[1], name, one["link"] or "")
                known = self._adapters.get(key)
                # Up to NCCL 2.4 sockets are told of although adapters are used.
                if known is None or not known.link:
                    self._adapters[key] = adapter

    def _rank(self, said: "re.Match[str]", node: str) -> None:
        if len(self._ranks) < MOST_RANKS:
            rank = int(said["rank"])
            self._ranks[rank] = NcclRank(rank, int(said["gpu"]), said["bus"] or "", node)

    def _nodes(self, said: "re.Match[str]", _node: str) -> None:
        self._fact(
            nodes=int(said["nodes"]),
            local_ranks=max(int(said["local"]), self._facts.local_ranks or 0),
            multi_node_nvlink=self._facts.multi_node_nvlink or said["mnnvl"] != "0",
        )

    def _counts(self, said: "re.Match[str]", _node: str) -> None:
        self._fact(**{name: int(count or 0) for name, count in said.groupdict().items()})

    def _ring(self, said: "re.Match[str]", _node: str) -> None:
        if not self._facts.ring:
            self._fact(ring=" ".join(said["ranks"].split())[:LONGEST_WORDS])

    def _trees(self, said: "re.Match[str]", _node: str) -> None:
        self._fact(trees=max(self._facts.trees, len(_TREE.findall(said.string))))

    def _choice(self, said: "re.Match[str]", _node: str) -> None:
        algorithm = _named(said["algorithm"], _ALGORITHMS)
        key = said["function"] or "", algorithm, _named(said["protocol"], _PROTOCOLS)
        size = int(said["bytes"])
        if key in self._choices or len(self._choices) < MOST_WAYS:
            least, most = self._choices.get(key, (size, size))
            self._choices[key] = min(least, size), max(most, size)

    def _rate(self, said: "re.Match[str]", _node: str) -> None:
        """NCCL's unit is GB/s of 10^9 bytes: 25.0 for 200 Gb/s (graph/topo.cc)."""
        if len(self._facts.rates_bit_s) < MOST_WAYS:
            rate = {said["index"]: float(said["rate"]) * 8e9}
            self._fact(rates_bit_s={**self._facts.rates_bit_s, **rate})

    def _name(self, said: "re.Match[str]", _node: str) -> None:
        self._fact(**said.groupdict())

    def _release(self, said: "re.Match[str]", _node: str) -> None:
        self._version = said["version"]

    def _variable(self, said: "re.Match[str]", _node: str) -> None:
        if len(self._facts.variables) < MOST_WORDS * 4:
            self._fact(variables={**self._facts.variables, said["name"]: said["value"]})


#: A sign in a message, its form, and who learns from it.
_LEARN: tuple[
    tuple[str, "re.Pattern[str]", Callable[[LibrarySaid, "re.Match[str]", str], None]], ...
] = (
    (" via ", _WAY, LibrarySaid._way),
    (": Using [", _FOUND, LibrarySaid._found),
    (" cudaDev ", _RANK, LibrarySaid._rank),
    ("nNodes ", _NODES, LibrarySaid._nodes),
    (" coll channels", _COUNTS, LibrarySaid._counts),
    ("Channel ", _RING, LibrarySaid._ring),
    ("Trees [", _TREE, LibrarySaid._trees),
    (" -> Algo ", _CHOICE, LibrarySaid._choice),
    ("] - NET/", _RATE, LibrarySaid._rate),
    ("Using network ", _NETWORK, LibrarySaid._name),
    ("rovider is ", _PROVIDER, LibrarySaid._name),
    (" set ", _VARIABLE, LibrarySaid._variable),
    ("NCCL version ", _VERSION, LibrarySaid._release),
)


def carrier(said: NcclEvidence) -> str:
    """``tcp`` or ``rdma`` as ``SuiteCurve.transport`` has it, empty where neither is told."""
    if said.provider:
        return "tcp" if said.provider.startswith(("tcp", "sockets", "udp")) else "rdma"
    if said.sockets:
        return "tcp"
    names = {way.via.partition("/")[2] for way in said.crossing} or {said.network}
    return "rdma" if all(name.startswith(("IB", "SHARP", "UCX")) for name in names) else ""


def _named(word: str, names: tuple[str, ...]) -> str:
    """NCCL prints a number before 2.19 and a name since."""
    return names[int(word)] if word.isdecimal() and int(word) < len(names) else word
