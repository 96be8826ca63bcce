"""Lines longer than any suite's take time in proportion to their length, whoever reads them."""

import time
from collections.abc import Callable

import pytest

from fabricgauge.logs.readers.osu.tables import MOST_COLUMNS
from fabricgauge.logs.readers.suites import read
from fabricgauge.model.suite import UnparsedLine

SHORT, LONG = 4_000, 32_000

OSU = b"# OSU MPI Latency Test v7.4\n"
IPERF2 = b"Client connecting to c2, TCP port 5001\n"
IPERF3 = b"Connecting to host c2, port 5201\n"
IMB = b"#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
UCX = b"iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
FABTESTS = b"- { xfer_size: 64, iterations: 1000, "
NCCL = b"# nThread 1 nGpus 1 \n"
INTERVAL = b"0.00-1.00 sec 1.10 GBytes 942 Mbits/sec "

#: What stands before, the piece that the line repeats, and what stands behind it.
GROWING = (
    (b"", b" ", b"x"), (b"", b"1", b""), (b"", b":00:00", b""), (b"", b"a.", b":"),
    (b"[", b" ", b"1] x"), (b"#", b" ", b"x"), (b"#", b"#", b"x"), (b"+", b"-", b"x"),
    (OSU + b"# OSU MPI", b" ", b"x"), (OSU + b"# Synchronization: a", b" ", b"x"),
    (OSU + b"Dimensions size = 1", b" ", b"x"), (OSU + b"# Send Buffer on a", b" ", b"x"),
    (OSU + b"DATA VALIDATION ERROR: a", b" ", b"x"), (OSU + b"# Size ", b"Latency(us) ", b""),
    (IPERF2 + b"[", b" ", b"x"), (IPERF2 + b"[ 1] " + INTERVAL, b"1", b"x"),
    (IPERF2 + b"[ 1] " + INTERVAL + b"1", b" ", b"x"),
    (IPERF3 + b"[ 5] " + INTERVAL, b"1", b" receiver"),
    (IMB + b"# #processes = 2", b" ", b"x"), (IMB + b"#    Intel MPI Benchmarks V1", b" ", b"x"),
    (b"#", b" ", b"bytes x"), (UCX, b"1,", b"x"), (UCX, b"a,", b"x"), (FABTESTS, b"a", b""),
    (NCCL + b"NCCL INFO ", b"NCCL", b""), (NCCL + b"1 1 f", b"c1:1:1 [0] ", b"NCCL "),
    (b'{"start": {"connected": [', b'{"a": "', b""), (b'{"start": {"connected": "', b'\\"', b""),
    (b'{"test_info": {"test": "Send_BW_Test', b"test_info: {", b""),
    (b"", b"[", b""), (b"", b"{", b""), (b"{\n1", b" ", b"x"), (b"{\n", b"a ", b"x"),
)  # fmt: skip


@pytest.mark.parametrize(("before", "piece", "behind"), GROWING)
def test_eight_times_the_line_takes_not_many_times_eight_times_the_time(
    before: bytes, piece: bytes, behind: bytes
) -> None:
    def reading(size: int) -> Callable[[], object]:
        lines = (before + piece * (size // len(piece)) + behind + b"\n").splitlines(keepends=True)
        return lambda: list(read(lines))

    assert least_s(reading(LONG)) < 24 * least_s(reading(SHORT)) + 0.05


def least_s(work: Callable[[], object]) -> float:
    return min(timed_s(work) for _ in range(3))


def timed_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("columns", [MOST_COLUMNS, 6000])
def test_a_heading_of_more_columns_than_any_suite_prints_is_strange(columns: int) -> None:
    heading = b"# Size " + b"Latency(us) " * columns + b"\n"
    found = list(read([OSU, heading, b"1 2.00\n"]))
    assert [one.line for one in found if isinstance(one, UnparsedLine)] == [2]


def test_a_headline_of_more_columns_than_imb_prints_is_strange() -> None:
    headline = b"#bytes #repetitions t[usec] " + b" ".join(b"c%d" % i for i in range(46))
    found = list(read([IMB, headline + b"\n", b"1 10 2.00\n"]))
    assert 2 in [one.line for one in found if isinstance(one, UnparsedLine)]
    assert all(isinstance(one, UnparsedLine) for one in found)
