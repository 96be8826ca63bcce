"""A quota of processor time that is used up accounts for a low figure, however steady that is."""

from collections.abc import Iterable

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.model.measurement import Measurement, ProcessorUse
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome

STREAM = ("c1", "c2")


def held(
    launches: Iterable[Launch], rank: int, *, throttled: float, waited: float, quota: float = 0.3
) -> list[Launch]:
    """The launches; these shares of each case's time a rank was throttled, and waited in all."""

    def use(one: Measurement, each: int) -> ProcessorUse:
        quiet = msgspec.structs.replace(planted.QUIET, rank=each, throttled_s=0.0)
        if each != rank:
            return quiet
        return msgspec.structs.replace(
            quiet, throttled_s=throttled * one.wall_s, run_delay_s=waited * one.wall_s,
            quota_processors=quota,
        )  # fmt: skip

    def changed(one: Measurement) -> Measurement:
        ranks = range(len(one.payload_sent_bytes))
        return msgspec.structs.replace(one, processors=tuple(use(one, each) for each in ranks))

    return planted.changed(launches, changed)


@pytest.mark.parametrize(
    ("share", "throttled", "outcome"),
    [
        (0.714, 0.7, Outcome.INCONCLUSIVE),
        (0.1, 0.9, Outcome.INCONCLUSIVE),  # what a link of 100 Mb/s carries
        (0.714, 0.0, Outcome.FAIL),  # the quota is there, and nobody used it up
        (0.1, 0.3, Outcome.FAIL),  # a third of the time is not nine tenths
    ],
)
def test_a_quota_that_is_used_up_outranks_a_steady_figure(
    share: float, throttled: float, outcome: Outcome
) -> None:
    launches = held(planted.sound_launches(share), 1, throttled=throttled, waited=throttled)
    verdicts = planted.verdicts(planted.run(launches))
    verdict = planted.the(verdicts, "fraction", outcome)
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(share, rel=0.01)
    told = [line for line in verdict.evidence if "quota of 0.3 processors" in line]
    assert bool(told) == (outcome is Outcome.INCONCLUSIVE)


def test_a_slow_port_that_its_driver_reports_fails_beside_a_quota() -> None:
    node = planted.node(2)
    slow = msgspec.structs.replace(node.interfaces[0], speed_bit_s=planted.RATE / 2)
    node = msgspec.structs.replace(node, interfaces=(slow, *node.interfaces[1:]))
    fabric = msgspec.structs.replace(planted.fabric(), nodes=(planted.node(1), node))
    launches = held(planted.sound_launches(0.497), 1, throttled=0.7, waited=0.7)
    verdicts = planted.verdicts(planted.run(launches, of=fabric))
    assert Outcome.FAIL in planted.outcomes(verdicts, "fraction")


def _by_size(small: float, large: float) -> list[Launch]:
    samples = [
        msgspec.structs.replace(
            one, width=0.05 if one.message_bytes < 1 << 22 else 0.002,
            median_s=planted.median_s(
                one.pattern, one.message_bytes, small if one.message_bytes < 1 << 22 else large
            ),
        )
        for one in planted.samples()
    ]  # fmt: skip
    return [planted.launch(map(planted.measurement, samples), number) for number in (1, 2, 3)]


def test_a_host_that_waits_is_no_wire_if_other_sizes_carry_more() -> None:
    """As a quota of which nothing can be seen leaves it: one message a period, just as steady."""
    for smaller, outcome in ((0.89, Outcome.INCONCLUSIVE), (0.714, Outcome.FAIL)):
        launches = [
            msgspec.structs.replace(
                launch,
                measurements=tuple(
                    msgspec.structs.replace(
                        one,
                        processors=tuple(
                            msgspec.structs.replace(
                                planted.QUIET, rank=rank, run_delay_s=0.71 * one.wall_s * rank
                            )
                            for rank in (0, 1)
                        ),
                    )
                    for one in launch.measurements
                    if one.message_bytes >= 1 << 22 or smaller > 0.8
                ),
            )
            for launch in _by_size(smaller, 0.714)
        ]
        verdicts = planted.verdicts(planted.run(launches))
        found = {
            one.outcome
            for one in planted.by_rule(verdicts, "fraction")
            if one.about.names == STREAM and one.about.series == "bandwidth"
        }
        assert found == {outcome}, smaller


@pytest.mark.parametrize(
    ("throttled", "outcome"), [(0.7, Outcome.INCONCLUSIVE), (0.0, Outcome.FAIL)]
)
def test_a_node_whose_quota_is_used_up_is_not_named(throttled: float, outcome: Outcome) -> None:
    slowed = many.slow(2, share=0.7)
    pairs = [(one, other) for one in range(8) for other in range(8) if one != other]
    first = many.launch(8, many.rounds(8, slowed))
    (again,) = held([many.again(8, pairs, slowed)], 2, throttled=throttled, waited=throttled)
    (verdict,) = planted.by_rule(many.verdicts(many.run(first, again)), "outliers")
    assert verdict.outcome is outcome, verdict
    assert verdict.about.names == ("c3",)
