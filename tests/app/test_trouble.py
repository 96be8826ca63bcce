"""Things that go wrong in the middle: a clear end, nothing lost, nothing left behind."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.app.commands import PROGRAM, SHORT, fabricgauge, until

pytestmark = [pytest.mark.lab, pytest.mark.engine]

#: Long enough to be caught in the middle: every size, at least 0.4 s each.
LONG = ("--patterns", "latency,bandwidth", "--case-budget", "0.4", "--half-width", "0.0001")


def start(root: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [PROGRAM, "check", "-o", str(root), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


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


def test_a_link_cut_in_mid_run_is_named_and_the_rest_can_be_resumed(
    lab: Callable[..., str], fault: Callable[..., None], tmp_path: Path
) -> None:
    name = lab()
    child = start(tmp_path, "--lab", name, *LONG)
    until(lambda: measured(tmp_path) >= 3, 60, "three cases")
    fault(name, "link-down", "c2", "net1")
    out, err = child.communicate(timeout=120)
    before = measured(tmp_path)
    assert child.returncode == 1, out + err
    assert "c2:eth0" in out
    assert before >= 3
    (run,) = tmp_path.glob("2*.partial")
    assert not marked_processes(run.name.removesuffix(".partial"))

    fabricgauge("lab", "heal", "--name", name)
    resumed = fabricgauge(
        "check", "-o", str(tmp_path), "--lab", name, "--resume", run.name, timeout_s=200
    )
    (finished,) = tmp_path.glob("2*")
    assert not finished.name.endswith(".partial"), resumed.stdout + resumed.stderr
    lines = [json.loads(line) for line in (finished / "results.jsonl").open()]
    good = [e["record"]["case"] for e in lines if e["record"].get("status") == "ok"]
    assert len(good) == len(set(good)), "a case with a result was measured again"
    assert len(good) > before
    assert resumed.returncode in (0, 3)


def test_an_interrupt_keeps_what_was_measured_and_says_how_to_go_on(
    lab: Callable[..., str], tmp_path: Path
) -> None:
    child = start(tmp_path, "--lab", lab(), *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, out + err
    assert "--resume" in out + err
    assert measured(tmp_path) >= 2
    (run,) = tmp_path.glob("2*.partial")
    assert (run / "report.html").exists()
    assert not marked_processes(run.name.removesuffix(".partial"))


def test_a_killed_launcher_ends_in_a_clear_message(lab: Callable[..., str], tmp_path: Path) -> None:
    child = start(tmp_path, "--lab", lab(), *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    (run,) = tmp_path.glob("2*.partial")
    for pid in marked_processes(run.name.removesuffix(".partial")):
        if "mpiexec" in Path(f"/proc/{pid}/comm").read_text():
            os.kill(pid, signal.SIGKILL)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 3, out + err
    assert "SIGKILL" in out
    assert measured(tmp_path) >= 2
    assert not marked_processes(run.name.removesuffix(".partial"))


def test_a_killed_check_leaves_a_run_that_can_be_reported(
    lab: Callable[..., str], tmp_path: Path
) -> None:
    child = start(tmp_path, "--lab", lab(), *LONG)
    until(lambda: measured(tmp_path) >= 2, 60, "two cases")
    child.kill()
    child.communicate()
    (run,) = tmp_path.glob("2*.partial")
    shown = fabricgauge("report", str(run))
    assert shown.returncode == 3, shown.stderr
    assert "completeness" in shown.stdout
    until(lambda: not marked_processes(run.name.removesuffix(".partial")), 60, "the engine's end")


def test_a_full_disk_ends_the_measuring_but_not_the_report(
    lab: Callable[..., str], tmp_path: Path
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


def test_an_unreadable_run_directory_is_named(tmp_path: Path) -> None:
    shown = fabricgauge("report", str(tmp_path))
    assert shown.returncode == 3
    assert "run.json" in shown.stderr
    assert "Traceback" not in shown.stderr


def test_hostile_hostnames_are_data_everywhere(lab: Callable[..., str], tmp_path: Path) -> None:
    name = lab("--nodes", "c1,<b>x$(touch /tmp/fabricgauge-pwned)")
    Path("/tmp/fabricgauge-pwned").unlink(missing_ok=True)
    done = fabricgauge("check", "-o", str(tmp_path), "--lab", name, *SHORT)
    assert not Path("/tmp/fabricgauge-pwned").exists()
    assert "Traceback" not in done.stderr
    html = [file.read_text() for file in tmp_path.glob("2*/report.html")]
    assert all("<b>x$(" not in text for text in html)
