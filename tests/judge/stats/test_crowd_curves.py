"""Curves of what many ranks do together, in the form of other suites' results."""

from tests.report import fabric_sample

from fabricgauge.compare.matching import match
from fabricgauge.judge.stats.curves import suite_curves
from fabricgauge.model.suite import SuiteCurve


def found(nodes: int = 8) -> tuple[SuiteCurve, ...]:
    return suite_curves(fabric_sample.judged(fabric_sample.names(nodes)).run)


def of(pattern: str) -> list[SuiteCurve]:
    return [one for one in found() if one.pattern == pattern]


def test_a_collective_is_a_curve_for_each_number_of_ranks() -> None:
    curves = of("allreduce")
    assert [one.ranks for one in curves] == [2, 3, 4, 8]
    assert curves[-1].title == "MPI_Allreduce, 8 ranks"
    assert [point.message_bytes for point in curves[-1].points] == [8, 1024, 65536, 1 << 20]
    assert curves[-1].quantity == "time"
    assert curves[-1].points[0].estimate.value > 0


def test_a_barrier_has_no_size() -> None:
    assert [point.message_bytes for one in of("barrier") for point in one.points] == [None] * 4


def test_loads_are_told_apart() -> None:
    curves = of("loaded_latency")
    loads = [one.settings.get("load", "") for one in curves]
    assert loads == ["", "all_to_all", "incast", "permutation"]
    assert curves[2].title == "half round trip under load, 8 ranks, incast"


def test_streams_has_many_pairs_are_rates() -> None:
    assert {one.quantity for one in of("multi_bandwidth")} == {"bandwidth"}
    assert [one.pairs for one in of("multi_bandwidth")] == [1, 2, 4]


def test_every_curve_of_a_run_is_held_against_its_own_of_another_run() -> None:
    a, b = found(), found()
    matched, alone = match(a, b)
    assert not alone
    assert [(a.index(x), b.index(y)) for x, y in matched if a.index(x) != b.index(y)] == []
    assert len(matched) == len(a)
