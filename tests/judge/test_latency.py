"""A latency that the medium does not have is named, and a busy host is no network's fault."""

import msgspec
import pytest
from tests.judge import planted
from tests.logs.readers.reading import raw
from tests.logs.test_logs_as_seen import judged, osu

from fabricgauge.judge.thresholds import thresholds_from
from fabricgauge.model.measurement import Measurement
from fabricgauge.model.verdict import Outcome

FAIL, INCONCLUSIVE, PASS, WARN = Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS, Outcome.WARN


def measured(median_s: float) -> Measurement:
    return planted.measurement(planted.Sample("latency", 8, 0, median_s))


def waited(case: Measurement, share: float, *, waiting: bool = False) -> Measurement:
    uses = tuple(
        msgspec.structs.replace(one, run_delay_s=share * case.wall_s) for one in case.processors
    )
    return msgspec.structs.replace(case, processors=uses, waiting=waiting)


def outcomes(case: Measurement) -> set[Outcome]:
    run = planted.run([planted.launch([case])])
    return planted.outcomes(planted.verdicts(run), "latency")


@pytest.mark.parametrize(
    ("median_s", "outcome"),
    [(11e-6, PASS), (90e-6, PASS), (150e-6, WARN), (900e-6, WARN), (1086e-6, FAIL), (50e-3, FAIL)],
)
def test_latency_over_tcp(median_s: float, outcome: Outcome) -> None:
    assert outcomes(measured(median_s)) == {outcome}


def test_ranks_that_waited_for_processors_excuse_the_network() -> None:
    assert outcomes(waited(measured(2e-3), 0.6)) == {INCONCLUSIVE}
    assert outcomes(waited(measured(2e-3), 0.1)) == {FAIL}
    assert outcomes(waited(measured(2e-3), 0.1, waiting=True)) == {INCONCLUSIVE}


def test_the_slower_direction_is_named() -> None:
    back = planted.measurement(planted.Sample("latency", 8, 1, 3e-3))
    run = planted.run([planted.launch([measured(12e-6), back])])
    found = planted.the(planted.verdicts(run), "latency", FAIL)
    assert found.figure is not None
    assert found.figure.value == pytest.approx(3e-3)
    assert found.threshold is not None
    assert found.threshold.value == 1e-3


def test_a_site_sets_its_own_limit() -> None:
    run = planted.run([planted.launch([measured(150e-6)])])
    own = thresholds_from({"latency.tcp": 200e-6}, "site.toml")
    assert planted.outcomes(planted.verdicts(run, thresholds=own), "latency") == {PASS}


@pytest.mark.parametrize(
    ("fixture", "outcome"),
    [("7.3--latency-150us-on-edr-written", WARN), ("7.3--latency-2ms-on-edr-written", FAIL)],
)
def test_imported_latency_that_rdma_does_not_have(fixture: str, outcome: Outcome) -> None:
    (table,) = judged(raw("osu", fixture), "edr", ("c1", "c2"))
    assert (table.rule, table.outcome) == ("latency", outcome)


@pytest.mark.parametrize(
    ("network", "time_us", "outcome"),
    [("1GbE", 28.0, PASS), ("1GbE", 50_000.0, FAIL), ("edr", 1.1, PASS), ("hdr", 12.0, WARN)],
)
def test_imported_latency(network: str, time_us: float, outcome: Outcome) -> None:
    log = osu("Latency Test", "Latency (us)", [(8, time_us), (1 << 22, 40 * time_us + 4e4)])
    (table,) = judged(log, network, ("c1", "c2"))
    assert (table.outcome if table.rule == "latency" else PASS) is outcome
