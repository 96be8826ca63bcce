"""What a broken launch lost, and what TCP had to send again."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge.test_network_faults import samples_run

from fabricgauge.model.measurement import Measurement
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
            "could not be looked at",
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


def losing(every: int, of: Run) -> Run:
    """One of so many segments from c1 has to be sent again."""

    def again(measurement: Measurement) -> Measurement:
        first, second = (measurement.sockets_of(rank) for rank in (0, 1))
        count = first[0].sent_bytes // first[0].segment_bytes // every
        lossy = msgspec.structs.replace(first[0], retransmitted_segments=count)
        return msgspec.structs.replace(measurement, sockets=((lossy,), second))

    return msgspec.structs.replace(of, launches=tuple(planted.changed(of.launches, again)))


def test_errors_warn_when_tcp_sends_many_segments_again_and_name_direction_and_share() -> None:
    given = planted.verdicts(losing(200, planted.run()))
    verdict = planted.the(given, "errors", Outcome.WARN)
    assert verdict.summary.startswith("c1 → c2: TCP sent")
    assert "(0.5 %)" in verdict.summary
    few = planted.verdicts(losing(20_000, planted.run()))
    assert planted.outcomes(few, "errors") == {Outcome.PASS}


def test_errors_do_not_warn_when_a_handful_of_a_small_run_is_sent_again() -> None:
    small = samples_run(planted.Sample("bandwidth", 128, 0, 1e-4))
    given = planted.verdicts(losing(150, small))
    assert planted.outcomes(given, "errors") == {Outcome.PASS}
    assert "segments again" in planted.by_rule(given, "errors")[0].summary


def test_mtu_says_so_when_no_connection_showed_that_tcp_uses_it() -> None:
    run = planted.run(planted.without_sockets(planted.sound_launches()))
    verdict = planted.the(planted.verdicts(run), "mtu", Outcome.PASS)
    assert "was not seen" in verdict.summary
