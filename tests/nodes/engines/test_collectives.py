"""All ranks in one operation, on each MPI and on 1 to 8 ranks of this machine."""

from collections.abc import Sequence

import pytest
from tests.nodes.engines import launched
from tests.nodes.engines.launched import MANY, measurements, together

from fabricgauge.model.engine import Engine
from fabricgauge.model.measurement import Measurement, Record, Round
from fabricgauge.model.pattern import COLLECTIVE_PATTERNS, CollectivePattern

pytestmark = pytest.mark.engine

#: More ranks than processors wait for their turn inside every operation.
PATIENT = ("--grace", "60")
#: A multiple of 4, as the reductions need it, that is no multiple of the numbers of ranks.
BYTES = 1004
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter")


def size_of(pattern: CollectivePattern) -> int:
    return 0 if pattern.endswith("barrier") else BYTES


def case(pattern: str, size_bytes: int, budget_s: float = 0.01, more: str = "") -> str:
    keys = f"window=1 origin=0 target=0 budget_s={budget_s} {more}".rstrip()
    return f"{pattern}/{size_bytes} pattern={pattern} bytes={size_bytes} {keys}\n"


def records(engine: Engine, ranks: int, cases: Sequence[str], *options: str) -> list[Record]:
    return launched.records(engine, ranks, "".join(cases) + "end\n", *PATIENT, *options)


def measured(engine: Engine, ranks: int, cases: Sequence[str], *options: str) -> list[Measurement]:
    return list(measurements(records(engine, ranks, cases, *options)))


@pytest.mark.parametrize("ranks", [2, 3, 4, MANY])
def test_every_operation_ends_with_its_data_intact(engine: Engine, ranks: int) -> None:
    cases = [case(pattern, size_of(pattern)) for pattern in COLLECTIVE_PATTERNS]
    found = measured(engine, ranks, cases, "--check-data")
    assert [one.pattern for one in found] == list(COLLECTIVE_PATTERNS)
    for one in found:
        assert (one.status, one.reason) == ("ok", ""), one.case
        assert one.data_check.requested and one.data_check.ok, (one.case, one.data_check.detail)
        assert one.samples > 0
        assert together(one).ranks == ranks
        assert together(one).clock in {"synchronised", "barrier"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_figures_agree_with_each_other(engine: Engine, ranks: int) -> None:
    patterns = ("barrier", "bcast", "allreduce", "ialltoall")
    cases = [case(name, 0 if name == "barrier" else 4096, 0.05) for name in patterns]
    for one in measured(engine, ranks, cases):
        times = one.times
        assert times is not None
        assert sum(count for _, count in one.histogram_ps) == one.samples
        assert 0 < times.minimum_s <= times.median_s <= times.p999_s * (1 + 1 / 128)
        assert one.batch == 1
        assert len(together(one).rank_medians_s) == ranks
        assert max(together(one).rank_medians_s) > 0
        assert together(one).clock_error_s >= 0
        # What an operation sends is up to its algorithm.
        assert one.payload_sent_bytes == (0,) * ranks


@pytest.mark.parametrize("pattern", ["ibarrier", "iallreduce", "ialltoallv"])
def test_what_does_not_block_has_an_overlap(engine: Engine, pattern: CollectivePattern) -> None:
    (found,) = measured(engine, 2, [case(pattern, size_of(pattern), 0.1)])
    overlap = together(found).overlap
    assert overlap is None or 0 <= overlap <= 1
    assert together(found).compute_s > 0


def test_what_blocks_has_no_overlap(embedded: Engine) -> None:
    (found,) = measured(embedded, 2, [case("allreduce", 8)])
    assert together(found).overlap is None
    assert together(found).compute_s == 0


def test_a_barrier_on_request_is_labelled_and_needs_no_clock(engine: Engine) -> None:
    (found,) = measured(engine, 3, [case("allreduce", 8, 0.02, "clock=barrier")])
    assert together(found).clock == "barrier"
    assert (together(found).late_starts, together(found).clock_error_s) == (0, 0)


def test_only_the_first_ranks_take_part_when_so_asked(engine: Engine) -> None:
    (found,) = measured(engine, 4, [case("allgather", 64, 0.02, "ranks=3")], "--check-data")
    assert (found.status, found.data_check.ok) == ("ok", True)
    assert len(together(found).rank_medians_s) == together(found).ranks == 3


def test_a_single_rank_is_skipped_with_the_number_it_needs(embedded: Engine) -> None:
    cases = [case(pattern, size_of(pattern)) for pattern in COLLECTIVE_PATTERNS]
    for one in measured(embedded, 1, cases):
        assert one.status == "skipped"
        assert "needs 2 ranks, this launch has 1 rank" in one.reason


@pytest.mark.parametrize("pattern", REDUCTIONS)
def test_a_reduction_of_a_broken_float_is_skipped_with_the_reason(
    embedded: Engine, pattern: str
) -> None:
    (found,) = measured(embedded, 2, [case(pattern, 1003)])
    assert found.status == "skipped"
    assert "multiple of 4 bytes" in found.reason


def test_blocks_that_no_displacement_reaches_are_skipped(embedded: Engine) -> None:
    (found,) = measured(embedded, 2, [case("alltoallv", 2**30)])
    assert found.status == "skipped"
    assert "2 GiB" in found.reason


def test_too_little_memory_fails_the_case_alone(embedded: Engine) -> None:
    huge, small = measured(embedded, 4, [case("alltoall", 2**31 - 1), case("alltoall", 8)])
    assert (huge.status, small.status) == ("failed", "ok")
    assert "too little memory" in huge.reason


@pytest.mark.parametrize("iterations", [1, 7])
def test_iterations_stop_a_case(embedded: Engine, iterations: int) -> None:
    (found,) = measured(embedded, 2, [case("bcast", 64, 20.0)], "--iterations", str(iterations))
    assert found.stop == "iterations"
    assert found.samples + found.warmup_samples == iterations


def test_pairs_of_a_round_robin_compare_their_two_ways(engine: Engine) -> None:
    found = records(engine, 3, [case("all_pairs_latency", 8, 0.01)])
    rounds = [one for one in found if isinstance(one, Round)]
    assert len(rounds) == 3
    for one in rounds:
        assert len(one.one_way_ps) == len(one.origins) == 1
        # All ranks of one machine read one clock.
        assert one.clock_error_s == 0


def test_pairs_that_stream_have_no_one_way_times(embedded: Engine) -> None:
    found = records(embedded, 2, [case("all_pairs_bandwidth", 4096, 0.01)])
    assert [one.one_way_ps for one in found if isinstance(one, Round)] == [()]
