"""Slow one-sided calls, a stretch of slow sizes and a long tail of a log are named."""

import pytest
from tests.hunt.logs import EDR_US, osu_bw, osu_latency, scaled, table
from tests.logs.test_logs_as_seen import FAIL, PASS, SKIPPED, TWO, WARN, judged, osu

from fabricgauge.model.verdict import Outcome

READ = (
    "                    RDMA_Read Latency Test\n"
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    " 8       1000          {0}           {0}           {0}             {0}           0.01"
    "            {1}                    {1}\n" + "-" * 87 + "\n"
)


def one_sided(call: str, factor: float) -> str:
    rows = {size: us * factor for size, us in EDR_US.items() if size}
    return (
        f"# OSU MPI_{call} latency Test v7.4\n# Window creation: MPI_Win_allocate\n"
        f"# Synchronization: MPI_Win_flush\n# Datatype: MPI_CHAR.\n# Size          Latency (us)\n"
        f"{table(rows.items())}"
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (READ.format("1.90", "2.40"), SKIPPED),
        (READ.format("2100.00", "2400.00"), FAIL),
        (one_sided("Get", 2.2), SKIPPED),
        (one_sided("Get", 2600.0), WARN),
        (one_sided("Put", 2.2), SKIPPED),
        (one_sided("Put", 3500.0), WARN),
        (one_sided("Accumulate", 6.0), SKIPPED),
        (one_sided("Accumulate", 5000.0), FAIL),
    ],
)
def test_a_one_sided_call_takes_its_trips_and_not_more(text: str, outcome: Outcome) -> None:
    one_way, calls = judged(osu_bw() + text, "edr", TWO)
    assert (one_way.outcome, calls.outcome) == (PASS, outcome), calls
    assert outcome is SKIPPED or calls.rule == "latency"


@pytest.mark.parametrize(
    ("sizes", "factor", "outcome"),
    [
        ((0,), 40.0, SKIPPED), ((8, 64), 40.0, SKIPPED), ((8, 64, 1 << 10), 40.0, WARN),
        ((8, 64, 1 << 10), 1.5, SKIPPED),
    ],
)  # fmt: skip
def test_several_small_sizes_that_take_many_times_as_long(
    sizes: tuple[int, ...], factor: float, outcome: Outcome
) -> None:
    rows = {**scaled(EDR_US, factor, *sizes), 1 << 11: 2.1}
    _, latency = judged(osu_bw() + osu_latency(dict(sorted(rows.items()))), "edr", TWO)
    found = latency.outcome if latency.rule == "dips" else SKIPPED
    assert found is outcome, latency


@pytest.mark.parametrize(("beyond", "outcome"), [(0.4, SKIPPED), (2000.0, WARN)])
def test_a_percentile_far_above_the_figure(beyond: float, outcome: Outcome) -> None:
    rows = [(size, us, us + beyond) for size, us in EDR_US.items() if size]
    columns = "Avg Latency(us)  P99 Tail Lat(us)"
    text = osu("Latency Test", columns, rows)
    _, latency = judged(osu_bw() + text, "edr", TWO)
    found = latency.outcome if latency.rule == "stability" else SKIPPED
    assert found is outcome, latency


@pytest.mark.parametrize(("tail", "outcome"), [("1.20", SKIPPED), ("900.00", WARN)])
def test_the_percentile_of_perftest(tail: str, outcome: Outcome) -> None:
    text = READ.replace("RDMA_Read", "Send").format("1.10", tail)
    _, latency = judged(osu_bw() + text, "edr", TWO)
    found = latency.outcome if latency.rule == "stability" else SKIPPED
    assert found is outcome, latency
