"""A rate that changes between two levels is named, in one launch and over several."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from tests.judge import planted

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.pattern import Pattern
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict
from fabricgauge.report.content.conclusion import decisive_verdicts, headline

SECONDS = 1.0


def stream(
    shares: Sequence[float], delay: float = 0.0, wall_s: float = SECONDS, size: int = 1 << 20
) -> Measurement:
    """A stream whose blocks reach these shares of a sound link."""
    best_s = planted.median_s("bandwidth", size)
    case = planted.measurement(planted.Sample("bandwidth", size, 0, best_s))
    uses = tuple(
        msgspec.structs.replace(one, run_delay_s=delay * wall_s) for one in case.processors
    )
    blocks = tuple(best_s / one for one in shares)
    sockets = tuple(
        tuple(msgspec.structs.replace(one, busy_s=0.98 * wall_s) for one in ends)
        for ends in case.sockets
        if not isinstance(ends, Skipped)
    )
    return msgspec.structs.replace(
        case, block_medians_s=blocks, processors=uses, sockets=sockets, wall_s=wall_s
    )


def stability(run: Run) -> Verdict:
    (verdict,) = planted.by_rule(planted.verdicts(run), "stability")
    return verdict


@pytest.mark.parametrize(
    ("shares", "delay", "outcome"),
    [
        ([1.0] * 30, 0.0, Outcome.PASS),
        ([1.0, 1.0, 0.3] * 10, 0.0, Outcome.FAIL),
        ([1.0, 1.0, 0.3] * 10, 0.6, Outcome.WARN),
        # Waiting that is half of what is missing, and less than that.
        ([1.0, 1.0, 0.7] * 10, 0.06, Outcome.WARN),
        ([1.0, 1.0, 0.7] * 10, 0.04, Outcome.FAIL),
        ([1.0] * 20 + [0.3] * 20, 0.0, Outcome.FAIL),
        ([1.0, 0.78] * 15, 0.0, Outcome.WARN),
    ],
)
def test_levels_within_cases(shares: list[float], delay: float, outcome: Outcome) -> None:
    launches = [planted.launch([stream(shares, delay)], number) for number in (1, 2)]
    verdict = stability(planted.run(launches))
    assert verdict.outcome is outcome
    if outcome is not Outcome.PASS:
        assert verdict.threshold is not None
        assert "stability.level" in verdict.threshold.origin
        assert ("cable" in verdict.remedy) is (delay < 0.05)


def test_a_rate_that_fell_between_launches() -> None:
    launches = [
        planted.launch([stream([share] * 12)], number)
        for number, share in enumerate((1.0, 1.0, 0.3, 0.3), 1)
    ]
    assert stability(planted.run(launches)).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(stream([0.66, 1.0, 1.0, 1.0] * 8, wall_s=8.0), None, id="one case"),
        pytest.param(
            stream([0.66, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] * 4, wall_s=0.4),
            stream([0.66, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] * 4, wall_s=0.4),
            id="short",
        ),
    ],
)
def test_a_machine_that_pauses_fails_nothing(
    first: Measurement, second: Measurement | None
) -> None:
    second = second or stream([1.0] * 32)
    run = planted.run([planted.launch([first]), planted.launch([second], 2)])
    assert stability(run).outcome is Outcome.WARN


#: A link of a virtual cluster between 1 Gb/s and 300 Mb/s, each for half a second: size in KiB,
#: seconds, MB/s of each block, of the first launch and of sizes that were measured again.
TOGGLED = (
    (64, 0.13, (116.7, 115.9, 117.1, 116.8, 116.7, 117.3, 116.6)),
    (128, 0.27, (116.0, 113.6, 115.2, 116.6, 116.8, 116.2, 115.3, 116.8, 113.0, 116.9, 116.6, 116.1,
                 114.3, 116.6, 115.7)),
    (256, 0.27, (105.2, 35.3, 35.3, 35.1)),
    (512, 0.24, (35.3, 34.2, 34.5, 35.3)),
    (1024, 0.30, (78.0, 116.6, 51.5, 116.0, 88.4, 69.7, 115.1, 82.1, 117.0, 114.5)),
    (2048, 0.39, (116.1, 114.8, 107.4, 116.2, 95.7, 113.9, 115.8, 35.5)),
    (4096, 0.66, (35.3, 47.4, 105.3, 104.8, 99.6)),
)  # fmt: skip
AGAIN = ((128, 0.29, (42.7, 35.2, 34.2, 35.4)), (256, 0.26, (35.2, 29.5, 33.0, 34.8)))


def test_a_link_that_changes_its_rate_while_sizes_are_measured() -> None:
    first, again = (
        [
            stream([one / 116.9 for one in rates], 0.02, wall_s, kib << 10)
            for kib, wall_s, rates in each
        ]
        for each in (TOGGLED, AGAIN)
    )
    recheck = msgspec.structs.replace(planted.launch(again, 2), purpose="again")
    verdict = stability(planted.run([planted.launch(first), recheck]))
    assert verdict.outcome is Outcome.FAIL
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(0.3, abs=0.02)


def test_a_protocol_that_halves_some_sizes_is_no_change_of_rate() -> None:
    """Each size keeps to its rate in every launch."""
    cases = [
        stream([share] * 8, size=kib << 10)
        for kib, share in ((64, 1.0), (128, 1.0), (256, 0.5), (512, 0.5), (1024, 1.0))
    ]
    run = planted.run([planted.launch(cases, number) for number in (1, 2, 3)])
    assert stability(run).outcome is Outcome.PASS


def unsteady(shares: Sequence[float], share: float, width: float, delay: float = 0.0) -> Run:
    """One launch, whose stream has an interval of ± ``width`` and blocks at these shares."""
    best_s = planted.median_s("bandwidth", 1 << 20)
    case = stream(shares, delay, wall_s=0.3)
    assert case.times is not None
    middle_s = best_s / share
    times = msgspec.structs.replace(
        case.times, median_s=middle_s, low_s=middle_s * (1 - width), high_s=middle_s * (1 + width)
    )
    return planted.run([planted.launch([msgspec.structs.replace(case, times=times)])])


@pytest.mark.parametrize("share", [0.95, 0.75])
def test_a_changing_rate_is_the_cause_of_a_wide_interval(share: float) -> None:
    """At 75 % of the ceiling ``fraction`` is undecided as well: that is a consequence."""
    found = conclude(unsteady([1.0, 1.0, 0.3] * 10, share, 0.3), DEFAULTS)
    (verdict,) = planted.by_rule(found.verdicts, "stability")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.threshold is not None
    assert "stability.level" in verdict.threshold.origin
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(0.3, abs=0.01)
    assert len(verdict.evidence) == 2
    undecided = planted.by_rule(found.verdicts, "fraction")
    assert {one.outcome for one in undecided if one.id in found.follows} == (
        {Outcome.INCONCLUSIVE} if share < 0.8 else set()
    )
    assert {one.rule for one in decisive_verdicts(found)} == {"stability"}
    assert "changes" in headline(found)


@pytest.mark.parametrize(
    ("shares", "delay"),
    [
        pytest.param([1.0, 0.9] * 15, 0.0, id="one rate"),
        pytest.param([1.0, 1.0, 0.3] * 10, 0.6, id="a host that waits"),
    ],
)
def test_a_wide_interval_without_a_changing_link_stays_the_reason(
    shares: list[float], delay: float
) -> None:
    found = conclude(unsteady(shares, 0.95, 0.3, delay), DEFAULTS)
    (verdict,) = planted.by_rule(found.verdicts, "stability")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.threshold is not None
    assert "stability.interval" in verdict.threshold.origin
    assert not found.follows


#: A link of a virtual cluster between 1 Gb/s and 300 Mb/s, each for 0.3 s, as a quick check saw it:
#: pattern, size, origin, seconds, seconds that a rank waited, segments lost, MB/s of each block.
#: No stream has enough blocks at 300 Mb/s.
TOGGLED_QUICK: tuple[tuple[Pattern, int, int, float, float, int, tuple[float, ...]], ...] = (
    ("latency", 1 << 14, 0, 0.058, 0.0, 0, (87.2, 91.5, 89.3, 89.6, 92.8, 90.8, 88.9, 88.2)),
    ("latency", 1 << 20, 0, 0.243, 0.113, 0, (51.2, 61.3, 114.7, 28.3, 35.0)),
    ("bandwidth", 1 << 10, 0, 0.175, 0.07, 1, (114.9, 113.8, 114.2, 113.5, 114.4, 114.0)),
    ("bandwidth", 1 << 14, 0, 0.121, 0.007, 0, (116.7, 117.1, 115.7, 116.3, 115.6, 117.0)),
    ("bandwidth", 1 << 16, 0, 0.127, 0.001, 0, (115.9, 116.3, 117.0, 116.4, 117.1, 116.0, 115.9)),
    ("bandwidth", 1 << 18, 0, 0.595, 0.199, 28, (41.5, 90.9, 116.6, 4.2)),
    ("bandwidth", 1 << 20, 0, 0.291, 0.075, 0, (116.3, 116.5, 85.9, 92.1, 111.6, 116.5, 112.5,
     109.8, 115.4, 115.7, 113.8, 116.7, 116.7, 116.3, 117.3)),
    ("bandwidth", 1 << 22, 0, 0.67, 0.172, 0, (114.8, 107.9, 108.3, 43.5, 34.8)),
    ("bandwidth", 1 << 16, 1, 0.282, 0.115, 392, (116.7, 115.1, 110.4, 63.5, 115.8, 116.5, 116.6,
     117.0)),
    ("bandwidth", 1 << 18, 1, 0.164, 0.001, 0, (116.4, 116.7, 115.7, 116.0, 115.9, 115.7, 113.9,
     116.5, 116.1)),
    ("bandwidth", 1 << 20, 1, 0.311, 0.142, 8, (116.0, 115.3, 113.2, 104.8, 104.9, 105.1, 113.0,
     115.9, 116.5, 115.6, 46.8, 34.7)),
    ("bidirectional_bandwidth", 1 << 16, 0, 0.279, 0.055, 0, (31.6, 31.7, 31.5, 27.0)),
    ("bidirectional_bandwidth", 1 << 18, 0, 0.283, 0.115, 41, (55.9, 110.1, 115.2, 116.3, 113.6)),
    ("bidirectional_bandwidth", 1 << 20, 0, 0.272, 0.056, 0, (115.8, 115.7, 116.3, 114.9, 113.0,
     114.8, 113.8, 115.9, 114.6, 113.0, 114.6, 113.8, 42.0)),
    ("put_bandwidth", 1 << 20, 0, 0.242, 0.003, 0, (35.1, 34.8, 34.9, 35.1)),
)  # fmt: skip


def toggled_quick(small_lost: int = 0) -> Run:
    """That run; ``small_lost`` segments of each small message's case are lost as well."""
    cases = []
    for pattern, size, origin, wall_s, delay_s, lost, rates in TOGGLED_QUICK:
        payload = size * (1 if pattern == "latency" else max(1, min(64, (2 << 20) // size)))
        blocks = tuple(payload / (rate * 1e6) for rate in rates)
        case = planted.measurement(planted.Sample(pattern, size, origin, float(np.median(blocks))))
        lost += small_lost if size < 1 << 16 else 0
        sender = msgspec.structs.replace(
            case.sockets_of(origin)[0], retransmitted_segments=lost, data_segments=12_000,
            acknowledgements=6_000, spurious_segments=0, busy_s=0.98 * wall_s,
        )  # fmt: skip
        sockets = tuple((sender,) if rank == origin else () for rank in (0, 1))
        uses = tuple(msgspec.structs.replace(use, run_delay_s=delay_s) for use in case.processors)
        assert case.times is not None
        confidence = min(0.95, 1 - 2.0 ** (1 - len(blocks)))
        cases.append(
            msgspec.structs.replace(
                case, block_medians_s=blocks, sample_payload_bytes=payload, wall_s=wall_s,
                processors=uses, sockets=sockets, samples=len(blocks),
                times=msgspec.structs.replace(case.times, confidence=confidence),
            )
        )  # fmt: skip
    return planted.run([planted.launch(cases)])


def test_a_rate_that_several_patterns_share_is_named_and_not_its_losses() -> None:
    found = conclude(toggled_quick(), DEFAULTS)
    verdict = planted.the(found.verdicts, "stability", Outcome.FAIL)
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(0.3, abs=0.01)
    assert "stability" in {one.rule for one in decisive_verdicts(found)}
    losses = [one for one in found.verdicts if one.rule in ("lossy", "errors")]
    losses = [one for one in losses if one.outcome in (Outcome.FAIL, Outcome.WARN)]
    assert losses
    assert all(found.follows[one.id] == verdict.id for one in losses)


def test_losses_in_messages_of_all_sizes_stay_the_cause() -> None:
    found = conclude(toggled_quick(small_lost=60), DEFAULTS)
    assert planted.outcomes(found.verdicts, "lossy") == {Outcome.FAIL}
    assert planted.outcomes(found.verdicts, "stability") == {Outcome.WARN}
    assert "lossy" in {one.rule for one in decisive_verdicts(found)}
