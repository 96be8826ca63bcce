"""Two virtual machines with software RDMA: they stand, are reached, and send to each other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.features.slurm_lab.slurm_jobs import until
from tests.lab.conftest import marked
from tests.rdma_guests import skip_without

from fabricgauge.cli.lab import status_text
from fabricgauge.features.rdma_lab import start
from fabricgauge.lab.host_access import access, entry
from fabricgauge.lab.spec import LabSpec
from fabricgauge.lab.state import LabState, names
from fabricgauge.lab.up import down, status, up
from fabricgauge.model.errors import LabError

pytestmark = pytest.mark.lab

#: An emulated processor starts a program a hundred times as slowly as this machine does.
PATIENCE_S = 120


def on(
    state: LabState, node: str, *argv: str, stdin: str = "", cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*entry(state, node), *argv], capture_output=True, text=True, timeout=PATIENCE_S,
        check=False, input=stdin, cwd=cwd,
    )  # fmt: skip


def test_each_node_has_a_kernel_a_name_and_a_device_of_its_own(roce_lab: LabState) -> None:
    boots = set()
    for node in ("c1", "c2"):
        done = on(
            roce_lab, node, "sh", "-c",
            "uname -n; cat /proc/sys/kernel/random/boot_id; ls /sys/class/net; "
            "ls /sys/class/infiniband; grep -m1 'model name' /proc/cpuinfo; "
            "grep -wo cx16 /proc/cpuinfo",
        )  # fmt: skip
        shown = done.stdout.split("\n")
        assert shown[0] == node, done.stderr
        boots.add(shown[1])
        assert "eth1" not in shown, "the way in is no network of the lab"
        assert {"eth0", "lo", "rxe0"} <= set(shown)
        assert any("QEMU TCG" in line for line in shown)
        assert "cx16" not in shown, "its emulation breaks the kernel now and then"
    assert len(boots) == 2


def test_command_keeps_words_directory_input_and_exit_status(
    roce_lab: LabState, tmp_path: Path
) -> None:
    words = ["a b", "$(id)", "'", "*", ""]
    program = "import os, sys; print(sys.argv[1:], os.getcwd(), sys.stdin.read()); sys.exit(42)"
    done = on(roce_lab, "c1", sys.executable, "-c", program, *words, stdin="in", cwd=tmp_path)
    assert done.stdout == f"{words} {tmp_path} in\n"
    assert done.returncode == 42


def test_command_sees_files_as_they_are_when_it_starts(roce_lab: LabState, tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert on(roce_lab, "c1", "cat", str(file)).returncode == 1
    for text in ("new", "changed in place", "replaced"):
        if text == "replaced":
            file.unlink()
        file.write_text(text)
        assert on(roce_lab, "c1", "cat", str(file)).stdout == text
    on(roce_lab, "c1", "sh", "-c", 'echo mine > "$0"', str(file))
    assert file.read_text() == "replaced"


def test_agent_goes_from_one_node_to_the_other(roce_lab: LabState) -> None:
    agent = access(roce_lab).agent
    assert agent
    assert on(roce_lab, "c1", agent, "-x", "c2", "uname", "-n").stdout == "c2\n"
    assert on(roce_lab, "c2", "ssh", "c1", "uname", "-n").stdout == "c1\n"


def test_command_ends_when_its_caller_does(roce_lab: LabState) -> None:
    seconds = f"{600 + os.getpid() / 1e7:.7f}"
    with subprocess.Popen([*entry(roce_lab, "c1"), "sleep", seconds]) as caller:
        count = ["sh", "-c", 'for i in $(seq 50); do pgrep -fc "^sleep $0" && break; done', seconds]
        assert on(roce_lab, "c1", *count).stdout == "1\n"
        caller.kill()
    gone = ["sh", "-c", 'for i in $(seq 50); do pgrep -fc "^sleep $0" || exit 0; done', seconds]
    assert on(roce_lab, "c1", *gone).stdout.endswith("0\n")


@pytest.mark.slow
def test_iwarp_devices_write_to_each_other(iwarp_lab: LabState) -> None:
    assert "transport:\t\t\tiWARP (1)" in on(iwarp_lab, "c1", "ibv_devinfo").stdout
    write = ["ib_write_bw", "-R", "-F", "-s", "65536", "-n", "20"]
    with subprocess.Popen([*entry(iwarp_lab, "c1"), *write], stdout=subprocess.PIPE) as server:
        listening = "until ss -Htln sport = :18515 | grep -q .; do :; done"
        on(iwarp_lab, "c1", "timeout", "60", "sh", "-c", listening)
        done = on(iwarp_lab, "c2", *write, "c1")
        server.wait(PATIENCE_S)
    assert "Transport type : IW" in done.stdout, done.stderr
    assert "\n 65536      20 " in done.stdout


@pytest.mark.slow
def test_virtual_machine_that_ended_is_named_and_down_leaves_nothing() -> None:
    skip_without("roce")
    name = f"t-ended-{os.getpid()}"
    state = up(LabSpec(name, rdma="roce"))
    try:
        panic = "echo 1 > /proc/sys/kernel/sysrq; echo c > /proc/sysrq-trigger; sleep 60"
        assert on(state, "c2", "sh", "-c", panic).returncode == 255
        until(lambda: status(name)[0].dead == ("c2",), "c2 has ended")
        told = status_text(status(name)[0])
        assert (
            f"the virtual machine of c2 has ended; see its last output in {state.directory}" in told
        )
        refused = on(state, "c2", "true")
        assert refused.returncode == 255
        assert "its virtual machine has ended: " in refused.stderr
        assert "Kernel panic - not syncing: sysrq triggered crash" in refused.stderr
        assert on(state, "c1", "true").returncode == 0
    finally:
        assert down(name)
    assert not marked(state.token)
    assert not Path(state.directory).exists()


@pytest.mark.slow
def test_nothing_is_left_of_virtual_machines_when_up_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("roce")
    name = f"t-failed-{os.getpid()}"
    tokens = []

    def broken(state: LabState) -> None:
        tokens.append(state.token)
        assert len(marked(state.token)) == 2
        raise LabError("planted")

    monkeypatch.setattr(start, "_await_guests", broken)
    with pytest.raises(LabError, match="planted"):
        up(LabSpec(name, rdma="roce"))
    assert not marked(tokens[0])
    assert name not in names()


def test_messages_cross_between_the_kernels_over_verbs(roce_lab: LabState) -> None:
    pingpong = ["ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "20"]
    with subprocess.Popen([*entry(roce_lab, "c1"), *pingpong], stdout=subprocess.PIPE) as server:
        await_listener = "until ss -Htln sport = :18515 | grep -q .; do :; done"
        on(roce_lab, "c1", "sh", "-c", await_listener)
        done = on(roce_lab, "c2", *pingpong, "c1")
        server.wait(PATIENCE_S)
    assert "20 iters in" in done.stdout, done.stderr
    assert server.returncode == 0
