"""The verb: lists, series, drift with baselines, learned thresholds, as a user calls them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from tests.docs.json_schemas import require_fit
from tests.features.history.runs import copy_recorded, write_runs

from fabricgauge.features.history.learning import learn
from fabricgauge.features.history.values import Share
from fabricgauge.features.history.verb import history, parse_day, parse_setting, parse_share
from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.errors import UsageError
from fabricgauge.store import settings
from fabricgauge.store.files.toml import loads


def slow_from(run: int, node: int, factor: float) -> Any:
    def change(number: int, rates: NDArray[np.float64]) -> None:
        if number >= run:
            rates[node] *= factor

    return change


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty runs of eight nodes; n3 loses 6 % from run 52 on, two runs after a new firmware."""
    root = tmp_path_factory.mktemp("history") / "runs"
    return write_runs(root, 60, slow_from(50, 3, 0.94))


def call(root: Path, *words: str, expect: int = 0) -> str:
    index = ("--index", str(root.parent / "index.sqlite"))
    with_index = (
        () if words[:2] == ("baseline", "clear") or words[:2] == ("baseline", "list") else index
    )
    done = CliRunner().invoke(history, [*words, "-o", str(root), *with_index])
    assert done.exit_code == expect, (done.output, done.exception)
    return done.stdout


def test_list_has_every_run_newest_first(drifted: Path) -> None:
    document = json.loads(call(drifted, "list", "--format", "json"))
    require_fit("history-list", document)
    rows = document["runs"]
    assert len(rows) == 60
    assert rows[0]["started_s"] > rows[-1]["started_s"]
    assert {row["outcome"] for row in rows} == {"PASS"}
    assert len(call(drifted, "list", "--format", "csv").splitlines()) == 61


def test_an_unreadable_run_is_listed_with_its_reason(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    path = copy_recorded(root, "healthy")
    (path / "fabric.json").write_text("{")
    (row,) = json.loads(call(root, "list", "--format", "json"))["runs"]
    assert "fabric.json" in row["trouble"]
    assert "unreadable" in call(root, "list")


def test_drift_names_the_node_and_what_changed(drifted: Path) -> None:
    drift = json.loads(call(drifted, "drift", "--format", "json", expect=1))
    require_fit("history-drift", drift)
    assert {tuple(alarm["place"]) for alarm in drift["alarms"]} == {("n3",)}
    assert drift["outcome"] == "FAIL"
    assert drift["series"] == 27  # eight nodes and their level, three figures
    shifts = [alarm["shift"]["share"] for alarm in drift["alarms"]]
    assert shifts == pytest.approx([-0.06] * len(shifts), abs=0.01)
    assert "n3 sending" in call(drifted, "drift", expect=1)


def test_show_and_plot_have_the_change_with_its_firmware(drifted: Path) -> None:
    words = ("-w", "n3", "--pattern", "all_pairs_bandwidth", "--format", "json")
    document = json.loads(call(drifted, "show", *words))
    require_fit("history-series", document)
    shown = document["series"]
    assert {series["key"]["part"] for series in shown} == {"sender", "receiver"}
    for series in shown:
        (change,) = series["changes"]
        assert series["points"][change["index"]]["run"].endswith("000032")  # run 50
        assert any("22.41 → 22.43" in what for what in change["what"])
    assert "●" in call(drifted, "plot", *words[:4])
    assert "<svg" not in call(drifted, "plot", *words[:4])


def test_a_selection_without_series_lists_none(drifted: Path) -> None:
    assert json.loads(call(drifted, "show", "-w", "x9", "--format", "json"))["series"] == []
    assert "No series" in call(drifted, "show", "-w", "x9")


def test_only_runs_with_a_setting_count(drifted: Path) -> None:
    words = ("list", "--format", "json", "--with", "adapter firmware=22.43")
    assert len(json.loads(call(drifted, *words))["runs"]) == 10


def test_a_baseline_ends_an_alarm_and_clearing_brings_it_back(tmp_path: Path) -> None:
    root = write_runs(tmp_path / "runs", 70, slow_from(45, 3, 0.94))
    call(root, "drift", expect=1)
    call(root, "baseline", "set", "--last", "20", "--reason", "new firmware")
    assert "new firmware" in call(root, "baseline", "list")
    write_runs(root, 6, slow_from(0, 3, 0.94), first=70)
    call(root, "drift", "--false-alarms", "20")
    call(root, "baseline", "clear")
    call(root, "drift", expect=1)


def test_a_baseline_names_its_runs(tmp_path: Path) -> None:
    root = write_runs(tmp_path / "runs", 3)
    first = sorted(entry.name for entry in root.iterdir())[0]
    call(root, "baseline", "set", first, "--network", "ib")
    (file,) = (root / "history").iterdir()
    pinned = json.loads(file.read_text())
    assert (pinned["runs"], pinned["network"]) == ([first], "ib")


def test_few_runs_are_inconclusive(tmp_path: Path) -> None:
    root = write_runs(tmp_path / "runs", 5)
    assert "40" in call(root, "drift", expect=3).partition("INCONCLUSIVE")[2].partition("\n\n")[0]


def test_learned_thresholds_reach_the_verdict_with_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "runs"
    for number in range(6):
        path = copy_recorded(root, "healthy")
        make_real(path.rename(path.with_name(f"2026111{number}T151532Z-fbfd74")))
    file = tmp_path / "learned.toml"
    call(root, "learn", "--chance", "0.1", "--to", str(file), expect=0)
    monkeypatch.setenv(settings.SITE_FILE_VARIABLE, str(file))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    configured = settings.load()
    limit = thresholds_from(configured.thresholds, configured.thresholds_origin).limits
    assert 0.9 < limit["fraction.pass"].value < 1
    assert limit["fraction.warn"].value < limit["fraction.pass"].value
    assert "learned from 6 runs" in limit["fraction.pass"].origin
    assert str(file) in limit["fraction.pass"].origin


@pytest.mark.parametrize("silent", [False, True])
def test_figures_that_end_are_no_sound_network(tmp_path: Path, silent: bool) -> None:
    root = write_runs(tmp_path / "runs", 60)
    for run in sorted(root.iterdir())[-3 if silent else -2 :]:
        lines = (run / "results.jsonl").read_text().splitlines(keepends=True)
        kept = [line for line in lines if "all_pairs_bandwidth/" not in line]
        assert len(kept) < len(lines)
        (run / "results.jsonl").write_text("".join(kept))
    text = call(root, "drift", "--format", "json", expect=3 if silent else 0)
    drift = json.loads(text)
    assert (drift["series"], drift["short"]) == (27, 0)
    patterns = {entry["key"]["pattern"] for entry in drift["silent"]}
    assert patterns == ({"all_pairs_bandwidth"} if silent else set())
    page = call(root, "drift", expect=3 if silent else 0)
    assert "27 of 27 series compared" in page


def make_real(path: Path) -> None:
    """Make a run of a lab one of real nodes."""
    run = json.loads((path / "run.json").read_text())
    del run["asked"]["lab"]
    (path / "run.json").write_text(json.dumps(run))
    fabric = json.loads((path / "fabric.json").read_text())
    (path / "fabric.json").write_text(json.dumps({**fabric, "virtual": False}))


def test_only_passed_runs_on_real_nodes_are_learned_from(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for number in range(12):
        path = copy_recorded(root, "healthy")
        path = path.rename(path.with_name(f"202611{number + 10}T151532Z-fbfd74"))
        if number < 6:
            make_real(path)
        # A failed run has verdicts that passed, one of them a tenth of the ceiling.
        path = copy_recorded(root, "slow-link")
        make_real(path.rename(path.with_name(f"202611{number + 10}T161532Z-94d4a5")))
    text = call(root, "learn", "--chance", "0.1")
    assert "learned from 6 runs" in text
    limits = loads(text)["thresholds"]
    assert limits["fraction.pass"] > 0.9


def test_a_warned_figure_is_not_learned_from() -> None:
    shares = [Share("fraction.pass", "ib", 0.9, "WARN")] * 200
    assert learn(shares, 0.1) == ((), {})
    assert learn([*shares, *[Share("fraction.pass", "ib", 0.98, "PASS")] * 20], 0.1)[0]


def test_without_runs_of_real_nodes_the_reason_is_told(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    copy_recorded(root, "healthy")
    words = ("learn", "-o", str(root), "--index", str(tmp_path / "index.sqlite"))
    done = CliRunner().invoke(history, words)
    assert done.exit_code == 3
    assert "real nodes" in done.output


def test_too_few_figures_leave_the_built_in_threshold(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    copy_recorded(root, "healthy")
    assert call(root, "learn", expect=3) == ""


def test_days_shares_and_settings_are_read() -> None:
    assert parse_day("2026-11-23") == 1795392000.0
    assert parse_share("3%") == parse_share("0.03") == 0.03
    assert parse_setting("kernel=6.1*") == ("kernel", "6.1*")
    for parse, text in ((parse_day, "soon"), (parse_share, "101%"), (parse_setting, "kernel")):
        with pytest.raises(UsageError):
            parse(text)
