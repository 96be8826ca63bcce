"""What all nodes do at once is held against their pairs, unless their hosts waited."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.model.measurement import ConcurrentResult, Measurement
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

COUNT = 4
RATE = planted.CEILING_BYTES_PER_S
SIZE = 1 << 20


def case(
    pattern: Pattern, seconds: float, delay: float = 0.0, *, waiting: bool = False
) -> Measurement:
    """A case of all ranks with a message of 1 MiB."""
    like = planted.measurement(planted.Sample("bandwidth", SIZE, 0, seconds))
    return msgspec.structs.replace(
        like,
        case=f"{pattern}/{SIZE}",
        pattern=pattern,
        sample_payload_bytes=SIZE,
        payload_sent_bytes=(0,) * COUNT,
        counters=(),
        sockets=(),
        together=ConcurrentResult(COUNT, 0, "barrier", 0.0, 0, (seconds,) * COUNT),
        processors=tuple(
            msgspec.structs.replace(planted.QUIET, rank=rank, run_delay_s=delay * like.wall_s)
            for rank in range(COUNT)
        ),
        waiting=waiting,
    )


def run_of(*cases: Measurement) -> Run:
    launch: Launch = many.launch(COUNT, many.rounds(COUNT))
    return many.run(msgspec.structs.replace(launch, measurements=(*launch.measurements, *cases)))


def judged(run: Run) -> Verdict:
    (verdict,) = planted.by_rule(many.verdicts(run), "concurrent")
    return verdict


@pytest.mark.parametrize(
    ("pattern", "messages", "outcome", "limit"),
    [
        ("bisection", 1.15, Outcome.PASS, "bisection"),
        ("bisection", 2.1, Outcome.PASS, "bisection"),
        ("bisection", 3.0, Outcome.WARN, "bisection"),
        ("alltoall", 4.0, Outcome.PASS, "collective"),
        ("alltoall", 24.0, Outcome.WARN, "collective"),
        ("allreduce", 6.0, Outcome.PASS, "collective"),
        ("allreduce", 20.0, Outcome.WARN, "collective"),
    ],
)
def test_figures_are_held_against_the_pairs(
    pattern: Pattern, messages: float, outcome: Outcome, limit: str
) -> None:
    """``messages`` is how many the time lasts for on a link of full rate."""
    verdict = judged(run_of(case(pattern, messages * SIZE / RATE)))
    assert verdict.outcome is outcome
    assert verdict.threshold is not None
    assert f"concurrent.{limit}" in verdict.threshold.origin


def test_hosts_that_waited_leave_it_undecided() -> None:
    slow = case("bisection", 5 * SIZE / RATE, delay=0.5)
    assert judged(run_of(slow)).outcome is Outcome.SKIPPED
    assert judged(run_of(case("bisection", 5 * SIZE / RATE, 0.1))).outcome is Outcome.WARN
    waited = case("bisection", 5 * SIZE / RATE, 0.1, waiting=True)
    assert judged(run_of(waited)).outcome is Outcome.SKIPPED


def test_ranks_that_share_a_node_are_not_judged() -> None:
    run = run_of(case("bisection", 5 * SIZE / RATE))
    (launch,) = run.launches
    shared = msgspec.structs.replace(launch, nodes=("c1", "c1", "c2", "c2"))
    assert judged(msgspec.structs.replace(run, launches=(shared,))).outcome is Outcome.SKIPPED


def test_without_such_cases_there_is_no_verdict() -> None:
    assert planted.by_rule(many.verdicts(run_of()), "concurrent") == ()
