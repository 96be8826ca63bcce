"""Whole campaigns on a simulated switch: parts measured, left out and published, on one page."""

import csv
import io
import json
from collections import defaultdict
from pathlib import Path

import pytest
from tests.check.commands import fabricgauge
from tests.nodes.engines.launched import engine_for

pytestmark = [pytest.mark.engine]

MINE = """
format = "fabricgauge-campaign"
version = 1
name = "mine"
title = "Two sizes of two nodes"

[[part]]
name = "latency"
title = "Half round trip"
patterns = ["latency"]
sizes = ["8", "64K", "4M"]
plots = ["time", "throughput"]
references = ["racf-opa100-mpi"]
most_nodes = 2

[[part]]
name = "connections"
title = "Connections of IP"
tool = "iperf3"

[[part]]
name = "mix"
title = "Messages of an application"
compare = ["opx-psm2-uniband-mrate", "opx-uniband-mrate"]
predict = "opx-openradioss-message-mix"

[[part]]
name = "instructions"
title = "Instructions of a send"
compare = ["opx-send-instructions-psm2", "opx-send-instructions-opx"]
"""

Row = dict[str, str]


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    engine_for("simulated")


def rows_of(root: Path, folder: str) -> list[Row]:
    shown = fabricgauge("report", str(root / folder), "--format", "csv")
    return list(csv.DictReader(io.StringIO(shown.stdout)))


def only_folder(root: Path) -> str:
    (folder,) = (path.name for path in root.iterdir() if path.is_dir())
    return folder


def test_a_campaign_is_measured_stored_and_shown_again(tmp_path: Path) -> None:
    file, root = tmp_path / "mine.toml", tmp_path / "runs"
    file.write_text(MINE)
    done = fabricgauge("check", "--sim", "star:3", "--campaign", str(file), "-o", str(root))
    folder = only_folder(root)
    result = json.loads((root / folder / "campaign.json").read_text())
    parts = {part["name"]: part for part in result["parts"]}
    assert list(parts) == ["latency", "connections", "mix", "instructions"]
    assert parts["latency"]["outcome"] == "PASS", done.stdout
    assert (root / folder / parts["latency"]["folder"] / "results.jsonl").exists()
    assert parts["connections"]["left_out"]
    assert done.returncode == 0, done.stderr  # a part left out is a WARN
    rows = rows_of(root, folder)
    half_round_trips = {
        int(row["message_bytes"]): float(row["value"])
        for row in rows if (row["source"], row["quantity"]) == ("measured", "time")
    }  # fmt: skip
    assert sorted(half_round_trips) == [8, 1 << 16, 1 << 22]
    assert half_round_trips[8] == pytest.approx(0.93e-6, rel=0.01)
    page = (root / folder / "report.html").read_text()
    for text in (
        "size ÷ ceiling",
        "+146.6 %",
        "2.041",
        "930 ns",
        "executes 630 instructions, A 903",
    ):
        assert text in page
    listed = json.loads(fabricgauge("runs", "-o", str(root), "--format", "json").stdout)["runs"]
    assert [(run["kind"], run["verdict"]) for run in listed] == [
        ("campaign mine", "1 of 2 parts")  # the others of the four show references alone
    ]


@pytest.mark.slow
def test_the_ten_tests_of_imb_have_times_and_throughput(tmp_path: Path) -> None:
    done = fabricgauge("check", "--sim", "star:4", "--campaign", "imb-ten", "-o", str(tmp_path))
    assert done.returncode == 0, done.stdout
    figures: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for row in rows_of(tmp_path, only_folder(tmp_path)):
        if row["source"] == "measured" and row["throughput_bytes_per_s"]:
            at = (float(row["value"]), float(row["throughput_bytes_per_s"]))
            figures[row["curve"].split(",")[0]][int(row["message_bytes"])] = at
    assert set(figures) == {
        "half round trip", "both ends send at once", "Sendrecv along a chain",
        "exchange with both neighbours", "MPI_Allreduce", "MPI_Reduce", "MPI_Reduce_scatter",
        "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Bcast",
    }  # fmt: skip
    # As the suite counts: what one rank sends and receives.
    moved = {
        "half round trip": 1, "both ends send at once": 1, "Sendrecv along a chain": 2,
        "exchange with both neighbours": 4,
    }  # fmt: skip
    for curve, times in moved.items():
        time_s, rate = figures[curve][1 << 20]
        assert rate == pytest.approx(times * (1 << 20) / time_s)
