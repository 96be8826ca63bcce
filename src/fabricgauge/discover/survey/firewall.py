"""Rules of nft and iptables → whether connections from outside come in; pure.

Sources: nft(8) of nftables 1.0; iptables(8) and its extensions, 1.8 (``iptables -S``).
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

#: Interfaces and subnets that are kept.
MOST_LET_IN = 64

#: What survey.sh says in a section where rules may be that it could not read.
_UNREAD = re.compile(r"# ([\w -]+ (?:failed|is not installed))")


def firewall(nft: str | None, iptables: str | None) -> dict[str, str]:
    """The fact ``firewall``, absent where one could not be read or followed and the other shuts
    nothing: then ``firewall unread`` says why. ``firewall lets in``, interfaces and subnets,
    where there is a firewall. Nothing where neither was asked for."""
    if nft is None and iptables is None:
        return {}
    bases = (*nft_bases(nft or ""), iptables_base(iptables or ""))
    walks = [(PacketWalk(base.chains), base) for base in bases]
    shutting = [shut for walk, base in walks if (shut := _shut(walk, base))]
    if not shutting:
        unread = [_unread("nft", nft), _unread("iptables", iptables)]
        unread += [
            f"{base.what.partition(':')[0]}: the jump to {walk.unknown[0]} was not understood"
            for walk, base in walks
            if walk.unknown
        ]
        told = "; ".join(filter(None, unread))
        return {"firewall unread": told} if told else {"firewall": "none"}
    let_in = dict.fromkeys(one for walk, _ in walks for one in walk.let_in)
    named = " ".join([*let_in][:MOST_LET_IN])
    return {"firewall": shutting[0]} | ({"firewall lets in": named} if named else {})


def _unread(name: str, text: str | None) -> str:
    """Why the rules of one are not known; empty where they are."""
    if text is None:
        return f"{name} was not asked"
    told = _UNREAD.fullmatch(text.strip())
    return told[1] if told else ""


@dataclass(frozen=True)
class FirewallRule:
    """``verdict`` is ``accept``, ``drop``, ``reject``, ``return``, ``jump`` or ``goto``; ``to`` the
    chain of the last two. ``only`` is None where the rule is for everything, else the interfaces
    and subnets that it is for: rules with any other condition are left out."""

    verdict: str
    to: str = ""
    only: tuple[str, ...] | None = None


Chains = Mapping[str, list[FirewallRule]]


class BaseChain(NamedTuple):
    """A chain that gets what comes from outside, and the chains of its table; ``what`` names it
    in a fact."""

    what: str
    name: str
    policy: str
    chains: Chains


def _shut(walk: "PacketWalk", base: BaseChain) -> str:
    """In which words of the tool it shuts the node: nft's in small letters, iptables' in capital
    ones; empty where it does not."""
    verdict, nft = walk.through(base.name), base.what.startswith("nft")
    if not verdict and base.policy.lower() in SHUT:
        return f"{base.what} policy drop" if nft else f"{base.what} {base.policy}"
    if verdict not in SHUT:
        return ""
    word = verdict if nft else verdict.upper()
    return f"{base.what} ends in {word}" + (
        f" in chain {walk.last}" if walk.last != base.name else ""
    )


#: Chains within chains; the kernel allows 16 (Linux 6.12, NFT_JUMP_STACK_SIZE).
DEEPEST = 16

SHUT = ("drop", "reject")

#: firewalld's zone that lets everything in (firewalld.zone(5)), by nft and by iptables.
TRUSTED = ("filter_IN_trusted", "IN_trusted")


@dataclass
class PacketWalk:
    """One way of a packet from outside through ``chains``: what is let in before its end, and
    the chains that it should have gone through and that are not known."""

    chains: Chains
    let_in: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    last: str = ""
    #: Chains that end without a verdict, and those that a condition leads to: asked once each.
    open: set[str] = field(default_factory=set)
    asked: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def through(self, chain: str, depth: int = 0) -> str:
        """``accept``, ``drop``, ``reject``, or empty where the chain ends without a verdict."""
        if chain in self.open:
            return ""
        if chain not in self.chains or depth > DEEPEST:
            if chain in TRUSTED:
                return "accept"
            self.unknown.append(chain)
            return ""
        for rule in self.chains[chain]:
            if rule.only is not None:
                self.let_in += self._let_in(rule, depth)
                continue
            verdict = self._verdict(rule, chain, depth)
            if verdict:
                return verdict
            if rule.verdict in ("return", "goto"):
                break
        self.open.add(chain)
        return ""

    def _verdict(self, rule: FirewallRule, chain: str, depth: int) -> str:
        if rule.verdict in ("jump", "goto"):
            return self.through(rule.to, depth + 1)
        self.last = chain
        return "" if rule.verdict == "return" else rule.verdict

    def _let_in(self, rule: FirewallRule, depth: int) -> Iterator[str]:
        """Of a chain that an interface leads to, as firewalld's zones, what it lets in."""
        verdict, inside = rule.verdict, list[str]()
        if rule.verdict in ("jump", "goto"):
            verdict, inside = self._asked(rule.to, depth)
        yield from (rule.only or ()) if verdict == "accept" else inside

    def _asked(self, chain: str, depth: int) -> tuple[str, list[str]]:
        if chain not in self.asked:
            self.asked[chain] = ("", [])  # chains that lead to each other end here
            inner = PacketWalk(self.chains, asked=self.asked)
            self.asked[chain] = (inner.through(chain, depth + 1), inner.let_in)
        return self.asked[chain]


_TABLE = re.compile(r"table (.+) \{")
_CHAIN = re.compile(r"chain (\S+) \{")
_BASE = re.compile(r"hook input .*")
_POLICY = re.compile(r"policy (\w+)")

#: Parts of a rule that are neither a condition nor its verdict. A limit before a log still drops
#: what an orderly connection sends.
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
_FOR_SOME = re.compile(r"(?:iif(?:name)?|ip6? saddr) (\S+|\{ [^{}]* \}) " + _IDLE + _VERDICT)

#: As nft and as iptables-nft write them.
_COMMENT = re.compile(r'\s*(?: comment "[^"]*"$|/\*.*?\*/)')


def nft_bases(text: str) -> list[BaseChain]:
    """The base chains of the hook ``input``."""
    found: list[BaseChain] = []
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
            known = policy[1] if policy else "accept"
            found.append(BaseChain("nft: input", name, known, chains))
        elif name:
            chains[name] += _nft_rules(words)
    return found


def _nft_rules(words: str) -> Iterator[FirewallRule]:
    said = " ".join(_COMMENT.sub("", words).split())
    if found := _FOR_ALL.fullmatch(said):
        yield FirewallRule(found[1] or found[2], found[3] or "")
    elif some := _FOR_SOME.fullmatch(said):
        yield FirewallRule(
            some[2] or some[3], some[4] or "", (*re.findall(r'[^\s"{},]+', some[1]),)
        )


_VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "reject", "RETURN": "return"}

#: Targets after which the next rule is looked at.
_GOING_ON = frozenset(
    {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TRACE", "AUDIT", "SET", "CLASSIFY", "DSCP", "TOS",
     "SECMARK", "CONNSECMARK", "CT", "NOTRACK", "TTL", "RATEEST"}
)  # fmt: skip


def iptables_base(text: str) -> BaseChain:
    """The chain INPUT, where nothing shuts it by itself."""
    policy = "ACCEPT"
    found: dict[str, list[FirewallRule]] = {"INPUT": []}
    for line in text.split("\n"):
        words = _words(line)
        if words[:2] == ["-P", "INPUT"]:
            policy = words[2] if len(words) > 2 else policy
        elif words[:1] == ["-N"] and len(words) > 1:
            found.setdefault(words[1], [])
        elif words[:1] == ["-A"] and len(words) > 3:
            found.setdefault(words[1], []).extend(_iptables_rules(words[2:]))
    return BaseChain("iptables: INPUT", "INPUT", policy, found)


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        words = line.split()
    while (at := words.index("--comment") if "--comment" in words else 0) > 0:
        begin = at - 2 if words[at - 2 : at] == ["-m", "comment"] else at
        del words[begin : at + 2]
    return words


def _iptables_rules(words: list[str]) -> Iterator[FirewallRule]:
    only = (words[1],) if words[0] in ("-i", "-s") else None
    rest = words[2:] if only else words
    if len(rest) < 2 or rest[0] not in ("-j", "-g") or rest[1] in _GOING_ON:
        return
    leads = "goto" if rest[0] == "-g" else "jump"
    verdict = _VERDICTS.get(rest[1], leads)
    yield FirewallRule(verdict, "" if rest[1] in _VERDICTS else rest[1], only)
