"""Rounds join arrays as they come, in a matrix or as single pairs, with the same figures."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.model import passes
from fabricgauge.model.measurement import Round
from fabricgauge.model.passes import PassFolder, passes_of, without_pairs
from fabricgauge.model.run import Ended, Launch

ENDED = Ended("ok", 0, "", (), 1.0)


def turn(case: str, number: int, pairs: Sequence[tuple[int, int]], times: Sequence[int]) -> Round:
    origins, targets = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    ps = tuple(times)
    quartiles = tuple(time // 10 for time in ps)
    return Round(
        case, number, 3, 100, 2, origins, targets, (9,) * len(ps), ps, ps, quartiles, 0.1
    )  # fmt: skip


@st.composite
def rounds(draw: Any) -> tuple[str, int, list[Round]]:
    """Rounds of distinct pairs; a time of 0 was not measured."""
    case = draw(st.sampled_from(["all_pairs_latency/100", "all_pairs_bandwidth/100"]))
    ranks = draw(st.integers(2, 9))
    ways = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    if "latency" in case:
        ways = [way for way in ways if way[0] < way[1]]
    ways = draw(st.permutations(ways))[: draw(st.integers(1, len(ways)))]
    cut = draw(st.integers(0, len(ways)))
    made = []
    for number, part in enumerate((ways[:cut], ways[cut:])):
        times = [draw(st.integers(0, 10**9)) for _ in part]
        made.append(turn(case, number, part, times))
    return case, ranks, [one for one in made if one.origins]


@given(rounds(), st.sampled_from([0.0, 0.3, 2.0]))
def test_every_pair_keeps_its_figure_in_either_form(
    made: tuple[str, int, list[Round]], dense: float
) -> None:
    case, ranks, turns = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "DENSE", dense)
        folder = PassFolder(ranks)
        for one in turns:
            folder.add(one)
        (folded,) = folder.close(())
    assert (folded.cells is None) == (dense == 0.0 or _share(turns, ranks) >= dense)
    expected: dict[tuple[int, int], float] = {}
    for one in turns:
        for a, b, ps in zip(one.origins, one.targets, one.median_ps, strict=True):
            if ps > 0 and "latency" in case:
                expected[a, b] = expected[b, a] = ps * 1e-12
            elif ps > 0:
                expected[a, b] = 200 / (ps * 1e-12)
    origins, targets, values, spread = folded.entries()
    found = dict(zip(zip(origins.tolist(), targets.tolist(), strict=True), values, strict=True))
    assert found == pytest.approx(expected)
    assert len(spread) == len(expected)
    met = {rank for one in turns for rank in (*one.origins, *one.targets)}
    assert set(np.flatnonzero(folded.ranks).tolist()) == met


def _share(turns: list[Round], ranks: int) -> float:
    measured = sum(ps > 0 for one in turns for ps in one.median_ps)
    return float(measured / ranks**2)


def test_a_round_that_is_made_again_is_of_a_further_pass() -> None:
    one = turn("all_pairs_latency/100", 0, [(0, 1)], [1000])
    folder = PassFolder(2)
    for _ in range(2):
        folder.add(one)
    assert len(folder.close(())) == 2


def test_few_pairs_of_very_many_ranks_take_little_memory() -> None:
    folder = PassFolder(1 << 24)
    folder.add(turn("all_pairs_bandwidth/100", 0, [(0, (1 << 24) - 1)], [1000]))
    (folded,) = folder.close(())
    assert folded.values.nbytes < 100


def test_only_some_rounds_of_very_many_are_kept_by_themselves() -> None:
    folder = PassFolder(4)
    for number in range(10 * passes.SAMPLED_ROUNDS):
        made = turn("all_pairs_bandwidth/100", number, [(0, 1)], [1000])
        folder.add(msgspec.structs.replace(made, rounds=10 * passes.SAMPLED_ROUNDS))
    (folded,) = folder.close(())
    assert [one.number for one in folded.sampled[:2]] == [0, 10]
    assert len(folded.sampled) == passes.SAMPLED_ROUNDS


def test_whole_rounds_and_a_stored_pass_are_the_same_value() -> None:
    made = turn("all_pairs_bandwidth/100", 0, [(0, 1), (1, 0)], [1000, 2000])
    whole = Launch(1, "net", ("c1", "c2"), None, (), (), ENDED, rounds=(made,))
    folder = PassFolder(2)
    folder.add(made)
    stored = msgspec.structs.replace(whole, rounds=(without_pairs(made),), passes=folder.close(()))
    assert passes_of(whole) == passes_of(stored)
    slower = turn("all_pairs_bandwidth/100", 0, [(0, 1), (1, 0)], [1000, 2001])
    assert passes_of(msgspec.structs.replace(whole, rounds=(slower,))) != passes_of(stored)
