"""Nodes whose ranks wait for processors excuse a low median over all pairs, within reason."""

import msgspec
import pytest
from tests.judge import planted
from tests.judge import planted_fabric as many

from fabricgauge.judge.judging import overall
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.run import Launch
from fabricgauge.model.verdict import Outcome, Verdict

NODES = 6


def judged(shares: many.Pairs, waited: float, busy_nodes: int = NODES) -> tuple[Verdict, ...]:
    """``waited`` is the share of the time that the ranks of so many nodes had no processor."""
    made = many.launch(NODES, many.rounds(NODES, shares))
    return many.verdicts(many.run(_waiting(made, waited, busy_nodes)))


def _waiting(made: Launch, waited: float, busy_nodes: int) -> Launch:
    def one(case: Measurement) -> Measurement:
        uses = tuple(
            msgspec.structs.replace(
                planted.QUIET, rank=rank,
                run_delay_s=waited * case.wall_s if rank < busy_nodes else 0.0,
            )
            for rank in range(NODES)
        )  # fmt: skip
        return msgspec.structs.replace(case, processors=uses)

    return msgspec.structs.replace(made, measurements=tuple(map(one, made.measurements)))


def alike(share: float) -> many.Pairs:
    return lambda one, other: share * many.sound(one, other)


def scattered(share: float) -> many.Pairs:
    """From half of ``share`` to half as much again, with no pattern of nodes in it."""
    return lambda one, other: share * (0.5 + ((7 * one + 11 * other + one * other) % 13) / 13)


@pytest.mark.parametrize("share", [0.7, 0.55])
def test_ranks_that_wait_everywhere_leave_the_network_undecided(share: float) -> None:
    given = judged(scattered(share), waited=0.4)
    limited = planted.the(given, "host-limited", Outcome.INCONCLUSIVE)
    assert "half of the ranks" in limited.evidence[0]
    assert overall(given) is Outcome.INCONCLUSIVE
    assert overall(judged(scattered(share), waited=0.1)) is Outcome.FAIL


def test_pairs_that_lose_more_than_the_time_are_excused_only_when_unsteady() -> None:
    assert overall(judged(scattered(0.2), waited=0.4)) is Outcome.INCONCLUSIVE
    assert overall(judged(alike(0.2), waited=0.4)) is Outcome.FAIL


def test_pairs_that_scatter_need_less_waiting_for_an_excuse() -> None:
    """An overloaded virtual cluster of eight: ranks waited 21 %, pairs had 35 to 100 %."""
    assert overall(judged(scattered(0.5), waited=0.2)) is Outcome.INCONCLUSIVE
    assert overall(judged(alike(0.5), waited=0.2)) is Outcome.FAIL


def test_pairs_of_which_most_are_slowed_alike_are_excused_as_well() -> None:
    """A laboratory of eight beside much load: half of the pairs had 28 to 31 %, others 14 to 94."""

    def centred(one: int, other: int) -> float:
        place = (7 * one + 11 * other + one * other) % 13
        return {0: 0.15, 1: 0.94, 2: 0.7}.get(place, 0.28 + 0.003 * place)

    assert overall(judged(centred, waited=0.29)) is Outcome.INCONCLUSIVE
    assert overall(judged(centred, waited=0.05)) is Outcome.FAIL


def test_ranks_that_wait_excuse_a_slow_median_latency() -> None:
    def late(_origin: int, _target: int) -> float:
        return 2.2e-3

    rounds = many.rounds(NODES, many.sound, late)
    launch = many.launch(NODES, rounds)
    busy = many.verdicts(many.run(_waiting(launch, 0.46, NODES)))
    assert planted.outcomes(busy, "latency") == {Outcome.INCONCLUSIVE}
    quiet = many.verdicts(many.run(_waiting(launch, 0.05, NODES)))
    assert planted.outcomes(quiet, "latency") == {Outcome.FAIL}


def test_a_slow_network_is_not_excused_by_a_few_busy_nodes() -> None:
    assert overall(judged(scattered(0.6), waited=0.9, busy_nodes=2)) is Outcome.FAIL


def test_in_the_soft_band_the_hosts_are_the_likely_cause() -> None:
    verdict = planted.the(judged(alike(0.94), waited=0.4), "fraction", Outcome.WARN)
    assert "see host-limited" in verdict.summary
    assert verdict.cause.startswith("a host, not the network")
