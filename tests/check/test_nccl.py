"""nccl-tests where there is no GPU: a stand-in prints recorded outputs; dumps beside a log."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.check.commands import Checked, fabricgauge, until
from tests.logs.readers.nccl.test_dumps import GRAPH, TOPOLOGY

from fabricgauge.nodes.process import end_marked

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nccl"
STAND_IN = Path(__file__).with_name("stand_ins") / "all_reduce_perf"
OF_MANY = Path(__file__).with_name("stand_ins") / "nccl_of_many.py"
RECORDED = FIXTURES / "recorded-2.21--ib-gdr.out"


def placed(tmp_path: Path, output: str) -> Path:
    """The stand-in as the suite's programs, and beside them what it prints."""
    tool = tmp_path / "tool"
    tool.mkdir()
    for name in ("all_reduce_perf", "sendrecv_perf"):
        shutil.copy(STAND_IN, tool / name)
    (tool / "output.txt").write_text(output)
    (tool / "topology.xml").write_bytes(TOPOLOGY)
    return tool


def options(tool: Path, suite: str = "nccl-tests") -> tuple[str, ...]:
    return "--lab", "--tool", suite, "--tool-path", str(tool), "--mpi", "mpich"


def curves(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    return [one["record"] for one in lines if one["record"]["record"] == "suite_curve"]


@pytest.mark.lab
def test_what_nccl_says_is_asked_for_read_and_held_against_the_counters(
    check: Callable[..., Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = placed(tmp_path, RECORDED.read_text())
    monkeypatch.setenv("FABRICGAUGE_STAND_IN", str(tool / "output.txt"))
    checked = check(*options(tool))
    # The recorded output tells of GB over InfiniBand; the lab's interfaces carried none of it.
    assert checked.outcomes("path") == {"INVALID"}, checked.text
    said = curves(checked.path)[0]["evidence"]["nccl"]
    assert said["variables"]["NCCL_DEBUG"] == "INFO"
    assert said["variables"]["NCCL_SOCKET_IFNAME"].startswith("=")
    assert said["network"] == "IBext_v8"
    assert [one["source"] for one in said["dumps"]] == ["nccl-topology.xml"]


@pytest.mark.lab
def test_rccl_tests_are_started_and_read_as_nccl_s(
    check: Callable[..., Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = FIXTURES / "recorded-rccl-2.22--sixteen-gpus-silent.out"
    tool = placed(tmp_path, recorded.read_text())
    monkeypatch.setenv("FABRICGAUGE_STAND_IN", str(tool / "output.txt"))
    checked = check(*options(tool, "rccl-tests"))
    # Sixteen GPUs and 16 GiB are told of; the lab's interfaces carried none of it.
    assert checked.outcomes("path") == {"INVALID"}, checked.text
    first = curves(checked.path)[0]
    assert first["suite"] == "rccl-tests"
    assert first["evidence"]["nccl"]["variables"]["NCCL_DEBUG"] == "INFO"
    assert json.loads((checked.path / "plan.json").read_text())["tool"] == "rccl-tests"


def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **said: object) -> Path:
    """The stand-in for many nodes, and what it is to print."""
    tool = tmp_path / "tool"
    tool.mkdir()
    for name in ("all_reduce_perf", "sendrecv_perf"):
        shutil.copy(OF_MANY, tool / name)
    (tool / "told.json").write_text(json.dumps({"gb_s": 2.8, "slow": {}, **said}))
    monkeypatch.setenv("FABRICGAUGE_STAND_IN", str(tool / "told.json"))
    return tool


def planned(checked: Checked) -> list[dict[str, Any]]:
    plan = json.loads((checked.path / "plan.json").read_text())
    return [one for one in plan["launches"] if isinstance(one, dict)]


def named(checked: Checked) -> set[str]:
    """Whom outliers says to be at fault."""
    every = [one for one in checked.verdicts if one["rule"] == "outliers"]
    return {one["subject"] for one in every if one["outcome"] == "FAIL"}


@pytest.mark.lab
@pytest.mark.slow
def test_all_pairs_of_four_sound_nodes_and_all_of_them_pass(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch)
    checked = check("--lab", lab("--nodes", "4", "--network", "net1:25G"), *options(tool)[1:])
    assert checked.status == 0, checked.text
    assert checked.outcomes("outliers") == {"PASS"}
    plan = planned(checked)
    pairs = [tuple(one["nodes"]) for one in plan if one["program"] == "sendrecv_perf"]
    assert len({frozenset(pair) for pair in pairs}) == 6
    assert [one["nodes"] for one in plan if one["program"] == "all_reduce_perf"] == [
        ["c1", "c2", "c3", "c4"]
    ]
    assert "sendrecv_perf" in checked.words("fraction")
    assert "all_reduce_perf" in checked.words("fraction")


@pytest.mark.slow
@pytest.mark.lab
def test_a_slow_node_among_four_is_measured_again_and_named(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, slow={"c3": 0.5})
    checked = check("--lab", lab("--nodes", "4", "--network", "net1:25G"), *options(tool)[1:])
    assert checked.status == 1, checked.text
    assert named(checked) == {"net1, c3, in both directions"}
    assert "again when measured alone" in checked.words("outliers")
    # The pairs' tables are in the matrices: of an all-reduce there are six curves.
    assert "Measured by other suites: 6 curves" in checked.prose
    assert "All pairs of 4 nodes" in checked.prose


def spans(path: Path) -> list[tuple[float, float]]:
    """When each start's counters were read: before the first rank, and after the last."""
    lines = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    every = [one["record"]["counters"] for one in lines if one["record"]["record"] == "around"]
    times = [[t for one in counters for t in one["read_utc_s"]] for counters in every]
    return sorted((min(each), max(each)) for each in times)


@pytest.mark.slow
@pytest.mark.lab
def test_pairs_of_a_round_are_measured_at_once_and_who_is_slow_only_then_is_not_named(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, crowd={"c3": 0.5})
    name = lab("--nodes", "4", "--network", "net1:25G")
    checked = check("--lab", name, "--concurrent", "2", *options(tool)[1:])
    made = spans(checked.path)
    assert all(end > begin for (_, end), (begin, _) in zip(made[0:6:2], made[1:6:2], strict=True))
    # The all-reduce, and those who were suspected, have the fabric to themselves.
    assert all(end < begin for (_, end), (begin, _) in pairwise(made[6:]))
    again = [one["program"] for one in planned(checked) if one["purpose"] == "again"]
    assert again
    assert named(checked) == set()
    assert checked.status == 0, checked.text


@pytest.mark.lab
def test_an_interrupt_ends_every_start_of_a_round(
    lab: Callable[..., str], start: Callable[..., "subprocess.Popen[str]"], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, hang=60)
    name = lab("--nodes", "4", "--network", "net1:25G")
    child = start("--lab", name, "--concurrent", "2", *options(tool)[1:])
    moved = [f"*launch-0{number}-1.{rank}" for number in (1, 2) for rank in (0, 1)]
    until(lambda: all(any(tool.glob(one)) for one in moved), 60, "both pairs")
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    (path,) = tmp_path.glob("2*")
    ended = [json.loads(one) for one in (path / "launches.jsonl").read_text().splitlines()]
    assert {one["launch"]: one["ended"]["status"] for one in ended} == dict.fromkeys(
        (1, 2), "interrupted"
    ), said
    assert end_marked(path.name.partition(".")[0]) == ()


def rails_in_one_subnet(name: str, nodes: int) -> None:
    """eth1 of each node in the subnet of eth0; what has its address leaves by it."""
    for number in range(1, nodes + 1):
        ip = f"10.77.0.{110 + number}"
        for words in (
            ("addr", "flush", "dev", "eth1"), ("addr", "add", f"{ip}/24", "dev", "eth1"),
            ("route", "del", "10.77.0.0/24", "dev", "eth1"),
            ("route", "add", "10.77.0.0/24", "dev", "eth1", "src", ip, "table", "101"),
            ("rule", "add", "from", ip, "lookup", "101"),
        ):  # fmt: skip
            done = fabricgauge("lab", "exec", "--name", name, f"c{number}", "--", "ip", *words)
            assert done.returncode == 0, (words, done.stderr)


@pytest.mark.slow
@pytest.mark.lab
def test_rails_that_share_a_subnet_are_measured_one_by_one(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, slow={"c2:eth1": 0.6})
    name = lab("--nodes", "4", "--network", "net1:25G", "--network", "net2:25G")
    rails_in_one_subnet(name, 4)
    checked = check("--lab", name, "--network", "net1", *options(tool)[1:])
    assert checked.status == 1, checked.text
    assert named(checked) == {"net1-rail2, c2, in both directions"}
    assert {one["network"] for one in planned(checked)} == {"net1-rail1", "net1-rail2"}
    path = {one["network"]: one["outcome"] for one in checked.verdicts if one["rule"] == "path"}
    assert path == {"net1-rail1": "PASS", "net1-rail2": "PASS"}


@pytest.mark.lab
@pytest.mark.slow
def test_a_slow_rail_of_one_node_is_named_and_its_other_rail_is_not(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, slow={"c2:eth1": 0.6})
    rails = ("--network", "net1:25G", "--network", "net2:25G")
    checked = check("--lab", lab("--nodes", "4", *rails), *options(tool)[1:])
    assert checked.status == 1, checked.text
    assert named(checked) == {"net2, c2, in both directions"}
    assert {one["outcome"] for one in checked.verdicts if one["network"] == "net1"} <= {
        "PASS", "SKIPPED",
    }  # fmt: skip


@pytest.mark.lab
def test_a_node_without_a_gpu_is_told_and_the_others_are_measured(
    lab: Callable[..., str], check: Callable[..., Checked], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tool = told(tmp_path, monkeypatch, broken=["c4"])
    checked = check("--lab", lab("--nodes", "4", "--network", "net1:25G"), *options(tool)[1:])
    assert checked.status == 3, checked.text
    assert "the driver shows no GPU on this node" in checked.words("completeness")
    assert "c4" in checked.words("coverage")
    made = [json.loads(one) for one in (checked.path / "launches.jsonl").read_text().splitlines()]
    # After three pairs with c4 the all-reduce is made without it.
    assert made[-1]["nodes"] == ["c1", "c2", "c3"]
    assert made[-1]["ended"]["status"] == "ok"


@pytest.mark.lab
def test_a_program_without_a_gpu_says_so_in_a_sentence(
    check: Callable[..., Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) iters: 20\n"
    tool = placed(tmp_path, head + "n1: Test CUDA failure common.cu:892 'no CUDA-capable device is"
                  " detected'\n")  # fmt: skip
    monkeypatch.setenv("FABRICGAUGE_STAND_IN", str(tool / "output.txt"))
    monkeypatch.setenv("FABRICGAUGE_STAND_IN_STATUS", "3")
    checked = check(*options(tool))
    assert checked.status == 3
    assert "the driver shows no GPU on this node" in checked.words("completeness")


@pytest.mark.lab
def test_a_program_without_mpi_says_so_in_a_sentence(
    check: Callable[..., Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = placed(tmp_path, (FIXTURES / "recorded-without-mpi--one-gpu-each.out").read_text())
    monkeypatch.setenv("FABRICGAUGE_STAND_IN", str(tool / "output.txt"))
    checked = check(*options(tool))
    assert checked.status == 3
    assert "built without MPI" in checked.words("completeness")


def imported(folder: Path, tmp_path: Path) -> Checked:
    done = fabricgauge("import", str(folder), "-o", str(tmp_path / "runs"))
    return Checked(done, tmp_path / "runs")


def test_dumps_beside_a_log_are_its_evidence(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "run.log").write_text(RECORDED.read_text())
    (folder / "anything").write_bytes(TOPOLOGY)
    (folder / "graph.xml").write_bytes(GRAPH)
    checked = imported(folder, tmp_path)
    dumps = curves(checked.path)[0]["evidence"]["nccl"]["dumps"]
    assert [one["source"] for one in dumps] == ["logs/anything", "logs/graph.xml"]
    # 200 Gb/s by the dump: 6.44 of 25 GB/s.
    assert "25.8 % of 25,000 MB/s" in checked.words("fraction")
    assert checked.status == 1


def test_a_dump_that_cannot_be_read_is_named_and_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "run.log").write_text(RECORDED.read_text())
    (folder / "graph.xml").write_bytes(GRAPH[:120])
    checked = imported(folder, tmp_path)
    assert "graph.xml" in checked.text
    assert curves(checked.path)


def test_a_dump_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_bytes(TOPOLOGY)
    done = fabricgauge("import", str(tmp_path / "t.xml"), "-o", str(tmp_path / "runs"))
    assert done.returncode in (2, 3)
    assert "a dump of NCCL without figures; import the log" in done.stderr


def test_a_log_that_broke_off_says_why(tmp_path: Path) -> None:
    head = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) iters: 20\n"
    log = tmp_path / "broken.log"
    log.write_text(head + "n1: Test NCCL failure common.cu:1057 'unhandled system error'\n")
    done = fabricgauge("import", str(log), "-o", str(tmp_path / "runs"))
    assert "too little locked memory" in " ".join(done.stderr.split())
