"""Discovery through doors that are ordinary local programs: no network, no namespaces."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.fabric import DeclaredNetwork, Fabric
from fabricgauge.model.host_access import Host, HostAccess
from fabricgauge.nodes.discover.interface import discover, find_network_changes

FIXTURES = Path(__file__).parents[2] / "fixtures" / "probe"
PROBE = resources.files("fabricgauge.nodes.discover").joinpath("probe.sh")


def replaying(node: str, case: str) -> Host:
    """A door whose node gives a recorded answer, whatever it is asked."""
    return Host(node, ("sh", "-c", 'cat "$1"', "sh", str(FIXTURES / f"{case}.out")))


def answering(node: str, text: str, tmp_path: Path) -> Host:
    path = tmp_path / f"{node}.answer"
    path.write_text(text)
    return Host(node, ("sh", "-c", 'cat "$1"', "sh", str(path)))


def found(*hosts: Host, timeout_s: float = 10.0) -> tuple[Fabric, dict[str, str]]:
    kept: dict[str, str] = {}
    declared = (DeclaredNetwork("data", "10.9.0.0/24", 1e9, "the test"),)
    fabric = discover(
        HostAccess("test", hosts), declared, timeout_s=timeout_s, keep=kept.__setitem__
    )
    return fabric, kept


def second_node(tmp_path: Path, mtu: int = 9000) -> Host:
    text = (FIXTURES / "shaped-veth.out").read_text()
    text = text.replace("10.9.0.1", "10.9.0.2").replace("\nn1\n", "\nn2\n")
    return answering("n2", text.replace("9000", str(mtu)), tmp_path)


def test_this_machine_describes_itself() -> None:
    fabric, kept = found(Host("here", ()))
    assert not fabric.unreached
    assert fabric.nodes[0].cpu_count >= 1
    assert "== end" in kept["here"]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_the_probe_is_clean_shell() -> None:
    done = subprocess.run(["shellcheck", "-"], input=PROBE.read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


def test_two_answers_are_joined_by_the_declared_network(tmp_path: Path) -> None:
    fabric, _ = found(replaying("n1", "shaped-veth"), second_node(tmp_path))
    assert [network.name for network in fabric.networks] == ["data"]
    assert [member.node for member in fabric.networks[0].members] == ["n1", "n2"]
    assert fabric.networks[0].burst_bytes == 32731


def test_a_node_that_hangs_costs_the_timeout_and_no_other_node() -> None:
    started = time.monotonic()
    fabric, _ = found(
        Host("hung", ("sh", "-c", "sleep 30")), replaying("n1", "shaped-veth"), timeout_s=1.0
    )
    assert time.monotonic() - started < 10
    assert [node.name for node in fabric.nodes] == ["n1"]
    assert fabric.unreached[0].name == "hung"
    assert "within 1 s" in fabric.unreached[0].reason


def test_the_reason_of_an_unreachable_node_is_the_programs_own() -> None:
    host = Host(
        "c9", ("sh", "-c", "echo 'ssh: connect to host c9: No route to host' >&2; exit 255")
    )
    fabric, kept = found(host)
    assert "No route to host" in fabric.unreached[0].reason
    assert "exit status 255" in fabric.unreached[0].reason
    assert "No route to host" in kept["c9"]


def test_a_shell_that_refuses_on_standard_output_is_quoted() -> None:
    host = Host("c9", ("sh", "-c", "echo 'This account is currently not available.'; exit 1"))
    fabric, _ = found(host)
    assert "This account is currently not available." in fabric.unreached[0].reason


def test_a_missing_launcher_is_a_reason_too() -> None:
    fabric, _ = found(Host("c9", ("/nonexistent/ssh",)))
    assert "/nonexistent/ssh" in fabric.unreached[0].reason


def test_the_raw_answer_is_kept_before_it_is_refused(tmp_path: Path) -> None:
    fabric, kept = found(answering("n1", "== fabricgauge-probe 1\n== hos", tmp_path))
    assert "cut off" in fabric.unreached[0].reason
    assert kept["n1"] == "== fabricgauge-probe 1\n== hos"


def test_nothing_changed_is_no_sentence(tmp_path: Path) -> None:
    hosts = (replaying("n1", "shaped-veth"), second_node(tmp_path))
    fabric, _ = found(*hosts)
    assert find_network_changes(HostAccess("test", hosts), fabric, fabric.networks[0]) == ()


def test_a_lost_carrier_an_mtu_and_a_dead_node_are_named(tmp_path: Path) -> None:
    hosts = (replaying("n1", "shaped-veth"), second_node(tmp_path))
    fabric, _ = found(*hosts)
    now = (replaying("n1", "carrier-lost"), second_node(tmp_path, mtu=1500))
    said = find_network_changes(HostAccess("test", now), fabric, fabric.networks[0])
    assert any("n1:data0 (data) has lost its carrier" in one.sentence for one in said)
    assert any("n2:data0 (data) has MTU 1500 now" in one.sentence for one in said)
    dead = (replaying("n1", "shaped-veth"), Host("n2", ("false",)))
    said = find_network_changes(HostAccess("test", dead), fabric, fabric.networks[0])
    assert len(said) == 1
    assert said[0].sentence.startswith("n2 cannot be reached")


def test_a_node_without_a_door_is_said_to_be_out_of_reach(tmp_path: Path) -> None:
    hosts = (replaying("n1", "shaped-veth"), second_node(tmp_path))
    fabric, _ = found(*hosts)
    said = find_network_changes(HostAccess("test", hosts[:1]), fabric, fabric.networks[0])
    assert len(said) == 1
    assert said[0].sentence.startswith("n2 cannot be reached")


def test_a_node_with_two_ports_in_a_network_is_named_once(tmp_path: Path) -> None:
    hosts = (replaying("n1", "shaped-veth"), second_node(tmp_path))
    fabric, _ = found(*hosts)
    network = msgspec.structs.replace(
        fabric.networks[0], members=(*fabric.networks[0].members, fabric.networks[0].members[1])
    )
    dead = (hosts[0], Host("n2", ("false",)))
    assert len(find_network_changes(HostAccess("test", dead), fabric, network)) == 1


INTERRUPTED = """
import sys
from fabricgauge.nodes.discover.interface import discover
from fabricgauge.model.host_access import Host, HostAccess

def keep(node, raw):
    print("first", flush=True)

hang = "sleep 60" if sys.argv[1] == "stays" else "setsid sleep 20 & sleep 60"
hung = tuple(Host(f"n{number}", ("sh", "-c", hang)) for number in range(3))
discover(HostAccess("test", (Host("n9", ("true",)), *hung)), (), timeout_s=20.0, keep=keep)
"""


@pytest.mark.parametrize("grandchild", ["stays", "leaves the session"])
def test_an_interrupt_ends_the_probes_at_once(grandchild: str) -> None:
    mark = f"FABRICGAUGE_TEST=interrupt-{os.getpid()}"
    name, _, value = mark.partition("=")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, grandchild],
        env={**os.environ, name: value}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as asking:  # fmt: skip
        assert asking.stdout
        assert asking.stdout.readline() == b"first\n"
        begun = time.monotonic()
        asking.send_signal(signal.SIGINT)
        asking.wait(timeout=30)
        assert time.monotonic() - begun < 15
    give_up = time.monotonic() + 10
    while sleeping(mark) and time.monotonic() < give_up:
        time.sleep(0.1)  # what was killed may take a moment to vanish
    assert not sleeping(mark)


def sleeping(mark: str) -> bool:
    return any(argv[:2] == [b"sleep", b"60"] for argv in carrying(mark))


def carrying(mark: str) -> list[list[bytes]]:
    """The argv of every process that has ``mark`` in its environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().split(b"\0"))
        except OSError:
            continue
    return found


def test_no_node_is_asked_of_none() -> None:
    fabric, kept = found()
    assert (fabric.nodes, fabric.unreached, kept) == ((), (), {})


def test_a_switched_off_interface_is_named(tmp_path: Path) -> None:
    hosts = (replaying("n1", "shaped-veth"), second_node(tmp_path))
    fabric, _ = found(*hosts)
    off = (FIXTURES / "switched-off.out").read_text()
    now = (hosts[0], answering("n2", off, tmp_path))
    said = find_network_changes(HostAccess("test", now), fabric, fabric.networks[0])
    assert any("n2:data0 (data) is down" in one.sentence for one in said)
