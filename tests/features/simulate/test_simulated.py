"""``check --sim``: planted faults are named, and every report says that it is simulated."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.check.commands import Checked, fabricgauge
from tests.nodes.engines.launched import engine_for

pytestmark = [pytest.mark.engine]

ALL_PAIRS = ("--patterns", "all_pairs_latency,all_pairs_bandwidth")


@pytest.fixture(scope="session")
def engine() -> None:
    engine_for("simulated")


def outliers(checked: Checked) -> list[tuple[str, str]]:
    return [
        (one["outcome"], one["subject"]) for one in checked.verdicts if one["rule"] == "outliers"
    ]


def test_a_sound_simulated_cluster_passes_and_says_that_it_is_simulated(
    check: Callable[..., Checked],
) -> None:
    checked = check("--sim", "star:8", *ALL_PAIRS)
    assert checked.status == 0, checked.text
    assert outliers(checked) == [("PASS", "simulated")]
    assert "simulat" in checked.text.lower()
    assert "simulated" in (checked.path / "report.html").read_text().lower()
    assert json.loads((checked.path / "report.json").read_text())["simulated"] is True


@pytest.mark.parametrize(
    ("fault", "subject"),
    [
        ("rate node-3 0.25", "simulated, node-3, in both directions"),
        pytest.param("rate-out node-5 0.5", "simulated, node-5, sending", marks=pytest.mark.slow),
        pytest.param(
            "latency node-2 +400ns", "simulated, node-2, in both directions", marks=pytest.mark.slow
        ),
        ("pair node-1 node-6 0.9", "simulated, the way from node-1 to node-6"),
        pytest.param(
            "noise node-4 0.5", "simulated, node-4, in both directions", marks=pytest.mark.slow
        ),
    ],
)
def test_a_planted_fault_is_named_and_nobody_else(
    check: Callable[..., Checked], fault: str, subject: str
) -> None:
    checked = check("--sim", "star:8", "--sim-fault", fault, *ALL_PAIRS)
    assert checked.status == 1, checked.text
    assert outliers(checked) == [("FAIL", subject)]


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["0.5", "0.9"])
def test_a_degraded_uplink_is_its_group_s(check: Callable[..., Checked], factor: str) -> None:
    fault = f"uplink leaf-2 {factor}"
    noise = ("--sim-noise", "0.02")
    checked = check("--sim", "fat-tree:32", "--sim-fault", fault, *noise, *ALL_PAIRS)
    assert checked.status == 1, checked.text
    failed = [subject for outcome, subject in outliers(checked) if outcome == "FAIL"]
    assert len(failed) == 1
    assert "leaf-2" in failed[0]


def test_all_ranks_work_together_in_simulated_time(check: Callable[..., Checked]) -> None:
    patterns = "allreduce,iallreduce,barrier,multi_bandwidth,loaded_latency,exchange,bisection"
    checked = check("--sim", "star:8", "--patterns", f"all_pairs_bandwidth,{patterns}")
    report = json.loads((checked.path / "report.json").read_text())
    done = {
        m["pattern"]: m["status"] for la in report["run"]["launches"] for m in la["measurements"]
    }
    assert set(done) == {"all_pairs_bandwidth", *patterns.split(",")}
    assert set(done.values()) == {"ok"}, done


def test_what_is_simulated_is_not_reached_otherwise(tmp_path: Path) -> None:
    for words, said in (
        (("--sim", "star:8", "--lab"), "--lab"),
        (("--sim", "moebius:8"), "moebius"),
        (("--sim", "star:8", "--sim-fault", "rate node-99 0.5"), "node-99"),
        (("--lab", "--sim-fault", "rate node-1 0.5"), "--sim"),
    ):
        done = fabricgauge("check", *words, "-o", str(tmp_path))
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
