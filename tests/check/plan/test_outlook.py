import pytest
from tests.check.plan.asked import Coverage, coverage, planned, target

from fabricgauge.check.plan.outlook import estimated_s
from fabricgauge.model.plan import Case, Plan, PlannedLaunch, Stopping


def case(pattern: str, **options: object) -> Case:
    return Case(pattern, pattern, 8, 1, 0, 1, 0.5, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "ranks", "round_s", "longest_s"),
    [
        (case("allreduce"), 8, 0.5, 0.5),
        (case("all_pairs_latency"), 8, 0.5, 7 * 0.5),
        (case("all_pairs_latency"), 7, 0.5, 7 * 0.5),
        (case("all_pairs_latency", concurrent=1), 8, 4 * 0.5, 7 * 4 * 0.5),
        (case("all_pairs_latency", concurrent=3), 8, 2 * 0.5, 7 * 2 * 0.5),
        (case("all_pairs_latency", concurrent=99), 8, 0.5, 7 * 0.5),
        (case("all_pairs_bandwidth"), 8, 2 * 0.5, 7 * 2 * 0.5),
        (case("all_pairs_bandwidth", rounds=(1, 4)), 8, 2 * 0.5, 2 * 2 * 0.5),
        (case("all_pairs_bandwidth", ranks=4, concurrent=1), 8, 4 * 0.5, 3 * 4 * 0.5),
    ],
)
def test_rounds_turns_and_directions_are_in_the_budget(
    made: Case, ranks: int, round_s: float, longest_s: float
) -> None:
    assert made.round_s(ranks) == pytest.approx(round_s)
    assert made.longest_s(ranks) == pytest.approx(longest_s)
    launch = PlannedLaunch(1, None, None, tuple(map(str, range(ranks))), (made, case("bcast")))
    plan = Plan("quick", Stopping(0.01, 0.95), False, (launch,))
    assert plan.budget_s == pytest.approx(longest_s + 0.5)
    assert estimated_s(plan.launches) > plan.budget_s


def test_coverage_is_that_of_all_launches_together() -> None:
    nodes = tuple(map(str, range(9)))
    launches = tuple(
        PlannedLaunch(number, "net1", None, nodes, (case("all_pairs_latency", rounds=rounds),))
        for number, rounds in ((1, (0, 4)), (2, (4, 8)))
    )
    (found,) = coverage(Plan("quick", Stopping(0.01, 0.95), False, launches))
    assert found == Coverage("net1", "all_pairs_latency", 9, 3)
    assert found.share == pytest.approx(3 / 9)
    assert found.partners == 2  # one of the nine has a bye in each round


def test_a_plan_of_few_nodes_covers_everything() -> None:
    for one in coverage(planned(5, target())):
        assert one.share == 1.0
        assert one.partners == 4
