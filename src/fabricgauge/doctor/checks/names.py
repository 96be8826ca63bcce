"""Does a node's name mean the same on every node, and an address that the node has?"""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.doctor.check import Check, found, untried
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    Subnet,
    leads_out,
    places_of,
    unusual,
    usual,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import grouped
from fabricgauge.model.preflight import Lookup
from fabricgauge.words.sentences import listed

#: Nodes whose hosts files should be one and the same: fewer cannot tell who is odd.
LEAST_FILES = 3


class WrongName(msgspec.Struct, frozen=True):
    """What a node takes a name for, and in which way that is wrong: a sentence with the name
    left open. ``owner`` is the node whose name it is, empty for the same one."""

    node: str
    name: str
    severity: Severity
    sentence: str
    told: str
    owner: str = ""


class AddressBook:
    """Which node has which addresses that others could reach."""

    def __init__(self, every: tuple[KnownNode, ...]) -> None:
        self.of: dict[str, dict[str, str]] = {}
        self._subnets: dict[str, set[Subnet]] = {}
        self.holders: dict[str, list[str]] = {}
        for seen in every:
            own = tuple(places_of(seen))
            self.of[seen.name] = {place.ip: place.interface.name for place in own}
            self._subnets[seen.name] = {place.subnet for place in own}
            for ip in self.of[seen.name]:
                self.holders.setdefault(ip, []).append(seen.name)

    def near(self, node: str, lookup: Lookup) -> bool:
        """Whether one of the addresses is in a subnet of the node's."""
        ips = [ipaddress.ip_address(ip) for ip in lookup.addresses]
        return any(ip in subnet for ip in ips for subnet in self._subnets.get(node, ()))


def _names(cluster: Cluster, lookups: tuple[Lookup, ...]) -> Iterator[Finding]:
    """A node's names that are wrong in the same way are one finding: aliases are on one line of
    its file."""
    having = AddressBook(cluster.nodes)
    answers = grouped(lookups, lambda one: one.name)
    wrong = (one for name, asked in answers.items() for one in _look(name, asked, having))
    named: set[str] = set()
    for group in grouped(wrong, lambda one: (one.node, one.sentence)).values():
        first = group[0]
        named.add(first.node)
        yield found(
            first.severity, first.node,
            first.sentence.replace(OPEN, listed([one.name for one in group])),
            *(one.told for one in group), nodes=(first.node,),
            affects=dict.fromkeys(one.owner for one in group if one.owner),
        )  # fmt: skip
    yield from _odd_files(cluster, named)


#: Stands for the names in a sentence; no name holds it, nor any address.
OPEN = "\0"


def _look(name: str, asked: Sequence[Lookup], having: AddressBook) -> Iterator[WrongName]:
    known = [one for one in asked if one.addresses]
    # An alias that one node has and others lack is its own affair; what most know, all should.
    needed = bool(known) if name in having.of else 2 * len(known) > len(asked)
    for one in asked:
        if needed and not one.addresses:
            yield _wrong(one, Severity.FAIL, f"does not know the name {OPEN}")
    if not known:
        # A name server may have names for addresses that are unused and lead nowhere.
        if name in having.of:
            told = f"{name}: asked on {listed([one.node for one in asked])}"
            yield WrongName(name, name, Severity.WARN, "is a name that no node knows", told)
        return
    owner = _owner(name, known, having)
    own = having.of.get(owner, {})
    wrong = [one for one in known if own and not set(one.addresses) & set(own)]
    yield from _not_its_own(owner, wrong, known, having)
    yield from _different(owner, [one for one in known if one not in wrong])


def _owner(name: str, known: list[Lookup], having: AddressBook) -> str:
    """Whose name it is. A further name is of the node with the address that most take it for; of
    two nodes that differ, of the one whose name it begins with (``c2-net1``)."""
    if name in having.of:
        return name
    answers = Counter(ip for one in known for ip in one.addresses)
    holders = [
        (-count, not name.startswith(node), node)
        for ip, count in answers.items()
        for node in having.holders.get(ip, ())
    ]
    return min(holders)[-1] if holders else ""


def _useless(one: Lookup) -> str:
    """What kind of address no other node can use, if there is no other one."""
    if any(map(leads_out, one.addresses)):
        return ""
    loopback = all(ip.startswith("127.") or ip == "::1" for ip in one.addresses)
    return "a loopback address" if loopback else "a link-local address"


def _not_its_own(
    owner: str, wrong: list[Lookup], known: list[Lookup], having: AddressBook
) -> Iterator[WrongName]:
    """Addresses that the node does not have. Where all say the same, the node has lost it; if
    it is in none of its subnets, a router may translate it (NAT), as clouds do."""
    own = having.of.get(owner, {})
    has = f"{owner} has {listed([f'{ip} ({interface})' for ip, interface in own.items()])}"
    if wrong and len(wrong) == len(known) and not all(map(_useless, wrong)):
        one = wrong[0]
        ips = listed(one.addresses)
        sentence = f"its name {OPEN} means {ips}, which it does not have"
        severity = Severity.FAIL if having.near(owner, one) else Severity.WARN
        yield WrongName(owner, one.name, severity, sentence, f"{_told(one)}; {has}")
        return
    for one in wrong:
        ips = listed(one.addresses)
        if kind := _useless(one):
            whom = "its own name" if one.node == owner else OPEN
            yield _wrong(one, Severity.WARN, f"takes {whom} for {ips}, {kind}")
        else:
            sentence = f"takes {OPEN} for {ips}, which {owner} does not have"
            told = f"{_told(one)}; {has}"
            yield WrongName(one.node, one.name, Severity.FAIL, sentence, told, owner)


def _different(owner: str, right: list[Lookup]) -> Iterator[WrongName]:
    """All are addresses of the node, but not all the same one; its own word may be longer.

    One other node alone is no majority: the node's own word stands against it.
    """
    others = [one for one in right if one.node != owner]
    if len(others) < 2:
        others = [one for one in right if one.node == owner] or right
    common = usual(frozenset(one.addresses) for one in others)
    if isinstance(common, Skipped):
        common = frozenset(others[0].addresses) if others else frozenset()
    for one in right:
        if not common & set(one.addresses):
            elsewhere = listed(sorted(common))
            sentence = f"takes {OPEN} for {listed(one.addresses)}, the others for {elsewhere}"
            yield _wrong(one, Severity.WARN, sentence)


def _wrong(one: Lookup, severity: Severity, sentence: str) -> WrongName:
    return WrongName(one.node, one.name, severity, sentence, _told(one))


def _told(one: Lookup) -> str:
    return f"{one.node}: getent says {one.name} is {listed(one.addresses) or 'unknown'}"


def _odd_files(cluster: Cluster, named: set[str]) -> Iterator[Finding]:
    """A file that only one or a few have, though no name that was asked for shows it."""
    files = {seen.name: sum_ for seen in cluster.nodes if (sum_ := seen.fact("hosts file"))}
    common, odd = unusual(files)
    if len(files) < LEAST_FILES or isinstance(common, Skipped):
        return
    if len(odd) > 1 and len(odd) * 4 > len(files):
        return  # files that differ everywhere name the node itself
    for name, sum_ in odd.items():
        if name not in named:
            told = f"{name}: /etc/hosts has checksum and length {sum_}, most have {common}"
            what = "has another /etc/hosts than the others"
            yield found(Severity.NOTE, name, what, told, nodes=(name,))


NAMES = Check(
    "names",
    "A node's name means one and the same address everywhere, and the node has it",
    "MPI's launcher connects nodes by their names: a wrong one makes it hang, or takes another"
    " network than you think.",
    lambda cluster: cluster.preflight.lookups,
    untried("names", "no name was looked up"),
    _names,
    "make /etc/hosts (or the name server) say the same on all nodes and in their image: the node's"
    " address in the network that it is to be reached by",
    reads=("names",),
)
