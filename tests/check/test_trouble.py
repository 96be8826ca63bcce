"""Things that go wrong in the middle: a clear end, nothing lost, nothing left behind."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import SHORT, Lab, fabricgauge, until

from fabricgauge.lab.spec import LabSpec
from fabricgauge.lab.up import down, up

pytestmark = [pytest.mark.lab, pytest.mark.engine]

#: Long enough to be caught in the middle: every size, at least 0.4 s each.
LONG = ("--patterns", "latency,bandwidth", "--case-budget", "0.4", "--half-width", "0.0001")


Start = Callable[..., "subprocess.Popen[str]"]


def measured(root: Path) -> int:
    """How many cases are safely in the newest run's results."""
    lines = [line for file in root.glob("2*/results.jsonl") for line in file.open()]
    return sum('"record":"case"' in line for line in lines)


def marked_processes(run: str) -> list[int]:
    """Processes that still belong to a run, by the mark that all of them carry."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"FABRICGAUGE_CHILD={run}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def identity(run: Path) -> str:
    return run.name.removesuffix(".partial")


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


@pytest.mark.slow
def test_a_link_cut_in_mid_run_is_named_and_the_rest_can_be_resumed(
    lab: Lab, start: Start, fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab()
    child = start("--lab", name, *LONG)
    until(lambda: measured(tmp_path) >= 3, 60, "three cases")
    fault(name, "link-down", "c2", "net1")
    out, err = child.communicate(timeout=120)
    before = measured(tmp_path)
    assert child.returncode == 1, out + err
    assert "c2:eth0" in out
    assert before >= 3
    (run,) = tmp_path.glob("2*.partial")
    assert not marked_processes(identity(run))

    fabricgauge("lab", "heal", "--name", name)
    words = ("-o", str(tmp_path), "--lab", name, "--resume", run.name)
    resumed = fabricgauge("check", *words, timeout_s=200)
    (finished,) = tmp_path.glob("2*")
    assert not finished.name.endswith(".partial"), resumed.stdout + resumed.stderr
    lines = [json.loads(line) for line in (finished / "results.jsonl").open()]
    # A network below its ceiling gets a reference launch, with cases of the same names.
    good = [(e["launch"], e["record"]["case"]) for e in lines if e["record"].get("status") == "ok"]
    assert len(good) == len(set(good)), "a case with a result was measured again"
    assert len(good) > before
    assert resumed.returncode in (0, 3)


def test_a_link_that_goes_and_comes_back_fails_whatever_the_figures(
    lab: Lab, start: Start, fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab()
    child = start("--lab", name, *SHORT)
    until(lambda: measured(tmp_path) >= 1, 60, "a case")
    fault(name, "link-down", "c2", "net1")
    fabricgauge("lab", "heal", "--name", name)
    out, err = child.communicate(timeout=200)
    assert child.returncode == 1, out + err
    headline, _, _ = out.partition("What to do")
    words = " ".join(headline.split())
    assert "c2:eth0: the link went down or came up 2 times" in words


def test_an_interrupt_keeps_what_was_measured_and_says_how_to_go_on(
    lab: Lab, start: Start, tmp_path: Path
) -> None:
    name = lab()
    child = start("--lab", name, *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, out + err
    (run,) = tmp_path.glob("2*.partial")
    assert f"fabricgauge check --resume {run} --lab {name}" in err
    assert measured(tmp_path) >= 2
    assert (run / "report.html").exists()
    assert not marked_processes(identity(run))


def test_a_check_in_a_lab_of_its_own_is_resumed_in_another_like_it(
    start: Start, tmp_path: Path
) -> None:
    child = start("--lab", "-N", "3", "--patterns", "all_pairs_latency,all_pairs_bandwidth")
    until(lambda: bool(list(tmp_path.glob("2*/results.jsonl"))), 60, "the first record")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    (run,) = tmp_path.glob("2*.partial")
    resumed = fabricgauge("check", "-o", str(tmp_path), "--resume", run.name, "--lab")
    assert resumed.returncode in (0, 1, 3), resumed.stderr
    report = json.loads((tmp_path / identity(run) / "report.json").read_text())
    assert [node["name"] for node in report["run"]["fabric"]["nodes"]] == ["c1", "c2", "c3"]


def test_a_killed_launcher_ends_in_a_clear_message(lab: Lab, start: Start, tmp_path: Path) -> None:
    child = start("--lab", lab(), *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    (run,) = tmp_path.glob("2*.partial")
    (launcher,) = [pid for pid in marked_processes(identity(run)) if "mpiexec" in command(pid)]
    os.kill(launcher, signal.SIGKILL)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 3, out + err
    assert "SIGKILL" in out
    assert measured(tmp_path) >= 2
    assert not marked_processes(identity(run))


def test_a_killed_check_leaves_a_run_that_can_be_reported(
    lab: Lab, start: Start, tmp_path: Path
) -> None:
    child = start("--lab", lab(), *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    child.kill()
    child.communicate()
    (run,) = tmp_path.glob("2*.partial")
    shown = fabricgauge("report", str(run))
    assert shown.returncode == 3, shown.stderr
    assert "completeness" in shown.stdout
    until(lambda: not marked_processes(identity(run)), 60, "the engine's end")


def test_a_full_disk_ends_the_measuring_but_not_the_report(
    lab: Lab, start: Start, tmp_path: Path
) -> None:
    root = tmp_path / "small"
    root.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", root], capture_output=True, check=False
    ).returncode:
        pytest.skip("only root can mount a small file system here")
    try:
        done = fabricgauge("check", "-o", str(root), "--lab", lab(), *LONG)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "No space left on device" in done.stdout + done.stderr
        assert measured(root) >= 1
    finally:
        subprocess.run(["umount", root], check=True)


def test_a_run_is_not_resumed_on_nodes_that_have_changed(
    lab: Lab, start: Start, fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab()
    child = start("--lab", name, *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    (run,) = tmp_path.glob("2*.partial")
    before = (run / "fabric.json").read_bytes()
    fault(name, "mtu", "c2", "net1", "1400")
    resumed = fabricgauge("check", "-o", str(tmp_path), "--lab", name, "--resume", run.name)
    assert resumed.returncode == 3
    assert "MTU 1400" in resumed.stderr
    assert (run / "fabric.json").read_bytes() == before


def test_an_unreadable_run_directory_is_named(tmp_path: Path) -> None:
    shown = fabricgauge("report", str(tmp_path))
    assert shown.returncode == 3
    assert "run.json" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_hostile_hostnames_are_data_everywhere(tmp_path: Path) -> None:
    mark, name = Path("fabricgauge-pwned"), f"t-hostile-{os.getpid()}"
    # The command line takes hostnames alone; a node may call itself what it likes.
    up(LabSpec(name, ("c1", f"<script>$(touch$IFS{mark});'\"`")))
    try:
        done = fabricgauge("check", "-o", str(tmp_path), "--lab", name, *SHORT)
    finally:
        down(name)
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert not mark.exists()
    assert not (Path("/") / mark).exists()
    (html,) = tmp_path.glob("2*/report.html")
    assert "<script>$(" not in html.read_text()
