"""``compare`` as a user has it: operands, formats, exit statuses."""

import json
from pathlib import Path

import pytest
from tests.check.commands import fabricgauge

FIXTURES = Path(__file__).parents[1] / "fixtures"
PINGPONG = str(FIXTURES / "imb/2021.11--p2p-pingpong.out")
OSU = """\
# OSU MPI Latency Test v7.4
# Size       Avg Latency(us)
1                       {0:.2f}
1024                    {1:.2f}
65536                  {2:.2f}
"""


@pytest.fixture
def logs(tmp_path: Path) -> tuple[str, str]:
    for name, factor in (("a.out", 1.0), ("b.out", 1.3)):
        (tmp_path / name).write_text(OSU.format(*(factor * time for time in (1.6, 2.4, 12.9))))
    return str(tmp_path / "a.out"), str(tmp_path / "b.out")


def test_the_status_is_that_of_the_outcome(logs: tuple[str, str], tmp_path: Path) -> None:
    a, b = logs
    assert fabricgauge("compare", a, b).returncode == 1
    assert fabricgauge("compare", a, b, "--tolerance", "40%").returncode == 0
    assert fabricgauge("compare", b, a).returncode == 0
    empty = tmp_path / "empty.out"
    empty.write_text("nothing of a suite\n")
    done = fabricgauge("compare", a, str(empty))
    assert done.returncode == 3
    assert "1 line was not understood" in done.stdout


def test_what_names_nothing_is_a_usage_error_that_says_where_was_looked(tmp_path: Path) -> None:
    done = fabricgauge("compare", PINGPONG, "no-such-thing", "-o", str(tmp_path))
    assert done.returncode == 2
    for part in ("no-such-thing", "no such file", str(tmp_path), "reference"):
        assert part in done.stderr


@pytest.mark.parametrize("tolerance", ["0.05", "5", "-1%", "100%", "x"])
def test_a_tolerance_that_could_be_meant_otherwise_is_refused(tolerance: str) -> None:
    done = fabricgauge("compare", PINGPONG, PINGPONG, f"--tolerance={tolerance}")
    assert done.returncode == 2
    assert "5%" in done.stderr


def test_an_unknown_format_and_an_unknown_pattern_list_what_there_is() -> None:
    done = fabricgauge("compare", PINGPONG, PINGPONG, "--format", "pdf")
    assert (done.returncode, "markdown" in done.stderr) == (2, True)
    done = fabricgauge("compare", PINGPONG, PINGPONG, "--only", "latencies")
    assert (done.returncode, "latency" in done.stderr) == (2, True)


def test_only_narrows_both_sides(logs: tuple[str, str]) -> None:
    done = fabricgauge("compare", PINGPONG, PINGPONG, "--only", "latency", "--format", "json")
    found = json.loads(done.stdout)["comparison"]
    assert [pair["a"]["pattern"] for pair in found["pairs"]] == ["latency"]
    by_name = fabricgauge("compare", *logs, "--only", "OSU_LATENCY", "--format", "json")
    assert len(json.loads(by_name.stdout)["comparison"]["pairs"]) == 1


def test_a_published_result_is_an_operand(logs: tuple[str, str]) -> None:
    done = fabricgauge("compare", "ref:guide-1gbe-imb-pingpong", logs[0], "--format", "json")
    assert done.returncode == 3, done.stderr  # the log ends at 64 KiB, the published table does not
    found = json.loads(done.stdout)["comparison"]
    assert "B may be cut off" in found["pairs"][0]["doubt"]
    assert (found["a"]["kind"], found["b"]["kind"]) == ("reference", "file")
    assert found["a"]["facts"]["published in"]


def test_the_page_goes_to_the_file_and_the_status_stays(
    logs: tuple[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = fabricgauge("compare", *logs, "--format", "html", "--to", str(page))
    assert (done.returncode, done.stdout) == (1, "")
    assert page.read_text().startswith("<!doctype html>")


def test_a_pair_of_unlike_curves_is_compared_when_it_is_asked_for() -> None:
    sides = ("tutorial-edr-send-lat", "tutorial-edr-write-lat")
    assert fabricgauge("compare", *sides).returncode == 3
    done = fabricgauge("compare", *sides, "--pair", "ib_send_lat=ib_write_lat", "--format", "json")
    (pair,) = json.loads(done.stdout)["comparison"]["pairs"]
    assert (done.returncode, pair["summary"]["better"], pair["summary"]["worse"]) == (0, 11, 0)
    assert pair["summary"]["mean_ratio"] == pytest.approx(0.9378, abs=1e-4)
    done = fabricgauge("compare", *sides, "--pair", "ib_send_lat=osu_bw")
    assert (done.returncode, "ib_write_lat" in done.stderr) == (2, True)


def test_a_second_pair_that_joins_nothing_is_a_usage_error() -> None:
    same = ("--pair", "latency=latency")
    done = fabricgauge("compare", PINGPONG, PINGPONG, *same, "--pair", "latency=pingpong")
    assert (done.returncode, "latency=pingpong" in done.stderr) == (2, True)
