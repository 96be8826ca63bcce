"""Patterns beyond the default ones: what they decide, and what they must not."""

from collections.abc import Iterable, Sequence

import msgspec
from tests.judge import planted

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import PAIR_PATTERNS, PATTERNS, Epoch, Pattern
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

SLOW = 0.25


def stream(
    pattern: Pattern, fraction: float, origin: int = 0, epoch: Epoch = "flush", threads: int = 1
) -> tuple[Measurement, ...]:
    """A stream of every size at that share of the ceiling, in each of three launches."""
    measured = (
        planted.Sample(pattern, size, origin, planted.median_s("bandwidth", size, fraction))
        for size in planted.SIZES
    )
    return tuple(
        msgspec.structs.replace(planted.measurement(one), epoch=epoch, threads=threads)
        for one in measured
    )


def run(measurements: Sequence[Measurement], beside: Iterable[Measurement] = ()) -> Run:
    every = (*beside, *measurements)
    return planted.run([planted.launch(every, number) for number in (1, 2, 3)])


def sound() -> tuple[Measurement, ...]:
    return tuple(map(planted.measurement, planted.samples()))


def test_every_pattern_of_a_pair_has_words() -> None:
    assert set(PAIR_PATTERNS) <= set(PATTERNS)


def test_a_stream_of_gets_alone_is_judged() -> None:
    good = planted.verdicts(run(stream("get_bandwidth", 0.995)))
    assert planted.outcomes(good, "fraction") == {Outcome.PASS}
    poor = planted.verdicts(run(stream("get_bandwidth", SLOW)))
    assert planted.outcomes(poor, "fraction") == {Outcome.FAIL}


def gets(**sender: float) -> Sequence[Verdict]:
    """Slow gets by c1: its connections are idle, those of c2 send the bytes."""

    def from_c2(one: Measurement) -> Measurement:
        first, second = one.sockets_of(0)[0], one.sockets_of(1)[0]
        told = {"sent_bytes": first.sent_bytes, **sender}
        reader = msgspec.structs.replace(first, sent_bytes=1000, busy_s=0.01)
        ends = ((reader,), (msgspec.structs.replace(second, **told),))
        return msgspec.structs.replace(one, sockets=ends)

    return planted.verdicts(run(tuple(map(from_c2, stream("get_bandwidth", SLOW)))))


def test_of_gets_the_connections_of_the_end_that_sends_are_looked_at() -> None:
    assert Outcome.INCONCLUSIVE not in planted.outcomes(gets(), "host-limited")
    idle = planted.the(gets(busy_s=0.1), "host-limited", Outcome.INCONCLUSIVE)
    assert "the connections of c2 had data under way for only 20.0 %" in " ".join(idle.evidence)
    held = planted.by_rule(gets(busy_s=0.1, rwnd_limited_s=0.09), "host-limited")
    assert "window stopped c2" in " ".join(line for one in held for line in one.evidence)
    lost = planted.the(gets(retransmitted_segments=500_000), "fraction", Outcome.FAIL)
    assert "loses segments from c2 to c1" in lost.cause


def test_slow_gets_only_warn_where_a_plain_stream_fills_the_same_direction() -> None:
    found = planted.verdicts(run(stream("get_bandwidth", SLOW), beside=sound()))
    slow = [one for one in planted.by_rule(found, "fraction") if "MPI_Get" in one.summary]
    assert [one.outcome for one in slow] == [Outcome.WARN]


def test_slow_gets_fail_when_only_the_other_direction_is_filled() -> None:
    """A get by c1 carries its bytes from c2 to c1, a plain stream of c1 from c1 to c2."""
    beside = stream("bandwidth", 0.995, origin=0)
    found = planted.verdicts(run(stream("get_bandwidth", SLOW, origin=0), beside))
    slow = [one for one in planted.by_rule(found, "fraction") if "MPI_Get" in one.summary]
    assert [one.outcome for one in slow] == [Outcome.FAIL]


def test_epochs_and_threads_do_not_stand_in_for_the_plain_pattern() -> None:
    others = (
        *stream("put_bandwidth", SLOW, epoch="fence"),
        *stream("put_bandwidth", SLOW, epoch="pscw"),
        *stream("threads_bandwidth", SLOW, threads=4),
        *stream("persistent_bandwidth", SLOW),
    )
    with_them = planted.verdicts(run(others, beside=sound()))
    without = planted.verdicts(run((), beside=sound()))
    assert planted.by_rule(with_them, "fraction") == planted.by_rule(without, "fraction")


def test_a_figure_above_the_ceiling_is_invalid_in_every_pattern() -> None:
    for pattern in ("get_bandwidth", "persistent_bandwidth", "threads_bandwidth"):
        found = planted.verdicts(run(stream(pattern, 3.0), beside=sound()))
        assert planted.outcomes(found, "above-ceiling") == {Outcome.INVALID}, pattern


def test_a_latency_below_the_floor_is_invalid_in_every_pattern() -> None:
    for pattern in ("get_latency", "persistent_latency", "ping_ping", "fetch_and_op_latency"):
        quick = planted.measurement(planted.Sample(pattern, 8, 0, 0.4e-6))
        found = planted.verdicts(run((quick,), beside=sound()))
        assert planted.outcomes(found, "floor") == {Outcome.INVALID}, pattern


def test_a_get_of_nothing_need_not_cross_the_network() -> None:
    empty = planted.measurement(planted.Sample("get_latency", 0, 0, 0.1e-6))
    found = planted.verdicts(run((empty,), beside=sound()))
    assert planted.outcomes(found, "floor") == {Outcome.PASS}
