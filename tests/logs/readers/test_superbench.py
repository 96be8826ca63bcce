"""SuperBench's records: collectives in 10^9 bytes, loopbacks in 2^20, what is doubtful is said."""

import json

import pytest
from tests.logs.readers.reading import curves_of, found, raw, values

from fabricgauge.model.suite import SuiteCurve

NAME = ("superbench", "results-summary")


def of(node: str, quantity: str, benchmark: str) -> SuiteCurve:
    (curve,) = (
        one
        for one in curves_of(*NAME)
        if (one.settings["node"], one.quantity, one.benchmark) == (node, quantity, benchmark)
    )
    return curve


def test_a_nodes_collectives_are_curves_in_si() -> None:
    time = of("node-1", "time", "nccl-bw allreduce")
    assert values(time)[-1] == (8589934592, pytest.approx(63870e-6))
    bus = of("node-1", "bus_bandwidth", "nccl-bw allreduce")
    # 0.0 of eight bytes is no figure.
    assert values(bus) == [(1048576, pytest.approx(29.98e9)), (8589934592, pytest.approx(235.36e9))]
    second = of("node-2", "bandwidth", "nccl-bw allreduce").points[-1].estimate.value
    assert second == pytest.approx(131.8e9)


def test_a_loopback_is_perftests_and_no_network() -> None:
    loop = of("node-1", "bandwidth", "ib-loopback write")
    assert values(loop)[-1] == (8388608, pytest.approx(23935.21 * 2**20))
    assert (loop.pattern, loop.settings["adapter"]) == (None, "0")


def test_figures_of_a_doubtful_unit_are_not_read_but_told_of() -> None:
    record = {"node": "n1", "ib-traffic/ib_write_bw_8388608_cpu-to-cpu_0_0:n1_n2": 23.1}
    curves, (line,) = found(json.dumps(record).encode() + b"\n")
    assert curves == []
    assert line.reason.startswith("a unit; 1 figures of ib-traffic")


def test_a_record_without_a_network_says_so() -> None:
    record = {"node": "n1", "mem-bw/H2D_Mem_BW:0": 25.6}
    curves, (line,) = found(json.dumps(record).encode() + b"\n")
    assert (curves, "nccl-bw" in line.reason) == ([], True)


@pytest.mark.parametrize("value", ["1e999", "-3.5", '"x"', "null", "[1]"])
def test_what_is_no_figure_is_none(value: str) -> None:
    text = raw(*NAME).replace(b"235.36", value.encode())
    curves, _ = found(text)
    for curve in curves:
        assert all(0 < point.estimate.value < float("inf") for point in curve.points)


def test_a_raw_result_is_read_as_what_its_program_printed() -> None:
    curves = curves_of("superbench", "raw-nccl-bw")
    printed = curves_of("nccl-tests", "2.19.6--all-reduce-two-nodes")
    assert [values(one) for one in curves] == [values(one) for one in printed]
    assert {(one.suite, one.benchmark) for one in curves} == {("nccl-tests", "all_reduce_perf")}
    assert {one.hosts for one in curves} == {one.hosts for one in printed}
    assert {one.first_line for one in curves} == {1}


@pytest.mark.parametrize(
    "record",
    [
        {"name": "mem-bw", "run_count": 1, "raw_data": {"raw_output_0": ["H2D 25.6"]}},
        {"name": "nccl-bw", "run_count": 1, "raw_data": {}},
        {"name": "nccl-bw", "run_count": "x", "raw_data": {"raw_output_0": [1, None]}},
    ],
)
def test_a_raw_result_without_a_networks_output_says_so(record: dict[str, object]) -> None:
    curves, (line,) = found(json.dumps([record, None], indent=2).encode() + b"\n")
    assert (curves, line.line) == ([], 1)
    assert "SuperBench" in line.reason
