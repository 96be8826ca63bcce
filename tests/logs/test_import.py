"""Others' logs through the command line: mixed, broken, foreign, and the published tables."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from tests.check.commands import Checked, fabricgauge
from tests.hunt.logs import perftest

FIXTURES = Path(__file__).parents[1] / "fixtures"
OSU_PUT = """\
# OSU MPI_Put Bandwidth Test v5.8
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size    Bandwidth (MB/s)
65536   116.06
1048576 116.92
4194304 116.96
"""


def imported(tmp_path: Path, *words: str) -> Checked:
    return Checked(fabricgauge("import", "-o", str(tmp_path / "runs"), *words), tmp_path / "runs")


@pytest.mark.parametrize(
    ("name", "status", "rules"),
    [
        ("guide-1gbe-osu-put-bw", 0, {"fraction": "PASS"}),
        ("guide-1gbe-imb-pingpong", 0, {"fraction": "PASS", "floor": "PASS", "dips": "SKIPPED"}),
        ("guide-40gbe-imb-pingpong", 3, {"floor": "INVALID", "above-ceiling": "INVALID"}),
        ("guide-omni-path-imb-pingpong", 3, {"floor": "INVALID", "cache-shape": "INVALID"}),
        ("chelsio-10gbe-iwarp", 0, {"fraction": "PASS", "floor": "PASS"}),
    ],
)
def test_published_tables_are_judged_by_their_own_networks(
    tmp_path: Path, name: str, status: int, rules: dict[str, str]
) -> None:
    checked = imported(tmp_path, name)
    assert checked.status == status, checked.text
    assert {rule: checked.outcomes(rule) for rule in rules} == {
        rule: {outcome} for rule, outcome in rules.items()
    }


def test_a_pass_of_others_figures_says_that_the_path_is_not_proved(tmp_path: Path) -> None:
    log = tmp_path / "put.out"
    log.write_text(OSU_PUT)
    checked = imported(tmp_path, str(log), "--network", "1GbE")
    assert checked.status == 0, checked.text
    assert "99.4 %" in checked.text
    assert "the path is not proved" in " ".join(checked.text.split())
    assert checked.outcomes("path") == {"SKIPPED"}


def test_a_log_without_a_stated_network_decides_nothing(tmp_path: Path) -> None:
    log = tmp_path / "put.out"
    log.write_text(OSU_PUT)
    checked = imported(tmp_path, str(log))
    assert checked.status == 3, checked.text
    assert checked.outcomes("fraction") == {"SKIPPED"}


def test_shared_memory_is_invalid_only_when_it_is_claimed_to_be_a_network(tmp_path: Path) -> None:
    log = next(FIXTURES.glob("imb/*intel-p2p-pingpong.out"))
    claimed = imported(tmp_path, str(log), "--network", "40GbE")
    assert claimed.status == 3
    assert "INVALID" in claimed.outcomes("floor")
    unclaimed = imported(tmp_path, str(log))
    assert unclaimed.outcomes("floor") == {"WARN"}


def test_a_directory_of_mixed_broken_and_foreign_logs_loses_nothing(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "deep").mkdir(parents=True)
    (logs / "a.out").write_text(OSU_PUT)
    (logs / "b.out.gz").write_bytes(gzip.compress(OSU_PUT.encode()))
    (logs / "cut.gz").write_bytes(gzip.compress(OSU_PUT.encode() * 2000)[:-200])
    (logs / "deep" / "crlf.out").write_bytes(OSU_PUT.replace("\n", "\r\n").encode())
    (logs / "labels.out").write_text("".join(f"[1,0]<stdout>:{x}\n" for x in OSU_PUT.split("\n")))
    (logs / "notes.txt").write_text("<script>alert(1)</script> $(touch /tmp/owned)\n")
    (logs / "noise.bin").write_bytes(bytes(range(256)) * 64)
    (logs / "truncated.out").write_text(OSU_PUT[:150] + "\n[c1:1] warning: no hwloc\n65536  11")
    checked = imported(tmp_path, str(logs), "--network", "1GbE")
    assert checked.status == 0, checked.text
    words = checked.words("completeness")
    for name in ("notes.txt", "noise.bin", "cut.gz"):
        assert name in words, name
    run = json.loads((checked.path / "report.json").read_text())["run"]
    read = {one["source"].rsplit("/", 1)[-1] for la in run["launches"] for one in la["curves"]}
    assert {"a.out", "b.out.gz", "crlf.out", "labels.out", "cut.gz"} <= read
    html = (checked.path / "report.html").read_text()
    assert "<script>alert" not in html


def test_files_without_any_figure_are_refused_and_leave_no_run(tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("nothing to see\n")
    done = fabricgauge("import", str(log), "-o", str(tmp_path / "runs"))
    assert done.returncode == 3
    assert "notes.txt" in done.stderr
    assert not list((tmp_path / "runs").glob("2*"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("put.out", "--network", "1GbX"), "1GbX"),
        (("no-such-reference",), "no-such-reference"),
        (("put.out", "--format", "papyrus"), "papyrus"),
        (("dir/none.out",), "none.out"),
    ],
)
def test_what_is_not_known_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("put.out").write_text(OSU_PUT)
    done = fabricgauge("import", *words, "-o", str(tmp_path / "runs"))
    assert done.returncode in (2, 3)
    assert told in done.stderr


def test_an_imported_run_is_judged_again_like_any_other(tmp_path: Path) -> None:
    log = tmp_path / "put.out"
    log.write_text(OSU_PUT)
    checked = imported(tmp_path, str(log), "--network", "1GbE", "--hosts", "c[1-2]")
    assert checked.outcomes("placement") == {"PASS"}
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    log.unlink()
    again = fabricgauge("report", str(checked.path))
    assert again.returncode == 0, again.stderr
    assert "99.4 %" in again.stdout
    assert (next((checked.path / "raw").glob("*/put.out"))).read_text() == OSU_PUT


def test_a_reference_stands_beside_the_figures(tmp_path: Path) -> None:
    log = tmp_path / "put.out"
    log.write_text(OSU_PUT)
    checked = imported(
        tmp_path, str(log), "--network", "1GbE", "--against", "guide-1gbe-osu-put-bw"
    )
    report = json.loads((checked.path / "report.json").read_text())
    assert {one["source"] for one in report["against"]} == {"guide-1gbe-osu-put-bw"}
    assert "guide-1gbe-osu-put-bw" in (checked.path / "report.html").read_text()


def test_a_missing_file_is_refused_even_beside_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("put.out").write_text(OSU_PUT)
    done = fabricgauge("import", "put.out", "./gone.out", "-o", "runs")
    assert done.returncode == 2
    assert "gone.out" in done.stderr


def test_one_node_stated_for_all_ranks_is_no_network(tmp_path: Path) -> None:
    log = tmp_path / "put.out"
    log.write_text(OSU_PUT)
    checked = imported(tmp_path, str(log), "--network", "1GbE", "--hosts", "c1,c1")
    assert checked.status == 3
    assert checked.outcomes("placement") == {"INVALID"}


def test_hosts_are_stated_for_the_files_that_a_pattern_fits(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("rack1/put.out", "rack2/put.out", "other.out"):
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_text(OSU_PUT)
    checked = imported(
        tmp_path, str(logs), "--network", "1GbE", "--hosts", "e[1-2]",
        "--hosts", "rack1/*=c[1-2]", "--hosts", "rack2/*=d1,d1",
    )  # fmt: skip
    report = json.loads((checked.path / "report.json").read_text())
    found = {one["source"]: (one["hosts"], one["outcome"]) for one in report["tables"]}
    assert found == {
        "logs/rack1/put.out": (["c1", "c2"], "PASS"),
        "logs/rack2/put.out": (["d1", "d1"], "INVALID"),
        "logs/other.out": (["e1", "e2"], "PASS"),
    }
    assert checked.status == 3
    rows = (checked.path / "tables.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["outcome", "INVALID", "PASS", "PASS"]
    assert "3 tables of 3 files: 1 INVALID, 2 PASS" in checked.text


def test_the_ceiling_beside_a_log_is_that_of_its_own_mtu(tmp_path: Path) -> None:
    log = tmp_path / "a.out"
    log.write_text(
        perftest(92.4).replace("4096[B]", "1024[B]").replace(": IB\n Max", ": Ethernet\n")
    )
    checked = imported(tmp_path, str(log), "--network", "100gbe roce", "--hosts", "c[1-2]")
    text = " ".join(checked.text.split())
    assert "MTU of 1024: 11,573 MB/s" in text and "99.8 %" in text
    assert "94.2 %" not in text
