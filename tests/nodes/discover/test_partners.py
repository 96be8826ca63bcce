"""Who tries whom: everybody is tried, and nobody too often."""

from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Fabric, Member, Network, Node
from fabricgauge.nodes.discover.trials import (
    LARGE_BYTES,
    MANY_COUNT,
    MAX_NAMES,
    SMALL_BYTES,
    plan_second_trials,
    plan_slow_trials,
    plan_trials,
)


def node(name: str) -> Node:
    return Node(name, name, "boot", "net", 2, "6.1", (), {})


def network(*members: Member, name: str = "net1") -> Network:
    return Network(name, "10.0.0.0/16", "ethernet", 1e9, "declared", members)


def member(number: int, interface: str = "eth0", mtu: int = 1500) -> Member:
    return Member(f"c{number}", interface, f"10.0.{number // 200}.{number % 200 + 1}", mtu)


def fabric(count: int) -> tuple[Fabric, Network]:
    net = network(*(member(number) for number in range(count)))
    return Fabric(tuple(node(f"c{number}") for number in range(count)), (), (net,)), net


@given(st.integers(2, 300))
def test_everybody_is_tried_by_two_and_nobody_sends_to_more_than_three(count: int) -> None:
    found, net = fabric(count)
    wanted = plan_trials(found, (net,))
    small = [e for t in wanted.values() for e in t.echoes if e.payload_bytes == SMALL_BYTES]
    sent, tried = Counter(e.source for e in small), Counter(e.target for e in small)
    assert len(sent) == len(tried) == count
    assert max(sent.values()) <= 3
    assert min(tried.values()) >= min(2, count - 1)
    assert all(e.source != e.target for e in small)
    neighbours = {(e.source, e.target) for e in small}
    assert all((f"c{i}", f"c{(i + 1) % count}") in neighbours for i in range(count))
    assert all((f"c{(i + 1) % count}", f"c{i}") in neighbours for i in range(count))


def test_a_whole_echo_fills_the_smaller_mtu_of_the_two() -> None:
    net = network(member(0, mtu=9000), member(1, mtu=1500), member(2, mtu=9000))
    found = Fabric(tuple(node(f"c{number}") for number in range(3)), (), (net,))
    wanted = plan_trials(found, (net,))
    whole = {(e.source, e.target): e.payload_bytes for e in wanted["c0"].echoes if e.whole}
    assert whole == {("c0", "c1"): 1472, ("c0", "c2"): 8972}


def test_rails_are_tried_one_by_one_and_an_address_never_by_itself() -> None:
    rails = [Member(f"c{n}", f"ib{r}", f"10.0.{r}.{n + 1}", 4092) for n in (0, 1) for r in (0, 1)]
    same = Member("c2", "ib0", "10.0.0.1", 4092)
    net = network(*rails, same)
    found = Fabric(tuple(node(f"c{number}") for number in range(3)), (), (net,))
    echoes = [e for t in plan_trials(found, (net,)).values() for e in t.echoes if not e.whole]
    assert {(e.source_ip, e.target_ip) for e in echoes if e.interface == "ib1"} == {
        ("10.0.1.1", "10.0.1.2"), ("10.0.1.2", "10.0.1.1"),
    }  # fmt: skip
    assert all(e.source_ip != e.target_ip for e in echoes)


def test_of_many_nodes_each_looks_up_itself_and_its_partners() -> None:
    found, net = fabric(MAX_NAMES + 1)
    wanted = plan_trials(found, (net,))
    assert set(wanted["c5"].names) == {"c5", "c6", "c4", "c21"}
    assert len(wanted["c5"].addresses) == 4
    few, net = fabric(3)
    assert plan_trials(few, (net,))["c1"].names == ("c0", "c1", "c2")


def test_enough_echoes_go_to_the_next_node_to_show_a_loss_of_one_percent() -> None:
    found, net = fabric(4)
    small = [e for e in plan_trials(found, (net,))["c1"].echoes if not e.whole]
    assert [(e.target, e.count) for e in small] == [("c2", 500), ("c0", 5), ("c3", 5)]
    assert 0.99**MANY_COUNT < 0.01


def test_addresses_and_options_are_not_looked_up_as_names() -> None:
    found, net = fabric(3)
    odd = tuple(node(name) for name in ("10.0.0.1", "-x", "c9"))
    found = msgspec.structs.replace(found, nodes=(*found.nodes, *odd))
    assert plan_trials(found, (net,))["c1"].names == ("c0", "c1", "c2", "c9")


def test_large_echoes_go_round_once_and_lossy_ways_are_tried_again() -> None:
    _, net = fabric(4)
    lossy = [("net1", "10.0.0.1", "10.0.0.2"), ("net1", "10.0.0.1", "10.0.0.77")]
    wanted = plan_second_trials((net,), lossy, {"c3": ("c1-net2",)})
    large = [(e.source, e.target) for t in wanted.values() for e in t.echoes
             if e.payload_bytes == LARGE_BYTES]  # fmt: skip
    assert large == [("c0", "c1"), ("c1", "c2"), ("c2", "c3"), ("c3", "c0")]
    again = [e for t in wanted.values() for e in t.echoes if e.count == MANY_COUNT]
    assert {frozenset((e.source, e.target)) for e in again} == {
        frozenset(pair.split()) for pair in ("c0 c1", "c0 c2", "c0 c3", "c1 c2", "c1 c3")
    }  # fmt: skip
    assert wanted["c3"].names == ("c1-net2",)
    phases = [e.after_s for t in wanted.values() for e in t.echoes if e.count != MANY_COUNT]
    assert len(set(phases)) == 4


def test_large_echoes_that_took_long_are_sent_again_and_more_of_them() -> None:
    """65,000 bytes take 1.04 ms there and back at 1 Gb/s."""
    _, net = fabric(3)
    times = {("net1", "10.0.0.1", "10.0.0.2"): 2.5e-3, ("net1", "10.0.0.2", "10.0.0.3"): 2.7e-3}
    ((source, trial),) = plan_slow_trials((net,), times).items()
    ((one,)) = trial.echoes
    assert (source, one.target, one.payload_bytes, one.count) == ("c1", "c2", LARGE_BYTES, 12)
    unknown = msgspec.structs.replace(net, rate_bit_s=Skipped("no driver says it"))
    assert plan_slow_trials((unknown,), times) == plan_slow_trials((net,), {}) == {}


def test_the_words_are_as_the_script_reads_them() -> None:
    found, net = fabric(2)
    assert plan_trials(found, (net,))["c0"].list_words() == [
        "ping", "500", "0.01", "56", "0", "0", "10.0.0.1", "10.0.0.2",
        "ping", "3", "0.2", "1472", "1", "0", "10.0.0.1", "10.0.0.2",
        "name", "c0", "name", "c1", "address", "10.0.0.1", "address", "10.0.0.2",
    ]  # fmt: skip
