"""What a broken launch lost, and what TCP had to send again."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge.test_network_faults import samples_run

from fabricgauge.model.measurement import NO_SEGMENTS, Measurement
from fabricgauge.model.run import ChangeKind, Run
from fabricgauge.model.verdict import Outcome


def broken_by(change: str, *kinds: ChangeKind) -> Run:
    whole = planted.sound_launches()[0]
    ended = msgspec.structs.replace(
        whole.ended, status="timeout", changes=(change,), change_kinds=kinds
    )
    lost = msgspec.structs.replace(whole, measurements=whole.measurements[:2], ended=ended)
    return planted.run((lost,), plan=planted.plan_of((whole,)))


@pytest.mark.parametrize(
    ("change", "outcome", "word"),
    [
        ("c2:eth0 (net1) has lost its carrier: the cable is gone", Outcome.FAIL, "cable"),
        ("c2:eth0 (net1) is down: it was switched off", Outcome.FAIL, "cable"),
        ("c2:eth0 (net1) has lost its address 10.77.0.12", Outcome.FAIL, "address"),
        (
            "c2 cannot be reached since discovery: ssh: Network is down", Outcome.INCONCLUSIVE,
            "unreachable",
        ),
        ("c2 was rebooted since discovery", Outcome.INCONCLUSIVE, "restarted"),
        ("c2:eth0 (net1) has MTU 1400 now, discovery found 1500", Outcome.WARN, "settings"),
    ],
)  # fmt: skip
def test_link_tells_a_lost_link_from_a_lost_node_and_a_changed_setting(
    change: str, outcome: Outcome, word: str
) -> None:
    (verdict,) = planted.by_rule(planted.verdicts(broken_by(change)), "link")
    assert (verdict.outcome, word in verdict.cause) == (outcome, True)
    assert ("went down under load" in verdict.cause) is (word == "cable")


@pytest.mark.parametrize(("kind", "outcome"), [
    ("link", Outcome.FAIL), ("address", Outcome.FAIL), ("node", Outcome.INCONCLUSIVE),
    ("setting", Outcome.WARN),
])  # fmt: skip
@pytest.mark.parametrize("sentence", ["it is another way", "c2 cannot be reached", "eth0 is down"])
def test_how_a_change_is_worded_decides_nothing(
    sentence: str, kind: ChangeKind, outcome: Outcome
) -> None:
    (verdict,) = planted.by_rule(planted.verdicts(broken_by(sentence, kind)), "link")
    assert (verdict.outcome, verdict.evidence) == (outcome, (sentence,))


def losing(every: int, of: Run, arrived: float = 0.0) -> Run:
    """One of so many segments from c1 is sent again; a share of these had arrived."""

    def again(measurement: Measurement) -> Measurement:
        first, second = (measurement.sockets_of(rank) for rank in (0, 1))
        count = first[0].sent_bytes // first[0].segment_bytes // every
        told = {"retransmitted_segments": count, "spurious_segments": round(arrived * count)}
        lossy = msgspec.structs.replace(first[0], **told)
        return msgspec.structs.replace(measurement, sockets=((lossy,), second))

    return msgspec.structs.replace(of, launches=tuple(planted.changed(of.launches, again)))


def test_errors_warn_when_tcp_sends_many_segments_again_and_name_direction_and_share() -> None:
    given = planted.verdicts(losing(200, planted.run()))
    verdict = planted.the(given, "errors", Outcome.WARN)
    assert verdict.summary.startswith("c1 → c2: TCP lost")
    assert "(0.5 %)" in verdict.summary
    few = planted.verdicts(losing(20_000, planted.run()))
    assert planted.outcomes(few, "errors") == {Outcome.PASS}


def test_what_a_busy_host_had_and_answered_late_is_no_loss() -> None:
    """Of 2 % that are sent again all but 0.04 % had arrived: neither rule tells of the network."""
    late = planted.verdicts(losing(50, planted.run(), arrived=0.98))
    assert planted.outcomes(late, "errors") == {Outcome.PASS}
    assert Outcome.FAIL not in planted.outcomes(late, "lossy")
    lost = planted.verdicts(losing(50, planted.run(), arrived=0.5))
    assert planted.outcomes(lost, "errors") == {Outcome.WARN}
    assert planted.outcomes(lost, "lossy") == {Outcome.FAIL}


def test_segments_are_counted_and_not_reckoned_from_octets_where_the_kernel_tells() -> None:
    """Messages of 8 bytes have a segment each."""
    seen = planted.sound_launches()[0].measurements[0].sockets_of(0)[0]
    small = msgspec.structs.replace(seen, sent_bytes=8_000, segment_bytes=1448, data_segments=1000)
    assert small.segments == 1000
    assert msgspec.structs.replace(small, data_segments=NO_SEGMENTS).segments == 8_000 / 1448


def test_errors_do_not_warn_when_a_handful_of_a_small_run_is_sent_again() -> None:
    small = samples_run(planted.Sample("bandwidth", 128, 0, 1e-4))
    given = planted.verdicts(losing(150, small))
    assert planted.outcomes(given, "errors") == {Outcome.PASS}
    assert "TCP lost" in planted.by_rule(given, "errors")[0].summary


def test_mtu_says_so_when_no_connection_showed_that_tcp_uses_it() -> None:
    run = planted.run(planted.without_sockets(planted.sound_launches()))
    verdict = planted.the(planted.verdicts(run), "mtu", Outcome.PASS)
    assert "unknown if TCP" in verdict.summary
