"""Rules of nft and iptables → whether connections from outside come in; pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabricgauge.discover.survey import iptables as iptables_rules
from fabricgauge.discover.survey import nft as nft_rules
from fabricgauge.discover.survey.chains import SHUT, Chains, Walk

#: Interfaces and subnets that are kept.
MOST_LET_IN = 64

#: What survey.sh says in a section where rules may be that it could not read.
_UNREAD = re.compile(r"# ([\w -]+ (?:failed|is not installed))")


@dataclass(frozen=True)
class Way:
    """What one base chain does: ``shut`` says in which words it shuts, empty where it does not;
    ``unread`` why that is not known."""

    shut: str
    let_in: tuple[str, ...]
    unread: str


def firewall(nft: str | None, iptables: str | None) -> dict[str, str]:
    """The fact ``firewall``, absent where one could not be read or followed and the other shuts
    nothing: then ``firewall unread`` says why. ``firewall lets in``, interfaces and subnets,
    where there is a firewall. Nothing where neither was asked for."""
    if nft is None and iptables is None:
        return {}
    ways = (*_nft(nft or ""), _iptables(iptables or ""))
    shutting = [way for way in ways if way.shut]
    unread = [
        *(_unread(name, text) for name, text in (("nft", nft), ("iptables", iptables))),
        *(way.unread for way in ways),
    ]
    if not shutting:
        told = "; ".join(reason for reason in unread if reason)
        return {"firewall unread": told} if told else {"firewall": "none"}
    let_in = dict.fromkeys(one for way in ways for one in way.let_in)
    named = " ".join([*let_in][:MOST_LET_IN])
    return {"firewall": shutting[0].shut} | ({"firewall lets in": named} if named else {})


def _unread(name: str, text: str | None) -> str:
    """Why the rules of one are not known; empty where they are."""
    if text is None:
        return f"{name} was not asked"
    told = _UNREAD.fullmatch(text.strip())
    return told[1] if told else ""


def _nft(text: str) -> Iterator[Way]:
    for base in nft_rules.bases(text):
        yield _way("nft: input", base.name, base.policy, base.chains)


def _iptables(text: str) -> Way:
    policy, chains = iptables_rules.chains(text)
    return _way("iptables: INPUT", "INPUT", policy, chains)


def _way(what: str, base: str, policy: str, chains: Chains) -> Way:
    walk = Walk(chains)
    verdict = walk.through(base)
    tool = what.partition(":")[0]
    unread = f"{tool}: the jump to {walk.unknown[0]} was not understood" if walk.unknown else ""
    return Way(_shut(what, verdict, policy, walk.last, base), tuple(walk.let_in), unread)


def _shut(what: str, verdict: str, policy: str, last: str, base: str) -> str:
    """The words of the tools: nft's in small letters, iptables' in capital ones."""
    if not verdict and policy.lower() in SHUT:
        return f"{what} policy drop" if what.startswith("nft") else f"{what} {policy}"
    if verdict not in SHUT:
        return ""
    word = verdict if what.startswith("nft") else verdict.upper()
    return f"{what} ends in {word}" + (f" in chain {last}" if last != base else "")
