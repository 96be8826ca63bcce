"""A rate that changes between two levels is named, in one launch and over several."""

from collections.abc import Sequence

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.model.absence import Skipped
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

SECONDS = 1.0


def stream(shares: Sequence[float], delay: float = 0.0, wall_s: float = SECONDS) -> Measurement:
    """A stream of 1 MiB whose blocks reach these shares of a sound link."""
    best_s = planted.median_s("bandwidth", 1 << 20)
    case = planted.measurement(planted.Sample("bandwidth", 1 << 20, 0, best_s))
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
