from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricgauge.check.plan.round_robin import pairs_of_round, sample_rounds
from fabricgauge.model.plan import rounds

counts = st.integers(2, 90)


@given(counts)
def test_every_pair_meets_exactly_once(ranks: int) -> None:
    met = np.concatenate([pairs_of_round(number, ranks) for number in range(rounds(ranks))])
    assert len(met) == ranks * (ranks - 1) // 2
    assert len(np.unique(met, axis=0)) == len(met)
    assert np.all(met[:, 0] < met[:, 1])
    assert met.min() == 0
    assert met.max() == ranks - 1


@given(counts, st.data())
def test_a_round_has_every_rank_once_but_one_of_an_odd_number(
    ranks: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, rounds(ranks) - 1))
    playing = pairs_of_round(number, ranks).ravel()
    assert len(set(playing.tolist())) == len(playing) == ranks - ranks % 2


@given(st.integers(1, 44).map(lambda half: 2 * half + 1))
def test_an_odd_number_has_one_bye_for_each_rank(ranks: int) -> None:
    everybody = set(range(ranks))
    byes = [
        everybody - {*pairs_of_round(one, ranks).ravel().tolist()} for one in range(rounds(ranks))
    ]
    assert sorted(rank for one in byes for rank in one) == list(range(ranks))


def test_the_rounds_are_those_that_the_engine_makes() -> None:
    # The last rank meets p with 2p = k mod (N-1), any other rank r meets (k - r) mod (N-1).
    assert pairs_of_round(0, 6).tolist() == [[0, 5], [1, 4], [2, 3]]
    assert pairs_of_round(1, 6).tolist() == [[0, 1], [2, 4], [3, 5]]
    assert pairs_of_round(1, 5).tolist() == [[0, 1], [2, 4]]


@pytest.mark.parametrize("ranks", [0, 1])
def test_nobody_meets_where_there_are_no_two(ranks: int) -> None:
    assert rounds(ranks) == 0


@given(st.integers(4, 400), st.integers(1, 60), st.integers(0, 3))
def test_sampled_rounds_exist_and_are_ascending(ranks: int, count: int, part: int) -> None:
    chosen = sample_rounds(ranks, count, part)
    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) == min(count, rounds(ranks))
    assert 0 <= chosen[0] <= chosen[-1] < rounds(ranks)


@given(st.integers(40, 4000), st.integers(1, 10))
def test_parts_have_no_round_in_common_until_all_are_made(ranks: int, count: int) -> None:
    parts = [sample_rounds(ranks, count, part) for part in range(3)]
    assert len({number for part in parts for number in part}) == min(3 * count, rounds(ranks))


@given(st.integers(6, 2000), st.integers(2, 30))
def test_two_rounds_already_join_all_ranks(ranks: int, count: int) -> None:
    chosen = sample_rounds(ranks, count)
    # From r to k - r to k' - k + r: the differences of rounds are the steps that one can go.
    step = rounds(ranks)
    for number in chosen:
        step = gcd(step, number - chosen[0])
    assert step == 1


@given(st.integers(1000, 20000), st.integers(4, 40))
def test_partners_lie_evenly_apart(ranks: int, count: int) -> None:
    chosen = np.array(sample_rounds(ranks, count))
    gaps = np.diff(np.append(chosen, chosen[0] + rounds(ranks)))
    # Random choice would leave gaps of several times the mean; the stride is rounded.
    assert gaps.max() <= 2 * rounds(ranks) / count + 2 * count
