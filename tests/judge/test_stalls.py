"""A way that goes away for moments is named; one hiccup, and a host that waits, fail nothing."""

import msgspec
import pytest
from tests.judge import planted

from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Run
from fabricgauge.model.verdict import Outcome, Verdict

SECONDS = 10.0


def stream(lengths_s: tuple[float, ...], delay: float, batch: int) -> Measurement:
    """A stream of 10 s in which these samples were longer than usual by as many seconds."""
    median_s = planted.median_s("bandwidth", 65536)
    case = planted.measurement(planted.Sample("bandwidth", 65536, 0, median_s))
    usual = (int(median_s * 1e12), 1000)
    long = tuple((int((median_s + one / batch) * 1e12), 1) for one in lengths_s)
    uses = tuple(
        msgspec.structs.replace(one, run_delay_s=delay * SECONDS) for one in case.processors
    )
    return msgspec.structs.replace(
        case, wall_s=SECONDS, batch=batch, histogram_ps=(usual, *long), processors=uses
    )


def stability(run: Run) -> Verdict:
    (verdict,) = planted.by_rule(planted.verdicts(run), "stability")
    return verdict


@pytest.mark.parametrize(
    ("lengths_s", "delay", "outcome"),
    [
        ((), 0.0, Outcome.PASS),
        ((0.05,) * 40, 0.0, Outcome.PASS),
        ((3.0,), 0.0, Outcome.PASS),
        ((0.25,) * 12, 0.0, Outcome.FAIL),
        ((0.25,) * 12, 0.6, Outcome.WARN),
        ((0.16,) * 4, 0.0, Outcome.WARN),
    ],
    ids=["none", "too short", "one hiccup", "outages", "outages, host waits", "few"],
)
@pytest.mark.parametrize("batch", [1, 16])
def test_stalls_are_held_against_the_time(
    lengths_s: tuple[float, ...], delay: float, outcome: Outcome, batch: int
) -> None:
    sound = [planted.measurement(one) for one in planted.samples() if one.message_bytes != 65536]
    half = len(lengths_s) // 2
    parts = [stream(lengths_s[:half], delay, batch), stream(lengths_s[half:], delay, batch)]
    run = planted.run(
        [planted.launch([part, *sound], number) for number, part in enumerate(parts, 1)]
    )
    verdict = stability(run)
    assert verdict.outcome is outcome
    if outcome is not Outcome.PASS:
        assert verdict.threshold is not None
        assert "stability.stalls" in verdict.threshold.origin
        assert ("cable" in verdict.remedy) is (delay == 0.0)
        assert verdict.figure is not None
        assert 0.005 < verdict.figure.value < 0.2
