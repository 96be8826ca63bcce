"""Does a node's name mean the same address on every node, and does the node have it?"""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fabricgauge.doctor.checks import Check, explain_untried, make_finding
from fabricgauge.doctor.places import (
    Cluster,
    KnownNode,
    Subnet,
    find_majority,
    find_outliers,
    is_routable,
    list_places,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.finding import Finding, Severity
from fabricgauge.model.groups import group_by
from fabricgauge.model.preflight import Lookup
from fabricgauge.model.words.sentences import listed

#: Hosts files are compared on this many nodes or more: fewer have no majority.
MIN_FILES = 3


class WrongName(msgspec.Struct, frozen=True):
    """A node's wrong answer for a name.

    ``sentence`` has ``NAMES_HERE`` in the place of the name. ``owner`` is the node whose name it
    is, "" if it is ``node`` itself.
    """

    node: str
    name: str
    severity: Severity
    sentence: str
    evidence: str
    owner: str = ""


class AddressBook:
    """The addresses of each node that other nodes could reach."""

    def __init__(self, nodes: tuple[KnownNode, ...]) -> None:
        self.interfaces: dict[str, dict[str, str]] = {}
        self._subnets: dict[str, set[Subnet]] = {}
        self.holders: dict[str, list[str]] = {}
        for node in nodes:
            places = tuple(list_places(node))
            self.interfaces[node.name] = {place.ip: place.interface.name for place in places}
            self._subnets[node.name] = {place.subnet for place in places}
            for ip in self.interfaces[node.name]:
                self.holders.setdefault(ip, []).append(node.name)

    def is_near(self, node: str, lookup: Lookup) -> bool:
        """Check whether one of the lookup's addresses is in a subnet of the node."""
        ips = [ipaddress.ip_address(ip) for ip in lookup.addresses]
        return any(ip in subnet for ip in ips for subnet in self._subnets.get(node, ()))


def _examine_names(cluster: Cluster, lookups: tuple[Lookup, ...]) -> Iterator[Finding]:
    """Report the names that are wrong in the same way on a node as one finding.

    Aliases are on one line of its hosts file.
    """
    book = AddressBook(cluster.nodes)
    by_name = group_by(lookups, lambda lookup: lookup.name)
    wrong_names = (
        wrong_name
        for name, name_lookups in by_name.items()
        for wrong_name in _examine_name(name, name_lookups, book)
    )
    named_nodes: set[str] = set()
    by_sentence = group_by(wrong_names, lambda wrong_name: (wrong_name.node, wrong_name.sentence))
    for group in by_sentence.values():
        first = group[0]
        named_nodes.add(first.node)
        names = listed([wrong_name.name for wrong_name in group])
        yield make_finding(
            first.severity, first.node, first.sentence.replace(NAMES_HERE, names),
            *(wrong_name.evidence for wrong_name in group), nodes=(first.node,),
            affects=dict.fromkeys(wrong_name.owner for wrong_name in group if wrong_name.owner),
        )  # fmt: skip
    yield from _find_odd_files(cluster, named_nodes)


#: Stands for the names in a sentence; no name and no address contains it.
NAMES_HERE = "\0"


def _examine_name(name: str, lookups: Sequence[Lookup], book: AddressBook) -> Iterator[WrongName]:
    resolved = [lookup for lookup in lookups if lookup.addresses]
    # Only some nodes may need an alias; a name that most nodes know, all should know.
    is_needed = bool(resolved) if name in book.interfaces else 2 * len(resolved) > len(lookups)
    for lookup in lookups:
        if is_needed and not lookup.addresses:
            yield _make_wrong_name(lookup, Severity.FAIL, f"does not know the name {NAMES_HERE}")
    if not resolved:
        # A name server may have names for addresses that are unused and lead nowhere.
        if name in book.interfaces:
            evidence = f"{name}: looked up on {listed([lookup.node for lookup in lookups])}"
            yield WrongName(name, name, Severity.WARN, "has a name that no node knows", evidence)
        return
    owner = _find_owner(name, resolved, book)
    owner_ips = book.interfaces.get(owner, {})
    foreign = [
        lookup for lookup in resolved if owner_ips and not set(lookup.addresses) & set(owner_ips)
    ]
    yield from _find_foreign_addresses(owner, foreign, resolved, book)
    yield from _find_disagreement(owner, [lookup for lookup in resolved if lookup not in foreign])


def _find_owner(name: str, resolved: list[Lookup], book: AddressBook) -> str:
    """Return the node whose name it is.

    An alias belongs to the node with the address that most lookups give; if two nodes tie, to the
    node whose name the alias begins with (``c2-net1``).
    """
    if name in book.interfaces:
        return name
    counts = Counter(ip for lookup in resolved for ip in lookup.addresses)
    holders = [
        (-count, not name.startswith(node), node)
        for ip, count in counts.items()
        for node in book.holders.get(ip, ())
    ]
    return min(holders)[-1] if holders else ""


def _describe_useless(lookup: Lookup) -> str:
    """Describe addresses that no other node can use; "" if another node can use one of them."""
    if any(map(is_routable, lookup.addresses)):
        return ""
    is_loopback = all(ip.startswith("127.") or ip == "::1" for ip in lookup.addresses)
    return "a loopback address" if is_loopback else "a link-local address"


def _find_foreign_addresses(
    owner: str, foreign: list[Lookup], resolved: list[Lookup], book: AddressBook
) -> Iterator[WrongName]:
    """Report addresses that the owner does not have.

    If all lookups agree, the owner has lost the address; if the address is in none of its subnets,
    a router may translate it (NAT), as in clouds.
    """
    interfaces = book.interfaces.get(owner, {})
    addresses = [f"{ip} ({interface})" for ip, interface in interfaces.items()]
    has = f"{owner} has {listed(addresses)}"
    if foreign and len(foreign) == len(resolved) and not all(map(_describe_useless, foreign)):
        lookup = foreign[0]
        ips = listed(lookup.addresses)
        sentence = f"does not have {ips}, the address of its name {NAMES_HERE}"
        severity = Severity.FAIL if book.is_near(owner, lookup) else Severity.WARN
        evidence = f"{_describe_lookup(lookup)}; {has}"
        yield WrongName(owner, lookup.name, severity, sentence, evidence)
        return
    for lookup in foreign:
        ips = listed(lookup.addresses)
        if kind := _describe_useless(lookup):
            name = "its own name" if lookup.node == owner else NAMES_HERE
            sentence = f"resolves {name} to {ips}, {kind}"
            yield _make_wrong_name(lookup, Severity.WARN, sentence)
        else:
            sentence = f"resolves {NAMES_HERE} to {ips}, which {owner} does not have"
            evidence = f"{_describe_lookup(lookup)}; {has}"
            yield WrongName(lookup.node, lookup.name, Severity.FAIL, sentence, evidence, owner)


def _find_disagreement(owner: str, right: list[Lookup]) -> Iterator[WrongName]:
    """Report lookups that give another of the owner's addresses than most nodes do.

    The owner's own lookup may give more addresses. Against a single other node it counts: one node
    is not a majority.
    """
    reference = [lookup for lookup in right if lookup.node != owner]
    if len(reference) < 2:
        reference = [lookup for lookup in right if lookup.node == owner] or right
    common = find_majority(frozenset(lookup.addresses) for lookup in reference)
    if isinstance(common, Skipped):
        common = frozenset(reference[0].addresses) if reference else frozenset()
    for lookup in right:
        if not common & set(lookup.addresses):
            difference = f"{listed(lookup.addresses)}, the other nodes to {listed(sorted(common))}"
            sentence = f"resolves {NAMES_HERE} to {difference}"
            yield _make_wrong_name(lookup, Severity.WARN, sentence)


def _make_wrong_name(lookup: Lookup, severity: Severity, sentence: str) -> WrongName:
    return WrongName(lookup.node, lookup.name, severity, sentence, _describe_lookup(lookup))


def _describe_lookup(lookup: Lookup) -> str:
    addresses = listed(lookup.addresses) or "no address"
    return f"{lookup.node}: getent gives {addresses} for {lookup.name}"


def _find_odd_files(cluster: Cluster, named_nodes: set[str]) -> Iterator[Finding]:
    """Report a hosts file that only a few nodes have, though no looked-up name shows it."""
    files = {
        node.name: checksum for node in cluster.nodes if (checksum := node.get_fact("hosts file"))
    }
    common, outliers = find_outliers(files)
    if len(files) < MIN_FILES or isinstance(common, Skipped):
        return
    if len(outliers) > 1 and len(outliers) * 4 > len(files):
        return  # files that differ on all nodes contain each node's own name
    for name, checksum in outliers.items():
        if name not in named_nodes:
            evidence = f"{name}: /etc/hosts has checksum and length {checksum}, most have {common}"
            summary = "has a different /etc/hosts than the other nodes"
            yield make_finding(Severity.NOTE, name, summary, evidence, nodes=(name,))


NAMES = Check(
    "names",
    "A node's name means the same address on every node, and the node has it",
    "MPI's launcher connects nodes by their names: with a wrong name it hangs, or uses another"
    " network than you expect.",
    lambda cluster: cluster.preflight.lookups,
    explain_untried("names", "no name was looked up"),
    _examine_names,
    "make /etc/hosts (or the name server) give the same address on all nodes and in their image:"
    " the node's address in the network by which it is to be reached",
    trials=("names",),
)
