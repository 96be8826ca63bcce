"""A check with buffers in device memory over a lab, with a stand-in for NVIDIA's driver."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import PROGRAM, Checked, fabricgauge
from tests.features.gpu.gpu_stand_ins import stand_ins

pytestmark = [pytest.mark.lab, pytest.mark.engine]

BRIEF = ("--launches", "1", "--case-budget", "0.2", "--sizes", "8,64K")


@pytest.fixture
def planted(tmp_path: Path) -> dict[str, str]:
    """Variables that bring the stand-ins to the ranks."""
    return stand_ins(tmp_path)


def run(tmp_path: Path, variables: dict[str, str], *options: str) -> Checked:
    ran = subprocess.run(
        [str(PROGRAM), "check", "-o", str(tmp_path), *BRIEF, *options],
        capture_output=True, text=True, check=False, env=os.environ | variables,
    )  # fmt: skip
    return Checked(ran, tmp_path)


def test_report_and_records_tell_where_the_buffers_lay(
    lab: Callable[..., str], planted: dict[str, str], tmp_path: Path
) -> None:
    checked = run(
        tmp_path, planted, "--lab", lab("--network", "net1:1G"), "--check-data",
        "--memory", "cuda,host", "--device", "1",
    )  # fmt: skip
    assert checked.outcomes("path") == {"PASS"}, checked.text
    assert checked.outcomes("data") == {"PASS"}
    where = "buffers in cuda memory at the origin, in host memory at the target"
    assert f"Measured: net1; {where}; medians" in checked.prose, checked.text
    lines = (checked.path / "results.jsonl").read_text().splitlines()
    records = [json.loads(line)["record"] for line in lines]
    found = [one for one in records if one["record"] == "case"]
    assert {one["pattern"] for one in found} == {"latency", "bandwidth", "bidirectional_bandwidth"}
    assert {one["origin"] for one in found} == {0, 1}
    for case in found:
        gpu = {"kind": "cuda", "device": "stand-in GPU of model B", "number": 1}
        ends: dict[int, dict[str, object]] = {case["origin"]: {**gpu}}
        ends[case["target"]] = {"kind": "host"}
        assert case["memory"] == [{"rank": rank, **ends[rank]} for rank in (0, 1)]
    page = (checked.path / "report.html").read_text()
    both = "; ".join(f"rank {rank}: stand-in GPU of model B (device 1)" for rank in (0, 1))
    assert f"{where} ({both})" in page
    assert "Copies between GPU and host" in page
    # Both ends send windows of 64 KiB from their GPU; messages of 8 B begin at the first one alone.
    placed = [one.get("copies", []) for one in records if one["record"] == "placement"]
    assert [[copy["bytes"] for copy in one] for one in placed[:2]] == [[8, 65536], [65536]]
    assert "were staged through host memory: TCP connections carried them" in checked.words(
        "fraction"
    )


def test_a_corrupted_byte_is_found(
    lab: Callable[..., str], planted: dict[str, str], tmp_path: Path
) -> None:
    preloaded = f"{planted['LD_PRELOAD']}:{tmp_path}/corrupting.so"
    checked = run(
        tmp_path, planted | {"LD_PRELOAD": preloaded}, "--lab", lab("--network", "net1:1G"),
        "--check-data", "--memory", "cuda", "--patterns", "bandwidth", "--mpi", "openmpi",
    )  # fmt: skip
    assert checked.outcomes("data") == {"FAIL"}, checked.text
    assert "received bytes differ from those sent in a message of 64 KiB" in checked.words("data")


@pytest.mark.alone  # beside other work a host is slower than the copy
@pytest.mark.slow
def test_a_slow_copy_is_named_where_mpi_stages(
    lab: Callable[..., str], planted: dict[str, str], tmp_path: Path
) -> None:
    """The stand-in for MPI copies what it sends by the driver, slower than the network is."""
    slow = {"GPU_PLANTED_COPY_RATE": "30e6", "GPU_PLANTED_STAGING": "1"}
    slow["FABRICGAUGE_HAND_ON"] = ",".join(slow)
    checked = run(
        tmp_path, planted | slow, "--lab", lab("--network", "net1:1G"), "--memory", "cuda",
        "--patterns", "bandwidth", "--sizes", "256K", "--case-budget", "2",
    )  # fmt: skip
    told = [one for one in checked.verdicts if one["rule"] == "fraction"]
    assert {one["outcome"] for one in told} <= {"FAIL", "INCONCLUSIVE", "WARN"}, checked.text
    for one in told:
        assert "limits the stream: messages are staged through host memory" in one["cause"], one
        assert one["cause"].startswith("the copy from ") and "GPU" in one["cause"]  # both are slow


def test_memories_take_turns_and_are_compared(
    lab: Callable[..., str], planted: dict[str, str], tmp_path: Path
) -> None:
    few = ("--patterns", "latency", "--sizes", "8", "--case-budget", "0.05", "--launches", "2")
    ran = subprocess.run(
        [str(PROGRAM), "compare", "-o", str(tmp_path), "--lab", lab("--network", "net1:1G"), *few,
         "--vary", r"memory=host,cuda\,host", "--format", "json"],
        capture_output=True, text=True, check=False, env=os.environ | planted,
    )  # fmt: skip
    assert ran.returncode == 3, ran.stderr  # two blocks decide nothing
    (effect,) = json.loads(ran.stdout)["varied"]["effects"]
    assert (effect["base"], effect["level"]) == ("host", "cuda,host")
    plans = [json.loads(one.read_text()) for one in tmp_path.glob("2*/2*/plan.json")]
    assert sorted(one["memory"] for one in plans) == ["", "cuda,host"]


def test_a_missing_driver_is_told_of_with_its_node(lab: Callable[..., str], tmp_path: Path) -> None:
    checked = run(
        tmp_path, {}, "--lab", lab("--network", "net1:1G"), "--memory", "cuda",
        "--patterns", "latency",
    )  # fmt: skip
    assert checked.status not in (0, 1)
    assert "no libcuda.so.1 on c1: there is no NVIDIA driver" in checked.prose


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--memory", "gpu"), "no memory 'gpu'; use host, cuda, hip, managed"),
        (("--memory", "cuda", "--transport", "sockets"), "--memory cuda is for MPI"),
        (("--memory", "cuda", "--patterns", "allreduce"), "--memory cuda lacks allreduce"),
        (("--memory", "cuda", "--tool", "osu"), "--memory has no effect on a suite"),
        (("--memory", "cuda", "--sim", "star:2"), "--memory has no effect on --sim"),
        (("--device", "0"), "--device is the GPU of --memory"),
    ],
)
def test_what_does_not_apply_is_refused(options: tuple[str, ...], why: str) -> None:
    refused = fabricgauge("check", *options)
    assert refused.returncode == 2
    assert why in " ".join(refused.stderr.split())
