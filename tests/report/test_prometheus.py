import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report import sample, sample_verdicts

from fabricgauge.model.judged import Judged
from fabricgauge.report.formats import report

NODES = ("c1", "c2")
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SERIES = re.compile(rf"(fabricgauge_[a-z_]+)(\{{{LABEL}(?:,{LABEL})*\}})? (\S+)")


def series(judged: Judged) -> dict[str, float]:
    found: dict[str, float] = {}
    for line in report(judged, "prometheus").splitlines():
        if line.startswith(("# HELP fabricgauge_", "# TYPE fabricgauge_")):
            continue
        match = SERIES.fullmatch(line)
        assert match, line
        key = match[1] + (match[2] or "")
        assert key not in found
        found[key] = float(match[3])
    return found


def test_the_outcome_is_one_of_a_fixed_set_of_series() -> None:
    found = series(sample.judged(verdicts=sample_verdicts.failing(NODES)))
    assert found['fabricgauge_outcome{outcome="FAIL"}'] == 1
    assert found['fabricgauge_outcome{outcome="PASS"}'] == 0
    key = 'fabricgauge_verdicts{network="net1",rule="instability",outcome="WARN"}'
    assert found[key] == 1


def test_each_verdict_has_its_id_and_outcome_as_labels() -> None:
    found = series(sample.judged(verdicts=sample_verdicts.failing(NODES)))
    labels = 'network="net1",rule="fraction-of-ceiling",outcome="FAIL"'
    assert found[f'fabricgauge_verdict{{id="fraction-of-ceiling/net1/c1>c2/bandwidth",{labels}}}']


def test_bandwidth_and_ceiling_are_bytes_per_second_and_their_ratio_a_share() -> None:
    found = series(sample.judged())
    labels = '{network="net1",pattern="bandwidth",origin="c1",target="c2"}'
    bandwidth = found[f"fabricgauge_bandwidth_bytes_per_second{labels}"]
    ceiling = found['fabricgauge_ceiling_bytes_per_second{network="net1"}']
    assert ceiling == pytest.approx(117.685e6, rel=1e-4)
    assert bandwidth == pytest.approx(117.32e6, rel=1e-4)
    assert found[f"fabricgauge_bandwidth_ceiling_ratio{labels}"] == bandwidth / ceiling


def test_both_directions_are_held_against_twice_the_ceiling() -> None:
    labels = '{network="net1",pattern="bidirectional_bandwidth",origin="c1",target="c2"}'
    assert series(sample.judged())[f"fabricgauge_bandwidth_ceiling_ratio{labels}"] < 1


def test_the_smallest_latency_is_in_seconds() -> None:
    labels = '{network="net1",pattern="latency",origin="c1",target="c2"}'
    assert series(sample.judged())[f"fabricgauge_latency_seconds{labels}"] == pytest.approx(
        10.34e-6, rel=1e-3
    )


def test_the_run_has_its_time() -> None:
    assert series(sample.judged())["fabricgauge_run_timestamp_seconds"] == 1795292103


def test_every_metric_is_described_once_before_its_series() -> None:
    described = re.findall(r"# TYPE (\S+) gauge", report(sample.judged(), "prometheus"))
    assert len(described) == len(set(described)) == 10


def test_a_run_without_any_result_has_its_outcome_only() -> None:
    judged = sample.judged(verdicts=())
    run = msgspec.structs.replace(judged.run, launches=(), started_utc="unknown")
    found = series(msgspec.structs.replace(judged, run=run, curves=(), ceilings={}))
    assert found['fabricgauge_outcome{outcome="SKIPPED"}'] == 1
    assert not [key for key in found if "bandwidth" in key or "run_timestamp" in key]


@settings(max_examples=40)
@given(st.text(max_size=30), st.text(max_size=30))
def test_no_name_breaks_a_line_or_a_label(first: str, second: str) -> None:
    names = (first, second)
    assert len(series(sample.judged(names, sample_verdicts.failing(names)))) > 10
