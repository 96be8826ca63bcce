"""Speed-up and efficiency from launches, block by block."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.features.application.scale import Application, find_metric, parse_metric
from fabricgauge.features.application.scaling import (
    Metric,
    ScaleLaunch,
    ScalePoint,
    ScaleRun,
    with_points,
)
from fabricgauge.model.absence import Skipped
from fabricgauge.model.engine import Mpi
from fabricgauge.model.errors import UsageError
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.varied import Design, Factor
from fabricgauge.model.verdict import Outcome, Verdict

DESIGN = Design(
    (Factor("nodes", ("1", "2", "4")),), (("1",), ("2",), ("4",)), (), ((0, 1, 2), (2, 1, 0)), 1
)


def launch(block: int, arm: int, wall_s: float, outcome: Outcome = Outcome.PASS) -> ScaleLaunch:
    said = (
        Verdict(
            rule="path", outcome=outcome, subject="net1", summary="100 % of the bytes crossed net1"
        ),
    )
    nodes = tuple(f"c{one}" for one in range(1, 1 + int(DESIGN.arms[arm][0])))
    return ScaleLaunch(block, arm, nodes, "ok", "", wall_s, 0.1, 0, said if arm else ())


def points(launches: list[ScaleLaunch], ppn: int = 1, **more: Any) -> tuple[ScalePoint, ...]:
    run = ScaleRun(("app",), "net1", ppn, DESIGN, tuple(launches), **more)
    # What is kept is what was launched: it is read back as it was written.
    assert msgspec.json.decode(msgspec.json.encode(run), type=ScaleRun) == run
    return with_points(run).points


def value(one: Estimate | Skipped) -> float:
    assert isinstance(one, Estimate), one
    return one.value


def test_speedup_is_against_the_fewest_nodes_of_the_same_block() -> None:
    """The machine is half as fast in block two: what both have in common is no effect."""
    launches = [launch(block, arm, (block + 1) * s) for block in (0, 1)
                for arm, s in enumerate((8.0, 4.0, 2.5))]  # fmt: skip
    one, two, four = points(launches, 2)
    assert value(one.speedup) == pytest.approx(1.0)
    assert value(two.speedup) == pytest.approx(2.0)
    assert value(four.speedup) == pytest.approx(3.2)
    assert value(four.efficiency) == pytest.approx(0.8)
    assert isinstance(four.speedup, Estimate)
    assert (four.speedup.low, four.speedup.high) == pytest.approx((3.2, 3.2))
    assert (four.ranks, four.outcome, one.outcome) == (8, Outcome.PASS, Outcome.SKIPPED)


def test_a_launch_on_another_network_is_no_figure() -> None:
    launches = [launch(0, 0, 8.0), launch(0, 1, 1.0, Outcome.INVALID), launch(1, 0, 8.0),
                launch(1, 1, 4.0)]  # fmt: skip
    two = points(launches)[1]
    assert two.outcome is Outcome.INVALID
    assert value(two.speedup) == pytest.approx(2.0)


def test_what_broke_has_a_reason() -> None:
    why = Skipped("rank 1 was killed")
    broken = ScaleLaunch(0, 2, ("c1",) * 4, "broken", why.reason, why, why)
    four: ScalePoint = points([launch(0, 0, 8.0), broken])[2]
    assert four.outcome is Outcome.INCONCLUSIVE
    assert four.time == Skipped("rank 1 was killed")
    assert four.speedup == Skipped("rank 1 was killed")


TOKENS = Metric("tokens/s", "throughput: ([0-9.,]+)")


def with_metric(launch: ScaleLaunch, figure: float | Skipped) -> ScaleLaunch:
    return msgspec.structs.replace(launch, metric=figure)


def test_weak_scaling_is_the_time_of_the_fewest_nodes_over_the_time() -> None:
    launches = [launch(0, arm, time_s) for arm, time_s in enumerate((8.0, 8.0, 10.0))]
    _, two, four = points(launches, weak=True)
    assert (value(two.speedup), value(two.efficiency)) == pytest.approx((2.0, 1.0))
    assert (value(four.speedup), value(four.efficiency)) == pytest.approx((3.2, 0.8))


def test_more_of_a_metric_is_better_and_its_time_plays_no_part() -> None:
    launches = [
        with_metric(launch(0, arm, 8.0), figure) for arm, figure in enumerate((100.0, 180.0, 300.0))
    ]
    _, two, four = points(launches, metric=TOKENS)
    assert (value(two.speedup), value(two.efficiency)) == pytest.approx((1.8, 0.9))
    assert (value(four.efficiency), value(four.time)) == pytest.approx((0.75, 8.0))
    assert four.metric is not None and value(four.metric) == 300.0


def test_a_launch_without_the_metric_has_a_reason() -> None:
    missing = find_metric(TOKENS, ["step 1", "loss: 2.1"])
    launches = [with_metric(launch(0, 0, 8.0), 100.0), with_metric(launch(0, 1, 4.0), missing)]
    two = points(launches, metric=TOKENS)[1]
    assert isinstance(missing, Skipped) and "tokens/s" in missing.reason
    assert two.metric == two.speedup == missing
    assert value(two.time) == 4.0


@given(st.lists(st.floats(0.01, 1e9), min_size=1, max_size=5))
def test_the_last_figure_of_the_output_counts(figures: list[float]) -> None:
    lines = [
        f"step {step} throughput: {figure:.2f} tokens/s" for step, figure in enumerate(figures)
    ]
    found = find_metric(TOKENS, lines)
    expected = round(figures[-1], 2)
    assert found == pytest.approx(expected, rel=1e-9) if expected else isinstance(found, Skipped)


def test_thousands_may_have_commas() -> None:
    assert find_metric(TOKENS, ["throughput: 12,345.5"]) == 12345.5
    assert find_metric(TOKENS, ["throughput: 1,234,567.8"]) == 1234567.8
    assert find_metric(TOKENS, ["throughput: 1,234"]) == 1234.0
    assert isinstance(find_metric(TOKENS, ["throughput: 0.0"]), Skipped)


@pytest.mark.parametrize("figure", ["12,5", "0,125", "1.234,5", "1,2345", "1234,567", "1,23,456"])
def test_another_comma_is_refused_with_the_text(figure: str) -> None:
    found = find_metric(TOKENS, [f"throughput: {figure} tokens/s"])
    assert isinstance(found, Skipped)
    assert repr(figure) in found.reason
    assert "1,234.5" in found.reason


@pytest.mark.parametrize("text", ["tokens", "=([0-9]+)", "a=(b", "a=no group", "a=(x)(y)"])
def test_a_metric_without_name_or_group_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_metric(text)


def test_the_problem_grows_with_nodes_and_ranks() -> None:
    mpi = Mpi("openmpi", "4.1", Path("mpicxx"), Path("mpiexec"))
    app = Application(("app", "-n={ranks}", "x{nodes}y"), mpi, Path("lib"), ("c1",), 4, 1.0, True)
    assert app.command_for(3) == ("app", "-n=12", "x3y")
