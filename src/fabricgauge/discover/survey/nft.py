"""What ``nft list ruleset`` prints → chains; pure. Source: nft(8) of nftables 1.0."""

import re
from collections.abc import Iterator

from fabricgauge.discover.survey.chains import Rule

_TABLE = re.compile(r"table (.+) \{")
_CHAIN = re.compile(r"chain (\S+) \{")
_BASE = re.compile(r"hook input .*")
_POLICY = re.compile(r"policy (\w+)")

#: What a rule says without a condition, besides its verdict. A limit before a log still drops
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


class Base:
    """A chain that gets what comes from outside, with its policy and its table's chains."""

    def __init__(self, name: str, chains: dict[str, list[Rule]]) -> None:
        self.name, self.policy, self.chains = name, "accept", chains


def bases(text: str) -> list[Base]:
    """The base chains of the hook ``input``."""
    found: list[Base] = []
    chains: dict[str, list[Rule]] = {}
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
            found.append(Base(name, chains))
            policy = _POLICY.search(words)
            found[-1].policy = policy[1] if policy else "accept"
        elif name:
            chains[name] += _rules(words)
    return found


def _rules(words: str) -> Iterator[Rule]:
    said = " ".join(_COMMENT.sub("", words).split())
    if found := _FOR_ALL.fullmatch(said):
        yield Rule(found[1] or found[2], found[3] or "")
    elif some := _FOR_SOME.fullmatch(said):
        yield Rule(some[2] or some[3], some[4] or "", (*re.findall(r'[^\s"{},]+', some[1]),))
