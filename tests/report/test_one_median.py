"""Rule, table, picture and JSON have the same median: one aggregation feeds all of them."""

import csv
import io
import json
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.judge import planted

from fabricgauge.check.conclude import judge_context
from fabricgauge.judge.interface import Context
from fabricgauge.judge.stats.curves import crowd_curves
from fabricgauge.judge.thresholds import DEFAULTS
from fabricgauge.model.judged import Judged
from fabricgauge.model.measurement import ConcurrentResult
from fabricgauge.report.content.cases import concurrent_cases
from fabricgauge.report.content.curves import pictures
from fabricgauge.report.formats import report

SIZE = 1 << 20
PAYLOAD = SIZE * planted.WINDOW
#: Times of one stream per launch, from a tenth of the ceiling up to it.
LEAST_S = PAYLOAD / planted.CEILING_BYTES_PER_S
times = st.lists(st.floats(LEAST_S * 1.001, LEAST_S * 10), min_size=1, max_size=6)


def judged(launch_times: list[float]) -> Judged:
    launches = [
        planted.launch([planted.measurement(planted.Sample("bandwidth", SIZE, 0, time_s))], number)
        for number, time_s in enumerate(launch_times, 1)
    ]
    run = planted.run(launches)
    return judge_context(Context(run, {"net1": planted.ceiling()}, DEFAULTS))


@given(times)
def test_a_stream_has_one_median_everywhere(launch_times: list[float]) -> None:
    result = judged(launch_times)
    expected = statistics.median(PAYLOAD / time_s for time_s in launch_times)
    (fraction,) = planted.by_rule(result.verdicts, "fraction")
    assert fraction.figure is not None
    assert fraction.figure.value == pytest.approx(expected / planted.CEILING_BYTES_PER_S)
    document: dict[str, Any] = json.loads(report(result, "json"))
    (point,) = document["curves"][0]["points"]
    assert point["bandwidth"]["value"] == pytest.approx(expected)
    row = next(csv.DictReader(io.StringIO(report(result, "csv"))))
    assert float(row["bandwidth_bytes_per_s"]) == pytest.approx(expected)
    throughput = pictures(result, "net1")[0]
    assert throughput.series[0].marks[0].y == pytest.approx(expected / 1e6)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6))
def test_a_case_of_many_ranks_has_one_median_everywhere(launch_times: list[float]) -> None:
    together = ConcurrentResult(4, 0, "barrier", 0.0, 0, (1.0,) * 4)
    launches = []
    for number, time_s in enumerate(launch_times, 1):
        case = planted.measurement(planted.Sample("allreduce", 8, 0, time_s))
        launches.append(planted.launch([replace(case, together=together)], number))
    run = planted.run(launches)
    expected = statistics.median(launch_times)
    (case_of_many,) = concurrent_cases(run)
    assert case_of_many.median_s == pytest.approx(expected)
    (curve,) = crowd_curves(run)
    assert curve.points[0].estimate.value == pytest.approx(expected)
    result = judge_context(Context(run, {"net1": planted.ceiling()}, DEFAULTS))
    (row,) = json.loads(report(result, "json"))["together"]
    assert row["median_s"] == pytest.approx(expected)
