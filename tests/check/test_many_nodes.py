"""More than two nodes on the lab: what is planted is measured, and nobody else is named.

That the culprit is named is proved where chance has no part: on stored runs (test_stored_runs.py)
and on simulated clusters (test_simulated.py).
"""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import numpy as np
import pytest
from tests.check.commands import Checked, fabricgauge, until

pytestmark = [pytest.mark.lab, pytest.mark.alone]

ALL_PAIRS = ("--patterns", "all_pairs_latency,all_pairs_bandwidth")


def named(checked: Checked) -> list[str]:
    """Whom the rule says to be at fault."""
    return [
        one["subject"]
        for one in checked.verdicts
        if one["rule"] == "outliers" and one["outcome"] == "FAIL"
    ]


NODES = {f"c{number}" for number in range(1, 9)}
CEILING_BYTES_PER_S = 1e9 / 8 * 1448 / 1538


def shares(checked: Checked) -> dict[tuple[str, str], float]:
    """Bandwidth of each directed pair, of the ceiling: load makes it less, nothing more."""
    with np.load(checked.path / "matrices.npz", allow_pickle=False) as archive:
        (key,) = (str(key) for key in archive["matrices"] if "bandwidth" in str(key))
        nodes, values = [str(node) for node in archive[f"{key}.nodes"]], archive[f"{key}.values"]
    return {
        (one, other): float(values[row, column]) / CEILING_BYTES_PER_S
        for row, one in enumerate(nodes)
        for column, other in enumerate(nodes)
    }


def test_nobody_is_named_on_four_sound_nodes(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check("--lab", lab("--nodes", "4"))
    assert checked.status != 1, checked.text
    assert named(checked) == []
    assert checked.outcomes("placement") == {"PASS"}
    assert checked.outcomes("path") == {"PASS"}
    report = json.loads((checked.path / "report.json").read_text())
    done = {
        (m["pattern"], m["status"]) for la in report["run"]["launches"] for m in la["measurements"]
    }
    assert {("all_pairs_latency", "ok"), ("allreduce", "ok"), ("loaded_latency", "ok")} <= done
    assert {status for _, status in done} == {"ok"}, done


@pytest.mark.slow
def test_a_link_at_a_quarter_of_its_rate_is_measured_among_eight_nodes_and_none_else_named(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab("--nodes", "8")
    fault(name, "rate", "c5", "net1", "250M")
    checked = check("--lab", name, *ALL_PAIRS)
    assert checked.status in (1, 3), checked.text
    assert set(named(checked)) <= {"net1, c5, in both directions"}
    assert "FAIL" not in checked.outcomes("fraction"), checked.text
    rates = shares(checked)
    assert all(max(rates[node, "c5"], rates["c5", node]) < 0.27 for node in NODES - {"c5"})


@pytest.mark.slow
def test_a_slow_direction_is_measured_and_no_other_named(
    lab: Callable[..., str], check: Callable[..., Checked], fault: Callable[..., None]
) -> None:
    name = lab("--nodes", "4")
    fault(name, "rate-out", "c3", "net1", "250M")
    checked = check("--lab", name, *ALL_PAIRS)
    assert checked.status in (1, 3), checked.text
    assert set(named(checked)) <= {"net1, c3, sending"}
    rates = shares(checked)
    assert all(rates["c3", node] < 0.27 for node in ("c1", "c2", "c4"))


def test_matrices_are_kept_as_numpy_reads_them(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check("--lab", lab("--nodes", "3"), *ALL_PAIRS, "--case-budget", "0.1")
    with np.load(checked.path / "matrices.npz", allow_pickle=False) as archive:
        keys = [str(key) for key in archive["matrices"]]
        assert len(keys) == 2
        for key in keys:
            assert list(archive[f"{key}.nodes"]) == ["c1", "c2", "c3"]
            values = archive[f"{key}.values"]
            assert np.isnan(np.diag(values)).all()
            assert (values[~np.eye(3, dtype=bool)] > 0).all()


@pytest.mark.slow
def test_a_run_that_is_broken_off_goes_on_with_the_rounds_that_are_missing(
    lab: Callable[..., str], start: Callable[..., "Popen[str]"], tmp_path: Path
) -> None:
    name = lab("--nodes", "6")
    child = start("--lab", name, *ALL_PAIRS)

    def begun() -> bool:
        return any(
            '"record":"round"' in path.read_text() for path in tmp_path.glob("*/results.jsonl")
        )

    until(begun, 90, "the first round")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    run = next(tmp_path.glob("2*"))
    resumed = fabricgauge("check", "-o", str(tmp_path), "--lab", name, "--resume", run.name)
    assert resumed.returncode in (0, 1, 3), resumed.stderr
    finished = next(path for path in tmp_path.glob("2*") if not path.name.endswith(".partial"))
    rounds = [
        (entry["record"]["case"], entry["record"]["round"])
        for entry in map(json.loads, (finished / "results.jsonl").read_text().splitlines())
        if entry["record"]["record"] == "round"
    ]
    # At most the round in which it was broken off may be there for a second time.
    assert len(rounds) - len(set(rounds)) <= 1
    planned = {key for key in rounds if not key[0].endswith("/closing")}
    assert len(planned) == 10  # five of each pattern; the first stream's round closes the launch


@pytest.mark.slow
def test_a_link_cut_in_mid_round_robin_is_told_and_nothing_is_lost(
    lab: Callable[..., str],
    start: Callable[..., "Popen[str]"],
    fault: Callable[..., None],
    tmp_path: Path,
) -> None:
    name = lab("--nodes", "4")
    child = start("--lab", name, *ALL_PAIRS, "--launches", "3")

    def begun() -> bool:
        return any(
            '"record":"round"' in path.read_text() for path in tmp_path.glob("*/results.jsonl")
        )

    until(begun, 90, "the first round")
    fault(name, "link-down", "c2", "net1")
    out, err = child.communicate(timeout=200)
    assert child.returncode in (1, 3), out + err
    assert "c2:eth0" in out + err
    run = next(tmp_path.glob("2*"))
    assert '"record":"round"' in (run / "results.jsonl").read_text()
    assert (run / "report.html").exists()


def test_two_ranks_on_each_node_are_paired_across_nodes_only(
    lab: Callable[..., str], check: Callable[..., Checked]
) -> None:
    checked = check(
        "--lab", lab("--nodes", "2"), "--ppn", "2", "--patterns", "all_pairs_latency,multi_latency"
    )
    assert checked.outcomes("placement") == {"PASS"}, checked.text
    with np.load(checked.path / "matrices.npz", allow_pickle=False) as archive:
        assert list(archive[f"{archive['matrices'][0]}.nodes"]) == ["c1", "c2"]


def test_a_topology_file_that_is_not_understood_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_text("SwitchName=leaf1 Nodes=c[1-\n")
    done = fabricgauge(
        "check", "--lab", "--lab-nodes", "3", "--topology", str(file), "-o", str(tmp_path)
    )
    assert done.returncode == 2
    assert f"{file}:1" in done.stderr or "line 1" in done.stderr, done.stderr
