"""Sections on limits, memory, kernel, services, firewall → facts, named as in facts.md; pure.

Firewall: nft(8) of nftables 1.0; iptables(8) and its extensions, 1.8 (``iptables -S``).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fabricgauge.nodes.discover.printouts.parsing import Parts, parse_pairs

#: Sites have thousands; a report needs the MPIs among them.
MAX_MODULES = 2000

Facts = dict[str, str]


#: A section, the pattern to find in it, the fact's name and value as templates of ``re``, and the
#: unit of a figure in bytes, if the fact is in bytes.
#: df -kP: blocks of 1024 bytes in the second column (POSIX.1-2017, df). os-release(5): values may
#: be quoted. iommu-types: the IOMMU group of each interface and RDMA device; their names are never
#: the same. /proc/driver/nvidia/version: NVIDIA's open modules have "Open" in it (from 515 on).
_PATTERNS = (
    ("limits", r"^Max open files +(\d{1,19}|unlimited) ", "max open files", r"\1", 0),
    ("memory", r"^MemTotal: +(\d{1,15}) kB$", "memory bytes", r"\1", 1024),
    ("shm", r"^\S+ +([0-9]{1,15})(?: +\S+){3,9} +(/dev/shm)\Z", r"\2 bytes", r"\1", 1024),
    ("os-release", r"^PRETTY_NAME=[\"']*([^\"'\n]+)", "os release", r"\1", 0),
    ("hosts", r"\A\s*(\S+)\s+(\S+)", "hosts file", r"\1 \2", 0),
    ("iommu-types", r"\./(?:net|infiniband)/([^/\s]+)/device/iommu_group/type:([\w-]{1,20})",
     r"iommu type of \1", r"\2", 0),
    ("machine", r"\A\s*(?!none\s*\Z)([\w-]{1,60})\s*\Z", "virtual machine", r"\1", 0),
    ("hypervisor", r"\A\s*(\S+)\s*\Z", "virtual machine", r"\1", 0),
    ("nvidia-driver", r"^NVRM version: NVIDIA UNIX (?!Open)\S+ +Kernel Module +(\d[\d.]{2,20})",
     "nvidia driver", r"\1", 0),
    ("nvidia-driver", r"^NVRM version: NVIDIA UNIX Open Kernel Module for \S+ +(\d[\d.]{2,20})",
     "nvidia driver", r"\1 open", 0),
    ("user", r"\A([0-9]{1,10})\Z", "user id", r"\1", 0),
    ("interface-settings",
     r"\./([^/\s]+)/(rp_filter|arp_ignore|arp_announce|arp_filter):(-?\d{1,4})",
     r"net.ipv4.conf.\1.\2", r"\3", 0),
    ("ipoib", r"\./([^/\s]+)/mode:(datagram|connected)", r"ipoib mode \1", r"\2", 0),
)  # fmt: skip

_SERVICE = re.compile(r"([A-Za-z0-9@_-]+)\.service")


def parse_system(sections: dict[str, str]) -> Parts:
    facts: Facts = {}
    for section, pattern, name, value, unit_bytes in _PATTERNS:
        for match in re.finditer(pattern, sections.get(section, ""), re.MULTILINE):
            text = match.expand(value)
            text = str(int(text) * unit_bytes) if unit_bytes else text
            facts.setdefault(match.expand(name), text)
    for name, text in sections.items():
        if name == "command-line":
            facts["kernel command line"] = " ".join(text.split())
        elif name == "iommu":
            facts["iommu groups"] = str(len(text.split()))
        elif name.startswith("systemctl show "):
            facts.update(_parse_services(text))
        elif name.startswith("irqs "):
            facts.update(_parse_interrupts(name.removeprefix("irqs "), text))
    facts.update(parse_firewall(sections.get("nft"), sections.get("iptables")))
    # module(1) ends a folder's name with a colon.
    if available := re.findall(
        r"^[^\S\n]*(\S{0,99}[^\s:])[^\S\n]*$", sections.get("module -t avail", ""), re.M
    ):
        facts["environment modules"] = " ".join(available[:MAX_MODULES])
    loaded = re.findall(r"^(\w{1,64})(?: |$)", sections.get("lsmod", ""), re.MULTILINE)
    return Parts(facts=facts, modules=tuple(sorted({*loaded})))


def _parse_services(text: str) -> Facts:
    """Read blocks of ``systemctl show``: a unit that is not installed has no fact.

    A running unit is ``active``; a stopped one may be ``enabled``, and so expected to run.
    """
    facts: Facts = {}
    for values in (parse_pairs(block, "=") for block in text.split("\n\n")):
        unit = _SERVICE.fullmatch(values.get("Id", ""))
        if unit is None or values.get("LoadState") in (None, "not-found"):
            continue
        state = values.get("ActiveState", "unknown")
        is_enabled = state != "active" and values.get("UnitFileState", "").startswith("enabled")
        facts[f"service {unit[1]}"] = f"enabled {state}" if is_enabled else state
    return facts


def _parse_interrupts(interface: str, text: str) -> Facts:
    """Return ``12 on 4 processors``: the number of interrupts and of processors that serve them."""
    lists = re.findall(r"^\d+/effective_affinity_list:([\d,-]+)$", text, re.MULTILINE)
    processors: set[int] = set()
    for match in re.finditer(
        r"(?:^|,)([0-9]{1,6})(?:-([0-9]{1,6}))?(?=,|$)", "\n".join(lists), re.M
    ):
        first, last = int(match[1]), int(match[2] or match[1])  # at most 4096 of a range
        processors.update(range(first, min(last, first + 4095) + 1))
    if not lists:
        return {}
    plural = "" if len(processors) == 1 else "s"
    return {f"irqs of {interface}": f"{len(lists)} on {len(processors)} processor{plural}"}


#: Interfaces and subnets that are kept.
MAX_LET_IN = 64

#: survey.sh prints this in a section if the node may have rules that it could not read.
_UNREAD = re.compile(r"# ([\w -]+ (?:failed|is not installed))")


def parse_firewall(nft: str | None, iptables: str | None) -> dict[str, str]:
    """Return the fact ``firewall``, and ``firewall lets in``, interfaces and subnets.

    If rules could not be read or followed, and no other rules shut the node, ``firewall unread``
    gives the reason instead. Empty if neither program was run.
    """
    if nft is None and iptables is None:
        return {}
    bases = (*parse_nft_bases(nft or ""), parse_iptables_base(iptables or ""))
    walks = [(PacketWalk(base.chains), base) for base in bases]
    blocks = [block for walk, base in walks if (block := _describe_block(walk, base))]
    if not blocks:
        reasons = [_get_unread_reason("nft", nft), _get_unread_reason("iptables", iptables)]
        reasons += [
            f"{base.label.partition(':')[0]}: the jump to {walk.unknown[0]} was not understood"
            for walk, base in walks
            if walk.unknown
        ]
        reason = "; ".join(filter(None, reasons))
        return {"firewall unread": reason} if reason else {"firewall": "none"}
    let_in = dict.fromkeys(source for walk, _ in walks for source in walk.let_in)
    sources = " ".join([*let_in][:MAX_LET_IN])
    return {"firewall": blocks[0]} | ({"firewall lets in": sources} if sources else {})


def _get_unread_reason(name: str, text: str | None) -> str:
    """Return why a program's rules are unknown, "" if they are known."""
    if text is None:
        return f"{name} was not asked"
    match = _UNREAD.fullmatch(text.strip())
    return match[1] if match else ""


@dataclass(frozen=True)
class FirewallRule:
    """One rule of a chain.

    ``verdict`` is ``accept``, ``drop``, ``reject``, ``return``, ``jump`` or ``goto``; ``target`` is
    the chain of the last two. ``sources`` is None if the rule matches all packets, else the
    interfaces and subnets that it matches: rules with any other condition are left out.
    """

    verdict: str
    target: str = ""
    sources: tuple[str, ...] | None = None


Chains = Mapping[str, list[FirewallRule]]


class BaseChain(NamedTuple):
    """A chain that gets packets from outside, and the chains of its table.

    ``label`` names it in a fact.
    """

    label: str
    name: str
    policy: str
    chains: Chains


def _describe_block(walk: "PacketWalk", base: BaseChain) -> str:
    """Return in the tool's words how the chain shuts the node, "" if it does not.

    nft's words are in small letters, iptables' in capital ones.
    """
    verdict, is_nft = walk.follow(base.name), base.label.startswith("nft")
    if not verdict and base.policy.lower() in SHUT:
        return f"{base.label} policy drop" if is_nft else f"{base.label} {base.policy}"
    if verdict not in SHUT:
        return ""
    word = verdict if is_nft else verdict.upper()
    return f"{base.label} ends in {word}" + (
        f" in chain {walk.last_chain}" if walk.last_chain != base.name else ""
    )


#: Chains within chains; the kernel allows 16 (Linux 6.12, NFT_JUMP_STACK_SIZE).
MAX_DEPTH = 16

SHUT = ("drop", "reject")

#: firewalld's zone that lets everything in (firewalld.zone(5)), by nft and by iptables.
TRUSTED = ("filter_IN_trusted", "IN_trusted")


@dataclass
class PacketWalk:
    """The path of a packet from outside through ``chains``.

    ``let_in`` are the sources that are accepted before its end, ``unknown`` the chains on it that
    are missing.
    """

    chains: Chains
    let_in: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    last_chain: str = ""
    #: Chains that end without a verdict, and those that a condition leads to: followed once each.
    open_chains: set[str] = field(default_factory=set)
    conditional: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def follow(self, chain: str, depth: int = 0) -> str:
        """Return ``accept``, ``drop``, ``reject``, or "" if the chain ends without a verdict."""
        if chain in self.open_chains:
            return ""
        if chain not in self.chains or depth > MAX_DEPTH:
            if chain in TRUSTED:
                return "accept"
            self.unknown.append(chain)
            return ""
        for rule in self.chains[chain]:
            if rule.sources is not None:
                self.let_in += self._list_let_in(rule, depth)
                continue
            verdict = "" if rule.verdict == "return" else rule.verdict
            if rule.verdict in ("jump", "goto"):
                verdict = self.follow(rule.target, depth + 1)
            else:
                self.last_chain = chain
            if verdict:
                return verdict
            if rule.verdict in ("return", "goto"):
                break
        self.open_chains.add(chain)
        return ""

    def _list_let_in(self, rule: FirewallRule, depth: int) -> Iterator[str]:
        """Yield the sources of an accepting rule, or those that its target chain lets in.

        firewalld's zones are chains that an interface leads to.
        """
        verdict, inner = rule.verdict, list[str]()
        if rule.verdict in ("jump", "goto"):
            chain = rule.target
            if chain not in self.conditional:
                self.conditional[chain] = ("", [])  # chains that lead to each other end here
                walk = PacketWalk(self.chains, conditional=self.conditional)
                self.conditional[chain] = (walk.follow(chain, depth + 1), walk.let_in)
            verdict, inner = self.conditional[chain]
        yield from (rule.sources or ()) if verdict == "accept" else inner


_TABLE = re.compile(r"table (.+) \{")
_CHAIN = re.compile(r"chain (\S+) \{")
_BASE = re.compile(r"hook input .*")
_POLICY = re.compile(r"policy (\w+)")

#: Parts of a rule that are neither a condition nor its verdict. A limit before a log still drops
#: the packets of an orderly connection.
_LOG = (
    r'log(?: prefix "[^"]*"| (?:group|snaplen|queue-threshold|level) \w+'
    r"| flags (?:tcp [\w,]+|ip options|skuid|ether|all))*"
)
_IDLE = (
    rf"(?:(?:counter(?: packets \d+ bytes \d+| name \S+)?|{_LOG}"
    rf"|limit rate (?!over)\S+(?: burst \d+ \w+)?(?= {_LOG} (?:drop|reject)\b)) )*"
)
_VERDICT = r"(?:(accept|drop|reject|return)\b.*|(jump|goto) (\S+))"
_FOR_ALL = re.compile(_IDLE + _VERDICT)
_FOR_SOURCES = re.compile(r"(?:iif(?:name)?|ip6? saddr) (\S+|\{ [^{}]* \}) " + _IDLE + _VERDICT)

#: As nft and as iptables-nft write them.
_COMMENT = re.compile(r'\s*(?: comment "[^"]*"$|/\*.*?\*/)')


def parse_nft_bases(text: str) -> list[BaseChain]:
    """Return the base chains of the hook ``input``."""
    bases: list[BaseChain] = []
    chains: dict[str, list[FirewallRule]] = {}
    name = ""
    for line in text.split("\n"):
        words = " ".join(line.split())
        if _TABLE.fullmatch(words):
            chains, name = {}, ""
        elif chain := _CHAIN.fullmatch(words):
            name = chain[1]
            chains.setdefault(name, [])
        elif words == "}":
            name = ""
        elif _BASE.search(words):
            policy = _POLICY.search(words)
            bases.append(BaseChain("nft: input", name, policy[1] if policy else "accept", chains))
        elif name:
            chains[name] += _parse_nft_rule(words)
    return bases


def _parse_nft_rule(words: str) -> Iterator[FirewallRule]:
    text = " ".join(_COMMENT.sub("", words).split())
    if match := _FOR_ALL.fullmatch(text):
        yield FirewallRule(match[1] or match[2], match[3] or "")
    elif match := _FOR_SOURCES.fullmatch(text):
        sources = (*re.findall(r'[^\s"{},]+', match[1]),)
        yield FirewallRule(match[2] or match[3], match[4] or "", sources)


_VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "reject", "RETURN": "return"}

#: Targets after which the next rule applies.
_CONTINUING = frozenset(
    {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TRACE", "AUDIT", "SET", "CLASSIFY", "DSCP", "TOS",
     "SECMARK", "CONNSECMARK", "CT", "NOTRACK", "TTL", "RATEEST"}
)  # fmt: skip


def parse_iptables_base(text: str) -> BaseChain:
    """Return the chain INPUT; its policy is ACCEPT if none is given."""
    policy = "ACCEPT"
    chains: dict[str, list[FirewallRule]] = {"INPUT": []}
    for line in text.split("\n"):
        words = _split_words(line)
        if words[:2] == ["-P", "INPUT"]:
            policy = words[2] if len(words) > 2 else policy
        elif words[:1] == ["-N"] and len(words) > 1:
            chains.setdefault(words[1], [])
        elif words[:1] == ["-A"] and len(words) > 3:
            chains.setdefault(words[1], []).extend(_parse_iptables_rule(words[2:]))
    return BaseChain("iptables: INPUT", "INPUT", policy, chains)


def _split_words(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        words = line.split()
    while (index := words.index("--comment") if "--comment" in words else 0) > 0:
        begin = index - 2 if words[index - 2 : index] == ["-m", "comment"] else index
        del words[begin : index + 2]
    return words


def _parse_iptables_rule(words: list[str]) -> Iterator[FirewallRule]:
    sources = (words[1],) if words[0] in ("-i", "-s") else None
    action = words[2:] if sources else words
    if len(action) < 2 or action[0] not in ("-j", "-g") or action[1] in _CONTINUING:
        return
    jump = "goto" if action[0] == "-g" else "jump"
    verdict = _VERDICTS.get(action[1], jump)
    yield FirewallRule(verdict, "" if action[1] in _VERDICTS else action[1], sources)
