"""Faults of addresses, names, limits and frames are real, and heal leaves nothing of them."""

import time
from itertools import pairwise
from pathlib import Path

import pytest
from tests.lab.conftest import MakeLab, marked, on

from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.spec import NetworkSpec
from fabricgauge.lab.state import LabFault, LabState

pytestmark = pytest.mark.lab

TWO = (NetworkSpec("net1", 1e9), NetworkSpec("net2", 1e9))


def received(state: LabState, origin: str, target: str) -> int:
    """How many of 20 echoes come back; over 2 s, since a lost ARP request is sent again in 1 s."""
    told = on(state, origin, "ping", "-n", "-c", "20", "-i", "0.1", "-W", "1", target, check=False)
    return int(told.split(" received")[0].split()[-1])


def know_each_other(state: LabState, one: str, other: str) -> None:
    """Both ends have each other's hardware address for good."""
    for here, there in ((one, other), (other, one)):
        mac = on(state, there, "cat", "/sys/class/net/eth0/address").strip()
        ip = on(state, there, "ip", "-4", "-o", "addr", "show", "eth0").split()[3].split("/")[0]
        on(state, here, "ip", "neigh", "replace", ip, "lladdr", mac, "dev", "eth0")


def dropped(state: LabState, node: str) -> int:
    return int(on(state, node, "cat", "/sys/class/net/eth0/statistics/rx_dropped"))


def addresses(state: LabState, node: str) -> list[str]:
    words = on(state, node, "ip", "-4", "-o", "addr").split()
    return [word for before, word in pairwise(words) if before == "inet"]


def test_an_address_replaces_the_nodes_own_until_healed(make_lab: MakeLab) -> None:
    state = make_lab(*TWO)
    state = inject(state, LabFault("address", "c2", "net1", text="10.77.0.11/8"))
    assert addresses(state, "c2") == ["127.0.0.1/8", "10.77.0.11/8", "10.77.1.12/24"]
    heal(state)
    assert addresses(state, "c2") == ["127.0.0.1/8", "10.77.0.12/24", "10.77.1.12/24"]
    assert received(state, "c1", "10.77.0.12") == 20


def test_a_wrong_name_is_wrong_on_one_node_only(make_lab: MakeLab) -> None:
    state = make_lab(*TWO)
    state = inject(state, LabFault("hosts", "c2", "net1", text="c1=10.77.0.99"))
    assert on(state, "c2", "getent", "hosts", "c1").split()[0] == "10.77.0.99"
    assert on(state, "c1", "getent", "hosts", "c1").split()[0] == "10.77.0.11"
    assert on(state, "c2", "getent", "hosts", "c1-net2").split()[0] == "10.77.1.11"
    heal(state)
    assert on(state, "c2", "getent", "hosts", "c1").split()[0] == "10.77.0.11"


def test_a_lossy_link_loses_some_echoes_and_others_none(make_lab: MakeLab) -> None:
    state = make_lab(nodes=("c1", "c2", "c3"))
    state = inject(state, LabFault("loss", "c2", "net1", 0.3))
    know_each_other(state, "c1", "c2")  # a lost request for an address would keep all echoes back
    assert 0 < received(state, "c1", "10.77.0.12") < 20
    assert received(state, "c1", "10.77.0.13") == 20
    heal(state)
    assert received(state, "c1", "10.77.0.12") == 20


def test_stray_frames_are_dropped_and_counted_and_their_sender_ends(make_lab: MakeLab) -> None:
    state = make_lab()
    state = inject(state, LabFault("drops", "c2", "net1", 100))
    before, there = dropped(state, "c2"), len(marked(state.token))
    time.sleep(0.5)
    assert dropped(state, "c2") > before + 10
    assert dropped(state, "c1") == 0
    state = heal(state)
    assert state.senders == ()
    assert len(marked(state.token)) == there - 1
    before = dropped(state, "c2")
    time.sleep(0.2)
    assert dropped(state, "c2") == before


def test_memory_that_may_be_locked_is_limited_on_one_node(make_lab: MakeLab) -> None:
    state = make_lab()
    usual = on(state, "c2", "sh", "-c", "ulimit -l")
    state = inject(state, LabFault("memlock", "c2", amount=65536))
    assert on(state, "c2", "sh", "-c", "ulimit -l") == "64\n"
    assert on(state, "c1", "sh", "-c", "ulimit -l") == usual
    heal(state)
    assert on(state, "c2", "sh", "-c", "ulimit -l") == usual
    assert not list((Path(state.directory) / "memlock").iterdir())


def test_a_port_that_came_up_slower_shows_it(make_lab: MakeLab) -> None:
    state = make_lab()
    assert "rate 984395Kbit" in on(state, "c1", "tc", "qdisc")
    state = inject(state, LabFault("port-rate", "c1", "net1", 1e8))
    assert "rate 98439" in on(state, "c1", "tc", "qdisc")
    heal(state)
    assert "rate 984395Kbit" in on(state, "c1", "tc", "qdisc")
