"""Reading: recorded runs give the figures that their reports show."""

import re
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.features.history.runs import RECORDED, copy_recorded

from fabricgauge.features.history.reading import parse_time, read_run
from fabricgauge.features.history.values import Panel, StoredRun


def read_case(case: str) -> StoredRun:
    (path,) = (RECORDED / f"0.1.0--{case}").iterdir()
    return read_run(path)


def panel_of(run: StoredRun, part: str, pattern: str) -> Panel:
    (panel,) = (p for p in run.panels if (p.part, p.pattern) == (part, pattern))
    return panel


def test_a_pair_has_curves_over_all_sizes() -> None:
    run = read_case("healthy")
    panel = panel_of(run, "way", "bandwidth")
    assert set(panel.places) == {("c1", "c2"), ("c2", "c1")}
    best = np.nanmax(panel.values, axis=1)
    assert best == pytest.approx([115.8e6, 116.1e6], rel=0.01)
    latency = panel_of(run, "pair", "latency")
    assert latency.places == (("c1", "c2"),)
    assert 1e-6 < np.nanmin(latency.values) < 1e-3
    assert (run.outcome, run.trouble, run.nodes) == ("PASS", "", ("c1", "c2"))


def test_a_slow_node_is_slow_in_both_parts() -> None:
    run = read_case("slow-node")
    for part in ("sender", "receiver"):
        panel = panel_of(run, part, "all_pairs_bandwidth")
        rates = {place[0]: float(value) for place, value in
                 zip(panel.places, panel.values[:, 0], strict=True)}  # fmt: skip
        slow = min(rates, key=lambda node: rates[node])
        others = [rate for node, rate in rates.items() if node != slow]
        assert rates[slow] < 0.5 * min(others)


def test_settings_name_versions_and_links() -> None:
    run = read_case("healthy")
    assert run.settings["MPI"].startswith("mpich")
    settings = msgspec.json.decode(run.node_settings)["c1"]
    assert settings["eth0 MTU"] == "1500"
    assert "load average" not in settings


def test_figures_of_a_network_that_was_not_proved_are_left_out() -> None:
    run = read_case("one-node")
    assert run.outcome == "INVALID"
    assert run.panels == ()


@pytest.mark.parametrize("damage", ["run.json", "plan.json", "fabric.json", "verdicts.json"])
def test_a_damaged_run_has_a_reason_and_no_figure(tmp_path: Path, damage: str) -> None:
    path = copy_recorded(tmp_path, "healthy")
    (path / damage).write_text('{"nodes": [')
    run = read_run(path)
    assert damage in run.trouble
    assert run.panels == ()
    assert run.name == path.name


def test_a_cut_line_costs_that_line_only(tmp_path: Path) -> None:
    path = copy_recorded(tmp_path, "healthy")
    whole = read_run(path)
    file = path / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-400])
    cut = read_run(path)
    assert cut.trouble == ""
    assert len(whole.panels) >= len(cut.panels) > 0


def test_a_link_out_of_the_run_is_not_followed(tmp_path: Path) -> None:
    path = copy_recorded(tmp_path, "healthy")
    outside = tmp_path / "outside.jsonl"
    shutil.move(path / "results.jsonl", outside)
    (path / "results.jsonl").symlink_to(outside)
    assert "leads out" in read_run(path).trouble


def test_imported_figures_are_known_by_their_program_not_by_their_log(tmp_path: Path) -> None:
    path = copy_recorded(tmp_path, "imported")
    (path / "verdicts.json").unlink()  # its network is INVALID
    tools = {panel.tool for panel in read_run(path).panels}
    assert tools == {"osu_bibw", "osu_bw", "osu_latency", "PingPong"}


def test_repeated_logs_of_a_run_give_their_median(tmp_path: Path) -> None:
    path = copy_recorded(tmp_path, "imported")
    (path / "verdicts.json").unlink()
    before = [panel for panel in read_run(path).panels if panel.tool == "osu_bw"]
    records = path / "results.jsonl"
    lines = [line for line in records.read_text().splitlines() if '"osu_bw"' in line]
    slower = [re.sub(r'"(value|low|high)":([0-9.]+)', _halve, line) for line in lines]
    again = [
        text.replace('"first_line":2', f'"first_line":{100 + place}')
        for place, text in enumerate((*slower, *slower))
    ]
    records.write_text(records.read_text() + "\n".join(again) + "\n")
    after = [panel for panel in read_run(path).panels if panel.tool == "osu_bw"]
    assert len(after) == len(before) == len(lines) == 1
    np.testing.assert_allclose(after[0].values, before[0].values / 2, rtol=1e-6)


def _halve(found: re.Match[str]) -> str:
    return f'"{found[1]}":{float(found[2]) / 2}'


def test_times_are_utc() -> None:
    assert parse_time("2026-11-23T15:21:56Z") == parse_time("20261123T152156Z-45194f")
    assert parse_time("no time") == 0.0


def test_chosen_buffers_make_a_series_of_their_own(tmp_path: Path) -> None:
    path = copy_recorded(tmp_path, "healthy")
    results = path / "results.jsonl"
    text = results.read_text(encoding="utf-8")
    chosen = text.replace('"pattern":"bandwidth",', '"buffers":"single","pattern":"bandwidth",')
    assert chosen != text
    results.write_text(chosen, encoding="utf-8")
    variants = {panel.pattern: panel.variant for panel in read_run(path).panels}
    assert variants["bandwidth"] == "single buffers"
    assert variants["latency"] == ""
