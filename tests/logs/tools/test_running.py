"""A server beside its client: on a node behind ssh it ends with its connection."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from fabricgauge.logs.readers.engine import placement
from fabricgauge.logs.tools.running import SuiteLaunch, run_suite, server_command, with_placement
from fabricgauge.model.host_access import Host, LaunchCommand

#: As behind ssh: one line for a shell, in a session of its own, and no mark of the launch. It has
#: the caller's input alone.
FAR = Host(
    "it's $(odd)",
    ("env", "-u", "FABRICGAUGE_CHILD", "setsid", "--wait", "sh", "-c"),
    remote_shell=True,
)

#: Whether the server whose words are in a file still runs.
RUNS = "sed -n 's/.* pid=\\([0-9]*\\) .*/\\1/p' \"$1\" | xargs kill -0"


def suite(folder: Path, server: tuple[str, ...], ready: tuple[str, ...]) -> SuiteLaunch:
    client = ("sh", "-c", f"sleep 0.2; {RUNS}", "client", str(folder / "server.txt"))
    return SuiteLaunch(
        LaunchCommand(client, {}),
        LaunchCommand(server_command(FAR, with_placement(server, {})), {}),
        ready,
    )


def test_a_server_behind_ssh_ends_with_its_connection(tmp_path: Path) -> None:
    work = suite(tmp_path, ("sleep", "60"), ("true",))
    ended, lines = run_suite(work, tmp_path, silent_s=10.0, marker=f"far-{os.getpid()}")
    assert ended.status == "ok", ended.message  # it ran beside the client
    told = placement(lines[0])
    assert told is not None
    deadline = time.monotonic() + 10.0
    while Path(f"/proc/{told.pid}").exists():
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.02)


def test_a_server_that_is_over_is_not_the_one_that_listens(tmp_path: Path) -> None:
    """What listens was left by an earlier run, so that this one could not begin to."""
    work = suite(tmp_path, ("sh", "-c", "echo in use >&2; exit 1"), ("sleep", "0.3"))
    ended, _ = run_suite(work, tmp_path, silent_s=10.0, marker=f"stale-{os.getpid()}")
    assert ended.status == "broken"
    assert "did not begin to listen; it said: in use" in ended.message


@pytest.mark.parametrize("status", [0, 3])
def test_a_server_that_ends_by_itself_does_so_behind_ssh(status: int) -> None:
    argv = server_command(
        FAR, ("sh", "-c", 'printf "%s" "$2"; exit "$1"', "x", str(status), "a 'b' $c")
    )
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b"a 'b' $c"
        assert child.wait(timeout=10) == status


def test_a_server_of_another_launcher_is_started_as_it_is() -> None:
    assert server_command(Host("c1", ("in", "c1")), ("iperf3", "-s")) == (
        "in",
        "c1",
        "iperf3",
        "-s",
    )


#: Counts its starts in a file; the first one ends by SIGPIPE.
LAUNCHER = 'echo x >>"$0"; [ $(wc -l <"$0") -gt 1 ] || kill -PIPE $$; {0}'


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("echo 8 1.0", "ok", ""), ("exit 3", "broken", "exit status 3"),
        ("kill -PIPE $$", "broken", "no fault of the network"),
    ],
)  # fmt: skip
def test_an_mpi_launcher_that_a_signal_ended_before_a_word_is_started_once_more(
    script: str, status: str, message: str, tmp_path: Path
) -> None:
    argv = ("sh", "-c", LAUNCHER.format(script), str(tmp_path / "starts"))
    work = SuiteLaunch(LaunchCommand(argv, {}))
    ended, _ = run_suite(work, tmp_path, silent_s=10.0, marker=f"again-{os.getpid()}")
    assert (tmp_path / "starts").read_text() == "x\nx\n"
    assert (ended.status, ended.repeated) == (status, "the launcher was ended by SIGPIPE")
    assert message in ended.message


def test_a_program_that_crashes_after_its_first_line_is_not_started_again(tmp_path: Path) -> None:
    argv = ("sh", "-c", 'echo x >>"$0"; echo 8 1.0; kill -PIPE $$', str(tmp_path / "starts"))
    work = SuiteLaunch(LaunchCommand(argv, {}))
    ended, _ = run_suite(work, tmp_path, silent_s=10.0, marker=f"once-{os.getpid()}")
    assert (tmp_path / "starts").read_text() == "x\n"
    assert (ended.status, ended.repeated) == ("broken", "")
    assert "ended by SIGPIPE" in ended.message
