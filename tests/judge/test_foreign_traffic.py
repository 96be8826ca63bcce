"""Other traffic on a node's links is told, accounts for what it can, and hides no fault."""

from collections.abc import Iterable

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.judging import overall
from fabricgauge.model.measurement import InterfaceCounters, Measurement, NodeCounters, Socket
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

LINE_BYTES_PER_S = planted.RATE / 8


def beside(
    launches: Iterable[Launch], node: str, *, sent: float = 0.0, received: float = 0.0
) -> list[Launch]:
    """The launches; others' bytes crossed the node's eth0 at these shares of the line rate."""

    def changed(one: Measurement) -> Measurement:
        line = LINE_BYTES_PER_S * one.wall_s
        return msgspec.structs.replace(
            one,
            counters=tuple(
                _more(counters, sent * line, received * line) if counters.host == node else counters
                for counters in one.counters
            ),
        )

    return planted.changed(launches, changed)


def _more(counters: NodeCounters, sent: float, received: float) -> NodeCounters:
    eth0 = counters.after["eth0"]
    more = msgspec.structs.replace(
        eth0, tx_bytes=eth0.tx_bytes + int(sent), rx_bytes=eth0.rx_bytes + int(received)
    )
    return msgspec.structs.replace(counters, after={**counters.after, "eth0": more})


def with_received(launches: Iterable[Launch]) -> list[Launch]:
    """The launches; interfaces count what their connections received."""

    def changed(one: Measurement) -> Measurement:
        each = []
        for counters in one.counters:
            octets = sum(socket.received_bytes for socket in one.sockets_of(counters.rank))
            each.append(_more(counters, 0, octets))
        return msgspec.structs.replace(one, counters=tuple(each))

    return planted.changed(launches, changed)


def slow_to_c2(share: float) -> list[Launch]:
    """Three launches in which c2 receives at that share of the ceiling, and sends at all of it."""
    usual = {one for one in planted.samples() if one.origin == 1}
    slowed = [one for one in planted.samples(share) if one.origin == 0]
    samples = (*slowed, *usual)
    made = [planted.launch(map(planted.measurement, samples), number) for number in (1, 2, 3)]
    return with_received(made)


def of_stream(verdicts: Iterable[Verdict], rule: str, names: tuple[str, ...]) -> set[Outcome]:
    return {
        one.outcome
        for one in planted.by_rule(verdicts, rule)
        if one.about.names == names and "bidirectional" not in one.about.series
    }


def test_a_network_without_other_traffic_passes() -> None:
    run = planted.run(with_received(planted.sound_launches()))
    verdicts = planted.verdicts(run)
    assert planted.outcomes(verdicts, "foreign-traffic") == {Outcome.PASS}
    assert overall(verdicts) is Outcome.PASS


@pytest.mark.parametrize(
    ("sent", "received", "part"),
    [(0.0, 0.3, "receiver"), (0.2, 0.0, "sender"), (0.2, 0.3, "node")],
)
def test_the_node_and_the_direction_are_told(sent: float, received: float, part: str) -> None:
    launches = beside(with_received(planted.sound_launches()), "c2", sent=sent, received=received)
    verdicts = planted.verdicts(planted.run(launches))
    verdict = planted.the(verdicts, "foreign-traffic", Outcome.WARN)
    assert (verdict.about.kind, verdict.about.names) == (part, ("c2",))
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(max(sent, received), abs=0.01)
    assert overall(verdicts) is Outcome.WARN


def test_a_stream_that_competes_with_others_is_undecided() -> None:
    launches = beside(slow_to_c2(0.19), "c2", received=0.7)
    verdicts = planted.verdicts(planted.run(launches))
    assert of_stream(verdicts, "fraction", ("c1", "c2")) == {Outcome.INCONCLUSIVE}


def test_a_stream_that_shares_its_link_with_others_is_undecided() -> None:
    launches = beside(slow_to_c2(0.69), "c2", received=0.3)
    verdicts = planted.verdicts(planted.run(launches))
    assert of_stream(verdicts, "fraction", ("c1", "c2")) == {Outcome.INCONCLUSIVE}
    assert of_stream(verdicts, "fraction", ("c2", "c1")) == {Outcome.PASS}
    verdict = planted.the(verdicts, "fraction", Outcome.INCONCLUSIVE)
    assert any("30.0 % of the line rate" in line for line in verdict.evidence)
    assert "other traffic" in verdict.cause
    assert Outcome.FAIL not in {one.outcome for one in verdicts}


@pytest.mark.parametrize(
    ("share", "received"),
    [(0.69, 0.0), (0.69, 0.04), (0.3, 0.3), (0.6, 0.2), (0.2, 0.6)],
    ids=("alone", "too little", "c2 at 0.6", "c2 at 0.8", "c2 at 0.8, mostly others'"),
)
def test_a_slow_link_fails_beside_other_traffic_that_does_not_fill_it(
    share: float, received: float
) -> None:
    launches = beside(slow_to_c2(share), "c2", received=received)
    verdicts = planted.verdicts(planted.run(launches))
    assert of_stream(verdicts, "fraction", ("c1", "c2")) == {Outcome.FAIL}


def test_traffic_the_other_way_takes_only_what_acknowledgements_lose() -> None:
    for share, outcome in ((0.8, Outcome.INCONCLUSIVE), (0.6, Outcome.FAIL)):
        launches = beside(slow_to_c2(share), "c2", sent=0.5)
        verdicts = planted.verdicts(planted.run(launches))
        assert of_stream(verdicts, "fraction", ("c1", "c2")) == {outcome}


def _losing(launches: Iterable[Launch]) -> list[Launch]:
    """The launches; TCP lost 2 % of the segments of large messages from c1 to c2."""

    def lost(socket: Socket) -> Socket:
        segments = socket.sent_bytes // socket.segment_bytes
        return msgspec.structs.replace(socket, retransmitted_segments=segments // 50)

    def changed(one: Measurement) -> Measurement:
        if one.origin != 0 or one.pattern == "bidirectional_bandwidth":
            return one
        sockets = (tuple(map(lost, one.sockets_of(0))), *one.sockets[1:])
        return msgspec.structs.replace(one, sockets=sockets)

    return planted.changed(launches, changed)


def test_losses_on_a_link_that_others_fill_accuse_nobody() -> None:
    losing = _losing(slow_to_c2(0.5))
    alone = planted.verdicts(planted.run(losing))
    assert of_stream(alone, "lossy", ("c1", "c2")) == {Outcome.FAIL}
    full = planted.verdicts(planted.run(beside(losing, "c2", received=0.48)))
    assert of_stream(full, "lossy", ("c1", "c2")) == {Outcome.INCONCLUSIVE}
    assert Outcome.FAIL not in {one.outcome for one in full}
    some = planted.verdicts(planted.run(beside(losing, "c2", received=0.2)))
    assert of_stream(some, "lossy", ("c1", "c2")) == {Outcome.FAIL}


def test_counters_that_others_alone_account_for_prove_no_path() -> None:
    launches = planted.without_sockets(planted.sound_launches())
    payload = max(
        sum(sum(one.payload_sent_bytes) for one in launch.measurements) for launch in launches
    )
    seconds = sum(one.wall_s for one in launches[0].measurements)
    share = payload / (LINE_BYTES_PER_S * seconds)
    verdicts = planted.verdicts(planted.run(beside(launches, "c1", sent=1.2 * share)))
    verdict = planted.the(verdicts, "path", Outcome.INCONCLUSIVE)
    assert "other traffic" in verdict.summary
    by_tcp = beside(planted.sound_launches(), "c1", sent=1.2 * share)
    assert planted.outcomes(planted.verdicts(planted.run(by_tcp)), "path") == {Outcome.PASS}


def _everybody(count: int) -> list[tuple[int, int]]:
    return [(one, other) for one in range(count) for other in range(count) if one != other]


def _run_of_four(share: float, received: float, times: float = 1.0) -> Run:
    """c3 receives at a share of what it should, and others' bytes at a share of the line rate."""

    def shares(origin: int, target: int) -> float:
        return many.sound(origin, target) * (share if target == 2 else 1.0)

    def latencies(origin: int, target: int) -> float:
        return many.even(origin, target) * (times if 2 in (origin, target) else 1.0)

    first = many.launch(4, many.rounds(4, shares, latencies))
    again = many.again(4, _everybody(4), shares, latencies)
    counted = [
        msgspec.structs.replace(
            one,
            counters=tuple(
                NodeCounters(
                    rank, f"c{rank + 1}", {"eth0": planted.NO_TRAFFIC},
                    {"eth0": InterfaceCounters(0, 0, 0, 0, 0, 0, 0, 0)},
                )
                for rank in range(4)
            ),
        )
        for one in again.measurements
    ]  # fmt: skip
    again = msgspec.structs.replace(again, measurements=tuple(counted))
    return many.run(first, *beside([again], "c3", received=received))


@pytest.mark.parametrize(
    ("share", "received", "outcome"),
    [
        (0.75, 0.0, Outcome.FAIL),
        (0.75, 0.25, Outcome.INCONCLUSIVE),
        (0.3, 0.25, Outcome.FAIL),
    ],
)
def test_a_node_is_not_named_for_what_others_send_to_it(
    share: float, received: float, outcome: Outcome
) -> None:
    verdicts = many.verdicts(_run_of_four(share, received))
    verdict = planted.the(verdicts, "outliers", outcome)
    if outcome is Outcome.FAIL:
        assert verdict.about.names == ("c3",)
        return
    assert verdict.about.names == ()
    assert "other traffic" in verdict.cause
    assert Outcome.FAIL not in {one.outcome for one in verdicts}
    assert planted.the(verdicts, "outliers", Outcome.SKIPPED).about.names == ("c3",)


def test_a_latency_that_other_traffic_delays_names_nobody() -> None:
    alone = many.verdicts(_run_of_four(1.0, 0.0, times=2.0))
    assert planted.outcomes(alone, "outliers") == {Outcome.FAIL}
    full = many.verdicts(_run_of_four(1.0, 0.2, times=2.0))
    assert planted.outcomes(full, "outliers") == {Outcome.INCONCLUSIVE, Outcome.SKIPPED}
