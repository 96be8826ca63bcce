"""Many pairs, neighbours and loaded pairs, on each MPI and on 1 to 8 ranks of this machine."""

from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest
from tests.nodes.engines.launched import MANY, measured, together

from fabricgauge.model.engine import Engine
from fabricgauge.model.pattern import CROWD_PATTERNS, CrowdPattern, Load
from fabricgauge.model.plan import Case

pytestmark = pytest.mark.engine

BYTES = 1003
RINGS = ("sendrecv", "exchange")
WINDOWED = ("multi_bandwidth", "bisection")
#: Besides one pair of victims.
LEAST_LOADING = {"none": 0, "incast": 1, "all_to_all": 2, "permutation": 2}


def case(pattern: CrowdPattern, load: Load = "none", pairs: int = 0, ranks: int = 0) -> Case:
    window = 4 if pattern in WINDOWED else 1
    return Case(
        f"{pattern}/{load}/{pairs}", pattern, BYTES, window, 0, 1,
        budget_s=0.01, load=load, pairs=pairs, ranks=ranks,
    )  # fmt: skip


def every_case(ranks: int) -> Iterator[Case]:
    for pattern in CROWD_PATTERNS:
        yield case(pattern)
    if ranks >= 4:
        yield case("multi_latency", pairs=2)
    for load in get_args(Load)[1:]:
        if ranks >= 2 + LEAST_LOADING[load]:
            yield case("loaded_latency", load)


def pairs_of(measured: Case, ranks: int) -> int:
    if measured.pattern in RINGS:
        return ranks
    return measured.pairs or (1 if measured.pattern == "loaded_latency" else ranks // 2)


@pytest.mark.parametrize("ranks", [2, 3, 4, MANY])
def test_every_pattern_and_load_ends_with_its_data_intact(engine: Engine, ranks: int) -> None:
    cases = list(every_case(ranks))
    found = measured(engine, ranks, cases, "--check-data", "--grace", "60")
    assert [one.case for one in found] == [asked.name for asked in cases]
    for asked, one in zip(cases, found, strict=True):
        assert (one.status, one.reason) == ("ok", ""), one.case
        assert one.data_check.requested and one.data_check.ok, one.data_check.detail
        pairs = pairs_of(asked, ranks)
        assert (together(one).ranks, together(one).pairs) == (ranks, pairs)
        assert len(together(one).rank_medians_s) == pairs
        assert one.samples % pairs == 0 and one.samples > 0
        assert (together(one).load_bytes_per_s > 0) == (asked.load != "none")


#: Percentiles are a histogram's, so known to the half of a bucket; the median is exact.
RESOLUTION = 1 / 128


@pytest.mark.parametrize("ranks", [2, 4])
def test_figures_agree_with_each_other(engine: Engine, ranks: int) -> None:
    cases = [case(pattern) for pattern in CROWD_PATTERNS]
    for one in measured(engine, ranks, cases, "--grace", "60"):
        times, medians_s = one.times, together(one).rank_medians_s
        assert times is not None
        assert sum(count for _, count in one.histogram_ps) == one.samples
        assert times.minimum_s <= times.median_s <= times.p999_s * (1 + RESOLUTION)
        assert times.p999_s <= times.maximum_s
        assert all(median_s > 0 for median_s in medians_s)
        ways = {"multi_bandwidth": 1, "bisection": 2}.get(one.pattern, 0)
        rate = sum(ways * one.window / median_s for median_s in medians_s)
        assert together(one).messages_per_s == pytest.approx(rate, rel=1e-6)
        # All ranks are on one node, and what stays there is no traffic of the network.
        assert one.payload_sent_bytes == (0,) * ranks


def test_a_single_rank_is_skipped_with_the_number_it_needs(embedded: Engine) -> None:
    for one in measured(embedded, 1, [case(pattern) for pattern in CROWD_PATTERNS]):
        assert one.status == "skipped"
        assert "needs 2 ranks, this launch has 1 rank" in one.reason


def test_too_few_ranks_for_pairs_or_load_are_skipped(embedded: Engine) -> None:
    cases = [
        case("multi_latency", pairs=2),
        case("loaded_latency", "all_to_all"),
        case("loaded_latency", "incast", ranks=2),
        case("loaded_latency", "incast"),
    ]
    found = measured(embedded, 3, cases)
    assert [one.status for one in found] == ["skipped"] * 3 + ["ok"]
    assert "2 pairs of multi_latency need 4 ranks, the case has 3" in found[0].reason
    assert "1 pair and 2 ranks for the load all_to_all" in found[1].reason
    assert "need 3 ranks, the case has 2" in found[2].reason


def test_ranks_beyond_the_case_take_no_part(embedded: Engine) -> None:
    cases = [case("multi_latency", ranks=2), case("exchange", ranks=3)]
    found = measured(embedded, 4, cases)
    assert [together(one).ranks for one in found] == [2, 3]
    assert [len(together(one).rank_medians_s) for one in found] == [1, 3]


def test_iterations_are_those_of_each_pair(embedded: Engine) -> None:
    long = msgspec.structs.replace(case("multi_latency"), budget_s=20.0)
    (found,) = measured(embedded, 4, [long], "--iterations", "40")
    assert found.stop == "iterations"
    assert 40 <= found.samples <= 80


def test_a_load_that_does_not_fit_into_memory_is_refused(embedded: Engine) -> None:
    huge = msgspec.structs.replace(case("multi_bandwidth"), message_bytes=2**31 - 1, window=65536)
    refused, following = measured(embedded, 2, [huge, case("multi_latency")])
    assert refused.status == "failed"
    assert "too little memory" in refused.reason
    assert following.status == "ok"
