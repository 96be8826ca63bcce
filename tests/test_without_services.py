"""Installing packages leaves nothing behind that keeps a machine's services from starting."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "without-services"


def start(policy: Path, *command: str) -> "subprocess.Popen[bytes]":
    child = subprocess.Popen([SCRIPT, policy, *command])
    deadline = time.monotonic() + 60
    while not policy.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return child


def answer(policy: Path) -> int:
    return subprocess.run([policy, "ssh", "start"], check=False).returncode


def test_services_are_refused_while_the_command_runs_and_its_status_is_kept(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    script = f'"{policy}" ssh start; test $? = 101 && exit 7'
    assert subprocess.run([SCRIPT, policy, "sh", "-c", script], check=False).returncode == 7
    assert not policy.exists()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_policy_goes_when_a_signal_ends_the_script(tmp_path: Path, number: signal.Signals) -> None:
    policy = tmp_path / "policy-rc.d"
    child = start(policy, "sleep", "0.5")
    child.send_signal(number)
    assert child.wait(60) == 128 + number
    assert not policy.exists()


def test_policy_permits_services_and_goes_once_the_script_was_killed(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    child = start(policy, "sleep", "0.5")
    child.kill()
    child.wait(60)
    assert answer(policy) == 0
    assert not policy.exists()


def test_a_policy_of_the_machine_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    assert subprocess.run([SCRIPT, policy, "true"], check=False).returncode == 0
    assert policy.read_text() == "#!/bin/sh\nexit 101\n"
