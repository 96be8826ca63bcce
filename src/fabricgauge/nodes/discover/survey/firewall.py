"""Rules of nft and iptables → whether connections from outside come in; pure.

Sources: nft(8) of nftables 1.0; iptables(8) and its extensions, 1.8 (``iptables -S``).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
            verdict = self._apply_rule(rule, chain, depth)
            if verdict:
                return verdict
            if rule.verdict in ("return", "goto"):
                break
        self.open_chains.add(chain)
        return ""

    def _apply_rule(self, rule: FirewallRule, chain: str, depth: int) -> str:
        if rule.verdict in ("jump", "goto"):
            return self.follow(rule.target, depth + 1)
        self.last_chain = chain
        return "" if rule.verdict == "return" else rule.verdict

    def _list_let_in(self, rule: FirewallRule, depth: int) -> Iterator[str]:
        """Yield the sources of an accepting rule, or those that its target chain lets in.

        firewalld's zones are chains that an interface leads to.
        """
        verdict, inner = rule.verdict, list[str]()
        if rule.verdict in ("jump", "goto"):
            verdict, inner = self._follow_once(rule.target, depth)
        yield from (rule.sources or ()) if verdict == "accept" else inner

    def _follow_once(self, chain: str, depth: int) -> tuple[str, list[str]]:
        if chain not in self.conditional:
            self.conditional[chain] = ("", [])  # chains that lead to each other end here
            inner = PacketWalk(self.chains, conditional=self.conditional)
            self.conditional[chain] = (inner.follow(chain, depth + 1), inner.let_in)
        return self.conditional[chain]


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
