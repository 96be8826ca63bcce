"""Failed connections → the nodes and pairs at fault."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.doctor.reachability import choose_excluded_nodes, find_connection_faults
from fabricgauge.model.preflight import Connectivity, FailedConnection


def failure(source: str, target: str) -> FailedConnection:
    return FailedConnection(source, target, f"ip-{source}", f"ip-{target}", "no answer")


def round_of(nodes: list[str], *failures: FailedConnection) -> Connectivity:
    return Connectivity("net1", dict.fromkeys(nodes, len(nodes) - 1), failures)


def of_nodes(nodes: list[str], gone: set[str]) -> list[FailedConnection]:
    return [failure(a, b) for a, b in permutations(nodes, 2) if {a, b} & gone]


NODES = [f"c{number}" for number in range(1, 9)]


def test_a_round_without_failures_names_nobody() -> None:
    assert find_connection_faults(round_of(NODES)) == ()


def test_a_pair_is_named_and_neither_of_its_nodes() -> None:
    for nodes in (["c1", "c2"], ["c1", "c2", "c3"], NODES):
        (found,) = find_connection_faults(round_of(nodes, failure("c1", "c2"), failure("c2", "c1")))
        assert (found.kind, found.nodes) == ("pair", ("c1", "c2"))
        assert found.summary == "no TCP connection works between them"


def test_one_way_of_a_pair_is_named_with_its_direction() -> None:
    (found,) = find_connection_faults(round_of(NODES, failure("c5", "c2")))
    assert (found.kind, found.nodes) == ("pair", ("c5", "c2"))
    assert found.summary.startswith("c5 cannot connect to c2;")


def test_a_node_that_nobody_can_connect_to_is_named_with_the_way() -> None:
    failures = [failure(node, "c3") for node in NODES if node != "c3"]
    (found,) = find_connection_faults(round_of(NODES, *failures))
    assert (found.kind, found.nodes) == ("node", ("c3",))
    assert found.summary == "7 of 7 nodes cannot connect to it; it can connect to them"


def test_where_no_pair_works_no_node_is_accused() -> None:
    (found,) = find_connection_faults(round_of(NODES, *of_nodes(NODES, set(NODES))))
    assert found.kind == "network"
    assert choose_excluded_nodes(NODES, (found,)) == tuple(NODES)


def test_a_taken_address_names_both_holders_and_no_pair() -> None:
    other = FailedConnection("c1", "c3", "ip-c1", "ip-c3", "other node", answered_by="c4")
    (found,) = find_connection_faults(round_of(NODES, other, failure("c2", "c3")))
    assert (found.kind, found.nodes) == ("address", ("c3", "c4"))
    assert choose_excluded_nodes(NODES, (found,)) == ("c3", "c4")


@given(st.sets(st.sampled_from(NODES), max_size=3), st.data())
def test_planted_nodes_and_a_pair_are_named_exactly(gone: set[str], data: st.DataObject) -> None:
    well = [node for node in NODES if node not in gone]
    source, target = data.draw(st.permutations(well))[:2]
    found = find_connection_faults(round_of(NODES, *of_nodes(NODES, gone), failure(source, target)))
    assert {node for one in found if one.kind == "node" for node in one.nodes} == gone
    assert [one.nodes for one in found if one.kind == "pair"] == [(source, target)]
    out = set(choose_excluded_nodes(NODES, found))
    assert gone <= out and len(out) == len(gone) + 1 and out & {source, target}
