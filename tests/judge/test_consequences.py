"""A rate that something keeps a way to is the cause, what is lost there its consequence."""

from collections.abc import Callable
from itertools import permutations

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.check.conclude import conclude
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch, Run
from fabricgauge.model.verdict import Outcome
from fabricgauge.report.content.at_fault import bad_nodes, named_failures
from fabricgauge.report.content.conclusion import headline, next_steps

#: From a rank, to a rank: the share of the segments that is lost.
Losses = Callable[[int, int], float]
SEGMENTS = 12_000


def losing(one: Measurement, share: float) -> Measurement:
    """A case whose sender lost this share of its segments."""
    ranks = max(len(one.sockets), one.origin + 1, one.target + 1)
    sent = msgspec.structs.replace(
        planted.socket(0, 10**7), data_segments=SEGMENTS, acknowledgements=SEGMENTS // 2,
        retransmitted_segments=round(share * SEGMENTS), spurious_segments=0,
    )  # fmt: skip
    sockets = tuple((sent,) if rank == one.sender else () for rank in range(ranks))
    return msgspec.structs.replace(one, sockets=sockets)


def with_losses(launch: Launch, large: Losses, small: Losses) -> Launch:
    cases = (
        losing(one, (large if one.message_bytes >= 65536 else small)(one.origin, one.target))
        for one in launch.measurements
    )
    return msgspec.structs.replace(launch, measurements=tuple(cases))


def of_four(shares: many.Pairs, large: Losses, small: Losses) -> Run:
    """Four nodes: all pairs at once, then each pair alone with its losses."""
    every = many.launch(4, many.rounds(4, shares))
    alone = many.again(4, permutations(range(4), 2), shares)
    return many.run(every, with_losses(alone, large, small))


def nothing(one: int, other: int) -> float:
    return 0.0


def touching(*ranks: int, share: float = 0.02) -> Losses:
    """Losses on the ways of these ranks, another share on each way."""
    return lambda one, other: share * (1 + 0.2 * one) * bool({one, other} & {*ranks})


def scattered(*ranks: int) -> many.Pairs:
    """The ways of these ranks carry now this, now that, as where frames are lost at random."""
    return lambda one, other: (
        0.1 + 0.12 * ((3 * one + 5 * other) % 6)
        if {one, other} & {*ranks}
        else many.sound(one, other)
    )


def judged(run: Run) -> Judged:
    return conclude(run, DEFAULTS)


def step_rules(found: Judged) -> list[str]:
    return [one.rule for one in next_steps(found)]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.75])
def test_a_shaped_node_is_named_by_its_rate_and_not_by_its_losses(share: float) -> None:
    found = judged(of_four(many.slow(2, share=share), touching(2), nothing))
    (slow,) = [one for one in found.verdicts if one.rule == "outliers"]
    (lossy,) = [one for one in found.verdicts if one.rule == "lossy"]
    assert (slow.outcome, slow.about.names) == (Outcome.FAIL, ("c3",))
    assert (lossy.outcome, lossy.about.names) == (Outcome.FAIL, ("c3",))
    assert found.follows[lossy.id] == slow.id
    assert "lost" not in headline(found)
    assert "lower" in headline(found)
    assert set(bad_nodes(found)) == {"c3"}
    assert "lost" not in bad_nodes(found)["c3"]
    assert not named_failures(found)
    assert "rate limit" in lossy.cause
    assert "rate limit" in slow.cause or share == 0.1  # the rate of a link
    assert not {"lossy", "errors"} & {*step_rules(found)}
    assert share == 0.1 or not any("cable" in one.remedy for one in next_steps(found))


@pytest.mark.parametrize("small", [touching(2), touching(2, share=0.01)])
def test_a_node_that_loses_frames_of_every_size_is_lossy(small: Losses) -> None:
    found = judged(of_four(scattered(2), touching(2), small))
    lossy = planted.the(found.verdicts, "lossy", Outcome.FAIL)
    assert lossy.about.names == ("c3",)
    assert lossy.id not in found.follows
    assert "cable" in lossy.cause
    assert "lost" in headline(found)
    assert "lost" in bad_nodes(found)["c3"]


def test_a_steady_rate_beside_losses_of_small_messages_is_still_lossy() -> None:
    found = judged(of_four(many.slow(2, share=0.3), touching(2), touching(2)))
    lossy = planted.the(found.verdicts, "lossy", Outcome.FAIL)
    assert lossy.id not in found.follows
    assert "cable" in lossy.cause


def test_scattered_rates_are_no_rate_although_small_messages_lose_nothing() -> None:
    found = judged(of_four(scattered(2), touching(2), nothing))
    assert planted.the(found.verdicts, "lossy", Outcome.FAIL).id not in found.follows


@pytest.mark.parametrize("ranks", [(1, 2), (1, 2, 3), (0, 1, 2, 3)])
def test_several_shaped_nodes_are_a_rate(ranks: tuple[int, ...]) -> None:
    found = judged(of_four(many.slow(*ranks, share=0.5), touching(*ranks), nothing))
    assert found.overall in (Outcome.FAIL, Outcome.INCONCLUSIVE)
    assert "lost" not in headline(found)
    assert not any("lost" in why for why in bad_nodes(found).values())
    assert not any(
        "cable" in one.cause for one in found.verdicts if one.rule in ("lossy", "errors")
    )


def of_two(fraction: float, large: float, small: float) -> Run:
    launches = (
        with_losses(one, lambda *_: large, lambda *_: small)
        for one in planted.sound_launches(fraction)
    )
    return planted.run(launches)


def test_of_two_nodes_a_rate_explains_the_losses() -> None:
    found = judged(of_two(0.3, 0.02, 0.0))
    lossy = planted.by_rule(found.verdicts, "lossy")
    assert {one.outcome for one in lossy} == {Outcome.FAIL}
    assert {found.follows[one.id].partition("/")[0] for one in lossy} == {"fraction"}
    assert "30.0 % of" in headline(found)
    low = planted.the(found.verdicts, "fraction", Outcome.FAIL)
    assert "rate limit" in low.cause


def test_of_two_nodes_a_link_that_loses_everything_is_lossy() -> None:
    found = judged(of_two(0.3, 0.02, 0.02))
    assert "lost" in headline(found)
    assert not {one.id for one in planted.by_rule(found.verdicts, "lossy")} & {*found.follows}


def test_losses_of_a_link_at_its_full_rate_are_no_consequence() -> None:
    found = judged(of_two(0.97, 0.02, 0.0))
    lossy = planted.the(found.verdicts, "lossy", Outcome.FAIL)
    assert lossy.id not in found.follows
    assert "cable" in lossy.cause
