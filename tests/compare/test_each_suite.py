"""A log of each suite against itself, and against itself with a change that is known."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.compare.simulated import operand

from fabricgauge.compare.comparing import compare
from fabricgauge.logs.read_files import read_file
from fabricgauge.model.comparison import Comparison
from fabricgauge.model.estimate import Estimate
from fabricgauge.model.suite import LESS_IS_BETTER, RESULTS, SuiteCurve, SuitePoint
from fabricgauge.report.content.comparison import headline

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOGS = [
    "osu/7.4--latency-default.out", "imb/2021.11--p2p-pingpong.out",
    "perftest/4.5--write-lat-all-sizes.out", "iperf3/3.12--json.out", "iperf2/2.1.8--text.out",
    "netpipe/3.7.2--mpich-quick.out", "nccl-tests/2.13.10--alltoall-blank-redop.out",
    "fabtests/1.17--yaml-bw.out", "gpcnet/*.out", "mpigraph/1.5--three-ranks.out",
    "nxnlatbw/2005--six-ranks.out",
    "nvbandwidth/*.out", "ucx_perftest/*.out", "hpcc/*.out", "netperf/2.7--tcp-stream.out",
    "sockperf/3.7--tcp-throughput.out", "qperf/0.4.11--four-tests-and-conf.out",
    "ibv_pingpong/44--rc-client.out", "ucc_perftest/1.3--barrier.out",
    "superbench/results-summary-one-size.out", "reframe/4.5--osu-bw.out",
]  # fmt: skip

Change = Callable[[int, float], float]


def curves(log: str) -> list[SuiteCurve]:
    each = sorted(FIXTURES.glob(log))
    read = ([one for one in read_file(path) if isinstance(one, SuiteCurve)] for path in each)
    return next(one for one in read if any(curve.points for curve in one))


def changed(given: list[SuiteCurve], slower: Change) -> list[SuiteCurve]:
    """Each figure as bad as ``slower`` says of its place; measured facts differ as well."""
    return [
        msgspec.structs.replace(
            curve,
            points=tuple(_worse(curve, one, slower(i, 1.0)) for i, one in enumerate(curve.points)),
            settings={
                key: f"{said} B" if key in RESULTS else said for key, said in curve.settings.items()
            },
        )
        for curve in given
    ]


def _worse(curve: SuiteCurve, one: SuitePoint, times: float) -> SuitePoint:
    factor = times if curve.quantity in LESS_IS_BETTER else 1.0 / times
    old = one.estimate
    scaled = Estimate(
        old.value * factor, old.low * factor, old.high * factor, old.confidence, old.launches,
        old.samples,
    )  # fmt: skip
    return msgspec.structs.replace(one, estimate=scaled)


def against(log: str, slower: Change) -> Comparison:
    given = curves(log)
    return compare(operand("a"), given, operand("b"), changed(given, slower), 0.05)


@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_no_worse_than_itself(log: str) -> None:
    found = against(log, lambda _place, _one: 1.0)
    assert found.outcome == "no regression"
    assert "B is as fast as A" in headline(found)
    reasons = {one.reason.partition(" as ")[0] for one in found.unmatched}
    assert reasons <= {"the same figures", "it has no usable figure"}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize(("times", "word"), [(1.02, "2.0 % slower"), (1 / 1.02, "2.0 % faster")])
def test_two_per_cent_everywhere_are_within_and_said(log: str, times: float, word: str) -> None:
    found = against(log, lambda _place, _one: times)
    assert found.outcome == "no regression"
    assert word in headline(found)


@pytest.mark.parametrize("log", LOGS)
def test_one_figure_far_beyond_the_tolerance_is_never_no_regression(log: str) -> None:
    found = against(log, lambda place, one: 23.0 if place == 0 else one)
    # 23 times a latency of shared memory is no memory's: the two are not the same thing.
    assert found.outcome in ("regression", "undecided", "invalid")
    assert "23 times slower" in headline(found) or found.outcome == "invalid"


@pytest.mark.parametrize("log", LOGS)
def test_five_logs_whose_measured_facts_differ_are_repetitions(log: str) -> None:
    given = curves(log)
    each = [changed(given, lambda _place, one: one), given] * 3
    repeated = [one for some in each for one in some]
    found = compare(operand("a"), repeated, operand("b"), repeated, 0.05)
    assert found.outcome == "no regression"
    assert {pair.basis for pair in found.pairs} == {"launches"}
