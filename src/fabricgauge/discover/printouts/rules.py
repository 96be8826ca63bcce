"""``ip rule``, as text or with ``-j`` → which routing table is asked for what; pure.

As iproute2 6.1 prints them. A rule that looks at more than the addresses of a packet (its
interface, mark, port, user) or leads to no table is left out: what a program sends by itself
has none of these.
"""

from collections.abc import Iterator

from fabricgauge.discover.parts import Parts
from fabricgauge.discover.printouts import figures
from fabricgauge.discover.printouts.json_documents import is_json, objects, table, word
from fabricgauge.discover.printouts.lines import broken_off, lines, unrecognised
from fabricgauge.model.absence import Skipped
from fabricgauge.model.inventory import Rule

TOOL = "ip rule"

#: What a rule on addresses alone has; ``protocol`` is who made it (iproute2, ip/iprule.c).
_JSON_KEYS = frozenset({"priority", "src", "srclen", "dst", "dstlen", "table", "protocol"})
_WORDS = frozenset({"from", "to", "lookup", "proto"})
_ALL = "all"


def parse(text: str, argument: str = "") -> Parts:
    """Rules in the order in which they are asked."""
    if is_json(text):
        read = objects(text)
        found = [rule for entry in read.found for rule in _of_json(entry)]
        return Parts(rules=_ordered(found), troubles=broken_off(TOOL, read.whole))
    entries = [(number, rest) for line in lines(text) for number, rest in _entry(line)]
    found = [rule for number, rest in entries for rule in _of_words(number, rest)]
    return Parts(rules=_ordered(found), troubles=unrecognised(TOOL, text, entries))


def _ordered(rules: list[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: rule.priority))


def _of_json(entry: dict[str, object]) -> Iterator[Rule]:
    values = table(entry)
    if set(map(word, entry)) <= _JSON_KEYS:
        source, destination = (_subnet(values, key) for key in ("src", "dst"))
        yield from _rule(values.get("priority", ""), source, destination, values.get("table", ""))


def _subnet(values: dict[str, str], key: str) -> str:
    length = values.get(f"{key}len", "")
    return values.get(key, _ALL) + (f"/{length}" if length else "")


def _entry(line: str) -> Iterator[tuple[str, list[str]]]:
    """``32766:	from all lookup main``; anything else is no rule."""
    number, colon, rest = line.partition(":")
    if colon and number.isascii() and number.isdigit():
        yield number, rest.split()


def _of_words(number: str, words: list[str]) -> Iterator[Rule]:
    values = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 == 0 and set(values) <= _WORDS:
        source, destination = values.get("from", _ALL), values.get("to", _ALL)
        yield from _rule(number, source, destination, values.get("lookup", ""))


def _rule(priority: str, source: str, destination: str, name: str) -> Iterator[Rule]:
    number = figures.whole(priority, "the priority", most=(1 << 32) - 1)
    if not isinstance(number, Skipped) and name:
        yield Rule(number, source, destination, name)
