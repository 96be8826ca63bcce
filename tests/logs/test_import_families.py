"""A campaign's log through the command line: a family, and its bad table by line."""

import json
from pathlib import Path
from random import Random

from tests.check.commands import Checked, fabricgauge
from tests.logs.readers.test_repetitions import osu_bw

SIZES = (16, 1024, 16384, 65536, 1 << 20, 1 << 22)
TABLES, LINES_OF_A_TABLE, BAD = 1500, 2 + len(SIZES), 1234


def campaign(folder: Path, bad: float) -> Path:
    chance, log = Random(1), folder / "campaign.out"  # noqa: S311
    rates = [12_000 * chance.uniform(0.985, 1.0) for _ in range(TABLES)]
    rates[BAD] *= bad
    log.write_text("".join(osu_bw(rate, SIZES) for rate in rates))
    return log


def imported(folder: Path, log: Path) -> Checked:
    argv = ("import", "-o", str(folder / "runs"), str(log), "--network", "edr mtu=4096")
    return Checked(fabricgauge(*argv), folder / "runs")


def test_a_bad_table_of_a_campaign_is_named_and_stays_so_when_judged_again(tmp_path: Path) -> None:
    checked = imported(tmp_path, campaign(tmp_path, 0.4))
    assert checked.status == 1, checked.text
    (run,) = (tmp_path / "runs").glob("2*")
    report = json.loads((run / "report.json").read_bytes())
    (family,) = report["families"]
    line = BAD * LINES_OF_A_TABLE + 1
    outcomes = {found["outcome"]: found for found in family["outcomes"]}
    assert outcomes["FAIL"]["lines"] == [line]
    assert outcomes["PASS"]["tables"] == TABLES - 2
    assert family["slowest"][0]["line"] == line
    failed = [table["line"] for table in report["tables"] if table["outcome"] == "FAIL"]
    assert failed == [line]
    assert f"campaign.out:{line}" in "".join(checked.text.split())
    assert f"{TABLES:,} tables of 1 file: 1 FAIL, {TABLES - 1:,} PASS" in checked.text
    # The figures of the family are stored, and nothing of them is in the report.
    (shown,) = report["run"]["launches"][0]["families"]
    assert (shown["figures"], shown["first_lines"]) == ("", "")
    assert (run / "report.json").stat().st_size < 300_000
    again = json.loads(fabricgauge("report", str(run), "--format", "json").stdout)
    assert again["families"] == report["families"]
    assert again["overall"] == report["overall"] == "FAIL"


def test_a_sound_campaign_passes_and_its_page_has_the_spread(tmp_path: Path) -> None:
    checked = imported(tmp_path, campaign(tmp_path, 1.0))
    assert checked.status == 0, checked.text
    (page,) = (tmp_path / "runs").glob("*/report.html")
    assert f"{TABLES - 1:,} tables in 1 family of one heading" in page.read_text("utf-8")
