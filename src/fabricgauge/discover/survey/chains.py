"""Chains of a firewall's rules, and what becomes of a packet that meets no condition; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: Chains within chains; the kernel allows 16 (Linux 6.12, NFT_JUMP_STACK_SIZE).
DEEPEST = 16

SHUT = ("drop", "reject")

#: firewalld's zone that lets everything in (firewalld.zone(5)), by nft and by iptables.
TRUSTED = ("filter_IN_trusted", "IN_trusted")


@dataclass(frozen=True)
class Rule:
    """``verdict`` is ``accept``, ``drop``, ``reject``, ``return``, ``jump`` or ``goto``; ``to`` the
    chain of the last two. ``only`` is None where the rule is for everything, else the interfaces
    and subnets that it is for: rules with any other condition are left out."""

    verdict: str
    to: str = ""
    only: tuple[str, ...] | None = None


Chains = Mapping[str, list[Rule]]


@dataclass
class Walk:
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

    def _verdict(self, rule: Rule, chain: str, depth: int) -> str:
        if rule.verdict in ("jump", "goto"):
            return self.through(rule.to, depth + 1)
        self.last = chain
        return "" if rule.verdict == "return" else rule.verdict

    def _let_in(self, rule: Rule, depth: int) -> Iterator[str]:
        """Of a chain that an interface leads to, as firewalld's zones, what it lets in."""
        verdict, inside = rule.verdict, list[str]()
        if rule.verdict in ("jump", "goto"):
            verdict, inside = self._asked(rule.to, depth)
        yield from (rule.only or ()) if verdict == "accept" else inside

    def _asked(self, chain: str, depth: int) -> tuple[str, list[str]]:
        if chain not in self.asked:
            self.asked[chain] = ("", [])  # chains that lead to each other end here
            inner = Walk(self.chains, asked=self.asked)
            self.asked[chain] = (inner.through(chain, depth + 1), inner.let_in)
        return self.asked[chain]
