"""Speed-up and efficiency from launches, block by block."""

import msgspec
import pytest

from fabricgauge.features.application.scale_values import ScaleLaunch, ScalePoint, ScaleRun
from fabricgauge.features.application.scaling import with_points
from fabricgauge.model.absence import Skipped
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


def points(launches: list[ScaleLaunch], ppn: int = 1) -> tuple[ScalePoint, ...]:
    run = ScaleRun(("app",), "net1", ppn, DESIGN, tuple(launches))
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
