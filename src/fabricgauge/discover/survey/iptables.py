"""What ``iptables -S`` prints → chains; pure. Source: iptables(8) and its extensions, 1.8."""

import shlex
from collections.abc import Iterator

from fabricgauge.discover.survey.chains import Rule

_VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "reject", "RETURN": "return"}

#: Targets after which the next rule is looked at.
_GOING_ON = frozenset(
    {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TRACE", "AUDIT", "SET", "CLASSIFY", "DSCP", "TOS",
     "SECMARK", "CONNSECMARK", "CT", "NOTRACK", "TTL", "RATEEST"}
)  # fmt: skip


def chains(text: str) -> tuple[str, dict[str, list[Rule]]]:
    """The policy of INPUT, and each chain's rules."""
    policy = "ACCEPT"
    found: dict[str, list[Rule]] = {"INPUT": []}
    for line in text.split("\n"):
        words = _words(line)
        if words[:2] == ["-P", "INPUT"]:
            policy = words[2] if len(words) > 2 else policy
        elif words[:1] == ["-N"] and len(words) > 1:
            found.setdefault(words[1], [])
        elif words[:1] == ["-A"] and len(words) > 3:
            found.setdefault(words[1], []).extend(_rules(words[2:]))
    return policy, found


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is not closed
        words = line.split()
    while (at := words.index("--comment") if "--comment" in words else 0) > 0:
        begin = at - 2 if words[at - 2 : at] == ["-m", "comment"] else at
        del words[begin : at + 2]
    return words


def _rules(words: list[str]) -> Iterator[Rule]:
    only = (words[1],) if words[0] in ("-i", "-s") else None
    rest = words[2:] if only else words
    if len(rest) < 2 or rest[0] not in ("-j", "-g") or rest[1] in _GOING_ON:
        return
    leads = "goto" if rest[0] == "-g" else "jump"
    verdict = _VERDICTS.get(rest[1], leads)
    yield Rule(verdict, "" if rest[1] in _VERDICTS else rest[1], only)
