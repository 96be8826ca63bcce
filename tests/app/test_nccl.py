"""nccl-tests where there is no GPU: a stand-in prints recorded outputs; dumps beside a log."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.commands import Checked, fabricgauge
from tests.parse.nccl.test_dumps import GRAPH, TOPOLOGY

FIXTURES = Path(__file__).parents[1] / "fixtures" / "nccl"
STAND_IN = Path(__file__).with_name("stand_ins") / "all_reduce_perf"
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


def options(tool: Path) -> tuple[str, ...]:
    return "--lab", "--tool", "nccl-tests", "--tool-path", str(tool), "--mpi", "mpich"


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
    assert "it holds no figures; import the log" in done.stderr


def test_a_log_that_broke_off_says_why(tmp_path: Path) -> None:
    head = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) iters: 20\n"
    log = tmp_path / "broken.log"
    log.write_text(head + "n1: Test NCCL failure common.cu:1057 'unhandled system error'\n")
    done = fabricgauge("import", str(log), "-o", str(tmp_path / "runs"))
    assert "too little locked memory" in " ".join(done.stderr.split())
