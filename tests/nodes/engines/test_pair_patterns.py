"""The patterns of one pair of ranks, on each MPI and among ranks that take no part."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from tests.nodes.engines.launched import measured

from fabricgauge.check.plan.cases import ATOMICS, EPOCHS, INTEGER_BYTES
from fabricgauge.model.engine import Engine
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import (
    BUFFERED_PATTERNS,
    BUFFERS,
    LATENCY_PATTERNS,
    ONE_SIDED_PATTERNS,
    PAIR_PATTERNS,
    THREADED_PATTERNS,
    Buffers,
    Epoch,
    PairPattern,
)
from fabricgauge.model.plan import Case

pytestmark = pytest.mark.engine

BYTES = 1000
WINDOW = 4

#: More ranks than processors may need long for a case.
PATIENT = ("--grace", "60")

#: Who sends to whom among how many: neighbours, backwards, and apart.
EIGHT = pytest.param(8, 7, 2, marks=pytest.mark.slow)
PLACES = [(2, 0, 1), (2, 1, 0), (3, 2, 0), (4, 1, 3), EIGHT]


def case(pattern: PairPattern, origin: int, target: int, **more: object) -> Case:
    size = INTEGER_BYTES if pattern in ATOMICS else BYTES
    window = 1 if pattern in LATENCY_PATTERNS else WINDOW
    detail = "".join(f"/{value}" for value in more.values())
    plain = Case(f"{pattern}{detail}", pattern, size, window, origin, target, budget_s=0.02)
    return msgspec.structs.replace(plain, **more)


def every_case(origin: int, target: int) -> Iterator[Case]:
    """All patterns that a launch without threads can measure, under each epoch."""
    for pattern in PAIR_PATTERNS:
        epochs: Sequence[Epoch] = EPOCHS if pattern in ONE_SIDED_PATTERNS else ("flush",)
        if pattern not in THREADED_PATTERNS:
            yield from (case(pattern, origin, target, epoch=epoch) for epoch in epochs)


def assert_sent(found: Measurement) -> None:
    """Every rank says that it sent what the samples needed of it, and no idle rank sent."""
    samples = found.samples * found.batch
    if found.pattern == "threads_latency":
        samples //= found.threads  # each thread's are counted
    least = samples * found.sample_payload_bytes
    backwards = found.pattern in ("get_latency", "get_bandwidth")
    both = "latency" in found.pattern and not found.pattern.startswith(("put", "get", "acc"))
    both = both or found.pattern in ("ping_ping", "bidirectional_bandwidth")
    sent = found.payload_sent_bytes
    assert sent[found.target if backwards else found.origin] >= least
    assert (sent[found.origin if backwards else found.target] >= least) == both
    idle = set(range(len(sent))) - {found.origin, found.target}
    assert all(sent[rank] == 0 for rank in idle)


@pytest.mark.parametrize(("ranks", "origin", "target"), PLACES)
def test_every_pattern_brings_its_data_intact(
    engine: Engine, ranks: int, origin: int, target: int
) -> None:
    cases = list(every_case(origin, target))
    found = measured(engine, ranks, cases, "--check-data", *PATIENT)
    assert [(one.pattern, one.epoch) for one in found] == [(c.pattern, c.epoch) for c in cases]
    for one in found:
        assert (one.status, one.reason) == ("ok", ""), one.case
        assert one.samples > 0 and one.times is not None
        assert one.data_check.requested and one.data_check.ok, one.data_check.detail
        assert len(one.payload_sent_bytes) == ranks
        assert_sent(one)


def test_every_pattern_counts_what_it_sends(engine: Engine) -> None:
    for one in measured(engine, 2, list(every_case(0, 1)), *PATIENT):
        assert one.status == "ok"
        window = 1 if one.pattern in LATENCY_PATTERNS else WINDOW
        assert one.sample_payload_bytes == one.message_bytes * window
        assert_sent(one)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("options", [(), ("--check-data",)])
def test_threads_are_measured_where_mpi_allows_them(
    engine: Engine, ranks: int, options: tuple[str, ...]
) -> None:
    cases = [
        case(pattern, ranks - 1, 0, threads=threads)
        for pattern in ("threads_latency", "threads_bandwidth")
        for threads in (1, 2)
    ]
    found = measured(engine, ranks, cases, "--thread-multiple", *options, *PATIENT)
    for one, threads in zip(found, (1, 2, 1, 2), strict=True):
        assert (one.status, one.reason, one.threads) == ("ok", "", threads)
        assert one.data_check.ok, one.data_check.detail
        assert_sent(one)
    assert found[3].sample_payload_bytes == 2 * found[2].sample_payload_bytes


def test_threads_are_skipped_with_the_option_that_they_need(engine: Engine) -> None:
    (found,) = measured(engine, 2, [case("threads_latency", 0, 1, threads=2)])
    assert found.status == "skipped"
    assert "start the engine with --thread-multiple" in found.reason


def test_one_rank_skips_every_pattern_with_the_number_it_needs(embedded: Engine) -> None:
    found = measured(embedded, 1, list(every_case(0, 1)))
    assert len(found) == len(list(every_case(0, 1)))
    for one in found:
        assert (one.status, one.times) == ("skipped", None)
        assert "needs 2 ranks, this launch has 1 rank" in one.reason


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (case("accumulate_latency", 0, 1, message_bytes=12), "12 B is no multiple"),
        (case("fetch_and_op_latency", 0, 1, message_bytes=16), "not on 16 B"),
        (case("compare_and_swap_latency", 0, 1, message_bytes=4), "not on 4 B"),
        (case("latency", 0, 1, threads=2), "leave out threads=2"),
        (case("bandwidth", 0, 1, epoch="fence"), "leave out epoch=fence"),
        (case("put_bandwidth", 0, 1, buffers="multiple"), "leave out buffers=multiple"),
    ],
)
def test_what_a_pattern_cannot_do_is_skipped_and_the_launch_goes_on(
    embedded: Engine, wrong: Case, why: str
) -> None:
    found = measured(embedded, 2, [wrong, case("latency", 0, 1)])
    assert [one.status for one in found] == ["skipped", "ok"]
    assert why in found[0].reason


@pytest.mark.parametrize("buffers", BUFFERS)
def test_messages_arrive_in_any_buffers_and_the_record_names_them(
    engine: Engine, buffers: Buffers
) -> None:
    patterns = sorted(set(PAIR_PATTERNS) & BUFFERED_PATTERNS - THREADED_PATTERNS)
    cases = [case(pattern, 0, 1, buffers=buffers) for pattern in patterns]
    for found in measured(engine, 2, cases, *PATIENT):
        assert (found.status, found.reason, found.buffers) == ("ok", "", buffers)
        assert found.data_check.ok and found.data_check.samples == 1, found.data_check.detail
        assert_sent(found)


def test_a_number_of_samples_is_kept_to_by_all_threads_together(embedded: Engine) -> None:
    cases = [case("threads_latency", 0, 1, threads=2, budget_s=20.0)]
    (found,) = measured(embedded, 2, cases, "--thread-multiple", "--iterations", "50")
    assert found.stop == "iterations"
    assert found.samples + found.warmup_samples >= 50


def test_an_empty_message_can_be_sent_in_every_pattern_that_has_one(embedded: Engine) -> None:
    cases = [
        msgspec.structs.replace(one, message_bytes=0)
        for one in every_case(0, 1)
        if one.pattern not in ATOMICS
    ]
    assert {one.status for one in measured(embedded, 2, cases, "--check-data")} == {"ok"}
