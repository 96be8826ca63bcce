"""Which faults replace which, and what a heal leaves; no lab is touched."""

import msgspec
import pytest

from fabricgauge.lab import faults, holder
from fabricgauge.lab.state import LabFault, LabNetwork, LabNode, LabState, NodeHolder
from fabricgauge.model.errors import UsageError

HOLDER = NodeHolder(1, 1, 1)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> LabState:
    monkeypatch.setattr(faults, "_apply_to_link", lambda *_: None)
    monkeypatch.setattr(faults, "_apply_to_nodes", lambda state: state)
    monkeypatch.setattr(faults, "save", lambda _: None)
    monkeypatch.setattr(holder, "batch", lambda *_: None)
    monkeypatch.setattr(holder, "forget_neighbours", lambda _: None)
    return LabState(
        "t-lab-pure", "/nowhere", "feed", "boot", "now", False, True, "reno", HOLDER, (1,),
        (LabNode("head", 0, HOLDER), LabNode("c1", 1, HOLDER), LabNode("c2", 2, HOLDER)),
        (LabNetwork("net1", 0, 1e9, 1500, "10.77.0.0/24"),),
    )  # fmt: skip


def test_fault_of_the_same_kind_is_replaced(state: LabState) -> None:
    state = faults.inject(state, LabFault("mtu", "c1", "net1", 1400))
    state = faults.inject(state, LabFault("mtu", "c1", "net1", 1300))
    assert state.faults == (LabFault("mtu", "c1", "net1", 1300),)


def test_limits_of_both_directions_stand_side_by_side_until_one_takes_both(
    state: LabState,
) -> None:
    one, other = (LabFault(kind, "c1", "net1", 1e8) for kind in ("rate-in", "rate-out"))
    state = faults.inject(faults.inject(state, one), other)
    assert state.faults == (one, other)
    both = LabFault("rate", "c1", "net1", 1e7)
    assert faults.inject(state, both).faults == (both,)


def test_heal_ends_only_what_it_is_asked_for(state: LabState) -> None:
    cut, slow = LabFault("link-down", "c1", "net1"), LabFault("rate", "c1", "net1", 1e8)
    elsewhere = LabFault("link-down", "c2", "net1")
    state = msgspec.structs.replace(state, faults=(cut, slow, elsewhere))
    assert faults.heal(state, "c1", "net1", "link-down").faults == (slow, elsewhere)
    assert faults.heal(state, "c1").faults == (elsewhere,)
    assert faults.heal(state).faults == ()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (LabFault("link-down", "c9", "net1"), "no node 'c9'; it has head, c1, c2"),
        (LabFault("link-down", "c1", "net9"), "no network 'net9'; it has net1"),
        (LabFault("rate", "c1", "net1", 0), "rate 0 bit/s of c1 in net1"),
        (LabFault("mtu", "c1", "net1", 9), "MTU 9 of c1 in net1"),
        (
            LabFault("address", "c1", "net1", text="10.77.0.12/24 dev eth9"),
            "cannot be an address of c1",
        ),
        (LabFault("address", "c1", "net1", text="10.77.0.12/33"), "cannot be an address of c1"),
        (LabFault("address", "c1", "net1", text="::1/64"), "cannot be an address of c1"),
        (LabFault("hosts", "c1", "net1", text="c9=10.0.0.1"), "no node 'c9'"),
        (LabFault("hosts", "c1", "net1", text="c2=10.0.0.1\n"), "cannot be an address"),
        (LabFault("loss", "c1", "net1", 0.0), "lost share of c1 in net1"),
        (LabFault("loss", "c1", "net1", float("nan")), "lost share of c1 in net1"),
        (LabFault("drops", "c1", "net1", 0.0), "stray frames per second"),
        (LabFault("memlock", "c1", amount=0), "memory limit of c1"),
    ],
)
def test_inject_fails_when_the_fault_cannot_be(
    state: LabState, fault: LabFault, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        faults.inject(state, fault)


def test_a_fault_of_a_node_alone_is_healed_with_the_node_and_not_with_a_network(
    state: LabState,
) -> None:
    low = LabFault("memlock", "c1", amount=65536)
    state = faults.inject(state, low)
    assert faults.heal(state, None, "net1").faults == (low,)
    assert faults.heal(state, "c1").faults == ()


def test_wrong_entries_of_several_names_stand_side_by_side(state: LabState) -> None:
    one, other = (LabFault("hosts", "c1", "net1", text=f"{name}=10.0.0.9") for name in ("c1", "c2"))
    state = faults.inject(faults.inject(state, one), other)
    assert state.faults == (one, other)
    again = LabFault("hosts", "c1", "net1", text="c2=10.0.0.8")
    assert faults.inject(state, again).faults == (one, again)
