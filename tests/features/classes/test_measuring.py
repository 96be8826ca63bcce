"""A victim and bulk at once on a lab, with a queue that prefers a class and without one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.check.commands import fabricgauge

pytestmark = [pytest.mark.lab, pytest.mark.engine]

#: DSCP 46, which the preferred queue takes.
HIGH = "184"
#: Bulk queues up for some 40 ms here: longer than a busy machine keeps a process waiting.
RATE = "10M"
PREFERRED = (
    "qdisc replace dev eth0 root handle 1: htb default 20",
    "class add dev eth0 parent 1: classid 1:1 htb rate 9750kbit burst 3k cburst 3k",
    "class add dev eth0 parent 1:1 classid 1:10 htb rate 5mbit ceil 9750kbit prio 0",
    "class add dev eth0 parent 1:1 classid 1:20 htb rate 4mbit ceil 9750kbit prio 1",
    "filter add dev eth0 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:10",
)


def prefer_class(lab: str) -> None:
    """Give the class a queue of its own on both nodes, served before all others."""
    for node in ("c1", "c2"):
        for line in PREFERRED:
            done = fabricgauge("lab", "exec", "--name", lab, node, "--", "tc", *line.split())
            assert done.returncode == 0, done.stderr


def measure(lab: str, root: Path, victim: str, bulk: str, *words: str) -> dict[str, Any]:
    done = fabricgauge(
        "check", "--lab", lab, "--transport", "sockets", "--victim-class", victim,
        "--bulk-class", bulk, "-q", "--format", "json", "-o", str(root), *words,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["classes"]["path"] == "PASS", report["classes"]["path_reason"]
    assert not report["classes"]["failures"]
    return report


def median_of(report: dict[str, Any], phase: str) -> float:
    times = [time["median_s"] for time in report["classes"]["times"] if time["phase"] == phase]
    return float(sorted(times)[len(times) // 2])


def test_victim_and_bulk_are_measured_at_once(lab: Callable[..., str], tmp_path: Path) -> None:
    name = lab("--network", f"net1:{RATE}")
    report = measure(name, tmp_path, HIGH, "0", "--launches", "1", "--case-budget", "0.3")
    times = report["classes"]["times"]
    assert sorted(time["phase"] for time in times) == ["idle", "own", "shared"]
    assert all(time["bulk_cases"] > 0 for time in times if time["phase"] != "idle")
    (run,) = tmp_path.iterdir()
    assert {"classes.json", "report.html", "fabric.json"} <= {file.name for file in run.iterdir()}
    records = (run / "raw" / "victim-1-own" / "stdout.jsonl").read_text().splitlines()
    header = next(json.loads(line) for line in records if '"record":"header"' in line)
    assert header["transport"]["traffic_class"] == int(HIGH)
    again = fabricgauge("report", str(run), "--format", "json")
    assert json.loads(again.stdout)["overall"] == report["overall"]


@pytest.mark.slow
@pytest.mark.alone
def test_a_preferred_class_keeps_its_latency(lab: Callable[..., str], tmp_path: Path) -> None:
    name = lab("--network", f"net1:{RATE}")
    prefer_class(name)
    report = measure(name, tmp_path, HIGH, "0")
    assert report["overall"] in ("PASS", "INCONCLUSIVE"), report["headline"]
    assert 2 * median_of(report, "own") < median_of(report, "shared")


@pytest.mark.slow
@pytest.mark.alone
def test_a_class_without_a_queue_waits_like_bulk(lab: Callable[..., str], tmp_path: Path) -> None:
    name = lab("--network", f"net1:{RATE}")
    report = measure(name, tmp_path, HIGH, "0")
    assert report["overall"] in ("WARN", "INCONCLUSIVE")
    assert 2 * median_of(report, "own") > median_of(report, "shared")
    shared = measure(name, tmp_path, HIGH, HIGH)
    assert shared["overall"] in ("WARN", "INCONCLUSIVE")
    assert median_of(shared, "shared") > 2 * median_of(shared, "idle")


def test_mpi_over_tcp_is_refused_and_leaves_nothing(
    lab: Callable[..., str], tmp_path: Path
) -> None:
    words = ("--lab", lab(), "--victim-class", HIGH, "--bulk-class", "0")
    done = fabricgauge("check", *words, "-o", str(tmp_path))
    assert done.returncode == 2
    assert "--transport sockets" in done.stderr
    assert not list(tmp_path.iterdir())
