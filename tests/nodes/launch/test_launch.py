import json
import os
import signal
import sys
import time
from pathlib import Path

import msgspec
import pytest

from fabricgauge.model.errors import StoreError, ToolMissing
from fabricgauge.model.host_access import LaunchCommand
from fabricgauge.model.plan import Case
from fabricgauge.model.run import Ended
from fabricgauge.nodes.launch.launch import (
    FOOTER,
    QUOTED_LINES,
    Running,
    case_lines,
    engine_gave_up,
    outcome,
    tail,
)
from fabricgauge.nodes.process import MARKER

MARK = f"test-launch-{os.getpid()}"


def started(script: str, raw: Path, *, stdin: str = "", silent_s: float = 10.0) -> Running:
    command = LaunchCommand(("sh", "-c", script), {"EXTRA": "1"})
    return Running(command, stdin, raw, silent_s=silent_s, marker=MARK)


def run(script: str, raw: Path, *, stdin: str = "", silent_s: float = 10.0) -> Ended:
    running = started(script, raw, stdin=stdin, silent_s=silent_s)
    list(running)
    return running.ended()


def marked() -> list[int]:
    """Processes that still carry the marker."""
    needle = f"{MARKER}={MARK}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes()
        except OSError:
            continue
        if needle in environ.split(b"\0"):
            found.append(int(entry.name))
    return found


def test_cases_are_written_as_the_engine_reads_them() -> None:
    plain = Case("bandwidth/4096", "bandwidth", 4096, 64, 0, 1, 0.5)
    single = msgspec.structs.replace(plain, name="single", buffers="single")
    line = "pattern=bandwidth bytes=4096 window=64 origin=0 target=1 budget_s=0.5"
    lines = f"bandwidth/4096 {line}\nsingle {line} buffers=single\nend\n"
    assert case_lines((plain, single)) == lines
    assert case_lines(()) == "end\n"


def test_everything_raw_is_on_disk_before_a_line_is_seen(tmp_path: Path) -> None:
    running = started("echo trouble >&2; cat; sleep 5", tmp_path / "raw", stdin="one\n")
    lines = iter(running)
    assert next(lines) == "one"
    raw = tmp_path / "raw"
    assert (raw / "stdout.jsonl").read_text() == "one\n"
    assert (raw / "stdin.txt").read_text() == "one\n"
    kept = json.loads((raw / "command.json").read_text())
    assert kept["argv"][0] == "sh"
    assert kept["env"] == {"EXTRA": "1", MARKER: MARK}
    running.close()
    assert (raw / "stderr.txt").read_text() == "trouble\n"


def test_a_launch_that_ends_well_has_nothing_to_say(tmp_path: Path) -> None:
    ended = run("echo fine", tmp_path)
    assert (ended.status, ended.exit_code, ended.message) == ("ok", 0, "")
    assert ended.wall_s > 0


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo no such host c9 >&2; exit 255", "broken", ("no such host c9", "255", "node")),
        ("exit 69", "broken", ("subnet", "it said nothing")),
        ("exit 64", "broken", ("did not understand its options",)),
        ("exit 65", "broken", ("did not understand its list of cases",)),
        ("exit 70", "broken", ("internal error",)),
        ("exit 71", "broken", ("no memory",)),
        ("exit 74", "broken", ("could not be written",)),
        ("exit 76", "broken", ("MPI or of the transport",)),
        ("exit 75", "timeout", ("time budget",)),
        ("exit 3", "broken", ("failed", "exit status 3")),
        ("kill -9 $$", "broken", ("SIGKILL",)),
        ("printf '====\\n\\nlast word\\n----\\n' >&2; exit 1", "broken", ("said: last word",)),
    ],
)
def test_a_broken_launch_says_how_and_quotes_the_last_words(
    script: str, status: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    ended = run(script, tmp_path)
    assert ended.status == status
    for word in words:
        assert word in ended.message
    assert "====" not in ended.message


ENGINES_WORD = "fabricgauge-engine: no interface of c2 has an address in 10.0.0.0/24"


def test_the_engines_own_word_comes_before_the_launchers_noise(tmp_path: Path) -> None:
    noise = "; ".join(f"echo noise {number} >&2" for number in range(9))
    word = f"echo '{ENGINES_WORD}' >&2"
    ended = run(f"{word}; {word}; {noise}; exit 69", tmp_path)
    assert ended.message.endswith(f"said: {ENGINES_WORD} | noise 6 | noise 7 | noise 8")


def test_only_so_many_lines_are_quoted(tmp_path: Path) -> None:
    said = tmp_path / "stderr.txt"
    said.write_text("".join(f"fabricgauge-engine: {number}\n" for number in range(9)) + "noise\n")
    assert tail(said) == tuple(f"fabricgauge-engine: {number}" for number in range(QUOTED_LINES))


def test_ucx_tables_that_we_asked_for_are_not_quoted(tmp_path: Path) -> None:
    said, table = tmp_path / "stderr.txt", "1.12--osu-cuda-staged.out"
    fixture = Path(__file__).parents[2] / "fixtures" / "ucx_protocols" / f"published-{table}"
    said.write_text(f"the reason\n{fixture.read_text()}")
    assert tail(said) == ("the reason",)


@pytest.mark.parametrize(
    ("line", "hopeless"),
    [
        ("env: '/c/engines/0/fabricgauge-engine': No such file or directory", True),
        ("/c/fabricgauge-engine: error while loading shared libraries: libmpi.so.12: x", True),
        ("execvp error on file /c/fabricgauge-engine (No such file or directory)", True),
        ("Error relocating /c/fabricgauge-engine: MPI_Init: symbol not found", True),
        ("bash: warning: setlocale: No such file or directory", False),
        ("/c/fabricgauge-engine started", False),
    ],
)
def test_an_engine_that_cannot_start_on_a_node_is_known_by_the_words(
    line: str, hopeless: bool
) -> None:
    assert engine_gave_up((line,)) is hopeless


def test_a_launch_whose_engine_gave_up_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricgauge.nodes.launch.launch.HOPELESS_S", 0.5)
    ended = run(f"echo '{ENGINES_WORD}' >&2; sleep 60", tmp_path, silent_s=30.0)
    assert ended.status == "broken"
    assert "the engine gave up" in ended.message
    assert ENGINES_WORD in ended.message
    assert ended.wall_s < 20
    assert marked() == []


def test_a_launch_that_only_warns_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricgauge.nodes.launch.launch.HOPELESS_S", 0.0)
    assert run("echo 'warning: slow' >&2; sleep 3", tmp_path, silent_s=30.0).status == "ok"


def test_a_silent_launch_is_ended_with_all_its_processes(tmp_path: Path) -> None:
    begun = time.monotonic()
    ended = run("echo first; setsid sleep 60 & sleep 60", tmp_path, silent_s=0.5)
    assert ended.status == "silent"
    assert "no output for 0.5 s" in ended.message
    assert time.monotonic() - begun < 20
    assert marked() == []


def test_leaving_the_loop_early_leaves_no_orphan(tmp_path: Path) -> None:
    running = started("setsid sleep 60 & echo first; sleep 60", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        for _ in running:
            raise KeyboardInterrupt
    running.close()
    assert marked() == []


def test_a_killed_launcher_leaves_its_lines_and_no_orphan(tmp_path: Path) -> None:
    running = started("echo first; setsid sleep 60 >/dev/null 2>&1 & echo $$; sleep 60", tmp_path)
    seen = []
    for line in running:
        seen.append(line)
        if line.isdigit():
            os.kill(int(line), signal.SIGKILL)
    assert running.ended().status == "broken"
    assert "first" in seen
    assert (tmp_path / "stdout.jsonl").read_text().startswith("first\n")
    assert marked() == []


def test_a_hang_after_the_last_record_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricgauge.nodes.launch.launch.FAREWELL_S", 0.5)
    footer = FOOTER + ',"cases":1,"wall_s":1.0}'
    ended = run(f"echo '{footer}'; sleep 60", tmp_path, silent_s=60)
    assert ended.status == "ok"
    assert "all cases were recorded" in ended.message
    assert ended.wall_s < 20


def test_a_crash_after_the_last_record_loses_nothing(tmp_path: Path) -> None:
    ended = run(f"echo '{FOOTER}}}'; exit 139", tmp_path)
    assert (ended.status, ended.exit_code) == ("ok", 139)
    assert "shutdown failed" in ended.message


def test_a_missing_launcher_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="/nonexistent/mpiexec"):
        Running(
            LaunchCommand(("/nonexistent/mpiexec",), {}), "", tmp_path, silent_s=1, marker=MARK
        )  # fmt: skip


def test_a_raw_directory_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("a file, not a directory")
    with pytest.raises(StoreError, match="raw"):
        run("true", tmp_path / "raw")


def test_nothing_in_an_argument_is_expanded(tmp_path: Path) -> None:
    word = "$(touch x); `id` <b>"
    command = LaunchCommand((sys.executable, "-c", "import sys; print(sys.argv[1])", word), {})
    assert list(Running(command, "", tmp_path, silent_s=10, marker=MARK)) == [word]


def test_a_rank_that_was_killed_is_no_node_that_ssh_did_not_reach() -> None:
    """Hydra over ssh ends with 255 in both cases; what it said stands behind."""
    said = ("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",)
    status, message = outcome(255, said, silent_s=None, complete=False)
    assert status == "broken"
    assert message.startswith("the launcher did not reach a node, or lost a process there")
    assert said[0] in message


def test_hosts_without_ipv4_addresses_are_told_with_the_way_out(tmp_path: Path) -> None:
    """As MPICH 5.0.2's Hydra says it, with what it says afterwards."""
    says = [
        "[proxy:1@c2] HYDU_sock_connect (/mpich-5.0.2/src/pm/hydra/lib/utils/sock.c:110): unable to"
        " get host address for head",
        *(
            f"[mpiexec@head] main (/mpich-5.0.2/src/pm/hydra/x.c:{line}): error"
            for line in range(6)
        ),
    ]
    (tmp_path / "stderr.txt").write_text("\n".join(says))
    said = tail(tmp_path / "stderr.txt", tmp_path)
    status, message = outcome(255, said, silent_s=None, complete=False)
    assert status == "broken"
    assert "head has none" in message
    assert "--tool iperf3" in message


def test_raw_output_goes_through_no_link_that_somebody_put_in_its_place(tmp_path: Path) -> None:
    outside, raw = tmp_path / "outside", tmp_path / "run" / "raw"
    outside.mkdir()
    raw.mkdir(parents=True)
    (raw / "launch-01-1").symlink_to(outside)
    with pytest.raises(StoreError, match="is a link"):
        Running(LaunchCommand(("true",), {}), "", raw / "launch-01-1", silent_s=1.0, marker="x")
    assert not list(outside.iterdir())
    (outside / "stderr.txt").write_text("secret")
    assert "secret" not in str(tail(raw / "launch-01-1" / "stderr.txt"))


#: Ends by SIGPIPE the first time; the second time does as its arguments say. Its file counts.
AS_A_LAUNCHER = (
    'echo x >>"$0"; [ $(wc -l <"$0") -gt 1 ] || {{ echo first >&2; kill -{0} $$; }}; {1}'
)


def started_twice(script: str, folder: Path, number: str = "PIPE") -> tuple[list[str], Ended]:
    argv = ("sh", "-c", AS_A_LAUNCHER.format(number, script), str(folder / "starts"))
    running = Running(
        LaunchCommand(argv, {}), "one\n", folder / "raw", silent_s=10.0, marker=MARK
    )  # fmt: skip
    return list(running), running.ended()


@pytest.mark.parametrize("number", ["PIPE", "SEGV", "ABRT"])
def test_a_launcher_that_a_signal_ended_before_a_word_is_started_once_more(
    number: str, tmp_path: Path
) -> None:
    lines, ended = started_twice('echo \'{"record":"header"}\'; cat', tmp_path, number)
    assert lines == ['{"record":"header"}', "one"]
    assert (ended.status, ended.message) == ("ok", "")
    assert ended.repeated == f"the launcher was ended by SIG{number}"
    raw = tmp_path / "raw"
    assert (raw / "stderr-first.txt").read_text() == "first\n"
    assert (raw / "stdout.jsonl").read_text() == '{"record":"header"}\none\n'
    assert marked() == []


def test_a_launcher_that_ends_twice_is_at_fault_itself(tmp_path: Path) -> None:
    _, ended = started_twice("kill -PIPE $$", tmp_path)
    assert (tmp_path / "starts").read_text() == "x\nx\n"
    assert (ended.status, ended.repeated) == ("broken", "the launcher was ended by SIGPIPE")
    assert "the launcher ended, which shows no fault of the network" in ended.message


@pytest.mark.parametrize("script", ["exit 69", f"echo '{ENGINES_WORD}' >&2; kill -PIPE $$"])
def test_the_second_start_has_the_last_word(script: str, tmp_path: Path) -> None:
    _, ended = started_twice(script, tmp_path)
    assert "no fault of the network" not in ended.message
    assert ended.repeated and ended.status == "broken"


@pytest.mark.parametrize(
    "script",
    [
        "kill -TERM $$", "kill -KILL $$", "kill -INT $$", "exit 141",
        'echo \'{"record":"header"}\'; kill -PIPE $$',
        f"echo '{ENGINES_WORD}' >&2; kill -PIPE $$",
    ],
)  # fmt: skip
def test_a_launcher_is_started_once_if_it_was_asked_to_end_or_passed_on_a_word(
    script: str, tmp_path: Path
) -> None:
    ended = run(f"echo x >>{tmp_path / 'starts'}; {script}", tmp_path / "raw")
    assert (tmp_path / "starts").read_text() == "x\n"
    assert (ended.status, ended.repeated) == ("broken", "")
