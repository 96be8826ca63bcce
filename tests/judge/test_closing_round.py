"""Pairs that carry less at the end of a run are measured again, and the node at fault is named."""

from collections.abc import Iterable

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.interface import Context
from fabricgauge.judge.judging import unclear
from fabricgauge.judge.localise.detect import localise
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.absence import Skipped
from fabricgauge.model.fabric import Topology
from fabricgauge.model.plan import CLOSING
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome, Verdict

Pairs = Iterable[tuple[int, int]]


def measured(count: int, last: many.Pairs) -> Launch:
    """A sound round robin, and the pairs of neighbours once more at the end of the launch."""
    rounds = many.rounds(count)
    once_more = many.rounds(count, last)[1]
    ways = list(zip(once_more.origins, once_more.targets, strict=True))
    met = [place for place, (one, two) in enumerate(ways) if one // 2 == two // 2]
    closing = msgspec.structs.replace(
        once_more,
        case=once_more.case + CLOSING,
        **{
            field: tuple(getattr(once_more, field)[place] for place in met)
            for field in ("origins", "targets", "samples", "minimum_ps", "median_ps", "quartile_ps")
        },
    )
    return many.launch(count, (*rounds, closing))


def alone(count: int, pairs: Pairs, shares: many.Pairs, delay: float = 0.0) -> Launch:
    """Pairs measured again; ranks that wait for processors make them unsteady."""
    launch = many.again(count, [way for pair in pairs for way in (pair, pair[::-1])], shares)
    quiet = tuple(
        msgspec.structs.replace(
            case,
            times=case.times
            and msgspec.structs.replace(
                case.times,
                low_s=case.times.median_s * (1.0 - delay / 4.0),
                high_s=case.times.median_s * (1.0 + delay / 4.0),
            ),
            processors=tuple(
                msgspec.structs.replace(planted.QUIET, rank=rank, run_delay_s=delay * case.wall_s)
                for rank in (case.origin, case.target)
            ),
        )
        for case in launch.measurements
    )
    return msgspec.structs.replace(launch, measurements=quiet)


def context(run: Run) -> Context:
    fabric = localise(run.launches, Topology())
    return Context(run, {"net1": planted.ceiling()}, DEFAULTS, fabric)


def fallen(run: Run) -> list[Verdict]:
    return [
        one
        for one in planted.by_rule(many.verdicts(run), "stability")
        if one.threshold is not None and "stability.fall" in one.threshold.origin
    ]


@pytest.mark.parametrize("share", [1.0, 0.9, 0.76])
def test_small_changes_are_no_fall(share: float) -> None:
    run = many.run(measured(4, many.slow(2, share=share)))
    assert unclear(context(run)) == ()
    assert fallen(run) == []


def test_a_pair_that_fell_is_measured_again_with_a_good_partner() -> None:
    (recheck,) = unclear(context(many.run(measured(4, many.slow(2, share=0.3)))))
    assert not isinstance(recheck.meetings, Skipped)
    pairs = {frozenset((one.one, one.other)) for one in recheck.meetings}
    assert frozenset(("c3", "c4")) in pairs
    assert len(pairs) == 3
    assert {one.quantity for one in recheck.meetings} == {"bandwidth"}


@pytest.mark.parametrize(
    ("slow", "delay", "outcome", "names"),
    [
        ((2,), 0.0, Outcome.FAIL, ("c3",)),
        ((2, 3), 0.0, Outcome.FAIL, ("c3", "c4")),
        ((2,), 0.6, Outcome.WARN, ("c3",)),
    ],
)
def test_a_fall_that_is_seen_again_fails_unless_a_host_accounts_for_it(
    slow: tuple[int, ...], delay: float, outcome: Outcome, names: tuple[str, ...]
) -> None:
    shares = many.slow(*slow, share=0.6)
    pairs = ((2, 3), (0, 2), (0, 3))
    run = many.run(measured(4, shares), alone(4, pairs, shares, delay))
    (verdict,) = fallen(run)
    assert (verdict.outcome, verdict.about.names) == (outcome, names)
    assert verdict.cause.startswith("other work on the nodes" if delay else "the network changed")
    assert verdict.figure is not None
    assert verdict.figure.value == pytest.approx(0.4, abs=0.01)


def test_a_fall_that_is_not_seen_again_names_nobody() -> None:
    run = many.run(
        measured(4, many.slow(2, share=0.3)), alone(4, ((2, 3), (0, 2), (0, 3)), many.sound)
    )
    assert fallen(run) == []


def test_a_fall_that_could_not_be_measured_again_is_a_remark() -> None:
    (verdict,) = fallen(many.run(measured(4, many.slow(2, share=0.3))))
    assert verdict.outcome is Outcome.WARN


@pytest.mark.parametrize(
    ("spread", "is_repeated", "verdicts"),
    [(0.05, False, 1), (0.5, False, 0), (0.05, True, 1), (0.5, True, 1)],
)
def test_samples_that_scatter_further_than_they_fell_need_a_second_figure(
    spread: float, is_repeated: bool, verdicts: int
) -> None:
    """A busy host's few samples are anywhere; those of a link that loses frames scatter, too."""
    shares = many.slow(2, share=0.6)
    first = measured(4, shares)
    *rounds, closing = first.rounds
    quartiles = tuple(int(spread * median) for median in closing.median_ps)
    closing = msgspec.structs.replace(closing, quartile_ps=quartiles)
    first = msgspec.structs.replace(first, rounds=(*rounds, closing))
    assert unclear(context(many.run(first)))
    later = [alone(4, ((2, 3), (0, 2), (0, 3)), shares)] if is_repeated else []
    assert len(fallen(many.run(first, *later))) == verdicts


def test_a_figure_above_the_ceiling_is_no_rate_to_fall_from() -> None:
    first = measured(4, many.slow(2, share=0.8))
    latency, streams, closing = first.rounds
    quick = tuple(int(median / 1.3) for median in streams.median_ps)
    streams = msgspec.structs.replace(streams, median_ps=quick)
    run = many.run(msgspec.structs.replace(first, rounds=(latency, streams, closing)))
    assert fallen(run) == []


def test_a_network_that_fell_everywhere_names_no_pair() -> None:
    shares = many.slow(0, 1, 2, 3, share=0.3)
    run = many.run(measured(4, shares), alone(4, ((0, 1), (2, 3)), shares))
    (verdict,) = fallen(run)
    assert (verdict.outcome, verdict.about.kind) == (Outcome.FAIL, "network")
