"""Rules of nft and iptables → whether connections from outside come in; pure.

Sources: nft(8) of nftables 1.0 (base chains: type, hook, priority, policy); iptables(8) 1.8 (-S).
"""

import re
from collections.abc import Iterator

_BASE = re.compile(r"hook input .*")
_POLICY = re.compile(r"policy (\w+)")
#: A rule without a condition ends the chain for everything: firewalld's has policy accept and
#: rejects in its last line.
_LAST = re.compile(r"(?:counter (?:packets \d+ bytes \d+ )?)?(drop|reject)\b.*")


#: A rule that lets in all that comes by an interface or from a subnet; firewalld's zone
#: ``trusted`` is a chain of that name (firewalld.zone(5), src/firewall/core/nftables.py).
_LETS_IN = re.compile(
    r"(?:iif(?:name)?|ip6? saddr) (\S+|\{ [^{}]* \}) (?:counter (?:packets \d+ bytes \d+ )?)?"
    r"(?:accept|(?:goto|jump) filter_IN_trusted)\b.*"
)
_LETS_IN_IPTABLES = re.compile(r"-A INPUT (?:-i|-s) (\S+) -j ACCEPT")
_CHAIN = re.compile(r"chain (\S+) \{")

#: Interfaces and subnets that are kept.
MOST_LET_IN = 64


#: What survey.sh says in a section where rules may be that it could not read.
_UNREAD = re.compile(r"# ([\w -]+ (?:failed|is not installed))")


def firewall(nft: str | None, iptables: str | None) -> dict[str, str]:
    """The fact ``firewall``, absent where one could not be read and the other shuts nothing:
    then ``firewall unread`` says why. ``firewall lets in``, interfaces and subnets, where there
    is a firewall. Nothing where neither was asked for."""
    if nft is None and iptables is None:
        return {}
    found = _nft(nft or "") or _iptables(iptables or "")
    unread = [
        reason
        for name, text in (("nft", nft), ("iptables", iptables))
        if (reason := _unread(name, text))
    ]
    if not found and unread:
        return {"firewall unread": "; ".join(unread)}
    let_in = dict.fromkeys((*_let_in(nft or ""), *_LETS_IN_IPTABLES.findall(iptables or "")))
    named = " ".join([*let_in][:MOST_LET_IN])
    return {"firewall": found or "none"} | ({"firewall lets in": named} if found and named else {})


def _unread(name: str, text: str | None) -> str:
    """Why the rules of one are not known; empty where they are."""
    if text is None:
        return f"{name} was not asked"
    told = _UNREAD.fullmatch(text.strip())
    return told[1] if told else ""


def _let_in(nft: str) -> Iterator[str]:
    """Rules of what is passed on, or sent, let nothing into the node."""
    ours = False
    for line in nft.split("\n"):
        words = line.strip()
        if chain := _CHAIN.fullmatch(words):
            ours = "fwd" not in chain[1].lower() and "forward" not in chain[1].lower()
        elif " hook " in words and not _BASE.search(words):
            ours = False
        elif ours and (found := _LETS_IN.fullmatch(words)):
            yield from re.findall(r'[^\s"{},]+', found[1])


def _nft(text: str) -> str:
    inside = False
    for line in text.split("\n"):
        words = line.strip()
        if _BASE.search(words):
            inside = True
            policy = _POLICY.search(words)
            if policy and policy[1] == "drop":
                return "nft: input policy drop"
        elif words == "}":
            inside = False
        elif inside and (end := _LAST.fullmatch(words)):
            return f"nft: input ends in {end[1]}"
    return ""


def _iptables(text: str) -> str:
    for line in text.split("\n"):
        words = line.split()
        if words[:2] == ["-P", "INPUT"] and words[2:] in (["DROP"], ["REJECT"]):
            return f"iptables: INPUT {words[2]}"
        if words[:3] == ["-A", "INPUT", "-j"] and words[3:4] in (["DROP"], ["REJECT"]):
            return f"iptables: INPUT ends in {words[3]}"
    return ""
