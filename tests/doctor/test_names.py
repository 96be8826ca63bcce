"""Planted faults of names: each is named alone, at the node that has it."""

import msgspec
import pytest
from tests.doctor import clusters
from tests.doctor.clusters import clean, findings, only

from fabricgauge.model.fabric import Address
from fabricgauge.model.finding import Severity
from fabricgauge.model.preflight import Lookup, Preflight


def told(preflight: Preflight, node: str, name: str, *ips: str) -> Preflight:
    """On ``node``, ``name`` means ``ips``."""
    lookups = tuple(
        Lookup(node, name, ips) if (one.node, one.name) == (node, name) else one
        for one in preflight.lookups
    )
    return msgspec.structs.replace(preflight, lookups=lookups)


@pytest.mark.parametrize("count", [2, 4])
def test_a_wrong_entry_is_that_of_the_node_that_has_it(count: int) -> None:
    found = only(told(clean(count), "c2", "c1", "10.1.0.99"))
    assert (found.check, found.where, found.nodes) == ("names", "c2", ("c2",))
    assert found.what == "resolves c1 to 10.1.0.99, which c1 does not have"


def test_of_two_nodes_the_one_with_the_wrong_entry_is_named_whatever_it_says() -> None:
    elsewhere = only(told(clean(2), "c1", "c2", "10.2.0.2"))
    assert (elsewhere.where, elsewhere.severity) == ("c1", Severity.WARN)
    assert elsewhere.what == "resolves c2 to 10.2.0.2, the other nodes to 10.1.0.2"
    preflight = told(clean(2), "c1", "c2", "10.1.0.1")
    aliases = (Lookup("c1", "c2-eth", ("10.1.0.1",)), Lookup("c2", "c2-eth", ("10.1.0.2",)))
    preflight = msgspec.structs.replace(preflight, lookups=(*preflight.lookups, *aliases))
    assert only(preflight).what == "resolves c2 and c2-eth to 10.1.0.1, which c2 does not have"
    assert only(preflight).where == "c1"


def test_an_unknown_name_and_an_address_in_another_network_are_named() -> None:
    unknown = only(told(clean(), "c3", "c1"))
    assert (unknown.where, unknown.what) == ("c3", "does not know the name c1")
    other = only(told(clean(), "c3", "c1", "10.2.0.1"))
    assert (other.where, other.severity) == ("c3", Severity.WARN)


def test_a_node_whose_own_name_is_a_loopback_address_is_named() -> None:
    found = only(told(clean(), "c1", "c1", "127.0.1.1"))
    assert (found.where, found.severity) == ("c1", Severity.WARN)
    assert "a loopback address" in found.what


def test_a_node_whose_own_name_is_a_link_local_address_is_named() -> None:
    """So nss-myhostname answers on a node with IPv6 alone."""
    found = only(told(clean(), "c1", "c1", "fe80::5054:ff:fe12:3456"))
    assert (found.where, found.severity) == ("c1", Severity.WARN)
    assert "a link-local address" in found.what


def test_nodes_that_take_their_own_names_for_loopback_addresses_are_one_finding() -> None:
    """Debian writes 127.0.1.1 into each node's hosts file."""
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = told(preflight, name, name, "127.0.1.1")
    found = only(preflight)
    assert (found.severity, len(found.nodes)) == (Severity.WARN, 4)
    assert found.what == "resolves its own name to 127.0.1.1, a loopback address"


def test_an_alias_that_few_nodes_know_is_their_own_affair() -> None:
    """The head's hosts file has names that nodes' name server has not."""
    preflight = clean()
    nodes = preflight.fabric.nodes
    alias = tuple(
        Lookup(node.name, "c2.site", ("10.1.0.2",) if node.name == "c1" else ()) for node in nodes
    )
    assert findings(msgspec.structs.replace(preflight, lookups=preflight.lookups + alias)) == []
    known = tuple(
        Lookup(node.name, "c2.site", () if node.name == "c1" else ("10.1.0.2",)) for node in nodes
    )
    found = only(msgspec.structs.replace(preflight, lookups=preflight.lookups + known))
    assert found.what == "does not know the name c2.site"


def test_a_name_that_no_node_knows_counts_where_it_is_a_nodes() -> None:
    """The name server gives dhcp-2.site for an address, and no address for that name."""
    preflight = clean()
    unused = tuple(Lookup(node.name, "dhcp-2.site", ()) for node in preflight.fabric.nodes)
    assert findings(msgspec.structs.replace(preflight, lookups=preflight.lookups + unused)) == []
    lost = tuple(
        msgspec.structs.replace(one, addresses=()) if one.name == "c2" else one
        for one in preflight.lookups
    )
    found = only(msgspec.structs.replace(preflight, lookups=lost))
    assert (found.check, found.where) == ("names", "c2") and "no node knows" in found.what


def test_a_name_that_means_a_translated_address_everywhere_is_a_warning() -> None:
    """A cloud's public addresses are not on its nodes; a lost one of a node's subnet fails."""
    preflight, lost = clean(), clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = told(preflight, name, "c2", "203.0.113.7")
        lost = told(lost, name, "c2", "10.1.0.77")
    assert only(preflight).severity is Severity.WARN
    assert only(lost).severity is Severity.FAIL
    assert only(lost).nodes == ("c2",)


def test_aliases_of_one_line_are_one_finding() -> None:
    preflight = clean()
    aliases = tuple(
        Lookup(node.name, "c1-ib", ("10.2.0.99" if node.name == "c2" else "10.2.0.1",))
        for node in preflight.fabric.nodes
    )
    preflight = msgspec.structs.replace(preflight, lookups=(*preflight.lookups, *aliases))
    found = only(told(preflight, "c2", "c1", "10.2.0.99"))
    assert found.what == "resolves c1 and c1-ib to 10.2.0.99, which c1 does not have"


def test_a_hosts_file_that_differs_is_a_note_and_files_that_all_differ_are_none() -> None:
    odd = clusters.with_fact(clean(), "c4", "hosts file", "999 1")
    assert only(odd).severity is Severity.NOTE
    preflight = clean()
    for name in ("c1", "c2", "c3", "c4"):
        preflight = clusters.with_fact(preflight, name, "hosts file", name)
    assert findings(preflight) == []


def test_a_wrong_entry_does_not_follow_from_a_duplicate_address_of_others() -> None:
    """c3 takes c1 for a stranger; that c2 has taken c3's own address explains nothing of it."""
    taken = clusters.with_interface(clean(), "c2:eth0", addresses=(Address("10.1.0.3", 24),))
    preflight = told(taken, "c3", "c1", "10.1.0.99")
    assert {(one.check, one.where.partition(":")[0]) for one in findings(preflight)} == {
        ("addresses", "c2"), ("names", "c3"),
    }  # fmt: skip
