"""Tables of many ranks in the layouts of IMB and OSU: our readers read the same figures."""

import msgspec
import pytest
from tests.report import fabric_sample

from fabricgauge.logs.readers.suites import read
from fabricgauge.model.judged import Judged
from fabricgauge.model.suite import SuiteCurve, UnparsedLine
from fabricgauge.report.content.cases import concurrent_cases
from fabricgauge.report.formats import report
from fabricgauge.report.interface import ConcurrentCase


@pytest.fixture(scope="module")
def judged() -> Judged:
    """A fabric that also measured chains, with the times of its collectives."""
    base = fabric_sample.judged(fabric_sample.names(4))
    (launch,) = base.run.launches
    chains = tuple(
        msgspec.structs.replace(case, case=f"{pattern}/{case.message_bytes}", pattern=pattern)
        for pattern in ("sendrecv", "exchange")
        for case in launch.measurements
        if case.pattern == "allreduce" and case.together and case.together.ranks == 4
    )
    made = msgspec.structs.replace(launch, measurements=(*launch.measurements, *chains))
    run = msgspec.structs.replace(base.run, launches=(made,))
    return msgspec.structs.replace(base, run=run)


def curves_in(text: str) -> list[SuiteCurve]:
    found = list(read(text.encode().splitlines()))
    assert not [one for one in found if isinstance(one, UnparsedLine)]
    return [one for one in found if isinstance(one, SuiteCurve)]


def cases_of(judged: Judged, pattern: str) -> list[ConcurrentCase]:
    idle = [case for case in concurrent_cases(judged.run) if case.load == "none"]
    return [case for case in idle if case.pattern == pattern]


@pytest.mark.parametrize("pattern", ["sendrecv", "exchange"])
def test_a_chain_has_imb_s_times_and_throughput(judged: Judged, pattern: str) -> None:
    curves = [c for c in curves_in(report(judged, "imb")) if c.benchmark == pattern.capitalize()]
    rates = next(curve for curve in curves if curve.quantity == "bandwidth")
    cases = [case for case in cases_of(judged, pattern) if case.message_bytes]
    assert cases
    by_size = {point.message_bytes: point.estimate.value for point in rates.points}
    for case in cases:
        assert by_size[case.message_bytes] == pytest.approx(case.throughput_bytes_per_s, rel=1e-3)


def test_collectives_have_tables_of_both_suites(judged: Judged) -> None:
    cases = cases_of(judged, "allreduce")
    assert cases
    for layout, name in (("imb", "Allreduce"), ("osu", "osu_allreduce")):
        curves = [c for c in curves_in(report(judged, layout)) if c.benchmark == name]
        times = [
            point.estimate.value
            for curve in curves
            for point in curve.points
            if curve.quantity == "time"
        ]
        medians = sorted(case.median_s for case in cases)
        assert sorted(times) == pytest.approx(medians, rel=1e-3)


def test_osu_s_multiple_bandwidth_has_the_sum_and_the_message_rate(judged: Judged) -> None:
    curves = [c for c in curves_in(report(judged, "osu")) if c.benchmark == "osu_mbw_mr"]
    cases = [case for case in cases_of(judged, "multi_bandwidth") if case.message_bytes]
    assert {curve.quantity for curve in curves} == {"bandwidth", "message_rate"}
    most = max(
        point.estimate.value for c in curves if c.quantity == "bandwidth" for point in c.points
    )
    assert most == pytest.approx(max(case.bytes_per_s for case in cases), rel=1e-3)


def test_a_pattern_s_tables_can_be_asked_for_alone(judged: Judged) -> None:
    from fabricgauge.report.interface import Setting

    setting = msgspec.structs.replace(Setting(), pattern="exchange")
    assert {c.benchmark for c in curves_in(report(judged, "imb", setting))} == {"Exchange"}
