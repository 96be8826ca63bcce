"""Links carry the rate they were given, and faults are real."""

import json
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from tests.lab.conftest import MakeLab, on, stream_bytes_per_s

from fabricgauge.lab.faults import heal, inject
from fabricgauge.lab.host_access import entry
from fabricgauge.lab.spec import NetworkSpec
from fabricgauge.lab.state import LabFault, LabState

pytestmark = [pytest.mark.lab, pytest.mark.alone]

#: 100 Mb/s; of 1538 octets on the wire an interface counts 1514.
LINE_BYTES_PER_S = 1e8 / 8 * 1514 / 1538
SLOW = NetworkSpec("net1", 1e8)


def rate(state: LabState, origin: str, target: str) -> float:
    """Share of the line rate at which bytes arrive in about a second.

    The interface counts them, and the time includes the start of both programs: load can make
    this less than what the link carries, and nothing can make it more.
    """
    address = on(state, "head", "getent", "hosts", target).split()[0]
    began, before = time.monotonic(), received_bytes(state, target)
    stream_bytes_per_s(state, origin, target, address, 1.0)
    arrived = received_bytes(state, target) - before
    return arrived / (time.monotonic() - began) / LINE_BYTES_PER_S


def link(state: LabState, node: str) -> dict[str, object]:
    found: list[dict[str, object]] = json.loads(on(state, node, "ip", "-j", "link", "show", "eth0"))
    return found[0]


def test_link_carries_its_line_rate_and_no_more(make_lab: MakeLab) -> None:
    state = make_lab(SLOW)
    assert 0.3 < rate(state, "c1", "c2") < 1.03


SINK = """
import socket, threading
server = socket.create_server(("", 5999))
print("ready", flush=True)
def drain(line):
    while line.recv(1 << 20):
        pass
while True:
    threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
"""

SOURCE = """
import socket, sys
line = socket.create_connection((sys.argv[1], 5999))
while True:
    line.sendall(bytes(1 << 18))
"""


def test_incast_shares_the_line_rate_of_the_target(make_lab: MakeLab) -> None:
    state = make_lab(SLOW, nodes=("c1", "c2", "c3"))
    python = [sys.executable, "-I", "-S", "-c"]
    with ExitStack() as running:

        def start(node: str, *words: str) -> "subprocess.Popen[str]":
            argv = [*entry(state, node), *python, *words]
            child = running.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
            running.callback(child.kill)
            return child

        server = start("c3", SINK)
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        for node in ("c1", "c2"):
            start(node, SOURCE, "10.77.0.13")
        time.sleep(0.5)
        began, before = time.monotonic(), received_bytes(state, "c3")
        time.sleep(1.0)
        carried = received_bytes(state, "c3") - before
        assert 0.3 < carried / (time.monotonic() - began) / LINE_BYTES_PER_S < 1.03


def received_bytes(state: LabState, node: str) -> int:
    return int(on(state, node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


def test_cut_link_loses_its_carrier_and_gets_it_back(make_lab: MakeLab) -> None:
    state = make_lab(SLOW)
    state = inject(state, LabFault("link-down", "c1", "net1"))
    assert link(state, "c1")["operstate"] == "DOWN"
    assert "NO-CARRIER" in str(link(state, "c1")["flags"])
    assert on(state, "c1", "cat", "/sys/class/net/eth0/carrier") == "0\n"
    assert link(state, "c2")["operstate"] == "UP"
    heal(state, "c1", "net1", "link-down")
    assert link(state, "c1")["operstate"] == "UP"
    assert rate(state, "c1", "c2") > 0.15


@pytest.mark.parametrize(
    ("kind", "out_is_slow", "in_is_slow"),
    [
        ("rate-out", True, False),
        pytest.param("rate-in", False, True, marks=pytest.mark.slow),
        pytest.param("rate", True, True, marks=pytest.mark.slow),
    ],
)
def test_slow_link_is_slow_only_in_the_direction_asked_for(
    make_lab: MakeLab, kind: str, out_is_slow: bool, in_is_slow: bool
) -> None:
    state = make_lab(SLOW)
    shaping = on(state, "c1", "tc", "qdisc")
    state = inject(state, LabFault(kind, "c1", "net1", 1e7))
    assert on(state, "c1", "tc", "qdisc") == shaping
    assert (rate(state, "c1", "c2") > 0.13) != out_is_slow
    assert (rate(state, "c2", "c1") > 0.13) != in_is_slow
    heal(state)
    assert rate(state, "c1", "c2") > 0.15


def test_mtu_fault_changes_one_interface_until_healed(make_lab: MakeLab) -> None:
    state = make_lab(NetworkSpec("net1", 1e9, 9000))
    state = inject(state, LabFault("mtu", "c1", "net1", 1500))
    assert (link(state, "c1")["mtu"], link(state, "c2")["mtu"]) == (1500, 9000)
    heal(state)
    assert link(state, "c1")["mtu"] == 9000


def test_faults_on_one_link_leave_the_other_network_alone(make_lab: MakeLab) -> None:
    state = make_lab(SLOW, NetworkSpec("net2", 1e8))
    inject(state, LabFault("link-down", "c1", "net1"))
    assert on(state, "c1", "cat", "/sys/class/net/eth1/carrier") == "1\n"
