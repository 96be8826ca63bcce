"""A rate that changes between two levels is named, in one launch and over several."""

from collections.abc import Sequence

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict


def stream(shares: Sequence[float], delay: float = 0.0) -> Measurement:
    """A stream of 1 MiB whose blocks reach these shares of a sound link."""
    best_s = planted.median_s("bandwidth", 1 << 20)
    case = planted.measurement(planted.Sample("bandwidth", 1 << 20, 0, best_s))
    uses = tuple(
        msgspec.structs.replace(one, run_delay_s=delay * case.wall_s) for one in case.processors
    )
    blocks = tuple(best_s / one for one in shares)
    return msgspec.structs.replace(case, block_medians_s=blocks, processors=uses)


def stability(run: Run) -> Verdict:
    (verdict,) = planted.by_rule(planted.verdicts(run), "stability")
    return verdict


@pytest.mark.parametrize(
    ("shares", "delay", "outcome"),
    [
        ([1.0] * 30, 0.0, Outcome.PASS),
        ([1.0, 1.0, 0.3] * 10, 0.0, Outcome.FAIL),
        ([1.0, 1.0, 0.3] * 10, 0.6, Outcome.WARN),
        ([1.0] * 20 + [0.3] * 20, 0.0, Outcome.FAIL),
        ([1.0, 0.78] * 15, 0.0, Outcome.WARN),
    ],
)
def test_levels_within_a_case(shares: list[float], delay: float, outcome: Outcome) -> None:
    verdict = stability(planted.run([planted.launch([stream(shares, delay)])]))
    assert verdict.outcome is outcome
    if outcome is not Outcome.PASS:
        assert verdict.threshold is not None
        assert "stability.level" in verdict.threshold.origin


def test_a_rate_that_fell_between_launches() -> None:
    launches = [
        planted.launch([stream([share] * 12)], number)
        for number, share in enumerate((1.0, 1.0, 0.3), 1)
    ]
    assert stability(planted.run(launches)).outcome is Outcome.FAIL
