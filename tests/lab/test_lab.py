"""A lab stands, is what it says it is, and goes without a trace."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.features.slurm_lab.slurm_jobs import until
from tests.lab.conftest import MakeLab, marked, on

from fabricgauge.lab import up as up_module
from fabricgauge.lab.host_access import access, declared_networks
from fabricgauge.lab.spec import LabSpec, NetworkSpec
from fabricgauge.lab.state import LabState, lab_directory, load_complete, load_marks
from fabricgauge.lab.up import down, status
from fabricgauge.model.errors import LabError

pytestmark = pytest.mark.lab

FABRICGAUGE = [sys.executable, "-c", "from fabricgauge.cli.main import main; main()"]


def sleeps(child: "subprocess.Popen[bytes]") -> bool:
    """Whether what was started through a node's door has become its last command."""
    return Path(f"/proc/{child.pid}/comm").read_text() == "sleep\n"


def test_nodes_have_names_addresses_and_mounts_of_their_own(make_lab: MakeLab) -> None:
    state = make_lab(NetworkSpec("net1", 1e9), NetworkSpec("net2", 1e8, 9000))
    for index, node in enumerate(("c1", "c2")):
        assert on(state, node, "uname", "-n") == f"{node}\n"
        assert on(state, node, "cat", "/etc/hostname") == f"{node}\n"
        assert sorted(on(state, node, "ls", "/sys/class/net").split()) == ["eth0", "eth1", "lo"]
        links = json.loads(on(state, node, "ip", "-j", "addr"))
        found = {
            link["ifname"]: (link["mtu"], [a["local"] for a in link["addr_info"]]) for link in links
        }
        assert found["eth0"] == (1500, [f"10.77.0.{11 + index}"])
        assert found["eth1"] == (9000, [f"10.77.1.{11 + index}"])
    assert on(state, "c1", "getent", "hosts", "c2").split()[0] == "10.77.0.12"
    assert on(state, "head", "getent", "hosts", "c2-net2").split()[0] == "10.77.1.12"
    on(state, "c1", "touch", "/dev/shm/mine")
    assert on(state, "c2", "ls", "/dev/shm") == ""


def test_reach_and_networks_are_what_the_stages_expect(make_lab: MakeLab) -> None:
    state = make_lab()
    hosts = access(state)
    assert hosts.nodes == ("c1", "c2")
    assert hosts.virtual
    for node, prefix in [*((d.node, d.prefix) for d in hosts.hosts), ("head", hosts.head_prefix)]:
        done = subprocess.run([*prefix, "uname", "-n"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{node}\n"
    (network,) = declared_networks(state)
    assert (network.subnet, network.rate_bit_s) == ("10.77.0.0/24", 1e9)
    assert network.origin == "declared by the lab"


def test_command_keeps_words_directory_and_exit_status(make_lab: MakeLab, tmp_path: Path) -> None:
    state = make_lab()
    words = ["a b", "$(id)", "'", "*", ""]
    argv = [*FABRICGAUGE, "lab", "exec", "--name", state.name, "c1", "--"]
    shown = subprocess.run(
        [*argv, sys.executable, "-c", "import sys, os; print(sys.argv[1:], os.getcwd())", *words],
        capture_output=True, text=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert shown.stdout == f"{words} {tmp_path}\n"
    piped = subprocess.run([*argv, "cat"], input="in", capture_output=True, text=True, check=True)
    assert piped.stdout == "in"
    assert subprocess.run([*argv, "sh", "-c", "exit 42"], check=False).returncode == 42


def test_agent_is_called_as_ssh_is(make_lab: MakeLab) -> None:
    hostile = "c1;touch${IFS}pwned"
    state = make_lab(nodes=(hostile, "c2"))
    agent = access(state).agent
    assert agent
    for options in ([], ["-x"], ["-q", "-n"], ["-o", "A=b", "-l", "me", "-p22", "--"]):
        assert on(state, "head", agent, *options, "c2", "uname", "-n;", "echo 2") == "c2\n2\n"
    assert on(state, "head", agent, f"me@{hostile}", "uname -n") == f"{hostile}\n"
    for host in ("nosuch", "../table/c2", "..", "", "-x", "$(touch pwned)"):
        done = subprocess.run([agent, host, "true"], capture_output=True, check=False)
        assert done.returncode == 255
    assert not Path("pwned").exists()


def test_labs_with_the_same_subnet_do_not_see_each_other(make_lab: MakeLab) -> None:
    one, other = make_lab(nodes=("c1",)), make_lab(nodes=("x1", "c2"))
    probe = "import socket,sys; socket.create_connection((sys.argv[1], 5999), 0.5)"
    server = "import socket; s = socket.create_server(('', 5999)); print(1, flush=True); s.accept()"
    argv = [*access(other).hosts[1].prefix, sys.executable, "-c", server]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as listening:
        assert listening.stdout
        listening.stdout.readline()
        refused = on(one, "c1", sys.executable, "-c", probe, "10.77.0.12", check=False)
        assert refused == ""
        assert listening.poll() is None
        on(other, "x1", sys.executable, "-c", probe, "10.77.0.12")
        assert listening.wait(10) == 0
    assert down(one.name)
    assert on(other, "c2", "uname", "-n") == "c2\n"


def test_up_fails_when_the_lab_exists_and_leaves_it_alone(make_lab: MakeLab) -> None:
    state = make_lab()
    with pytest.raises(LabError, match="exists"):
        up_module.up(LabSpec(state.name))
    assert on(state, "c1", "true") == ""


def test_down_ends_what_runs_on_the_nodes_and_nothing_else(make_lab: MakeLab) -> None:
    state, neighbour = make_lab(), make_lab()
    argv = [*access(state).hosts[0].prefix, "sleep", "60"]
    with subprocess.Popen(argv) as sleeper:
        until(lambda: sleeps(sleeper), "it sleeps on the node")
        assert down(state.name)
        assert sleeper.wait(5) == -signal.SIGKILL
    assert not marked(state.token)
    assert not lab_directory(state.name).exists()
    assert not down(state.name)
    assert status(neighbour.name)[0].standing


@pytest.mark.parametrize("victim", ["switch", "c1", "all"])
def test_down_works_when_holders_were_killed(make_lab: MakeLab, victim: str) -> None:
    state = make_lab()
    assert state.switch
    holders = {"switch": state.switch, **{node.name: node.holder for node in state.nodes}}
    argv = [*access(state).hosts[0].prefix, "sleep", "60"]
    with subprocess.Popen(argv) as orphan:
        until(lambda: sleeps(orphan), "it sleeps on the node")
        for name, holder in holders.items():
            if victim in (name, "all"):
                os.kill(holder.pid, signal.SIGKILL)
        dead = tuple(holders) if victim == "all" else (victim,)
        until(lambda: status(state.name)[0].dead == dead, f"{dead} are dead")
        assert not status(state.name)[0].standing
        if victim != "switch":
            refused = subprocess.run([*access(state).hosts[0].prefix, "true"], check=False)
            assert refused.returncode == 255
        assert down(state.name)
        try:
            assert orphan.wait(5) == -signal.SIGKILL
        finally:
            orphan.kill()
    assert not marked(state.token)


def test_nothing_is_left_when_up_fails(make_lab: MakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    drafted: list[LabState] = []

    def broken(state: LabState, _: object) -> None:
        drafted.append(state)
        raise LabError("planted")

    monkeypatch.setattr(up_module, "_wire", broken)
    with pytest.raises(LabError, match="planted"):
        make_lab()
    assert not marked(drafted[0].token)
    assert not lab_directory(drafted[0].name).exists()


@pytest.mark.parametrize(
    "step",
    [
        "_write_files",
        "_run_parallel",
        "_write_table",
        "_wire",
        "_connect",
        "msgspec.structs.replace",
    ],
)  # fmt: skip
def test_down_clears_up_when_up_was_killed(namespaces: None, step: str) -> None:
    name = f"t-lab-killed-{os.getpid()}-{step.rpartition('.')[2]}"
    code = (
        "import os, sys; from fabricgauge.lab import up; from fabricgauge.lab.spec import LabSpec;"
        f"up.{step} = lambda *_, **__: os.kill(os.getpid(), 9); up.up(LabSpec(sys.argv[1]))"
    )
    killed = subprocess.run([sys.executable, "-c", code, name], check=False)
    try:
        assert killed.returncode == -signal.SIGKILL
        marks = load_marks(lab_directory(name))
        assert marks
        assert bool(marked(marks.token)) == (step != "_write_files")
        with pytest.raises(LabError, match=f"lab down {name}"):
            load_complete(name)
        assert not status(name)[0].standing
    finally:
        assert down(name)
    assert not marked(marks.token)
    assert not lab_directory(name).exists()
